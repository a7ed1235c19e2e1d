"""What the doctor knows of a run: values, and counts that are made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from arroyo_nb.run.observe.query_facts import Condition
from arroyo_nb.run.observe.snapshot import (
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
    before_end,
)

JOINED = "in the JOIN"
"""Where a condition stands that compares both sides of a JOIN."""


@dataclass(frozen=True)
class ConditionCount:
    """For how many of a filter's input rows one condition is true, and for how many it
    is NULL. ``values`` are some values of its ``column``, as text; ``near`` is the one
    that the condition may mean."""

    condition: Condition
    passed: int
    nulls: int = 0
    column: str = ""
    values: tuple[str, ...] = ()
    near: str = ""


@dataclass(frozen=True)
class FilterCount:
    """Rows in and out of one filter, and of each of its conditions alone. ``stands`` is
    where it stands: ``in WHERE``, ``in HAVING``, ``in ON``, ``in the JOIN``; ``behind
    the window`` and ``behind GROUP BY`` where its clause is not known. ``of_windows``
    says that its rows are those of windows, late rows counted."""

    rows_in: int
    rows_out: int
    conditions: tuple[ConditionCount, ...]
    stands: str = "in WHERE"
    output: str = ""
    of_windows: bool = False


@dataclass(frozen=True)
class SideSample:
    """One side of a join: what it is called, its rows, those of them whose key is not
    NULL, and some keys as text. ``dropped`` says that what stands below the join, and
    is counted too, has dropped all rows of the side."""

    name: str
    rows: int
    keyed: int
    keys: tuple[str, ...] = ()
    dropped: bool = False


@dataclass(frozen=True)
class KeyMatch:
    """The keys of both sides of a join: ``shared`` are in both. ``windowed`` says that
    the window is among what must be equal, and ``shared_windows`` is how many keys both
    sides have in the same window. Where that is none, ``same_windows`` is how many
    windows both sides have, whatever the key. ``other_window`` says that ON compares
    different parts of both windows, as the start of one with the end of the other."""

    text: str
    line: int | None
    left: SideSample
    right: SideSample
    shared: int
    windowed: bool = False
    shared_windows: int = 0
    same_windows: int = 0
    other_window: bool = False

    @property
    def wants_other_window(self) -> bool:
        """Whether ON is true of no rows that are in the same window."""
        apart = self.windowed and not self.shared_windows
        return apart and self.other_window and bool(self.same_windows)


@dataclass(frozen=True)
class LookupCount:
    """How many rows asked a lookup table, and how many found something; ``keys`` are
    some that did not."""

    table: str
    rows: int
    found: int
    inner: bool
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListCount:
    """Rows into and out of an ``unnest``: a row for each element of a list."""

    text: str
    rows_in: int
    rows_out: int


@dataclass(frozen=True)
class TimeSpread:
    """The event times of a source's rows, naive UTC: nine of ten are not after
    ``most_until``."""

    source: str
    rows: int
    nulls: int
    first: datetime | None
    most_until: datetime | None
    last: datetime | None


@dataclass(frozen=True)
class Probed:
    """What was counted in rows that were read again; what could not be is not there."""

    filters: tuple[FilterCount, ...] = ()
    matches: tuple[KeyMatch, ...] = ()
    lookups: tuple[LookupCount, ...] = ()
    lists: tuple[ListCount, ...] = ()
    times: tuple[TimeSpread, ...] = ()
    looked_at: str = ""

    @property
    def has_cause(self) -> bool:
        """Whether a part of the query kept no row of those that came to it."""
        apart = (
            (m.left.rows or m.right.rows)
            and not (m.shared_windows if m.windowed else m.shared)
            for m in self.matches
        )
        return (
            any(f.rows_in and not f.rows_out for f in self.filters)
            or any(c.rows_in and not c.rows_out for c in self.lists)
            or any(looked.rows and not looked.found for looked in self.lookups)
            or any(apart)
        )


NOT_PROBED = Probed()


@dataclass(frozen=True)
class Examination:
    """One run at one moment.

    Parameters
    ----------
    snapshot
        Its picture.
    probe
        Reads rows again and counts; is asked once, when a check needs it.
    now
        The time of day, naive UTC; None: it is not looked at.
    """

    snapshot: Snapshot
    probe: Callable[[], Probed] = lambda: NOT_PROBED
    now: datetime | None = None

    @cached_property
    def probed(self) -> Probed:
        """What was counted in rows that were read again."""
        wanted = self.has_rows or (self.gave_rows and self.snapshot.facts.lookups)
        return self.probe() if wanted else NOT_PROBED

    @property
    def looked_at(self) -> str:
        """Which rows were read again, in a sentence; empty where none were."""
        return self.probed.looked_at

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.snapshot.state.ended

    @property
    def has_rows(self) -> bool:
        """Whether rows came in and none came out: what most checks ask."""
        s = self.snapshot
        failed = s.state in (RunState.FAILED, RunState.STARTING)
        usable = s.rows_in and self.all_bad is None
        return bool(usable) and not self.gave_rows and not failed

    @property
    def all_bad(self) -> SourceProgress | None:
        """A source whose records were all left out as bad data."""
        if self.gave_rows or self.snapshot.windows:
            return None
        return next((s for s in self.streams if s.dropped_rows and _is_bad(s)), None)

    @property
    def gave_rows(self) -> bool:
        """Whether the output that is examined has given rows."""
        outputs = self.snapshot.output_counts
        return bool(outputs[0].rows_out if outputs else self.snapshot.rows_out)

    @property
    def streams(self) -> tuple[SourceProgress, ...]:
        """The sources that have rows with times: not those that are looked up."""
        return tuple(s for s in self.snapshot.sources if not s.looked_up)

    @property
    def watermark(self) -> datetime | None:
        """The watermark; None before the first, and at the end of all sources."""
        return before_end(self.snapshot.watermark)

    @property
    def at_end(self) -> bool:
        """Whether the watermark is the end of all sources."""
        return self.snapshot.watermark is not None and self.watermark is None

    @cached_property
    def filled(self) -> tuple[WindowBar, ...]:
        """The windows that rows were put into in time, the first to end first."""
        bars = (bar for bar in self.snapshot.windows if bar.rows)
        return tuple(sorted(bars, key=lambda bar: bar.end))

    @cached_property
    def closed(self) -> tuple[WindowBar, ...]:
        """Those of them that have closed."""
        return tuple(b for b in self.filled if b.state is WindowState.CLOSED)

    @property
    def first_end(self) -> datetime | None:
        """The end of the first window that is open and has rows, where none has closed
        before it."""
        if self.closed or self.snapshot.closed_sessions or not self.filled:
            return None
        return self.filled[0].end

    @property
    def open_windows(self) -> int:
        """How many windows, or sessions, are open and have rows."""
        s = self.snapshot
        if s.density and s.open_sessions is not None:
            return s.open_sessions
        return sum(bar.state is WindowState.OPEN for bar in self.filled)

    def newest(self, source: SourceProgress) -> datetime | None:
        """The newest event time of a source, as far as it is known."""
        if (known := before_end(source.max_event_time)) is not None:
            return known
        if len(self.streams) == 1:
            return before_end(self.snapshot.max_event_time)
        spreads = (t.last for t in self.probed.times if t.source == source.name)
        return next(spreads, None)

    def mark(self, source: SourceProgress) -> datetime | None:
        """Where the watermark would stand if there were only this source."""
        newest = self.newest(source)
        if newest is None or source.delay is None or source.ended:
            return None
        return newest - source.delay

    @property
    def span(self) -> timedelta | None:
        """From the oldest event time to the newest, as far as it is known."""
        newest = before_end(self.snapshot.max_event_time)
        firsts = [t.first for t in self.probed.times if t.first is not None]
        oldest = min(firsts, default=None)
        if oldest is None and self.filled and not self.snapshot.sessions:
            # A window may begin before its first row: at most so long ago.
            oldest = self.filled[0].start
        return None if newest is None or oldest is None else newest - oldest


def is_of_time(source: SourceProgress) -> bool:
    """Whether the bad rows of a source are those whose event time cannot be used."""
    words = ("event time", "windows cannot be")
    return bool(source.bad) and all(any(w in b for w in words) for b in source.bad)


def _is_bad(source: SourceProgress) -> bool:
    """Whether no good record came. Among the rows of a topic are its bad records, and
    among those of a tape the ones whose event time Spark has computed."""
    if source.partitions or is_of_time(source):
        return source.rows <= source.dropped_rows
    return not source.rows
