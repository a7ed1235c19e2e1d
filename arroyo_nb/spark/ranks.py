"""Ranks and top-N on Spark (:mod:`arroyo_nb.spark.operator_changes` runs the kernel).

What names a row for those who read its changes? A leaderboard is read by place: with
row_number() selected, the partition's keys and the number name a row, nothing else has
that name, and who comes and goes at a place is one update of it. A top 1 has one place
per key, selected or not. Otherwise several rows share a number, or none is seen: a row
is named by its values, so that a new rank() is an update of the row, and a row that
leaves the top is a delete. All of these are in the change itself, so the id is the
same when a row is taken back.
"""

from __future__ import annotations

from typing import cast

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.rank import NumberColumn, Numbering, RankKernel, RankLimit
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import column
from arroyo_nb.schema import TIMESTAMP, spark_type
from arroyo_nb.spark.operator_changes import (
    OperatorChanges,
    Relation,
    operator_changes,
)
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.stateful import OperatorColumns, row_id, time_of, timed

_FIRST = nodes.Limit("row_number", 1)


def ranked(
    relation: Relation, node: nodes.UpdatingRank, row_time: str, keeping: StateConfig
) -> OperatorChanges:
    """The changes of the numbered rows: columns, ``_timestamp``, weight and id.

    Parameters
    ----------
    relation
        The lowered input.
    node
        How to number.
    row_time
        The event time of an input row, as Spark SQL text.
    keeping
        How the state is kept.
    """
    columns = OperatorColumns(node.input.schema.names, row_time)
    values = {field.name: columns.add(column(field)) for field in node.input.schema}
    keys = dict.fromkeys(columns.add(key) for key in node.keys)
    order = tuple(
        Order(columns.add(o.expression), o.descending, o.nulls_first)
        for o in node.order
    )
    retracts = nodes.is_updating(node.input)
    read = columns.read(relation, retracts, timed(node, row_time))
    operator = RankKernel(
        read.schema, tuple(keys), order, _numbers(node), _limit(node), retracts
    )
    items = values.copy()
    for number, made in zip(node.numbers, operator.numbers, strict=True):
        items[number.name] = f"CAST({made.name} AS {spark_type(number.field.type)})"
    identity = _identity(operator, node, list(values.values()))
    items |= {TIMESTAMP: time_of(node), WEIGHT: WEIGHT, ROW_ID: row_id(identity)}
    return operator_changes(read, operator, keeping, items)


def _numbers(node: nodes.UpdatingRank) -> tuple[NumberColumn, ...]:
    """Under plain names, as all that is handed to Python."""
    return tuple(
        NumberColumn(f"n_{place}", cast(Numbering, number.function))
        for place, number in enumerate(node.numbers)
    )


def _limit(node: nodes.UpdatingRank) -> RankLimit | None:
    if node.limit is None:
        return None
    return RankLimit(cast(Numbering, node.limit.function), node.limit.last)


def _identity(
    operator: RankKernel, node: nodes.UpdatingRank, values: list[str]
) -> tuple[str, ...]:
    """The columns that name a row."""
    places = [n.name for n in operator.numbers if n.function == "row_number"]
    if places or node.limit == _FIRST:
        return (*operator.keys, *places[:1])
    return tuple(values)
