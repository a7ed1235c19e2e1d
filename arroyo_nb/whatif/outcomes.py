"""What came of one delay: rows kept and lost, and how long each window took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from arroyo_nb.run.observe.snapshot import WindowState, before_end, naive
from arroyo_nb.run.sources.reader import OffsetRanges
from arroyo_nb.schema import EPOCH, MICROSECOND

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.observe.trace import Trace, TracedBatch

_START = EPOCH.replace(tzinfo=None)


@dataclass(frozen=True)
class WindowOutcome:
    """A window that was emitted, all keys together; of sessions with a key a stretch of
    time with the sessions of all keys.

    Parameters
    ----------
    start, end
        Naive UTC.
    rows, late_rows
        Those that were put into it, and those that it missed.
    event_latency
        How far the newest event was past its end when it was emitted; None where the
        end of the tape closed it, not the watermark.
    arrival_latency
        How long after its end the newest row had arrived by then, where arrivals were
        recorded; else None.
    """

    start: datetime
    end: datetime
    rows: int
    late_rows: int
    event_latency: timedelta | None
    arrival_latency: timedelta | None


@dataclass(frozen=True)
class DelayOutcome:
    """The query with one delay.

    Parameters
    ----------
    delay
        What its watermarks subtract.
    as_run
        Whether that is the delay of the run itself.
    rows, late_rows
        All rows that came to its windows, and those that missed one.
    windows
        Those that were emitted, by start.
    result_rows
        How many rows its result has.
    differing_rows
        How many of them differ from the result with the largest delay, or are missing.
    is_exact
        Whether ``late_rows`` is exact; else there are at most so many.
    """

    delay: timedelta
    as_run: bool
    rows: int
    late_rows: int
    windows: tuple[WindowOutcome, ...]
    result_rows: int
    differing_rows: int
    is_exact: bool = True

    @property
    def kept_rows(self) -> int:
        """Rows that missed no window."""
        return self.rows - self.late_rows

    @property
    def late_share(self) -> float:
        """Which part of the rows was lost, from 0 to 1."""
        return self.late_rows / self.rows if self.rows else 0.0

    @property
    def event_latencies(self) -> tuple[timedelta, ...]:
        """Those of the windows that the watermark closed, ascending."""
        found = (w.event_latency for w in self.windows)
        return tuple(sorted(each for each in found if each is not None))

    @property
    def arrival_latencies(self) -> tuple[timedelta, ...]:
        """The same by arrival, where it is known."""
        found = (w.arrival_latency for w in self.windows)
        return tuple(sorted(each for each in found if each is not None))

    @property
    def closed_at_end(self) -> int:
        """Windows that only the end of the tape closed."""
        return sum(window.event_latency is None for window in self.windows)


def percentile(ascending: Sequence[timedelta], percent: int) -> timedelta | None:
    """The least value that so many of 100 values do not exceed; None without any.

    >>> str(percentile([timedelta(1), timedelta(2), timedelta(9)], 50))
    '2 days, 0:00:00'
    """
    if not ascending:
        return None
    return ascending[max(math.ceil(len(ascending) * percent / 100), 1) - 1]


ArrivalTimes = Mapping[str, Sequence[int | None]]
"""By the key of a source: when the newest row of each chunk arrived (see
:meth:`arroyo_nb.whatif.pinned_tape.PinnedTape.arrivals_us`)."""


def window_outcomes(trace: Trace, arrivals: ArrivalTimes) -> tuple[WindowOutcome, ...]:
    """The windows of a trace that were emitted, by start.

    Parameters
    ----------
    trace
        Of a query that has read everything.
    arrivals
        Of the sources whose rows tell when they arrived.
    """
    batches = {batch.batch_id: batch for batch in trace.batches}
    found = []
    for bar in trace.windows():
        if bar.state is not WindowState.CLOSED or not bar.rows:
            continue
        batch = batches.get(bar.closed_in) if bar.closed_in is not None else None
        event, arrival = _latencies(bar.end, batch, arrivals)
        found.append(
            WindowOutcome(bar.start, bar.end, bar.rows, bar.late_rows, event, arrival)
        )
    return tuple(found)


def distinct_windows(windows: Iterable[WindowOutcome]) -> tuple[WindowOutcome, ...]:
    """One outcome for each window, by start: both sides of a join have the same one.
    Rows are those of all sides, and its latencies those of the last one."""
    by_edges: dict[tuple[datetime, datetime], WindowOutcome] = {}
    for window in windows:
        edges = (window.start, window.end)
        other = by_edges.get(edges)
        by_edges[edges] = window if other is None else _together(other, window)
    return tuple(by_edges[edges] for edges in sorted(by_edges))


def _together(one: WindowOutcome, other: WindowOutcome) -> WindowOutcome:
    return replace(
        one,
        rows=one.rows + other.rows,
        late_rows=one.late_rows + other.late_rows,
        event_latency=_longest(one.event_latency, other.event_latency),
        arrival_latency=_longest(one.arrival_latency, other.arrival_latency),
    )


def _longest(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _latencies(
    end: datetime, batch: TracedBatch | None, arrivals: ArrivalTimes
) -> tuple[timedelta | None, timedelta | None]:
    if batch is None or before_end(batch.watermark) is None:
        return None, None
    newest, arrived = naive(batch.max_event_time), _arrived(batch.stretches, arrivals)
    event = None if newest is None else max(newest - end, timedelta(0))
    return event, None if arrived is None else arrived - end


def _arrived(read: OffsetRanges, arrivals: ArrivalTimes) -> datetime | None:
    """When the newest row had arrived that was read by then; naive UTC."""
    found = []
    for key, (_, after) in read.items():
        chunks = arrivals.get(key, ())
        if isinstance(after, int) and 0 < after <= len(chunks):
            found.append(chunks[after - 1])
    known = [us for us in found if us is not None]
    return _START + max(known) * MICROSECOND if known else None


class WhatIfViews(Protocol):
    """How outcomes are shown: views are above this, and are handed in."""

    def text(self, found: WhatIf) -> str:
        """The table as text."""

    def html(self, found: WhatIf) -> str:
        """The table and a picture, without a script."""

    def plot(self, found: WhatIf) -> Any:
        """A chart of rows lost against latency added."""


@dataclass(frozen=True)
class WhatIf:
    """One query with several delays, over the same micro-batches.

    Parameters
    ----------
    name
        Of the run.
    outcomes
        By delay, ascending.
    batches
        How many micro-batches there were.
    notes
        What a reader must know, each in a sentence.
    views
        How it is shown.
    has_stretches
        Whether the windows of its outcomes are stretches of time with the sessions of
        all keys.

    Examples
    --------
    ::

        found = session.whatif("by_hour", delays=["1s", "30m", "2h"])
        found.table().to_pandas()
        found.plot()
    """

    name: str
    outcomes: tuple[DelayOutcome, ...]
    batches: int
    notes: tuple[str, ...]
    views: WhatIfViews
    has_stretches: bool = False

    def __repr__(self) -> str:
        return self.views.text(self)

    def _repr_html_(self) -> str:
        return self.views.html(self)

    def plot(self) -> Any:
        """A chart of altair: rows lost and the latency of windows, by delay."""
        return self.views.plot(self)

    def table(self) -> pa.Table:
        """A row for each delay, ascending.

        ``kept`` and ``late`` are rows, ``late_share`` is from 0 to 1. ``windows`` were
        emitted, ``closed_at_end`` of them only by the end of the tape; the latencies
        are those of the others. Of sessions with a key ``windows`` counts stretches of
        time with the sessions of all keys. ``differing_rows`` of the result are not as
        with the largest delay.
        """
        import pyarrow as pa

        length, number = pa.duration("us"), pa.int64()
        found = self.outcomes

        def lengths(percent: int, *, arrival: bool = False) -> pa.Array:
            of = (o.arrival_latencies if arrival else o.event_latencies for o in found)
            return pa.array([percentile(each, percent) for each in of], length)

        return pa.table(
            {
                "delay": pa.array([o.delay for o in found], length),
                "as_run": pa.array([o.as_run for o in found], pa.bool_()),
                "rows": pa.array([o.rows for o in found], number),
                "kept": pa.array([o.kept_rows for o in found], number),
                "late": pa.array([o.late_rows for o in found], number),
                "late_share": pa.array([o.late_share for o in found], pa.float64()),
                "windows": pa.array([len(o.windows) for o in found], number),
                "closed_at_end": pa.array([o.closed_at_end for o in found], number),
                "latency_p50": lengths(50),
                "latency_p99": lengths(99),
                "latency_max": lengths(100),
                "arrival_latency_p50": lengths(50, arrival=True),
                "arrival_latency_max": lengths(100, arrival=True),
                "result_rows": pa.array([o.result_rows for o in found], number),
                "differing_rows": pa.array([o.differing_rows for o in found], number),
                "same_result": pa.array(
                    [o.differing_rows == 0 for o in found], pa.bool_()
                ),
            }
        )

    def windows(self) -> pa.Table:
        """A row for each delay and emitted window: its rows, and its latencies. Rows of
        both sides of a join are counted in one window."""
        import pyarrow as pa

        length, time, number = pa.duration("us"), pa.timestamp("us"), pa.int64()
        rows = [(o.delay, window) for o in self.outcomes for window in o.windows]
        return pa.table(
            {
                "delay": pa.array([delay for delay, _ in rows], length),
                "start": pa.array([w.start for _, w in rows], time),
                "end": pa.array([w.end for _, w in rows], time),
                "rows": pa.array([w.rows for _, w in rows], number),
                "late_rows": pa.array([w.late_rows for _, w in rows], number),
                "latency": pa.array([w.event_latency for _, w in rows], length),
                "arrival_latency": pa.array(
                    [w.arrival_latency for _, w in rows], length
                ),
            }
        )
