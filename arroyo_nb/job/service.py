"""A job from its start to its end: what a process that is one has to do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from arroyo_nb.job.endpoint import Told, served
from arroyo_nb.job.record import Record
from arroyo_nb.job.supervisor import JobState, Restarts, Supervisor, Tell
from arroyo_nb.run.owner import asked_mode
from arroyo_nb.run.stopping import StopMode

if TYPE_CHECKING:
    from pathlib import Path

    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.job.log import Log
    from arroyo_nb.run.run import Run

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Each has the job stopped with what is done kept; a second one does not wait."""


def serve(
    name: str,
    begin: Callable[[], Run],
    log: Log,
    *,
    folder: Path,
    port: int | None = None,
    mode: StopMode = StopMode.CHECKPOINT,
    restarts: Restarts | None = None,
) -> ArroyoError | None:
    """Keep a job going until it ends, or a signal stops it; on the main thread.

    Parameters
    ----------
    name
        The job's.
    begin
        Begins its run, or goes on with it from its checkpoint; it returns at once.
    log
        Where its events go.
    folder
        Its run's, in which is noted who runs it.
    port
        Where its health and metrics are served, on loopback; 0 takes a free one, which
        is told as the event ``serving``. None serves nothing.
    mode
        How a signal stops it, where nobody asked for another.
    restarts
        When a run that failed begins again.

    Returns
    -------
    ArroyoError or None
        Why it failed; None where it finished, or was stopped.

    Raises
    ------
    RunProblem
        When the port is taken.
    KeyboardInterrupt
        At a second signal.
    """
    tell = Record(name, folder, log.tell).tell
    supervisor = Supervisor(begin, lambda error: not error.lasting, tell, restarts)
    stop = partial(_stop, supervisor, folder, mode)
    with _asked_to_stop(stop), _endpoint(name, supervisor, port, tell):
        tell("job_started", pid=os.getpid())
        state = supervisor.supervise()
    return supervisor.error if state is JobState.FAILED else None


def _stop(
    supervisor: Supervisor[Run], folder: Path, mode: StopMode, reason: str
) -> None:
    supervisor.stop(reason, asked_mode(folder) or mode)


@contextmanager
def _asked_to_stop(stop: Callable[[str], None]) -> Iterator[None]:
    def heard(number: int, _: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.default_int_handler)
        stop(signal.Signals(number).name)

    before = {number: signal.signal(number, heard) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _endpoint(
    name: str, supervisor: Supervisor[Run], port: int | None, tell: Tell
) -> Iterator[None]:
    if port is None:
        yield
        return

    with served(Told(name, supervisor), port) as taken:
        tell("serving", port=taken)
        yield
