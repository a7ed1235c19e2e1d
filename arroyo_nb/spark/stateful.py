"""Updating aggregates on Spark, and what all updating operators read and give."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.plan import nodes
from arroyo_nb.schema import BIGINT_UNSIGNED, TIMESTAMP, spark_type
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.operator_changes import (
    OperatorChanges,
    OperatorInput,
    Relation,
    operator_changes,
)
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.state.canonical import Canonical

if TYPE_CHECKING:
    from sqlglot import exp

ROW_TIME = "row_time"
"""The event time as a part of a row that may be taken back, where it is one."""

_ANY_TIME = "timestamp_micros(0)"

_WIDEST = "decimal(38,0)"


def aggregated(
    relation: Relation,
    node: nodes.UpdatingAggregate,
    row_time: str,
    keeping: StateConfig,
) -> OperatorChanges:
    """The changes of one row per key: its columns, ``_timestamp``, weight and id.

    Parameters
    ----------
    relation
        The lowered input.
    node
        What to aggregate.
    row_time
        The event time of an input row, as Spark SQL text.
    keeping
        How the state is kept.
    """
    retracts = nodes.is_updating(node.input)
    columns = OperatorColumns(node.input.schema.names, row_time)
    keys = tuple(columns.add(key.expression) for key in node.keys)
    calls = calls_of(node.measures, columns)
    read = columns.read(relation, retracts, timed(node, row_time))
    # Two columns of a DISTINCT may be one expression.
    distinct = tuple(dict.fromkeys(keys))
    time = ROW_TIME if node.timed else None
    operator = AggregateKernel(read.schema, distinct, calls, retracts, time)
    items = {
        **{key.name: name for name, key in zip(keys, node.keys, strict=True)},
        **measured(node.measures),
        TIMESTAMP: time_of(node),
        WEIGHT: WEIGHT,
        ROW_ID: row_id(keys),
    }
    return operator_changes(read, operator, keeping, items)


class OperatorColumns:
    """What an operator reads: each expression once, named by its place.

    A saved state has these names. They are made of nothing else than the plan says:
    another Spark SQL text for the same expression changes none.
    """

    def __init__(self, names: Sequence[str], row_time: str, prefix: str = "c_") -> None:
        self._canonical = Canonical(names)
        self._row_time = row_time
        self._prefix = prefix
        self._columns: dict[str, tuple[str, str]] = {}

    @property
    def texts(self) -> dict[str, str]:
        """The columns as Spark SQL text, by name."""
        return dict(self._columns.values())

    def add(self, expression: exp.Expr) -> str:
        """The column that has the expression's value."""
        # By what it means and not by its SQL: a function's template may be mended, and
        # the saved columns stay what they are.
        key = json.dumps(self._canonical.expression(expression))
        if key not in self._columns:
            name = f"{self._prefix}{len(self._columns)}"
            self._columns[key] = name, spark_sql(expression, row_time=self._row_time)
        return self._columns[key][0]

    def read(
        self, relation: Relation, retracts: bool, also: Mapping[str, str]
    ) -> OperatorInput:
        """The columns of a relation, ``also`` others as Spark SQL text, with the weight
        where it ``retracts``."""
        # count(*) reads none, but a table without columns has no rows.
        texts = {**self.texts, **also} or {"c_row": "TRUE"}
        return OperatorInput(relation, texts, retracts)


def timed(node: nodes.Stateful, row_time: str) -> dict[str, str]:
    """The event time as a part of what an operator reads, as Spark SQL text: of a row
    that may be taken back nobody asks it, unless the operator is timed."""
    return {ROW_TIME: row_time} if node.timed else {}


def time_of(node: nodes.Stateful, time: str = ROW_TIME) -> str:
    """The event time of an operator's output, as Spark SQL text; any, if untimed."""
    return time if node.timed else _ANY_TIME


def row_id(values: Sequence[str]) -> str:
    """The column that names a row of changes, as Spark SQL text.

    Parameters
    ----------
    values
        What names the row among those of its operator. A union tells rows of its
        branches apart.
    """
    return hashed(values or ["TRUE"])


def hashed(values: Sequence[str]) -> str:
    """A number for the values, as Spark SQL text: Spark's hash passes over NULLs, so
    each comes with whether it is one."""
    parts = (f"{value} IS NULL, {value}" for value in values)
    return f"xxhash64({', '.join(parts)})"


def calls_of(
    measures: Sequence[nodes.Measure], columns: OperatorColumns
) -> tuple[AggregateCall, ...]:
    """The aggregates that an operator computes, over columns that it reads; each is
    named by its place, as a saved state has it."""
    named = enumerate(measures)
    return tuple(aggregate_call(f"agg_{n}", one, columns) for n, one in named)


def aggregate_call(
    name: str, measure: nodes.Measure, columns: OperatorColumns
) -> AggregateCall:
    """An aggregate over columns that an operator reads; its output column has the
    name."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    order = (
        Order(columns.add(o.expression), o.descending, o.nulls_first)
        for o in measure.order
    )
    ddl = _WIDEST if _is_unsigned_sum(measure) else spark_type(measure.type)
    return AggregateCall(
        name,
        measure.function,
        to_arrow_type(DataType.fromDDL(ddl), timezone="UTC"),
        tuple(columns.add(argument) for argument in measure.arguments),
        columns.add(measure.where) if measure.where is not None else None,
        measure.distinct,
        tuple(order),
        measure.parameter,
        kernel=measure.row.kernel,
    )


def measured(measures: Sequence[nodes.Measure]) -> dict[str, str]:
    """The measures of an operator's output, as Spark SQL text, by name."""
    return {m.name: measure_value(f"agg_{n}", m) for n, m in enumerate(measures)}


def measure_value(name: str, measure: nodes.Measure) -> str:
    """The value of an aggregate in the column that a kernel gives, as Spark SQL text.

    A sum of unsigned numbers wraps around as one of signed ones does. It is a
    DECIMAL to the operator, which therefore gives all of it."""
    if not _is_unsigned_sum(measure):
        return name
    type_ = spark_type(measure.type)
    return f"CAST(pmod({name}, CAST({2**64} AS {type_})) AS {type_})"


def _is_unsigned_sum(measure: nodes.Measure) -> bool:
    return measure.row.wraps and measure.type == BIGINT_UNSIGNED
