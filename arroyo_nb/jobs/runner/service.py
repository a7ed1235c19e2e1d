"""A job from its start to its end: what a process that is one has to do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.jobs.owner import requested_mode
from arroyo_nb.jobs.runner.endpoint import JobCollector, served
from arroyo_nb.jobs.runner.monitor import Monitor
from arroyo_nb.jobs.runner.record import JobRecord
from arroyo_nb.jobs.runner.resume_point import resume_point
from arroyo_nb.jobs.runner.stop_limit import StopLimit
from arroyo_nb.jobs.runner.supervisor import JobState, Restarts, Supervisor, Tell
from arroyo_nb.run.stopping import StopMode

if TYPE_CHECKING:
    from pathlib import Path

    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.jobs.runner.log import Log, Logs
    from arroyo_nb.run.run import Run

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Each has the job stopped with what is done kept; a second one does not wait."""


class Ended(NamedTuple):
    """How a job ended.

    Parameters
    ----------
    state
        Finished, stopped or failed.
    error
        Why it failed.
    signal
        What stopped it; None: nothing did.
    has_run
        Whether its queries ever ran; else its start was refused.
    """

    state: JobState
    error: ArroyoError | None = None
    signal: signal.Signals | None = None
    has_run: bool = True


def serve(
    name: str,
    begin: Callable[[], Run],
    log: Log | Logs,
    *,
    folder: Path,
    port: int | None = None,
    mode: StopMode = StopMode.CHECKPOINT,
    restarts: Restarts | None = None,
    text: Callable[[ArroyoError], str] = str,
    stop_limit: StopLimit | None = None,
) -> Ended:
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
    text
        An error as it is told, with its place in the job's file.
    stop_limit
        By when this process ends once a signal stops it, whatever holds it up; None:
        it is not ended by force.

    Returns
    -------
    Ended
        How it ended.

    Raises
    ------
    RunProblem
        When the port is taken.
    KeyboardInterrupt
        At a second signal.
    """
    where = ""

    def begin_at_resume_point() -> Run:
        nonlocal where
        where = resume_point(folder)  # before a batch of this run has moved it
        return begin()

    def tell_run(event: str, *, level: str = "info", **facts: object) -> None:
        if event == "running":
            facts["where"] = where
        record.tell(event, level=level, **facts)

    def tell_forced(after_s: float) -> None:
        log.tell("stop_forced", level="warn", after_s=after_s)

    record = JobRecord(name, folder, log.tell)
    supervisor = Supervisor(
        begin_at_resume_point,
        lambda error: not error.lasting,
        tell_run,
        restarts,
        last_facts=lambda: asdict(monitor.look().counts),
        text=text,
        stop_limit=stop_limit,
    )
    monitor = Monitor(supervisor, folder, log.tell)
    heard: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        heard.append(number)
        if stop_limit is not None:
            stop_limit.begin(number, partial(tell_forced, stop_limit.seconds))
        supervisor.stop(number.name, requested_mode(folder) or mode)

    with (
        _asked_to_stop(stop),
        monitor.looking(),
        _endpoint(name, supervisor, monitor, port, tell_run),
    ):
        tell_run("job_started", pid=os.getpid(), folder=str(folder))
        state = supervisor.supervise()
    error = supervisor.error if state is JobState.FAILED else None
    return Ended(state, error, heard[0] if heard else None, supervisor.has_run)


@contextmanager
def _asked_to_stop(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    def heard(number: int, _: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.default_int_handler)
        stop(signal.Signals(number))

    before = {number: signal.signal(number, heard) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _endpoint(
    name: str,
    supervisor: Supervisor[Run],
    monitor: Monitor,
    port: int | None,
    tell: Tell,
) -> Iterator[None]:
    if port is None:
        yield
        return

    with served(JobCollector(name, supervisor, monitor), port) as taken:
        tell("serving", port=taken)
        yield
