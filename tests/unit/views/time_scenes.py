"""Snapshots of streams that were played through a watermark, row by row.

A small model of what the trace of a run tells: rows of several sources come in
micro-batches, each some time behind its event; the watermark closes windows, and a row
that comes for a closed one is late.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from scenes import END, at

from arroyo_nb.run.observe.idle_sources import IdleSources
from arroyo_nb.run.observe.lateness import Lateness, LatenessBin
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    LateRows,
    MarkPoint,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ZERO = timedelta()
EDGES = (
    *(ZERO, SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE),
    *(10 * MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, 3 * DAY, 1000 * DAY),
)


@dataclass
class Stream:
    """What is played.

    ``disorder`` is the mean of how far a row comes behind its event, ``delay`` what the
    watermark allows, ``pace`` the event time of a micro-batch, ``idle`` the sources of
    which nothing comes after a third of the batches, and ``kept`` how many
    micro-batches are known by row.
    """

    width: timedelta = HOUR
    slide: timedelta | None = None
    delay: timedelta = 40 * MINUTE
    disorder: timedelta = 12 * MINUTE
    pace: timedelta = 6 * MINUTE
    batches: int = 42
    rows: int = 40
    sources: tuple[str, ...] = ("flights",)
    idle: tuple[str, ...] = ()
    sample: int = 60
    kept: int = 10_000
    batch_s: float = 0.4
    ended: bool = False
    start: datetime = field(default_factory=lambda: at(8))
    seed: int = 7

    def snapshot(self) -> Snapshot:
        """The run after its last micro-batch."""
        rng = random.Random(self.seed)
        slide = self.slide or self.width
        newest: dict[str, datetime] = {}
        read: Counter[str] = Counter()
        counts: Counter[datetime] = Counter()
        missed: Counter[datetime] = Counter()
        closed_in: dict[datetime, int] = {}
        late: list[LateRows] = []
        arrivals: list[BatchArrivals] = []
        history: list[MarkPoint] = []
        behind: list[timedelta] = []
        mark: datetime | None = None
        late_rows = 0
        for batch in range(self.batches):
            elapsed_s = round((batch + 1) * self.batch_s, 3)
            # A row that comes with the batch that closes its window is in time.
            arrival_mark = history[-1].watermark if history else None
            lag_front = max(newest.values(), default=None)
            times: list[datetime] = []
            for number in range(self.rows):
                source = self.sources[number % len(self.sources)]
                if source in self.idle and batch > self.batches // 3:
                    continue
                front = self.start + (batch + 1) * self.pace
                event = front - rng.random() * self.pace
                event -= rng.expovariate(1.0) * self.disorder
                event = event.replace(microsecond=0)
                newest[source] = max(newest.get(source, event), event)
                read[source] += 1
                times.append(event)
                lag = lag_front - event if lag_front else ZERO
                behind.append(max(lag, ZERO))
            missed_now: Counter[datetime] = Counter()
            for event in times:
                is_late = False
                for start in starts(event, self.width, slide):
                    counts[start] += 1
                    if arrival_mark is not None and start + self.width <= arrival_mark:
                        missed_now[start] += 1
                        is_late = True
                late_rows += is_late
            late += [
                LateRows(
                    *(batch, elapsed_s, start, start + self.width, arrival_mark, rows),
                    closed_in=closed_in.get(start),
                )
                for start, rows in sorted(missed_now.items())
                if arrival_mark is not None
            ]
            missed += missed_now
            if times:
                arrivals.append(
                    BatchArrivals(
                        *(batch, elapsed_s, len(times)),
                        tuple(sorted(rng.sample(times, min(self.sample, len(times))))),
                        arrival_mark,
                    )
                )
            history.append(
                MarkPoint(
                    *(batch, elapsed_s, max(newest.values(), default=None), mark),
                    tuple(sorted(newest.items())),
                )
            )
            if len(newest) == len(self.sources):
                next_mark = min(newest.values()) - self.delay
                mark = max(mark, next_mark) if mark else next_mark
                for start in counts:
                    if start + self.width <= mark:
                        closed_in.setdefault(start, batch + 1)
        if self.ended:
            last = history[-1]
            over_s = last.elapsed_s + self.batch_s
            history.append(
                replace(last, batch_id=self.batches, elapsed_s=over_s, watermark=END)
            )
            for start in counts:
                closed_in.setdefault(start, self.batches)
        shown = history[-1].watermark
        # As a run finds them: batch by batch.
        found, idle_s = IdleSources(), {}
        for point in history:
            idle_s = dict(found.advance(point.elapsed_s, dict(point.sources)))
        closed = {s for s in counts if shown and s + self.width <= shown}
        windows = tuple(
            WindowBar(
                *(start, start + self.width, counts[start] - missed[start]),
                missed[start],
                WindowState.CLOSED if start in closed else WindowState.OPEN,
                closed_in.get(start) if start in closed else None,
            )
            for start in sorted(counts)
        )
        return Snapshot(
            name="departures_by_hour",
            handle="departures_by_hour",
            state=RunState.FINISHED if self.ended else RunState.RUNNING,
            note="the sources have ended" if self.ended else "",
            elapsed_s=history[-1].elapsed_s if history else 0.0,
            rows_in=read.total(),
            rows_out=len(closed),
            rows_per_s=self.rows / self.batch_s,
            late_rows=late_rows,
            batch_id=history[-1].batch_id if history else None,
            batch_ms=180.0,
            watermark=shown if history else None,
            max_event_time=max(newest.values(), default=None),
            windowed=True,
            window_text=f"tumble {self.width}" if slide == self.width else "hop",
            windows=windows,
            history=tuple(history),
            sources=tuple(
                SourceProgress(
                    *(name, read[name], newest.get(name), self.delay),
                    bounded=True,
                    ended=self.ended,
                    idle_s=idle_s.get(name, 0.0),
                )
                for name in self.sources
            ),
            columns=("window", "n"),
            numeric=(False, True),
            rows=tuple(
                ({"start": bar.start, "end": bar.end}, bar.rows)
                for bar in reversed(windows)
                if bar.state is WindowState.CLOSED
            )[:20],
            rows_kept=len(closed),
            can_pause=True,
            arrivals=tuple(arrivals[-self.kept :]),
            late=tuple(late[-200:]),
            lateness=lateness(behind, late_rows, self.delay, self.slide or self.width),
        )


def starts(event: datetime, width: timedelta, slide: timedelta) -> list[datetime]:
    """The starts of the windows of an event."""
    origin = datetime(1970, 1, 1)
    last = event - (event - origin) % slide
    return [last - i * slide for i in range(width // slide)]


def lateness(
    behind: list[timedelta], late_rows: int, delay: timedelta, pane: timedelta
) -> Lateness | None:
    """The lateness of rows, in the bins of :data:`EDGES`."""
    if not behind:
        return None
    ordered = sorted(behind)
    bins = tuple(
        LatenessBin(low, high, sum(low <= each < high for each in ordered))
        for low, high in pairwise(EDGES)
    )
    last = max(i for i, each in enumerate(bins) if each.rows)

    def share(part: float) -> timedelta:
        return ordered[min(int(len(ordered) * part), len(ordered) - 1)]

    return Lateness(
        *(len(ordered), late_rows, bins[: last + 1]),
        *(share(0.5), share(0.99), ordered[-1]),
        *(share(0.99), share(0.999), ordered[-1], delay, pane),
    )


TIMES = {
    "tumble": Stream(),
    "hop": Stream(slide=30 * MINUTE),
    "one window": Stream(batches=5, delay=2 * MINUTE, disorder=MINUTE),
    "class": Stream(rows=1, batches=8, pace=12 * MINUTE, disorder=35 * MINUTE,
                    delay=10 * MINUTE, width=30 * MINUTE, seed=43),
    "50 windows": Stream(batches=120, pace=25 * MINUTE, disorder=20 * MINUTE),
    "500 windows": Stream(batches=300, width=10 * SECOND, pace=17 * SECOND,
                          delay=20 * SECOND, disorder=8 * SECOND),
    "seconds": Stream(width=SECOND, pace=SECOND / 3, delay=SECOND, batches=30,
                      disorder=SECOND / 2),
    "days": Stream(width=DAY, pace=3 * HOUR, delay=6 * HOUR, disorder=5 * HOUR),
    "40,000 rows": Stream(rows=1_000, batches=40, sample=200),
    "one batch": Stream(batches=1),
    "end of input": Stream(ended=True),
    "three sources": Stream(sources=("flights", "arrivals_of_the_other_airport",
                                     "weather"), idle=("weather",), rows=60),
    "long names": Stream(sources=("a_source_with_a_name_" * 6, "b_" * 60), batches=30),
    "rows of the newest batches": Stream(batches=200, kept=60),
}  # fmt: skip
"""Streams of all kinds, by name."""


def failed(snapshot: Snapshot) -> Snapshot:
    """The same of a run that failed."""
    return replace(
        snapshot, state=RunState.FAILED, error="expected BIGINT for 'delay' in line 7"
    )
