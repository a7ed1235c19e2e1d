"""One picture of a run, as plain values: what every view draws and nothing else.

A snapshot is made under the run's lock and never changes; views never touch Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arroyo_nb.run.observe.lateness import Lateness

from arroyo_nb.run.observe.idle_sources import IdlePeriod
from arroyo_nb.run.observe.query_facts import NO_FACTS, QueryFacts
from arroyo_nb.run.observe.sampled_rows import SampledRow

LAST_YEAR = 9990
"""A watermark from this year on is the end of a bounded stream, not a time."""


class RunState(Enum):
    """starting -> running -> finished | stopped | failed."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self in (RunState.FINISHED, RunState.STOPPED, RunState.FAILED)


class WindowState(Enum):
    """open: may change; closed: the watermark has passed its end, its row is final.

    Both change in the same micro-batch: its watermark closes windows and emits their
    rows, so there is nothing in between.
    """

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class WindowBar:
    """One window on the event-time axis, all keys together.

    ``rows`` counts the rows that were put into it, ``late_rows`` those that came
    after it had closed; ``closed_in`` is the batch that closed it. ``seams`` are where
    sessions that were apart became this one. ``late_only`` is no window: from
    ``start`` to ``end`` lie rows that came too late for any session.
    """

    start: datetime
    end: datetime
    rows: int
    late_rows: int
    state: WindowState
    closed_in: int | None = None
    seams: tuple[datetime, ...] = ()
    late_only: bool = False


@dataclass(frozen=True)
class PartitionProgress:
    """One partition of a topic: the ``offset`` of the next record that is read, and the
    ``end`` of the partition, or of what a run reads of it that has an end. An ``idle``
    one got no record for a while; Spark's watermark, unlike Arroyo's, does not wait for
    it."""

    number: int
    offset: int
    end: int
    idle: bool = False

    @property
    def lag(self) -> int:
        """How many records are still to be read; offsets without a record count."""
        return self.end - self.offset


@dataclass(frozen=True)
class LateShare:
    """How many of the ``rows`` that came into windows missed one.

    They are those of a source, or of one ``partition`` of it.
    """

    partition: int | None
    rows: int
    late_rows: int


@dataclass(frozen=True)
class SourceProgress:
    """One source of the run: rows so far, newest event time, pace, and the ``delay``
    that its watermark allows, None where an expression says it row by row.

    What is odd in its rows ``notes`` say, each in a sentence. One that is ``looked_up``
    has no time; where it is asked by key, its rows are not known, and ``dropped_rows``
    counts those of the stream that met a bad record. ``dropped_before`` says how many
    of the dropped rows an earlier run on the same folder counted. ``late_shares`` says
    how many of its rows came too late for a window: of all of it, then of each
    partition; nothing where none came into windows. ``ends_known`` is false until the
    broker has said where the partitions of a topic end. ``unknown_records``
    counts those with fields that its schema does not know, where its format tells. Only
    a topic has ``partitions``, ``rows_per_s``; it and a feed have seconds for which the
    server has been ``away``, a feed with the reason. A feed was connected again
    ``gaps`` times without going on where it had been, and ``lost_messages`` came faster
    than they were read. ``rows`` and ``max_event_time`` are of what the output has
    read. ``older_records`` is what to write to read a topic's records of before the
    run, where it does not. ``unread`` says of a tape that it has rows which the output
    has not read yet. ``due_s`` is in how many seconds the next rows of one that is
    played at a speed are due; 0: they are, or nobody knows. ``idle_s`` says for how
    many seconds its newest event time had not gone on, while another's had, at the
    newest micro-batch; 0: it was not idle. ``idle_partitions`` are those of a topic
    that got no record for a while.
    """

    name: str
    rows: int
    max_event_time: datetime | None
    delay: timedelta | None
    bounded: bool
    ended: bool = False
    paused: bool = False
    dropped_rows: int = 0
    bad: tuple[str, ...] = ()
    unknown_records: int = 0
    notes: tuple[str, ...] = ()
    looked_up: bool = False
    partitions: tuple[PartitionProgress, ...] = ()
    rows_per_s: float = 0.0
    is_feed: bool = False
    away_s: float = 0.0
    away_why: str = ""
    gaps: int = 0
    lost_messages: int = 0
    older_records: str = ""
    unread: bool = False
    due_s: float = 0.0
    idle_s: float = 0.0
    idle_partitions: tuple[int, ...] = ()
    dropped_before: int = 0
    late_shares: tuple[LateShare, ...] = ()
    ends_known: bool = True

    @property
    def waiting(self) -> bool:
        """Whether it has rows that the output has not read yet."""
        return self.unread or self.lag > 0

    @property
    def lag(self) -> int:
        """How many records of all partitions are still to be read."""
        return sum(partition.lag for partition in self.partitions)


@dataclass(frozen=True)
class MarkPoint:
    """Where event time stood after one batch: arrival side and watermark side.

    ``sources`` has the newest event time of each source so far, by its name.
    """

    batch_id: int
    elapsed_s: float
    max_event_time: datetime | None
    watermark: datetime | None
    sources: tuple[tuple[str, datetime], ...] = ()


@dataclass(frozen=True)
class SourceArrivals:
    """How many ``rows`` a micro-batch has read of a table, and how many of them are
    ``drawn``: in the sample."""

    name: str
    rows: int
    drawn: int


@dataclass(frozen=True)
class BatchArrivals:
    """Some of the rows that a micro-batch put into windows; without a window, that it
    has read.

    ``times`` are event times of a sample, evenly drawn: all of them where ``rows`` are
    as many. ``late_before`` is the watermark at their arrival: a row is late where a
    window of its ended at or before it; without a window none is, but a row may be
    behind the watermark. ``sources`` say how many of the rows are of which table, in
    the order of ``times``; none where the rows came into windows. ``lines`` have the
    values of the rows, in that order too; none where they are not known.
    """

    batch_id: int
    elapsed_s: float
    rows: int
    times: tuple[datetime, ...]
    late_before: datetime | None
    sources: tuple[SourceArrivals, ...] = ()
    lines: tuple[str, ...] = ()

    @cached_property
    def sample(self) -> tuple[SampledRow, ...]:
        """The rows whose ``times`` these are."""
        # Each frame of a panel asks for it again, and most batches are those of before.
        lines = self.lines or ("",) * len(self.times)
        return tuple(map(SampledRow, self.times, lines))

    @property
    def has_window(self) -> bool:
        """Whether the rows came into windows, which they may miss."""
        return not self.sources

    def is_behind(self, moment: datetime) -> bool:
        """Whether an event time is before the watermark at the arrival."""
        return self.late_before is not None and moment < self.late_before

    def source_of(self, place: int) -> str:
        """The table of the row whose time is at a place of ``times``; empty where
        that is not known."""
        for source in self.sources:
            if place < source.drawn:
                return source.name
            place -= source.drawn
        return ""


@dataclass(frozen=True)
class LateRows:
    """Rows that came in one micro-batch for one window that had closed before.

    ``start`` and ``end`` are the window's, ``watermark`` is the one at their arrival,
    which had passed ``end``, and ``closed_in`` is the batch that closed the window.
    ``elapsed_s`` says when they came. A late row belongs to no session, whichever are
    open: it is late by its own event time, as soon as the watermark has reached that
    time plus the ``gap`` of the sessions. ``start`` to ``end`` is then where the event
    times of the rows lie, and no batch has closed anything.
    """

    batch_id: int
    elapsed_s: float
    start: datetime
    end: datetime
    watermark: datetime
    rows: int
    closed_in: int | None = None
    gap: timedelta | None = None

    @property
    def closed_for(self) -> timedelta:
        """How far the watermark was past the window's end; of sessions past the oldest
        row's event time and the gap."""
        return self.watermark - (self.start + self.gap if self.gap else self.end)


@dataclass(frozen=True)
class Change:
    """A row that came (``c``), changed (``u``) or was taken back (``d``) in a batch.

    ``key`` numbers the row that it speaks of: changes of one row have the same number,
    0 where rows have none, as those of an output that only appends.
    """

    op: str
    batch_id: int
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None
    key: int = 0


@dataclass(frozen=True)
class KeyHistory:
    """What happened to one row of an updating result, as far as its changes are kept.

    ``changes`` counts them, the one by which it came too, where that is among them
    (``is_created``). ``numbers`` are the values that its first number column that
    changes (``column``) had, oldest first, None where it was NULL or the row was not
    there; the newest sixty at most. ``before`` is the row before its newest change,
    None where there was none. ``batch_id`` is that of the newest change.
    """

    key: int
    changes: int
    batch_id: int
    column: str = ""
    numbers: tuple[float | None, ...] = ()
    before: tuple[Any, ...] | None = None
    is_created: bool = False

    @property
    def updates(self) -> int:
        """How often it changed after it had come."""
        return self.changes - self.is_created


@dataclass(frozen=True)
class PlanStep:
    """One operator of the streaming plan.

    ``inputs`` are the numbers of the steps that it reads. ``badge`` says how it
    compares with Arroyo: ``exact``, ``micro-batch`` or ``differs``, and ``note`` in
    which way. Counts are None where they are not known: ``rows`` that it has put out so
    far (of a source: read), ``rows_per_s``, ``state_rows`` and ``state_bytes`` of what
    it keeps. ``line`` is where its clause begins in the script, from 1; 0: nowhere in
    it. ``sql`` is what stands in that line, ``table`` what a source reads.
    """

    number: int
    text: str
    kind: str
    inputs: tuple[int, ...] = ()
    badge: str = "exact"
    note: str = ""
    line: int = 0
    sql: str = ""
    table: str = ""
    rows: int | None = None
    rows_per_s: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None


@dataclass(frozen=True)
class Arrival:
    """A row that has just come in its micro-batch.

    It is ``number`` of the ``drawn`` ones of the batch's ``rows``. ``time`` is its
    event time, ``watermark`` the one at its arrival, ``source`` its table where the
    query has no window, ``values`` are its key and first values, as
    text. ``late``: a window that
    it belongs to had closed.
    """

    number: int
    drawn: int
    rows: int
    time: datetime
    watermark: datetime | None = None
    source: str = ""
    late: bool = False
    values: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """Which micro-batch of a run's trace a snapshot shows.

    ``first`` to ``last`` are those that can be shown. ``is_newest``: it follows the
    run. ``speed`` is that of playing, 0: it stands still. ``arrival`` is the row of the
    batch up to which rows have come; None: all have.
    """

    batch_id: int
    first: int
    last: int
    is_newest: bool = True
    speed: float = 0.0
    arrival: Arrival | None = None


@dataclass(frozen=True)
class Selection:
    """What was clicked: a window, by its ``start`` and ``end``, a ``key``, or a
    ``step`` of the plan. The views show what belongs to it."""

    start: datetime | None = None
    end: datetime | None = None
    key: int | None = None
    step: int | None = None

    def has_time(self, moment: datetime) -> bool:
        """Whether an event time lies in the selected window."""
        return bool(self.start and self.end and self.start <= moment < self.end)


@dataclass(frozen=True)
class SelectionCounts:
    """How many of the rows and changes that were looked at belong to what is selected,
    and how many do not."""

    rows: int = 0
    other_rows: int = 0
    changes: int = 0
    other_changes: int = 0


@dataclass(frozen=True)
class OutputProgress:
    """One output of a run: the table of its INSERT or what it is called without one,
    and how many rows (of an updating one: changes) it has given."""

    name: str
    rows_out: int


@dataclass(frozen=True)
class Snapshot:
    """Everything a panel shows of one run at one moment.

    All of it but the state, the times and the sources' health is of one micro-batch,
    ``batch_id``: what had been read with it, the ``watermark`` by which it closed
    windows, and the rows that it and those before it emitted. So a window is closed,
    and its rows are there, if and only if the watermark has passed its end.

    ``columns`` and ``rows`` are the newest result rows (newest first, cells as Python
    values: str, int, float, bool, bytes, datetime (naive, UTC), dict for a struct,
    list, None); ``rows_out`` counts all of them, shown or not. Of an ``updating`` run
    ``rows`` are those of the result that changed last, in the order in which they first
    came, and ``changes`` the newest changes, newest first; ``rows_out``, ``rows_kept``
    and ``rows_cut`` then count changes, and ``result_rows`` the rows of the result
    (None: they cannot be told any more). ``note`` says in one
    line why the run stopped, or what it waits for (engine start-up progress included).
    ``stale`` names tables, views and functions that were declared anew since it began.
    ``windowed`` is false where the query has no window; ``window_text`` is like
    ``tumble 1 hour``. ``sessions`` is true where the windows have no fixed width: each
    of ``windows`` is then a stretch of time with sessions in it, all keys together. Of
    sessions by key ``density`` has the rows by event time: sessions of many keys lie
    over each other, and ``open_sessions`` and ``closed_sessions`` say how many there
    are (None: not known). ``gap`` is that of the sessions: a row whose event time and
    gap the watermark has reached is late.

    What a run keeps is bounded. Of the rows of this output ``rows_kept`` are there and
    ``rows_cut`` are not, which ``cut_text`` explains; ``windows_cut`` closed windows
    are not either; ``order_text`` is what ``rows`` are sorted by, which are then the
    first of the result; ``recorded_to`` is the last batch that can be shown, and whose
    late rows can be found again, once recording has ended. ``exact`` is false where
    rows of neighbouring windows had to be counted together, ``late_exact`` where fewer
    than ``late_rows`` may have been late.

    A row that several results of the run missed is one of its ``late_rows``;
    ``late_results`` says how many results missed any.

    Of a run with several outputs it is the picture of number ``output``, with the
    counts of all; ``outputs`` names them, and ``more_outputs`` counts the others.
    ``output_rows`` are the rows, or changes, that this one gave. ``unwritten`` are the
    tables of its INSERTs where their rows are only previewed. Where rows came and none
    came out, ``hints`` says what the author of the script has probably overlooked.
    ``handle`` is what its user writes for the run, as in ``by_hour.table()``.

    Of its trace it has the newest ``arrivals``, the ``late`` rows by batch and window,
    newest last, and how far rows came behind the newest event (``lateness``, None
    without a window). ``row_keys`` are the keys of ``rows``, in their order, and
    ``histories`` what happened to those rows and to those of ``changes``; both are
    empty where rows have no key.
    ``plan`` are the operators of the output, inputs before those that read them.
    ``moment`` says which micro-batch it shows, None where there is one picture only.
    ``selected`` is what was clicked: ``rows`` and ``changes`` are then those that
    belong to it, and ``selection_counts`` says how many; None: nothing is left out.
    ``find`` is what the table is filtered by: so many of the rows that were looked at
    have it (``found_rows``).
    ``speed`` is how many seconds of event time a second plays, 0 where rows come as
    fast as they can.

    ``silent_s`` says for how many seconds rows have come and none came out, ``facts``
    what the query is made of, ``output_counts`` what each output has given, and
    ``stepping`` that the run was started step by step. ``idle_periods`` say when
    sources became idle and came back, oldest first. ``clock_axis`` says whether the
    reader chose seconds and not micro-batches as processing time; None: that is not
    asked.
    """

    name: str
    state: RunState
    handle: str = "Run"
    note: str = ""
    stale: tuple[str, ...] = ()
    error: str | None = None
    elapsed_s: float = 0.0
    rows_in: int = 0
    rows_out: int = 0
    rows_per_s: float = 0.0
    late_rows: int = 0
    late_results: int = 0
    batch_id: int | None = None
    batch_ms: float | None = None
    watermark: datetime | None = None
    max_event_time: datetime | None = None
    windowed: bool = False
    window_text: str = ""
    sessions: bool = False
    gap: timedelta | None = None
    density: tuple[WindowBar, ...] = ()
    open_sessions: int | None = None
    closed_sessions: int = 0
    windows: tuple[WindowBar, ...] = ()
    history: tuple[MarkPoint, ...] = ()
    sources: tuple[SourceProgress, ...] = ()
    columns: tuple[str, ...] = ()
    numeric: tuple[bool, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = field(default=())
    updating: bool = False
    result_rows: int | None = None
    more_outputs: int = 0
    unwritten: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    changes: tuple[Change, ...] = field(default=())
    rows_kept: int = 0
    rows_cut: int = 0
    cut_text: str = ""
    order_text: str = ""
    windows_cut: int = 0
    recorded_to: int | None = None
    exact: bool = True
    late_exact: bool = True
    can_pause: bool = False
    paused: bool = False
    output: int = 0
    outputs: tuple[str, ...] = ()
    output_rows: int = 0
    arrivals: tuple[BatchArrivals, ...] = ()
    late: tuple[LateRows, ...] = ()
    lateness: Lateness | None = None
    row_keys: tuple[int, ...] = ()
    histories: tuple[KeyHistory, ...] = ()
    plan: tuple[PlanStep, ...] = ()
    moment: Moment | None = None
    selected: Selection | None = None
    selection_counts: SelectionCounts | None = None
    find: str = ""
    found_rows: tuple[int, int] = (0, 0)
    speed: float = 0.0
    stepping: bool = False
    silent_s: float = 0.0
    facts: QueryFacts = NO_FACTS
    output_counts: tuple[OutputProgress, ...] = ()
    idle_periods: tuple[IdlePeriod, ...] = ()
    clock_axis: bool | None = None


def total_lag(sources: Iterable[SourceProgress]) -> int | None:
    """How many records of all topics are still to be read; None: no source is a topic,
    or a broker has not said yet where its topic ends."""
    topics = [source for source in sources if source.partitions]
    if not topics or not all(source.ends_known for source in topics):
        return None
    return sum(source.lag for source in topics)


def before_end(instant: datetime | None) -> datetime | None:
    """The instant; None where it is the end of a bounded stream, which is no time."""
    return None if instant is None or instant.year >= LAST_YEAR else instant


def naive(instant: datetime | None) -> datetime | None:
    """The instant as the dialect writes it: UTC, without a zone."""
    if instant is None:
        return None
    return instant.astimezone(UTC).replace(tzinfo=None)
