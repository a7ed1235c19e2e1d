"""A shell of IPython for one test, without a kernel."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.interactiveshell import InteractiveShell


@contextmanager
def new_shell() -> Iterator[InteractiveShell]:
    """A shell that is the current one, and leaves nothing to be done at exit.

    IPython would collect garbage once for each shell when the process ends: of a few
    hundred that takes minutes.
    """
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    atexit.unregister(shell.atexit_operations)
    try:
        yield shell
    finally:
        if shell.history_manager is not None:
            shell.history_manager.end_session()
            shell.history_manager.close()
        InteractiveShell.clear_instance()
