"""Updating joins on Spark: two inputs, one state in buckets.

::

    left rows  --mapInArrow: partial, split by bucket--> (bucket, Arrow IPC bytes)
    right rows --mapInArrow: partial, split by bucket--> (bucket, Arrow IPC bytes)
    both --union--> groupBy(bucket).transformWithState: step
         --mapInArrow: decode--> typed columns and the weight

A partial state of one side has no rows of the other. A row of either side finds its
bucket by its keys, whose types are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.join import JoinKernel
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import column
from arroyo_nb.plan.queries.join_conditions import is_one_sided
from arroyo_nb.schema import TIMESTAMP, quoted
from arroyo_nb.spark.join_conditions import pair_condition
from arroyo_nb.spark.operator_changes import OperatorChanges, OperatorInput
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.stateful import OperatorColumns, hashed, row_id, time_of
from arroyo_nb.spark.stateful_operators import PARTS, SidePartials

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from sqlglot import exp


def joined(
    left: DataFrame,
    right: DataFrame,
    node: nodes.UpdatingJoin,
    row_times: tuple[str, str],
    keeping: StateConfig,
) -> OperatorChanges:
    """The pairs: both sides' columns and ``_timestamp``; weight and id of changes.

    Parameters
    ----------
    left, right
        The lowered inputs.
    node
        How to join them.
    row_times
        The event time of a row of each input, as Spark SQL text.
    keeping
        How the state is kept.
    """
    # Rows that only come have an event time of their own, which the pair needs whether
    # or not anything above is timed.
    timed = node.timed or not nodes.is_updating(node)
    sides = (
        _JoinInput(left, node.left, row_times[0], "l_", timed),
        _JoinInput(right, node.right, row_times[1], "r_", timed),
    )
    pairs = (
        tuple(side.columns.add(key) for side, key in zip(sides, pair, strict=True))
        for pair in node.keys
    )
    keys = list(dict.fromkeys(pairs))  # an equality may be written twice
    condition = None
    if node.condition is not None:
        condition = pair_condition(node.condition, lambda e: _one_sided(e, sides))
    # What the keys and the condition read is known by now.
    reads = [side.read() for side in sides]
    left_schema, right_schema = (_padded(read.schema) for read in reads)
    operator = JoinKernel(
        left_schema,
        right_schema,
        tuple(left for left, _ in keys),
        tuple(right for _, right in keys),
        node.how,
        condition,
    )
    left_parts, right_parts = (
        read.rows.mapInArrow(SidePartials(operator, number, keeping.buckets), PARTS)
        for number, read in enumerate(reads)
    )
    parts = left_parts.union(right_parts)
    items = {**sides[0].named(), **sides[1].named()}
    time = f"greatest({', '.join(side.time for side in sides)})"
    if not nodes.is_updating(node):
        # Pairs of a forgotten key stay with who has them: nothing is taken back.
        items[TIMESTAMP] = time
        return OperatorChanges(parts, operator, keeping, items, appends=True)
    # The id of a pair is that of its two rows.
    pair = [name for side in sides for name in side.identity()]
    items |= {TIMESTAMP: time_of(node, time), WEIGHT: WEIGHT, ROW_ID: row_id(pair)}
    return OperatorChanges(parts, operator, keeping, items)


class _JoinInput:
    """What a join reads of one input.

    Of rows that only come, each pair has its event time; of those that may be taken
    back only where the join is timed.
    """

    def __init__(
        self,
        frame: DataFrame,
        node: nodes.Node,
        row_time: str,
        prefix: str,
        timed: bool,
    ) -> None:
        self.columns = OperatorColumns(node.schema.names, row_time, prefix)
        self.time = f"{prefix}time"
        self.id = f"{prefix}id"
        self.updating = nodes.is_updating(node)
        self.schema = node.schema
        self._frame = frame
        self._timed = {self.time: row_time} if timed else {}
        self._values = [self.columns.add(column(field)) for field in node.schema]

    def named(self) -> dict[str, str]:
        """The columns that have the input's, by the names of these."""
        return dict(zip(self.schema.names, self._values, strict=True))

    def read(self) -> OperatorInput:
        """The rows, with their weights where they may be taken back."""
        return OperatorInput(self._frame, self._texts(), self.updating)

    def identity(self) -> list[str]:
        """What tells a row of this side from others."""
        return [self.id] if self.updating else self._values

    def _texts(self) -> dict[str, str]:
        texts = {**self.columns.texts, **self._timed}
        if self.updating:
            # Rows that were united with changes have no id.
            values = [quoted(name) for name in self.schema.names]
            texts[self.id] = f"coalesce({ROW_ID}, {hashed(values)})"
        return texts


def _padded(schema: pa.Schema) -> pa.Schema:
    # A constant is never NULL, but in a padded row it is.
    return pa.schema([field.with_nullable(True) for field in schema])


def _one_sided(
    expression: exp.Expr, sides: tuple[_JoinInput, _JoinInput]
) -> str | None:
    """The column of the side that an expression reads; a constant is the left one's."""
    for side in sides:
        if is_one_sided(expression, side.schema):
            return side.columns.add(expression)
    return None
