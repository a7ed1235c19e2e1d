"""Two runs beside each other: windows, results and late rows that are not the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import WindowBar
from arroyo_nb.whatif.compared_run import ComparedRun, TableWindows, compared_run
from arroyo_nb.whatif.differences import Difference, difference
from arroyo_nb.whatif.stretches import STRETCHES

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.loaded_trace import LoadedTrace
    from arroyo_nb.run.run import Run

MOST_LATE_ROWS = 100_000
"""With more late rows than this only their counts are compared."""

RUN = "only_in"
TIMES = "times"
"""Columns of a table of differences before those of the rows: which run has the row,
and how often more than the other."""


@dataclass(frozen=True)
class WindowPair:
    """A window of either run; None: that run has no row for it. ``table`` is the one
    whose rows are counted; empty where a run has one only."""

    start: datetime
    end: datetime
    first: WindowBar | None
    second: WindowBar | None
    table: str = ""

    @property
    def rows(self) -> tuple[int, int]:
        """How many rows each run put into it."""
        return _of(self.first, _rows), _of(self.second, _rows)

    @property
    def late_rows(self) -> tuple[int, int]:
        """How many rows came too late for it."""
        return _of(self.first, _late), _of(self.second, _late)

    @property
    def differs(self) -> bool:
        """Whether the runs have other counts of it."""
        return self.rows[0] != self.rows[1] or self.late_rows[0] != self.late_rows[1]


def _of(bar: WindowBar | None, count: Callable[[WindowBar], int]) -> int:
    return 0 if bar is None else count(bar)


def _rows(bar: WindowBar) -> int:
    return bar.rows


def _late(bar: WindowBar) -> int:
    return bar.late_rows


class ComparisonViews(Protocol):
    """How a comparison is shown: views are above this, and are handed in."""

    def text(self, found: Comparison) -> str:
        """What differs, as text."""

    def html(self, found: Comparison) -> str:
        """Both runs on one axis, and what differs; without a script."""


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Parameters
    ----------
    names
        What the runs are called here.
    pairs
        The windows of both, by start; none where rows were not counted.
    result
        The rows of the results that only one has.
    late_counts
        Late rows of each.
    late
        The late rows that only one has; None: they cannot be listed.
    result_rows
        Rows of each result.
    notes
        What a reader must know, each in a sentence.
    views
        How it is shown.
    has_stretches
        Whether some of ``pairs`` are no windows, but stretches of time with the
        sessions of all keys.
    """

    names: tuple[str, str]
    pairs: tuple[WindowPair, ...]
    result: Difference
    late_counts: tuple[int, int]
    late: Difference | None
    result_rows: tuple[int, int]
    notes: tuple[str, ...]
    views: ComparisonViews
    has_stretches: bool = False

    @property
    def differing(self) -> tuple[WindowPair, ...]:
        """The windows that the runs count otherwise."""
        return tuple(pair for pair in self.pairs if pair.differs)

    @property
    def has_tables(self) -> bool:
        """Whether the windows of several tables are compared."""
        return any(pair.table for pair in self.pairs)

    @property
    def is_same(self) -> bool:
        """Whether windows, late counts and results are the same."""
        late = self.late_counts[0] == self.late_counts[1]
        return late and self.result.is_empty and not self.differing

    def __repr__(self) -> str:
        return self.views.text(self)

    def _repr_html_(self) -> str:
        return self.views.html(self)

    def table(self) -> pa.Table:
        """The result rows that only one run has: ``only_in`` names it, ``times`` says
        how often more it has the row; then the columns of the result."""
        return _named(self.result, self.names)

    def late_table(self) -> pa.Table:
        """The late rows that only one run has, as :meth:`table`.

        Raises
        ------
        RunProblem
            When they could not be listed.
        """
        if self.late is None:
            raise RunProblem(
                "the late rows of these runs cannot be listed",
                hint="they are counted: see windows()",
            )
        return _named(self.late, self.names)

    def windows(self) -> pa.Table:
        """A row for each window of either run: rows and late rows of both, and whether
        they differ.

        Of sessions with a key a row is a stretch of time with the sessions of all keys,
        its ends rounded; the sessions themselves are in the results. Where a run puts
        the rows of several tables into windows, each table has rows of its own, and a
        first column ``table`` names it.
        """
        import pyarrow as pa

        time, number = pa.timestamp("us"), pa.int64()
        columns: dict[str, pa.Array] = {}
        if self.has_tables:
            columns["table"] = pa.array([p.table for p in self.pairs], pa.string())
        columns["start"] = pa.array([p.start for p in self.pairs], time)
        columns["end"] = pa.array([p.end for p in self.pairs], time)
        for index, which in enumerate(("first", "second")):
            rows = [pair.rows[index] for pair in self.pairs]
            late = [pair.late_rows[index] for pair in self.pairs]
            columns[f"{which}_rows"] = pa.array(rows, number)
            columns[f"{which}_late_rows"] = pa.array(late, number)
        columns["differs"] = pa.array([p.differs for p in self.pairs], pa.bool_())
        return pa.table(columns)


def compare_runs(
    first: Run | LoadedTrace,
    second: Run | LoadedTrace,
    views: ComparisonViews,
    *,
    output: int = 0,
) -> Comparison:
    """Compare two runs as they are now: what each has kept of its result, and what its
    trace tells.

    Parameters
    ----------
    first, second
        The runs, or traces of runs.
    views
        How the comparison is shown.
    output
        Which output of both.

    Raises
    ------
    RunProblem
        When one of them is no run, has failed, or keeps no rows.
    """
    runs = one, other = compared_run(first, output), compared_run(second, output)
    names, windows = _names(one, other), [run.windows for run in runs]
    notes = [
        f"{name} has not ended: it is compared as it is now"
        for name, run in zip(names, runs, strict=True)
        if not run.state.ended
    ]
    if one.is_saved or other.is_saved:
        notes += [
            "a saved trace has the windows of one table only: those of "
            f"'{side[0].table}' are compared"
            for side in windows
            if len(side) > 1
        ]
        windows = [side[:1] for side in windows]
    are_stretches = any(each.are_stretches for side in windows for each in side)
    if are_stretches:
        notes.append(STRETCHES)
    if one.result.schema.names != other.result.schema.names:
        notes.append("the results have other columns: no row is the same")
    counts = one.late_count, other.late_count
    late = _late_difference(one, other)
    if late is None and any(counts):
        notes.append("late rows are compared by their counts")
    return Comparison(
        names=names,
        pairs=paired_tables(*windows),
        result=difference(one.result, other.result),
        late_counts=counts,
        late=late,
        result_rows=(one.result.num_rows, other.result.num_rows),
        notes=tuple(notes),
        views=views,
        has_stretches=are_stretches,
    )


def paired(
    first: Sequence[WindowBar], second: Sequence[WindowBar], table: str = ""
) -> tuple[WindowPair, ...]:
    """The windows of two runs by their start and end, in that order."""
    by_edges = [{(bar.start, bar.end): bar for bar in bars} for bars in (first, second)]
    edges = sorted(by_edges[0].keys() | by_edges[1].keys())
    return tuple(
        WindowPair(*e, by_edges[0].get(e), by_edges[1].get(e), table) for e in edges
    )


def paired_tables(
    first: Sequence[TableWindows], second: Sequence[TableWindows]
) -> tuple[WindowPair, ...]:
    """The windows of two runs by table, start and end, sorted by time."""
    is_one = max(len(first), len(second)) < 2
    pairs = [
        pair
        for table, own, other in _matched_tables(first, second)
        for pair in paired(own, other, "" if is_one else table)
    ]
    # Stable: the tables of one window stay in the order in which the query has them.
    return tuple(sorted(pairs, key=lambda pair: (pair.start, pair.end)))


def _matched_tables(
    first: Sequence[TableWindows], second: Sequence[TableWindows]
) -> Iterator[tuple[str, Sequence[WindowBar], Sequence[WindowBar]]]:
    """The windows of tables with the same name; then the other tables, in the order in
    which each query has them: the same query may read ``a`` here and ``b`` there."""
    by_name = {each.table: each for each in second}
    names = {each.table for each in first}
    others = iter([each for each in second if each.table not in names])
    for each in first:
        other = by_name.get(each.table) or next(others, None)
        if other is None:
            yield each.table, each.bars, ()
        else:
            either = dict.fromkeys(t for t in (each.table, other.table) if t)
            yield " / ".join(either), each.bars, other.bars
    yield from ((other.table, (), other.bars) for other in others)


def _names(first: ComparedRun, second: ComparedRun) -> tuple[str, str]:
    if first.name != second.name:
        return first.name, second.name
    return f"{first.name} (first)", f"{second.name} (second)"


def _late_difference(first: ComparedRun, second: ComparedRun) -> Difference | None:
    """The late rows that only one has; None where they are too many, or where a run
    cannot list its own."""
    if first.late is None or second.late is None:
        return None
    if max(first.late_count, second.late_count) > MOST_LATE_ROWS:
        return None
    try:
        return difference(first.late(), second.late())
    except RunProblem:
        return None


def _named(found: Difference, names: tuple[str, str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    weights, others = found.rows.column(0), found.rows.column_names[1:]
    which = pc.if_else(pc.greater(weights, 0), names[0], names[1])
    times = pc.abs(weights)
    taken = {RUN: which, TIMES: times}
    columns = [*taken.values(), *found.rows.columns[1:]]
    made = pa.table(columns, names=[*taken, *others])
    # Rows of one window and key beside each other: these are a result's first columns.
    plain = made.rename_columns([str(n) for n in range(made.num_columns)])
    order = [(name, "ascending") for name in plain.column_names[2:]]
    indices = pc.sort_indices(plain, [*order, ("0", "ascending")])
    return made.take(indices)
