"""A shell of IPython for one test, without a kernel, and what its cells show."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from arroyo_nb.extension import load, unload
from arroyo_nb.session import Session


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


@contextmanager
def shell_of(session: Session) -> Iterator[InteractiveShell]:
    """A shell with the magics of a session that other tests use too."""
    with new_shell() as shell:
        load(shell, session)
        yield shell
        # The engine is shared: the session's runs end with the test.
        with patch.object(session, "close"):
            unload(shell)


def shown(
    shell: InteractiveShell, cell: str
) -> tuple[BaseException | None, list[dict[str, Any]]]:
    """The error of a cell, and what it displays, by media type."""
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    return error, [output.data for output in captured.outputs]
