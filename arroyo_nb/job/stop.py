"""Stop a job that runs in another process of this host, and wait until it has ended.

Its process is found by the lock of its run folder, and asked by a signal; how it is to
stop is left in that folder before. Who may write there may stop it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.folder import holder
from arroyo_nb.run.stopping import StopMode

REQUEST = "stop"
LOOK_S = 0.1
"""How often is looked whether it has ended."""

FORCE = "force"
"""The mode that kills its processes: who goes on does the last micro-batch again."""

MODES = (*(mode.value for mode in StopMode), FORCE)


def stop(
    folder: Path, mode: str, *, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Stop the job that has a run folder; returns once another may have it.

    Parameters
    ----------
    folder
        The run's.
    mode
        One of :data:`MODES`.
    tell
        Is told whom it waits for.

    Raises
    ------
    RunProblem
        When no process of this host runs it, or it belongs to somebody else.
    """
    process = holder(folder)
    if process is None:
        raise RunProblem(f"no job runs in '{folder}'")
    if mode != FORCE:
        _leave_request(folder, StopMode(mode))
    try:
        os.kill(process, signal.SIGKILL if mode == FORCE else signal.SIGTERM)
    except ProcessLookupError:
        raise RunProblem(
            f"the job in '{folder}' is run by process {process} of another host",
            hint="stop it there",
        ) from None
    except PermissionError:
        raise RunProblem(f"process {process} is another user's") from None
    tell(f"waiting for process {process}, which runs the job, to stop ({mode})")
    while holder(folder) == process:
        time.sleep(LOOK_S)


def asked_mode(folder: Path) -> StopMode | None:
    """How somebody asked the job that has a run folder to stop, if anybody did; asked
    once it is forgotten."""
    with suppress(OSError, ValueError):
        path = folder / REQUEST
        mode = StopMode(path.read_text())
        path.unlink()
        return mode
    return None


def _leave_request(folder: Path, mode: StopMode) -> None:
    draft = folder / f"{REQUEST}.draft"
    draft.write_text(mode.value)
    draft.replace(folder / REQUEST)
