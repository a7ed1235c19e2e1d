"""A run made of a scripted sequence of snapshots: a stream of flights by the hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from arroyo_nb.run.observe.idle_sources import IdleSources
from arroyo_nb.run.observe.lateness import Lateness, LatenessBin
from arroyo_nb.run.observe.snapshot import (
    Arrival,
    BatchArrivals,
    Change,
    KeyHistory,
    LateRows,
    MarkPoint,
    Moment,
    PlanStep,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)

START = datetime(2013, 1, 1, 5)
HOUR, DELAY = timedelta(hours=1), timedelta(minutes=30)
BATCH = timedelta(minutes=6)


def picture(step: int) -> Snapshot:
    """The run after ``step`` batches of six minutes of event time each."""
    newest = START + step * timedelta(minutes=6)
    mark = newest - DELAY if step > 5 else None
    bars = tuple(
        _bar(START + i * HOUR, newest, mark)
        for i in range((newest - START) // HOUR + 1)
    )
    closed = [bar for bar in bars if bar.state is WindowState.CLOSED]
    rows = [
        ({"start": b.start, "end": b.end}, origin, b.rows // 3 + n, 9.25 + n)
        for b in reversed(closed)
        for n, origin in enumerate(("EWR", "JFK", "LGA"))
    ]
    late = sum(bar.late_rows for bar in bars)
    return Snapshot(
        name="departures_by_hour",
        state=RunState.RUNNING,
        elapsed_s=step * 0.2,
        rows_in=40 * step,
        rows_out=len(rows),
        rows_per_s=200.0,
        late_rows=late,
        batch_id=step,
        batch_ms=180.0,
        watermark=mark,
        max_event_time=newest,
        windowed=True,
        window_text="tumble 1 h",
        windows=bars,
        history=tuple(_point(i) for i in range(step + 1)),
        sources=(
            SourceProgress(
                "flights",
                40 * step,
                newest,
                DELAY,
                True,
                False,
                False,
                2,
                ("line 7: x",),
            ),
        ),
        columns=("window", "origin", "flights", "mean_delay"),
        numeric=(False, False, True, True),
        rows=tuple(rows[:20]),
        rows_kept=len(rows),
        can_pause=True,
        arrivals=tuple(_arrivals(i) for i in range(max(0, step - 60), step + 1)),
        late=tuple(_late(step)),
        lateness=_lateness(step, late),
    )


def _arrivals(step: int) -> BatchArrivals:
    """Forty rows of the last quarter of an hour; some came when it was over."""
    front, mark = START + step * BATCH, _mark(step)
    times = [front - n * timedelta(seconds=23) for n in range(40)]
    if mark is not None and step % 7 == 0:
        times[-1] = mark - timedelta(minutes=50)
    return BatchArrivals(step, step * 0.2, 40, tuple(times), mark)


def _mark(step: int) -> datetime | None:
    """The watermark by which a batch closed windows."""
    return START + step * BATCH - DELAY if step > 5 else None


def _late(step: int) -> Iterator[LateRows]:
    for batch in range(max(0, step - 60), step + 1):
        mark = _mark(batch)
        if mark is not None and batch % 7 == 0:
            moment = mark - timedelta(minutes=50)
            start = START + (moment - START) // HOUR * HOUR
            if start + HOUR <= mark:
                yield LateRows(batch, batch * 0.2, start, start + HOUR, mark, 1, 3)


def _lateness(step: int, late: int) -> Lateness:
    edges = [0, 60, 300, 900, 1800, 3600, 7200]
    counts = (20, 11, 6, 2, 1, step % 5)
    bins = tuple(
        LatenessBin(timedelta(seconds=low), timedelta(seconds=high), (step + 1) * rows)
        for (low, high), rows in zip(pairwise(edges), counts, strict=True)
    )
    minutes = [timedelta(minutes=n) for n in (1, 28, 75, 28, 62, 75)]
    rows = sum(each.rows for each in bins)
    needed = [(timedelta(minutes=4), 9), (timedelta(minutes=12), 5)]
    needed += [(timedelta(minutes=75), late)] if late else []
    return Lateness(rows, late, bins, *minutes, DELAY, HOUR, tuple(needed))


def sources(step: int) -> Snapshot:
    """The same of three sources, of which one is idle from batch 20 on."""
    made = picture(step)
    names = ("flights", "weather", "a_source_with_a_long_name")

    def at(point: MarkPoint) -> tuple[tuple[str, datetime], ...]:
        front = START + point.batch_id * BATCH
        slow = START + min(point.batch_id, 20) * BATCH
        return tuple(zip(names, (front, slow, front - 2 * BATCH), strict=True))

    def mark(point: MarkPoint) -> datetime | None:
        slowest = min(moment for _, moment in at(point))
        return slowest - DELAY if point.batch_id > 5 else None

    history = tuple(
        replace(point, sources=at(point), watermark=mark(point))
        for point in made.history
    )
    newest = dict(history[-1].sources)
    found, idle_s = IdleSources(), {}
    for point in history:
        idle_s = dict(found.advance(point.elapsed_s, dict(point.sources)))
    (source,) = made.sources
    return replace(
        made,
        history=history,
        sources=tuple(
            replace(
                source,
                name=name,
                max_event_time=newest[name],
                idle_s=idle_s.get(name, 0.0),
            )
            for name in names
        ),
        watermark=history[-1].watermark,
    )


def board(step: int) -> Snapshot:
    """A count by carrier: each batch has a flight of the next one."""
    carriers = ("AA", "B6", "DL", "UA")
    counts = {name: (step + 3 - n) // 4 for n, name in enumerate(carriers)}
    changes = []
    for batch in range(max(0, step - 20), step):
        name, n = carriers[batch % 4], batch // 4 + 1
        before = (name, n - 1) if n > 1 else None
        op, key = "u" if before else "c", 101 + batch % 4
        changes.append(Change(op, batch, before, (name, n), key))
    rows = tuple((name, n) for name, n in counts.items() if n)
    return Snapshot(
        name="flights_by_carrier",
        state=RunState.RUNNING,
        elapsed_s=step * 0.2,
        rows_in=step,
        rows_out=step,
        batch_id=step,
        batch_ms=180.0,
        columns=("carrier", "flights"),
        numeric=(False, True),
        rows=rows,
        rows_kept=step,
        updating=True,
        result_rows=len(rows),
        changes=tuple(reversed(changes)),
        can_pause=True,
        row_keys=tuple(101 + carriers.index(name) for name, _ in rows),
        histories=tuple(_history(name, n, step, carriers) for name, n in rows),
        plan=PLAN,
    )


PLAN = (
    PlanStep(1, "FROM flights (sample)", "source", line=1, sql="FROM flights"),
    PlanStep(
        *(2, "GROUP BY carrier; count(*) AS flights", "aggregate", (1,)),
        *("micro-batch", "changes are sent once a micro-batch", 2, "GROUP BY carrier"),
    ),
    PlanStep(3, "result", "sink", (2,), line=1, sql="SELECT carrier, count(*)"),
)


def _history(name: str, n: int, step: int, carriers: tuple[str, ...]) -> KeyHistory:
    numbers = tuple(float(i) for i in range(max(1, n - 59), n + 1))
    before = (name, n - 1) if n > 1 else None
    newest = 4 * (n - 1) + carriers.index(name)
    key = 101 + carriers.index(name)
    return KeyHistory(key, n, newest, "flights", numbers, before, is_created=True)


OUTPUTS = ("by_hour", "by_carrier")


def both(step: int, output: int = 0) -> Snapshot:
    """A script of two outputs: by the hour, and by carrier."""
    made = board(step) if output else picture(step)
    return replace(
        made,
        name="flights",
        outputs=OUTPUTS,
        output=output,
        output_rows=made.rows_out,
        more_outputs=1,
    )


def _bar(start: datetime, newest: datetime, mark: datetime | None) -> WindowBar:
    end = start + HOUR
    rows = min((newest - start) // timedelta(minutes=6) + 1, 10) * 40
    state = WindowState.CLOSED if mark and end <= mark else WindowState.OPEN
    late = start.hour if state is WindowState.CLOSED and start.hour % 2 else 0
    return WindowBar(start, end, rows, late, state)


def _point(step: int) -> MarkPoint:
    newest = START + step * timedelta(minutes=6)
    return MarkPoint(step, step * 0.2, newest, newest - DELAY if step > 5 else None)


class ScriptedRun:
    """Five batches a second until it is stopped, or all ``steps`` are through.

    Parameters
    ----------
    steps
        How many batches it has.
    picture
        What it shows after a number of them.
    begun
        How many are through when it is first looked at.
    """

    def __init__(
        self,
        steps: int = 100_000,
        picture: Callable[..., Snapshot] = picture,
        begun: int = 0,
    ) -> None:
        self.steps = steps
        self.name = picture(0).name
        self.picture = picture
        self.note = ""
        self.calls: list[str] = []
        self._at, self._since = float(begun), time.monotonic()
        self._paused = self._stopped = False

    def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
        step = min(self._step(), self.steps)
        made = self.picture(step, output) if output else self.picture(step)
        made = replace(made, paused=self._paused)
        if self._stopped:
            return replace(made, state=RunState.STOPPED, note=self.note)
        if self._step() >= self.steps:
            return replace(made, state=RunState.FINISHED, note="the sources have ended")
        return made

    def explain(self) -> str:
        return "plan of a scripted run"

    def stop(self, note: str = "stopped") -> None:
        self._hold("stop")
        self._stopped, self.note = True, note

    def pause(self) -> None:
        self._hold("pause")
        self._paused = True

    def resume(self) -> None:
        self.calls.append("resume")
        self._since, self._paused = time.monotonic(), False

    def step(self, *, until: str | None = None) -> None:
        self._hold("step" if until is None else f"step {until}")
        self._at += 1
        self._paused = True

    def moments(self, output: int = 0) -> ScriptedMoments:
        return ScriptedMoments(self, output)

    def _hold(self, call: str) -> None:
        self.calls.append(call)
        self._at, self._since = float(self._step()), time.monotonic()

    def _step(self) -> int:
        if self._paused or self._stopped:
            return int(self._at)
        return int(self._at + 5 * (time.monotonic() - self._since))


class ScriptedMoments:
    """Every batch that a scripted run has had."""

    def __init__(self, run: ScriptedRun, output: int = 0) -> None:
        self._run, self._output = run, output

    @property
    def times(self) -> list[tuple[int, float]]:
        return [(step, step * 0.2) for step in range(self._run.snapshot().batch_id + 1)]

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        if self._output:
            return self._run.picture(batch_id, self._output)
        return self._run.picture(batch_id)

    def arrivals(self, batch_id: int) -> BatchArrivals | None:
        made = self._run.picture(batch_id)
        came = (batch for batch in made.arrivals if batch.batch_id == batch_id)
        return next(came, None)

    def within(
        self, newest: Snapshot, batch_id: int, taken: int, rows: int
    ) -> Snapshot:
        made = self.snapshot(newest, batch_id, rows)
        *before, came = made.arrivals
        shown = replace(came, times=came.times[:taken], rows=taken)
        row = Arrival(
            taken, len(came.times), came.rows, came.times[taken - 1], came.late_before
        )
        last = self.times[-1][0]
        moment = Moment(batch_id, 0, last, is_newest=False, arrival=row)
        return replace(made, arrivals=(*before, shown), moment=moment)
