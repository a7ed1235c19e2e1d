"""Looks at a job all along: its counts, its readiness, what is told each minute.

Two threads, neither the run's: one looks and notes, the other asks the servers of the
sinks, which may take seconds. Sources are asked by the run itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.runner.counts import Counts, noted_counts, write_progress
from arroyo_nb.jobs.runner.readiness import unready_reasons
from arroyo_nb.jobs.runner.recent_late_rows import RecentLateRows, RecentShare
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import before_end, total_lag

if TYPE_CHECKING:
    from pathlib import Path

    from arroyo_nb.jobs.runner.supervisor import Supervisor, Tell
    from arroyo_nb.run.observe.snapshot import Snapshot
    from arroyo_nb.run.observe.vitals import Vitals
    from arroyo_nb.run.run import Run

LOOK_S = 1.0
"""How often a job is looked at, and its counts are noted."""

TELL_S = 60.0
"""How often its counts are told."""

ASK_S = 5.0
"""The time between two questions to the servers of its sinks."""

FIRST_STEP_S = 5.0
"""After so long, and then after twice as long each time, it is told what a job that has
no micro-batch yet waits for."""

NOTHING = Counts()


@dataclass(frozen=True)
class Sight:
    """What was seen of a job at one moment.

    Parameters
    ----------
    state
        Where it is.
    counts
        Over all its runs and processes.
    reasons
        Why it is not ready; empty: it is.
    snapshot, queries
        Of the present run; None and empty before there is one.
    sinks_away_s
        For how long the server of each sink that has one has not answered; 0: it does.
    late
        Of the rows of the last minutes, how many were late.
    """

    state: JobState
    counts: Counts = NOTHING
    reasons: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    queries: tuple[Vitals, ...] = ()
    sinks_away_s: Mapping[str, float] = field(default_factory=dict)
    late: tuple[RecentShare, ...] = ()

    @property
    def lag(self) -> int | None:
        """Records of topics that are still to be read; None: nobody knows yet."""
        return None if self.snapshot is None else total_lag(self.snapshot.sources)

    @property
    def is_ready(self) -> bool:
        """Whether it does its work."""
        return not self.reasons

    def noted(self) -> dict[str, Any]:
        """What is noted of it."""
        picture = self.snapshot
        return {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "state": self.state.value,
            "ready": self.is_ready,
            "reasons": list(self.reasons),
            "counts": asdict(self.counts),
            "batch": None if picture is None else picture.batch_id,
            "watermark": _iso(picture),
            "lag": self.lag,
            # Of one that has ended the note is why.
            "activity": (
                "" if picture is None or picture.state.ended else picture.note
            ),
            # Of hundreds of partitions those say something that have late rows.
            "late": [
                share.noted()
                for share in self.late
                if share.partition is None or share.late_rows
            ],
        }


class Monitor:
    """Looks at a job.

    Parameters
    ----------
    supervisor
        The job's.
    folder
        Its run's; noted there is only what a run of this process did.
    tell
        Is told what happens.
    """

    def __init__(self, supervisor: Supervisor[Run], folder: Path, tell: Tell) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._tell = tell
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._past: Counts | None = None  # of runs before the present one
        self._asked: dict[str, float | None] = {}
        self._told = Counts()
        self._told_s = time.monotonic()
        self._begun_s = time.monotonic()
        self._next_step_s = FIRST_STEP_S
        self._was_ready: bool | None = None
        # Since when records have waited to be read; None: none do.
        self._behind_since_s: float | None = None
        self._recent = RecentLateRows()
        self._failures: set[type[Exception]] = set()
        self._over = threading.Event()

    @contextmanager
    def looking(self) -> Iterator[Monitor]:
        """Look while it is held, and once more at the end."""
        threads = [
            threading.Thread(target=loop, name=name, daemon=True)
            for name, loop in (("monitor", self._look_on), ("sinks", self._ask_on))
        ]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._over.set()
            # The other one may be waiting for a server that is away; it is a daemon and
            # writes nothing.
            threads[0].join()
            self._attempt(lambda: self._note(self.look()))

    def look(self) -> Sight:
        """Look now; from any thread, and never at Spark."""
        supervisor = self._supervisor
        with self._lock:  # of two runs the later one is seen later
            run = supervisor.run
            if run is None:
                reasons = unready_reasons(supervisor.state, (), (), {})
                counts = noted_counts(self._folder)
                return Sight(supervisor.state, counts, tuple(reasons))
            picture, past = run.snapshot(0), self._counts_before(run)
            behind_s = self._behind_s(picture)
            late = self._recent.take(picture.sources, time.monotonic())
        queries = tuple(output.vitals() for output in run.outputs)
        trigger, now_s = run.options.trigger, time.monotonic()
        away = {
            name: 0.0 if since_s is None else now_s - since_s
            for name, since_s in tuple(self._asked.items())
        }
        reasons = unready_reasons(
            supervisor.state,
            picture.sources,
            queries,
            away,
            trigger.total_seconds() if trigger else 0.0,
            behind_s,
            late,
        )
        counts = past + Counts.of(picture)
        return Sight(
            supervisor.state, counts, tuple(reasons), picture, queries, away, late
        )

    def _behind_s(self, picture: Snapshot) -> float:
        """For how long there have been records to read."""
        now_s = time.monotonic()
        if not any(source.lag for source in picture.sources):
            self._behind_since_s = None
        elif self._behind_since_s is None:
            self._behind_since_s = now_s
        return now_s - (self._behind_since_s or now_s)

    def _counts_before(self, run: Run) -> Counts:
        """What was counted before a run, which may be the next one."""
        if self._past is None:
            if not run.running_s:  # the folder may be another process's as yet
                return noted_counts(self._folder)
            self._past = noted_counts(self._folder)
            self._told = self._past
        elif self._run is not None and run is not self._run:
            # A run that is restarted counts from zero, the job goes on from what all
            # its runs had.
            self._past += Counts.of(self._run.snapshot(0))
        self._run = run
        return self._past

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_S):
            self._attempt(self._look_once)

    def _look_once(self) -> None:
        sight = self.look()
        self._note(sight)
        self._tell_readiness(sight)
        self._tell_step(sight)
        if time.monotonic() - self._told_s >= TELL_S:
            self._told_s = time.monotonic()
            self.tell_counts(sight)

    def _tell_step(self, sight: Sight) -> None:
        """Tell what the start of a job waits for, more and more seldom."""
        picture, passed_s = sight.snapshot, time.monotonic() - self._begun_s
        if picture is None or picture.batch_id is not None or not picture.note:
            self._begun_s, self._next_step_s = time.monotonic(), FIRST_STEP_S
        elif passed_s >= self._next_step_s:
            self._next_step_s = 2 * passed_s
            self._tell("step", text=picture.note)

    def _attempt(self, step: Callable[[], object]) -> None:
        """Take a step of a thread that must go on: without it a probe would take a job
        that works for one that hangs. Failures of one kind are told once."""
        try:
            step()
        except Exception as error:
            kind = type(error)
            text = f"the job could not be looked at: {kind.__name__}: {error}"
            if kind not in self._failures:
                self._failures.add(kind)
                with suppress(Exception):
                    self._tell("note", level="warn", text=text)

    def tell_counts(self, sight: Sight) -> None:
        """Tell what was counted since it was told last."""
        news, self._told = sight.counts - self._told, sight.counts
        if (picture := sight.snapshot) is None:
            return
        self._tell(
            "counts",
            **asdict(sight.counts),
            **{f"new_{name}": count for name, count in asdict(news).items()},
            batch=picture.batch_id,
            watermark=_iso(picture),
            lag=sight.lag,
        )
        # Of most formats it is not told, and 0 would say that there are none.
        if news.unknown_records:
            self._tell(
                "unknown_fields",
                level="warn",
                unknown_records=sight.counts.unknown_records,
                new_unknown_records=news.unknown_records,
            )

    def _tell_readiness(self, sight: Sight) -> None:
        """Tell when it gets ready, and when it is not any more."""
        if sight.state is not JobState.RUNNING:
            return
        before, self._was_ready = self._was_ready, sight.is_ready
        if before == sight.is_ready:
            return
        if not sight.is_ready:
            self._tell("not_ready", level="warn", reason="; ".join(sight.reasons))
        elif before is False:
            self._tell("ready")

    def _note(self, sight: Sight) -> None:
        # Before a run of this process ran, the folder may be another process's. After
        # that it is noted all along, also while the job waits or starts again: what is
        # noted says that the process lives.
        if self._past is None:
            return
        with suppress(OSError):  # as of a full disk, of which the run tells
            write_progress(self._folder, sight.noted())

    def _ask_on(self) -> None:
        while not self._over.wait(ASK_S):
            self._attempt(self._ask_once)

    def _ask_once(self) -> None:
        run = self._supervisor.run
        if run is not None and self._supervisor.state is JobState.RUNNING:
            for output in run.outputs:
                if output.is_reaching:
                    self._ask(output.sink.name, output.check)

    def _ask(self, name: str, check: Callable[[Callable[[], None]], None]) -> None:
        asked_s = time.monotonic()
        try:
            check(self._give_up)
        except _MonitorEndedError:
            return
        except ArroyoError:
            if self._asked.get(name) is None:
                self._asked[name] = asked_s
        else:
            self._asked[name] = None

    def _give_up(self) -> None:
        if self._over.is_set():
            raise _MonitorEndedError


class _MonitorEndedError(Exception):
    """That the job has ended."""


def _iso(picture: Snapshot | None) -> str | None:
    mark = before_end(picture.watermark) if picture is not None else None
    return None if mark is None else f"{mark.isoformat(timespec='milliseconds')}Z"
