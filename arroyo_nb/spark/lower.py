"""The streaming plan as Spark DataFrames: one function per node.

A lowered relation has its visible columns and a hidden one for its time:
``_timestamp`` where rows have no window, ``_window`` (the window struct) where they
have one. It carries the watermark, so it stays a plain column all the way. Beside it
an updating relation has the weight of each change and the id of the row it speaks of.

Spark moves a predicate below ``withWatermark`` unless it reads the event time. Below
it, rows that a query filters out would no longer move the watermark, and the
end-of-stream row (all NULL) would be lost: :func:`lower_filter` prevents that.

Modules of operators that run in Python workers are imported by those who lower to them:
they load PySpark and Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from arroyo_nb.changelog import ROW_ID, SEQUENCE, WEIGHT
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.predicates import rejects_nulls
from arroyo_nb.plan.lowered import became, lowered
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.schema import NULL, TIMESTAMP, Field, quoted, spark_type
from arroyo_nb.spark.aggregates import is_native, measure_sql
from arroyo_nb.spark.bad_rows import BadRows
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.observe import (
    WindowInputs,
    numbered_assigners,
    observed_sessions,
)
from arroyo_nb.spark.operator_changes import OperatorChanges, Relation, rows_of
from arroyo_nb.spark.sampled_values import values_of_table
from arroyo_nb.spark.source_times import SourceTimes
from arroyo_nb.spark.state_config import KEPT, StateConfig
from arroyo_nb.spark.struct_fields import (
    NarrowWatermark,
    column_of,
    narrow_watermarks,
)
from arroyo_nb.spark.table_rows import (
    ALL_TIME_US,
    observation_of,
    observed_tables,
    table_of,
)
from arroyo_nb.spark.user_functions import knowing_functions
from arroyo_nb.spark.windows import (
    END_OF_TIME,
    WINDOW,
    assigned,
    finished,
    marked,
    unmarked,
)
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, GroupedData

    from arroyo_nb.catalog import ConnectorTable


Read: TypeAlias = "Callable[[nodes.Source | nodes.LookupJoin], DataFrame]"
"""Gives a source's physical columns, ``_timestamp`` and :func:`changelog_columns`, and
no others, streaming or not; where it :func:`~arroyo_nb.spark.bad_rows.drops_records`
also what is wrong with them. Of a lookup join whose table is read whole, its rows."""

_WATERMARK = "_watermark"
_BEYOND = f"timestamp_micros({END_OF_TIME_US + 1}L)"
_LAST = f"timestamp_micros({2**63 - 1}L)"


@dataclass(frozen=True)
class _Lowering:
    """What is the same for all nodes of one plan.

    ``root`` is the node whose rows are wanted. ``watermarked`` is false where nobody
    asks for the watermark: no window waits for it and nobody looks. ``inputs`` observes
    the aggregates; ``numbers`` has their numbers, by identity, ``unobserved`` those
    that are still to be, ``tables`` the tables that are, of a query without a window,
    by their numbers, and ``append_joins`` the joins that are Spark's own;
    ``source_times`` observes the newest event time of each source where somebody looks.
    A node with several readers is lowered for each: Spark loses rows where one
    streaming DataFrame is twice in a query.
    """

    root: nodes.Node
    read: Read
    windowed: bool
    watermarked: bool
    inputs: WindowInputs | None
    numbers: dict[int, int]
    unobserved: set[int]
    tables: dict[int, ConnectorTable]
    keeping: StateConfig
    append_joins: frozenset[int]
    bad_rows: BadRows
    source_times: SourceTimes | None

    def take_number(self, node: nodes.WindowAggregate) -> int | None:
        """The number that an aggregate is observed under; None: it is not, or was."""
        number = self.numbers.get(id(node))
        if number is None or number not in self.unobserved:
            return None
        # Read by several it is lowered for each, but an observation has one name.
        self.unobserved.remove(number)
        return number

    def take_table(self, node: nodes.Watermark) -> int | None:
        """The same of the table whose event time a watermark follows."""
        table = table_of(node) if self.tables else None
        for number, known in self.tables.items():
            if known == table:
                del self.tables[number]
                return number
        return None


def lower(
    node: nodes.Node,
    read: Read,
    *,
    inputs: WindowInputs | None = None,
    again: bool = False,
    keeping: StateConfig = KEPT,
) -> DataFrame:
    """A plan as a DataFrame: its visible columns and the hidden ones.

    Parameters
    ----------
    node
        A streaming plan; without ``Scan``, ``Lookup``, ``Aggregate``, ``Join`` and
        ``Over``, which the rewrites replace.
    read
        Gives each source's rows; a batch DataFrame makes the plan a batch query.
    inputs
        Observes the input of each window aggregate, where somebody looks; each
        micro-batch then tells its watermark too. None: nobody looks.
    again
        Whether these are rows that a windowed query has read before: nothing of them
        is counted once more.
    keeping
        How the state of updating operators is kept.
    """
    windowed = again or any(isinstance(n, nodes.WindowAggregate) for n in walk(node))
    watermarked = windowed or inputs is not None
    if watermarked:
        node = narrow_watermarks(node)
    made: NodeMap[nodes.Node] = NodeMap()
    numbered = numbered_assigners(node) if inputs is not None else ()
    tables = observed_tables(node) if inputs is not None and not again else ()
    forgets = keeping.ttl is not None
    node = lowered(node, made, forgets=forgets, lowering=keeping.lowering)
    numbers = {id(became(assigner, made)): number for assigner, number in numbered}
    lowering = _Lowering(
        node,
        knowing_functions(read, node),
        windowed,
        watermarked,
        inputs,
        numbers,
        {*numbers.values()},
        dict(enumerate(tables)),
        keeping,
        keeping.append_joins(node),
        BadRows(windowed, again),
        SourceTimes(node) if inputs is not None and not inputs.only_late else None,
    )
    return rows_of(_lower(node, lowering))


def _as_declared(field: Field) -> str:
    if field.type == NULL:
        # An element of a list of nothing but NULLs is a text to Spark.
        return "NULL"
    # Spark leaves out a cast to the type that is there.
    return f"CAST({quoted(field.name)} AS {spark_type(field.type)})"


def visible(frame: DataFrame, node: nodes.Node, *, timed: bool = False) -> DataFrame:
    """The columns that a sink sees, with the plan's names, order and types; of an
    updating relation the weight and the row's id behind them, and of a ``timed`` one
    the event time."""
    columns = (f"{_as_declared(f)} AS {quoted(f.name)}" for f in node.schema)
    time = (f"{row_time(node)} AS {quoted(TIMESTAMP)}",) if timed else ()
    return frame.selectExpr(*columns, *_changed(node), *time)


def hidden(node: nodes.Node) -> tuple[str, ...]:
    """The hidden columns of a lowered relation."""
    return (_timed(node), *_changed(node))


def _timed(node: nodes.Node) -> str:
    return TIMESTAMP if node.window is None else WINDOW


def _changed(node: nodes.Node) -> tuple[str, ...]:
    return (WEIGHT, ROW_ID) if nodes.is_updating(node) else ()


def row_time(node: nodes.Node) -> str:
    """What ``row_time()`` is on the rows of this node, as Spark SQL text."""
    if node.window is None:
        return quoted(TIMESTAMP)
    return f"({_moment(node)} - INTERVAL '0.000001' SECOND)"


def _moment(node: nodes.Node) -> str:
    """The timestamp that the watermark is compared with."""
    column = quoted(_timed(node))
    return column if node.window is None else f"{column}.`end`"


def _lower(node: nodes.Node, lowering: _Lowering) -> Relation:
    """A node as rows, or as the changes of an operator, which the next one may read
    where they are."""
    match node:
        case nodes.Source():
            return lowering.bad_rows.of_records(lowering.read(node), node)
        case nodes.Watermark():
            return observed_watermark(node, lowering)
        case nodes.LatestRow():
            return lower_latest_row(node, lowering)
        case nodes.Project():
            return lower_project(node, lowering)
        case nodes.Filter():
            return lower_filter(node, lowering)
        case nodes.Unnest():
            return lower_unnest(node, lowering)
        case nodes.Union():
            return lower_union(node, lowering)
        case nodes.WindowAggregate():
            return lower_window_aggregate(node, lowering)
        case nodes.UpdatingAggregate():
            return lower_updating_aggregate(node, lowering)
        case nodes.WindowOver():
            return lower_window_over(node, lowering)
        case nodes.UpdatingRank():
            return lower_updating_rank(node, lowering)
        case nodes.UpdatingJoin():
            return lower_updating_join(node, lowering)
        case nodes.WindowJoin():
            return lower_window_join(node, lowering)
        case nodes.LookupJoin():
            return lower_lookup_join(node, lowering)
        case nodes.Sink():
            return _lower(node.input, lowering)
        case _:
            # Node is open, so assert_never cannot say it: a bug of the rewrites.
            raise TypeError(f"no lowering for {type(node).__name__}")


def changelog_columns(source: nodes.Source) -> tuple[str, ...]:
    """What a source of changes has beside its columns: weight and sequence."""
    return (WEIGHT, SEQUENCE) if nodes.is_updating(source) else ()


def lower_latest_row(node: nodes.LatestRow, lowering: _Lowering) -> OperatorChanges:
    """The changes of a table's rows (:mod:`arroyo_nb.spark.changes`)."""
    from arroyo_nb.spark.changes import latest

    return latest(rows_of(_lower(node.input, lowering)), node, lowering.keeping)


def observed_watermark(node: nodes.Watermark, lowering: _Lowering) -> DataFrame:
    """The rows of a table, observed where that is asked for and they come into no
    window."""
    frame = lower_watermark(node, lowering)
    if (number := lowering.take_table(node)) is None:
        return frame
    assert lowering.inputs is not None, "who has numbers observes"
    name, values = observation_of(number), values_of_table(node, lowering.root)
    return lowering.inputs.observed_as(name, frame, node, ALL_TIME_US, values)


def lower_watermark(node: nodes.Watermark, lowering: _Lowering) -> DataFrame:
    """Sets event time and watermark, then removes the end-of-stream row."""
    frame = rows_of(_lower(node.input, lowering))
    time = quoted(TIMESTAMP)
    if node.event_time is not None:
        columns = map(quoted, node.input.schema.names)
        frame = frame.selectExpr(*columns, _event_time(node.event_time))
    frame = lowering.bad_rows.of_usable_time(frame, node)
    if lowering.source_times is not None:
        frame = lowering.source_times.observed(frame, node)
    if not lowering.watermarked:
        return frame.filter(f"{time} < {END_OF_TIME}")
    if node.expression is None:
        if isinstance(node, NarrowWatermark):
            frame = frame.selectExpr(*_carried(node), time)
        # Spark keeps delays in milliseconds: rounded up, or a row in time is late.
        delay = f"{-(-node.delay // timedelta(milliseconds=1))} milliseconds"
        return frame.withWatermark(TIMESTAMP, delay).filter(f"{time} < {END_OF_TIME}")
    # Spark follows one column: _timestamp is marked as if it were that column, so
    # that windows over it close by the newest value of the expression.
    follows = _with_end_of_time(node.expression, _WATERMARK)
    frame = frame.selectExpr(*_carried(node), time, follows)
    frame = frame.withWatermark(_WATERMARK, "0 seconds")
    # True for all rows but the last. It reads the watermark's column, or Spark would
    # move it below; it does not compare it, as the expression may give anything.
    any_value = f"coalesce({quoted(_WATERMARK)}, {END_OF_TIME}) <= {_LAST}"
    frame = frame.filter(f"({time} < {END_OF_TIME}) <=> ({any_value})")
    return frame.select(*map(quoted, node.schema.names), marked(time, TIMESTAMP))


def _carried(node: nodes.Watermark) -> list[str]:
    """The select list of the columns above a watermark."""
    if isinstance(node, NarrowWatermark):
        return [_named(item, node.input) for item in node.items]
    return [quoted(name) for name in node.schema.names]


def _event_time(expression: exp.Expr) -> str:
    """The computed event time; one that the end of the stream could be mistaken for
    is moved past it, where it is found."""
    time = quoted(TIMESTAMP)
    value = spark_sql(expression, row_time=time)
    usable = f"IF({value} >= {END_OF_TIME}, {_BEYOND}, {value})"
    return f"IF({time} = {END_OF_TIME}, {time}, {usable}) AS {time}"


def _with_end_of_time(expression: exp.Expr, name: str) -> str:
    """A time of the row that leaves the end of the stream where it is."""
    time = quoted(TIMESTAMP)
    value = spark_sql(expression, row_time=time)
    return f"IF({time} = {END_OF_TIME}, {time}, {value}) AS {quoted(name)}"


def lower_project(node: nodes.Project, lowering: _Lowering) -> Relation:
    """The items under their names, and the hidden columns."""
    below = _lower(node.input, lowering)
    if isinstance(below, OperatorChanges) and _only_renames(node):
        names = {item.name: item.expression.name for item in node.items}
        return below.renamed(names | {name: name for name in hidden(node)})
    items = [_named(item, node.input) for item in node.items]
    return rows_of(below).selectExpr(*items, *map(quoted, hidden(node)))


def _only_renames(node: nodes.Project) -> bool:
    return all(isinstance(item.expression, exp.Column) for item in node.items)


def lower_filter(node: nodes.Filter, lowering: _Lowering) -> DataFrame:
    """Keeps the rows for which the predicate is true, above the watermark.

    ``p <=> not ended`` is ``p is true`` for every row there is. It reads the event
    time and is no conjunction, so Spark can neither split nor move it; and as NULL
    has a value in it, Spark infers no ``IS NOT NULL`` that it could move. So every row
    is read and counted, and moves the watermark, whatever becomes of it; and what
    Spark's own join keeps does not depend on the filters above it.
    """
    predicate = spark_sql(node.predicate, row_time=row_time(node.input))
    if not lowering.watermarked and _rejects_end(node):
        # Without the test of lower_watermark, nobody may read the event time at all.
        (below,) = node.input.inputs
        return rows_of(_lower(below, lowering)).filter(predicate)
    return _filtered(rows_of(_lower(node.input, lowering)), predicate, node, lowering)


def _rejects_end(node: nodes.Filter) -> bool:
    """Whether a filter of a table's rows takes out the row that ends the stream, all
    columns of which are NULL."""
    table = node.input
    # An event time that is computed is looked at, whatever the filter says.
    if not isinstance(table, nodes.Watermark) or table.event_time is not None:
        return False
    return rejects_nulls(node.predicate, lambda e: column_of(e) is not None)


def _filtered(
    frame: DataFrame, predicate: str, node: nodes.Node, lowering: _Lowering
) -> DataFrame:
    if _may_move(node, lowering):
        return frame.filter(predicate)
    return frame.filter(f"({predicate} <=> ({_moment(node)} < {END_OF_TIME}))")


def _may_move(node: nodes.Node, lowering: _Lowering) -> bool:
    """Whether Spark may filter rows below the node: no watermark would miss them, and
    no join keep others."""
    keeps_rows = not lowering.append_joins.isdisjoint(map(id, walk(node)))
    return not (lowering.watermarked or keeps_rows)


def lower_unnest(node: nodes.Unnest, lowering: _Lowering) -> DataFrame:
    """The rows, each once for each element.

    Not ``explode``: Spark would move the test that the list has elements below the
    watermark. So rows without any are made, and filtered out above it.
    """
    place = quoted(free("_place", node.schema.names))
    given = spark_sql(node.list, row_time=row_time(node.input))
    frame = rows_of(_lower(node.input, lowering)).selectExpr(
        *map(quoted, (*node.input.schema.names, *hidden(node))),
        f"posexplode_outer({given}) AS ({place}, {quoted(node.element.name)})",
    )
    frame = _filtered(frame, f"({place} IS NOT NULL)", node, lowering)
    # The elements of one row are rows of their own, which are taken back one by one.
    row_id = f"IF({ROW_ID} IS NULL, NULL, xxhash64({ROW_ID}, {place})) AS {ROW_ID}"
    columns = (*node.schema.names, *hidden(node))
    return frame.selectExpr(*(row_id if n == ROW_ID else quoted(n) for n in columns))


def lower_union(node: nodes.Union, lowering: _Lowering) -> DataFrame:
    """All rows of all branches, columns by position."""
    names = [quoted(name) for name in (*node.schema.names, *hidden(node))]
    frames = (
        rows_of(_lower(branch, lowering)).selectExpr(
            *map("{} AS {}".format, _as_branch(number, node), names)
        )
        for number, branch in enumerate(node.branches)
    )
    return reduce(lambda left, right: left.union(right), frames).select(*names)


def _as_branch(number: int, union: nodes.Union) -> tuple[str, ...]:
    """A branch's columns in the order of the union's. Rows that are only appended, or
    have a window, may be among rows that are taken back."""
    branch = union.branches[number]
    columns = map(quoted, branch.schema.names)
    if not nodes.is_updating(union):
        return (*columns, *map(quoted, hidden(branch)))
    if not nodes.is_updating(branch):
        return (*columns, row_time(branch), "1L", "CAST(NULL AS BIGINT)")
    # Two branches may name their rows alike, such as by equal keys.
    row_id = f"IF({ROW_ID} IS NULL, NULL, xxhash64({ROW_ID}, {number}))"
    return (*columns, _timed(branch), WEIGHT, row_id)


def lower_window_aggregate(
    node: nodes.WindowAggregate, lowering: _Lowering
) -> DataFrame:
    """One row per key and window: the window, the keys, the measures."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = rows_of(_lower(node.input, lowering))
    number = lowering.take_number(node)
    if number is not None:
        assert lowering.inputs is not None, "who has numbers observes"
        frame = lowering.inputs.observed(frame, node, number)
    if nodes.is_updating(node.input):
        from arroyo_nb.spark.window_retractions import closed

        return closed(frame, node, row_time(node.input), lowering.keeping)
    keys = [F.expr(_named(key, node.input)) for key in node.keys]
    window, *others = assigned(node.assign, alone=not keys)
    groups = frame.groupBy(window, *others, *keys)
    # The window twice: the column that one sees, and the one that has the watermark.
    if not isinstance(node.assign, nodes.SessionWindow):
        marked = unmarked(window, node.window_name)
        return _measured(groups, node, lowering.keeping, marked)
    # agg() must be given something; Spark prunes what is not selected.
    some = [] if node.measures else [F.count(F.lit(1))]
    rows = _measured(groups, node, lowering.keeping, *some)
    names = [quoted(field.name) for field in node.schema.fields[1:]]
    if number is not None:
        rows = observed_sessions(rows, number, alone=not keys)
    ended = finished(node.assign)
    return rows.select(unmarked(ended, node.window_name), *names, ended)


def lower_updating_aggregate(
    node: nodes.UpdatingAggregate, lowering: _Lowering
) -> OperatorChanges:
    """The changes of one row per key (:mod:`arroyo_nb.spark.stateful`)."""
    from arroyo_nb.spark.stateful import aggregated

    below = _lower(node.input, lowering)
    return aggregated(below, node, row_time(node.input), lowering.keeping)


def lower_updating_rank(
    node: nodes.UpdatingRank, lowering: _Lowering
) -> OperatorChanges:
    """The changes of numbered rows (:mod:`arroyo_nb.spark.ranks`)."""
    from arroyo_nb.spark.ranks import ranked

    below = _lower(node.input, lowering)
    return ranked(below, node, row_time(node.input), lowering.keeping)


def lower_window_over(node: nodes.WindowOver, lowering: _Lowering) -> DataFrame:
    """Rows with what functions with OVER give (:mod:`arroyo_nb.spark.over`)."""
    from arroyo_nb.spark.over import nodes_of_one_shuffle, with_over

    over = nodes_of_one_shuffle(node)
    below = over[0].input
    return with_over(rows_of(_lower(below, lowering)), over, row_time(below))


def lower_updating_join(node: nodes.UpdatingJoin, lowering: _Lowering) -> Relation:
    """The pairs, or their changes: by an operator in buckets
    (:mod:`arroyo_nb.spark.joins`), or by Spark's own join
    (:mod:`arroyo_nb.spark.append_joins`)."""
    times = (row_time(node.left), row_time(node.right))
    if id(node) in lowering.append_joins:
        from arroyo_nb.spark.append_joins import joined

        keys = zip(*node.keys, strict=True)
        left, right = map(_with_keys, node.inputs, keys, repeat(lowering))
        pairs: Relation = joined(left, right, node, times)
    else:
        from arroyo_nb.spark.joins import joined as joined_in_buckets

        left, right = (rows_of(_lower(side, lowering)) for side in node.inputs)
        pairs = joined_in_buckets(left, right, node, times, lowering.keeping)
    if nodes.is_updating(node) or not lowering.windowed:
        return pairs
    # A window over the pairs closes by the query's watermark.
    columns = map(quoted, node.schema.names)
    return rows_of(pairs).select(*columns, marked(TIMESTAMP, TIMESTAMP))


def _with_keys(
    side: nodes.Node, keys: tuple[exp.Expr, ...], lowering: _Lowering
) -> DataFrame:
    """The rows of a side that may have a match: none is kept for nothing."""
    values = (spark_sql(key, row_time=row_time(side)) for key in keys)
    tests = " AND ".join(f"({value}) IS NOT NULL" for value in values)
    return _filtered(rows_of(_lower(side, lowering)), f"({tests})", side, lowering)


def lower_window_join(node: nodes.WindowJoin, lowering: _Lowering) -> DataFrame:
    """The pairs of each window (:mod:`arroyo_nb.spark.window_joins`)."""
    from arroyo_nb.spark.window_joins import joined

    left, right = (rows_of(_lower(side, lowering)) for side in node.inputs)
    return joined(left, right, node, (row_time(node.left), row_time(node.right)))


def lower_lookup_join(node: nodes.LookupJoin, lowering: _Lowering) -> DataFrame:
    """The rows and what was found for them (:mod:`arroyo_nb.spark.lookups`)."""
    from arroyo_nb.spark.lookups import FOUND, broadcast, query_store

    frame, time = rows_of(_lower(node.input, lowering)), row_time(node.input)
    if node.table.asked:
        return lowering.bad_rows.readable(query_store(frame, node, time), node)
    how = "inner" if node.how == "inner" and _may_move(node, lowering) else "left_outer"
    found = broadcast(frame, node, time, lowering.read(node), how)
    if node.how == "inner":
        found = _filtered(found, FOUND, node, lowering)
    return found.drop(FOUND)


def _named(item: nodes.Named, over: nodes.Node) -> str:
    value = spark_sql(item.expression, row_time=row_time(over))
    return f"{value} AS {quoted(item.name)}"


def _measured(
    groups: GroupedData,
    node: nodes.WindowAggregate,
    keeping: StateConfig,
    *also: Column,
) -> DataFrame:
    """The measures of each group, and ``also`` other aggregates."""
    from pyspark.sql import functions as F  # noqa: N812

    time = row_time(node.input)
    in_spark: list[nodes.Measure] = []
    others: list[nodes.Measure] = []
    for measure in node.measures:
        is_spark_s = is_native(measure, lowering=keeping.lowering)
        (in_spark if is_spark_s else others).append(measure)
    values = [
        F.expr(measure_sql(measure, row_time=time)).alias(measure.name)
        for measure in in_spark
    ]
    if not others:
        return groups.agg(*also, *values)
    from arroyo_nb.spark.collected import CollectedMeasures

    collected = CollectedMeasures(node, time, others)
    return collected.computed(groups.agg(*also, *values, *collected.columns()))
