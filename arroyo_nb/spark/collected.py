"""Aggregates over a window that no function of Spark computes.

::

    rows --groupBy(window, keys)--> windows, each with a list of its rows
         --arrow_udf: compute--> the values

The rows of an open window are state: of a call with DISTINCT, each different one once.
Calls that read the same rows share a list. The values are those that an updating query
has, from the same kernels, whatever the order in which rows came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arroyo_nb.changelog.collected import aggregate_of_lists
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.lazy_imports import pa
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.schema import spark_type
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.operator_changes import select_list
from arroyo_nb.spark.stateful import OperatorColumns, aggregate_call

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class _Collected:
    """A measure, the column with its rows, and the call over their fields."""

    measure: nodes.Measure
    rows: str
    call: AggregateCall


class CollectedMeasures:
    """Those measures of a window aggregate that are computed from lists.

    Parameters
    ----------
    node
        The aggregate.
    row_time
        The event time of an input row, as Spark SQL text.
    measures
        Those that are computed from lists.
    """

    def __init__(
        self,
        node: nodes.WindowAggregate,
        row_time: str,
        measures: Sequence[nodes.Measure],
    ) -> None:
        self._names, self._row_time = node.input.schema.names, row_time
        self._taken = {*node.schema.names}
        self._lists: dict[str, str] = {}
        self._measures = [*map(self._collect, measures)]

    def columns(self) -> list[Column]:
        """The lists, as aggregates of Spark."""
        from pyspark.sql import functions as F  # noqa: N812

        return [F.expr(text).alias(name) for text, name in self._lists.items()]

    def computed(self, rows: DataFrame) -> DataFrame:
        """Rows with the values in the place of :meth:`columns`."""
        values = {m.measure.name: _value(m) for m in self._measures}
        return rows.withColumns(values).drop(*self._lists.values())

    def _collect(self, measure: nodes.Measure) -> _Collected:
        columns = OperatorColumns(self._names, self._row_time)
        # The list has the rows of the filter only.
        call = aggregate_call("value", replace(measure, where=None), columns)
        how = "collect_set" if measure.distinct else "collect_list"
        text = f"{how}(struct({', '.join(select_list(columns.texts))}))"
        if measure.where is not None:
            where = spark_sql(measure.where, row_time=self._row_time)
            text += f" FILTER (WHERE {where})"
        if text not in self._lists:
            self._lists[text] = free(f"_rows_{len(self._lists)}", self._taken)
            self._taken.add(self._lists[text])
        return _Collected(measure, self._lists[text], call)


def _value(of: _Collected) -> Column:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.functions import arrow_udf

    type_ = spark_type(of.measure.type)
    # Its stubs want a function type, which Spark warns of.
    compute = arrow_udf(_computed(of.call), type_)  # type: ignore[call-overload]
    return compute(F.col(of.rows))


def _computed(call: AggregateCall) -> Callable[[pa.Array], pa.Array]:
    """What a worker calls with a batch of lists."""

    # Spark goes by the annotations: lists in, values out.
    def compute(lists: pa.Array) -> pa.Array:
        return aggregate_of_lists(call, lists)

    return compute
