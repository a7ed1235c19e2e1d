"""A process that stands still, as on a machine that is far too busy."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from machine import allowed

WITHIN_S = 10.0


@contextmanager
def frozen(pid: int | None) -> Iterator[None]:
    """The process does nothing until the block ends; it may be killed meanwhile."""
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        # The signal stops a process once one of its threads gets to run: until then the
        # others answer requests.
        deadline = time.monotonic() + allowed(WITHIN_S)
        while not _is_stopped(pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one of its threads has just ended
        return False
    return all(stat.rpartition(")")[2].split()[0] in "Tt" for stat in stats)
