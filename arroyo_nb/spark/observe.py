"""Exact counts of what came into a window aggregate, with each micro-batch.

The input of an aggregate is counted while it flows, without a second pass: by a class
of ours, or by Spark's own observation where a session has no such class. What Spark
counts as dropped are groups after pre-aggregation; from these counts and
the watermark that Spark used, the run tells the late *rows* of each window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import gcd
from typing import TYPE_CHECKING, Any, assert_never

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.engine.pane_counts import CountedPanes, PaneCounts, has_pane_counts
from arroyo_nb.plan.nodes import (
    Hop,
    Node,
    SessionWindow,
    Tumble,
    Window,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, quoted
from arroyo_nb.spark.sampled_values import values_in_windows
from arroyo_nb.spark.windows import WINDOW
from arroyo_nb.sql.parse import deep_stack
from arroyo_nb.tape import RecordCounts
from arroyo_nb.tape.fit import COUNTED, SEEN, Fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIT = "fit:"

WRITTEN = "written"
"""Observation of the rows that come to a sink."""

PANES = 2048
"""Most panes of one batch that are counted exactly: a day has 1,440 minutes."""

BINS = 512
"""The same of Spark's histogram, which looks through its bins for each row."""

SESSION_PIECES = 8
"""Pieces of a session's gap that rows are counted by."""


@dataclass(frozen=True)
class Observed:
    """What one micro-batch put into a window aggregate; instants are aware UTC.

    Parameters
    ----------
    rows
        All of them, late ones too.
    max_event_time
        None without rows; of changes that of rows that append.
    pane_rows
        Rows by the start of their pane (see :func:`pane`).
    exact
        False where the batch spread over more than :data:`PANES` panes, or :data:`BINS`
        of Spark's histogram: neighbours are then counted together, where the first of
        them begins, or at the mean of their rows.
    closed_sessions
        How many sessions it closed.
    sessions
        From where to where each of them goes, of a window without a key; None: that is
        not known.
    sample_us
        Event times of some of the rows, evenly drawn, in microseconds since the epoch;
        none where Spark itself observed.
    sample_values
        What is kept of each of them (:mod:`arroyo_nb.spark.sampled_values`); nothing
        where nothing is.
    of_partitions
        ``pane_rows`` by partition, where that is known
        (:class:`arroyo_nb.engine.pane_counts.CountedPanes`).
    """

    rows: int = 0
    max_event_time: datetime | None = None
    pane_rows: Mapping[datetime, int] = field(default_factory=dict)
    exact: bool = True
    closed_sessions: int = 0
    sessions: Sequence[tuple[datetime, datetime]] | None = None
    sample_us: Sequence[int] = ()
    sample_values: Sequence[str] = ()
    of_partitions: Mapping[tuple[int, int], Mapping[datetime, int]] = field(
        default_factory=dict
    )


def numbered_assigners(root: Node) -> Iterator[tuple[WindowAggregate, int]]:
    """The aggregates that put rows into windows, with their numbers, from 0. Equal ones
    put the same rows into the same windows: they have one number, and are observed
    once."""
    found: list[WindowAggregate] = []
    # Views over views are compared deeper than Python's usual limit.
    with deep_stack():
        for node in walk(root):
            if isinstance(node, WindowAggregate) and node.assign is not None:
                if node not in found:
                    found.append(node)
                yield node, found.index(node)


def pane(window: Window) -> timedelta:
    """The piece of event time that lies in the same windows as a whole.

    For a hop the greatest common divisor of slide and width: its slide, where the
    width is a multiple of it. A session has no fixed windows: for it, an eighth of
    the gap stands in, so that what is told of sessions is near by that much.
    """
    match window:
        case Tumble(width):
            return width
        case Hop(slide, width):
            return gcd(slide // MICROSECOND, width // MICROSECOND) * MICROSECOND
        case SessionWindow(gap):
            return max(gap // SESSION_PIECES, MICROSECOND)
        case _:
            assert_never(window)


class WindowInputs:
    """Observes the rows that come into the window aggregates of one query, or those of
    its tables where it has none.

    Parameters
    ----------
    only_late
        Late rows are counted, and nothing else is looked at.
    """

    def __init__(self, *, only_late: bool = False) -> None:
        self.only_late = only_late
        self._counts: dict[str, PaneCounts] = {}

    def observed(
        self, frame: DataFrame, node: WindowAggregate, number: int
    ) -> DataFrame:
        """The rows, observed under the number that :func:`numbered_assigners` gives. Of
        changes those are rows that append."""
        assert node.assign is not None
        width_us = pane(node.assign) // MICROSECOND
        time = _appended_at(node.input)
        if not has_pane_counts(frame.sparkSession):
            return _observed_by_spark(frame, time, width_us, number)
        values = "" if self.only_late else values_in_windows(node)
        return self._counted(frame, time, width_us, _name(number), values)

    def observed_as(
        self, name: str, frame: DataFrame, node: Node, width_us: int, values: str
    ) -> DataFrame:
        """The rows of a node, observed under a name, in panes of a width. Of changes
        those are rows that append. Spark itself draws no sample: where a session has
        no class of ours, nothing is observed.

        Parameters
        ----------
        values
            What is kept of a row of the sample, as Spark SQL.
        """
        if not has_pane_counts(frame.sparkSession):
            return frame
        return self._counted(frame, _appended_at(node), width_us, name, values)

    def _counted(
        self, frame: DataFrame, time: str, width_us: int, name: str, values: str
    ) -> DataFrame:
        counts = PaneCounts(frame.sparkSession, width_us, PANES)
        self._counts[name] = counts
        return counts.counted(frame, time, values)

    def taken(self, batch_id: int) -> dict[str, Any]:
        """What was counted in a batch beside Spark's observations, in their form."""
        found = ((n, counts.take(batch_id)) for n, counts in self._counts.items())
        return {name: _as_told(panes) for name, panes in found if panes is not None}


def _appended_at(node: Node) -> str:
    """The event time of the rows that append, in microseconds, as Spark SQL."""
    time = f"unix_micros({quoted(TIMESTAMP)})"
    return f"IF({WEIGHT} > 0, {time}, NULL)" if is_updating(node) else time


def _observed_by_spark(
    frame: DataFrame, time: str, width_us: int, number: int
) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    start = f"{time} - pmod({time}, {width_us}L)"
    return frame.observe(
        _name(number),
        F.expr(f"max({time})").alias("max_us"),
        # A histogram is exact until it needs one bin more than it has, and bounded.
        F.expr(f"histogram_numeric({start}, {BINS})").alias("panes"),
    )


def _as_told(counted: CountedPanes) -> Mapping[str, Any]:
    panes = [{"x": start, "y": rows} for start, rows in counted.rows.items()]
    exact = counted.together == 1
    return {
        "max_us": counted.newest_us,
        "panes": panes,
        "exact": exact,
        "sample_us": counted.sample,
        "sample_values": counted.told,
        "of_partitions": counted.of_partitions,
    }


def observed_sessions(frame: DataFrame, number: int, *, alone: bool) -> DataFrame:
    """The rows of closed sessions, observed.

    Parameters
    ----------
    frame
        A row for each session, with Spark's window.
    number
        As of :meth:`WindowInputs.observed`.
    alone
        Whether there is no key: such sessions are few, and each is told.
    """
    from pyspark.sql import functions as F  # noqa: N812

    # Bins are values as long as there are fewer than BINS.
    edges = [
        F.expr(
            f"histogram_numeric(unix_micros({quoted(WINDOW)}.`{edge}`), {BINS})"
        ).alias(edge)
        for edge in ("start", "end")
        if alone
    ]
    return frame.observe(_closed(number), F.count(F.lit(1)).alias("rows"), *edges)


def observed_rows(frame: DataFrame) -> DataFrame:
    """The rows that come to a sink, counted as :data:`WRITTEN`."""
    from pyspark.sql import functions as F  # noqa: N812

    return frame.observe(WRITTEN, F.count(F.lit(1)).alias("rows"))


def read_observed(observed: Mapping[str, Any], number: int) -> Observed:
    """What a window aggregate observed in one batch.

    Parameters
    ----------
    observed
        ``observedMetrics`` of Spark's progress JSON, with what :class:`WindowInputs`
        has counted.
    number
        Which aggregate.
    """
    values = observed.get(_name(number))
    ended = observed.get(_closed(number)) or {}
    closed, sessions = ended.get("rows") or 0, _sessions(ended)
    too_many = "start" in ended and sessions is None
    if not values or not values["panes"]:
        return Observed(exact=not too_many, closed_sessions=closed, sessions=sessions)
    # Spark counts in DOUBLEs, and puts the bins of its tasks side by side: a pane that
    # several of them saw comes several times.
    panes: Counter[datetime] = Counter()
    for pane in values["panes"]:
        panes[_instant(pane["x"])] += round(pane["y"])
    return Observed(
        rows=sum(panes.values()),
        max_event_time=_instant(values["max_us"]),
        pane_rows=panes,
        # Of Spark's histogram bins, not panes: no task joins any before it has BINS of
        # them, and there are never fewer after that.
        exact=values.get("exact", len(values["panes"]) < BINS) and not too_many,
        closed_sessions=closed,
        sessions=sessions,
        sample_us=values.get("sample_us", ()),
        sample_values=values.get("sample_values", ()),
        of_partitions={
            place: {_instant(start): rows for start, rows in panes.items()}
            for place, panes in values.get("of_partitions", {}).items()
        },
    )


def _sessions(ended: Mapping[str, Any]) -> Sequence[tuple[datetime, datetime]] | None:
    """From where to where each closed session goes; without a key the first one to
    begin is the first one to end."""
    if "start" not in ended:
        return None
    starts, ends = (
        sorted(int(found["x"]) for found in ended[edge] or ())
        for edge in ("start", "end")
    )
    if len(starts) >= BINS or len(starts) != len(ends):
        return None
    # Spark's session ends a microsecond before the gap does.
    pairs = zip(starts, ends, strict=True)
    return tuple((_instant(first), _instant(last + 1)) for first, last in pairs)


def observed_fit(frame: DataFrame, table: str, number: int) -> DataFrame:
    """The rows of a topic, what their columns had observed, and what was counted of
    their records (:mod:`arroyo_nb.tape.fit`)."""
    from pyspark.sql import functions as F  # noqa: N812

    measures = {"rows": f"count({SEEN})", "seen": f"bit_or({SEEN})"}
    for column, count in COUNTED.items():
        if column in frame.columns:
            measures[count] = f"sum({column})"
    columns = (F.expr(measure).alias(name) for name, measure in measures.items())
    return frame.observe(f"{_FIT}{number}:{table}", *columns)


def read_fits(observed: Mapping[str, Any]) -> Iterator[tuple[str, Fit]]:
    """What the columns of each topic's rows had in one batch, by the table's name.

    Parameters
    ----------
    observed
        As of :func:`read_observed`.
    """
    for name, values in observed.items():
        if not name.startswith(_FIT):
            continue
        # Spark has no number where there was no row to look at.
        counts = RecordCounts(*(values.get(key) or 0 for key in COUNTED.values()))
        fit = Fit(values.get("rows") or 0, values.get("seen") or 0, counts)
        if fit != Fit():
            _, _, table = name.removeprefix(_FIT).partition(":")
            yield table, fit


def _name(number: int) -> str:
    return f"window:{number}"


def _closed(number: int) -> str:
    return f"closed:{number}"


def _instant(micros: float) -> datetime:
    return EPOCH + timedelta(microseconds=int(micros))
