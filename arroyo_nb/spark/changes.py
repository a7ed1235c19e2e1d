"""Sources of changes on Spark: the latest row of each primary key, kept in buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.changelog.latest import LatestRowKernel
from arroyo_nb.schema import TIMESTAMP, quoted
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.stateful import (
    arrow_schema,
    operator_changes,
    row_id,
    time_of,
    timed,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.plan import nodes


def latest(frame: DataFrame, node: nodes.LatestRow, keeping: StateConfig) -> DataFrame:
    """The changes of a table: its columns, ``_timestamp``, weight and id.

    Parameters
    ----------
    frame
        The changes as they were told: columns, ``_timestamp``, weight and sequence.
    node
        Whose rows they are.
    keeping
        How the state is kept.
    """
    names = {name: f"c_{place}" for place, name in enumerate(node.schema.names)}
    items = [f"{quoted(name)} AS {word}" for name, word in names.items()]
    items += timed(node, TIMESTAMP)
    schema = arrow_schema(frame.selectExpr(*items))
    operator = LatestRowKernel(schema, tuple(names[key] for key in node.keys))
    changes = operator_changes(
        frame.selectExpr(*items, WEIGHT, SEQUENCE), operator, keeping
    )
    return changes.selectExpr(
        *(f"{word} AS {quoted(name)}" for name, word in names.items()),
        time_of(node),
        WEIGHT,
        row_id(operator.keys),
    )
