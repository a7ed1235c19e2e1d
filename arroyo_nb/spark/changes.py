"""Sources of changes on Spark: the latest row of each primary key, kept in buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.changelog import ROW_ID, SEQUENCE, WEIGHT
from arroyo_nb.changelog.latest import LatestRowKernel
from arroyo_nb.schema import TIMESTAMP, quoted
from arroyo_nb.spark.operator_changes import (
    OperatorChanges,
    OperatorInput,
    operator_changes,
)
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.stateful import row_id, time_of, timed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.plan import nodes


def latest(
    frame: DataFrame, node: nodes.LatestRow, keeping: StateConfig
) -> OperatorChanges:
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
    texts = {word: quoted(name) for name, word in names.items()}
    texts |= timed(node, TIMESTAMP)
    schema = OperatorInput(frame, texts, retracts=False).schema
    operator = LatestRowKernel(schema, tuple(names[key] for key in node.keys))
    told = OperatorInput(frame, {**texts, SEQUENCE: SEQUENCE}, retracts=True)
    items = {
        **names,
        TIMESTAMP: time_of(node),
        WEIGHT: WEIGHT,
        ROW_ID: row_id(operator.keys),
    }
    return operator_changes(told, operator, keeping, items)
