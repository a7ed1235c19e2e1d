"""Window aggregates over rows that may be taken back.

::

    changes --window()--> each change in each of its windows
            --mapInArrow: partial, split by bucket and window-->
              (bucket, window, Arrow IPC bytes)
            --groupBy(bucket).transformWithState: step, close--> Arrow IPC bytes
            --mapInArrow: decode--> typed columns, the window as event time

The window of a partial state is its event time, so Spark drops what is late just as it
does for windows of its own: by the watermark of the batch before. What the watermark of
the batch itself has passed is final and leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.plan import nodes
from arroyo_nb.schema import quoted
from arroyo_nb.spark.bucket_numbers import bucket_number_sql
from arroyo_nb.spark.operator_changes import decode_changes, select_list
from arroyo_nb.spark.processors import Close
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.stateful import OperatorColumns, calls_of, measured
from arroyo_nb.spark.stateful_operators import (
    BUCKET,
    END,
    START,
    WindowPartials,
    decoded,
)
from arroyo_nb.spark.windows import WINDOW, assigned, marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PARTS = f"{BUCKET} int, {START} timestamp, {END} timestamp, part binary"
_BOTH = f"named_struct('start', {START}, 'end', {END})"


def closed(
    frame: DataFrame, node: nodes.WindowAggregate, row_time: str, keeping: StateConfig
) -> DataFrame:
    """One final row per key and window: the window, the keys, the measures, `_window`.

    Parameters
    ----------
    frame
        The lowered input, which is updating and has no window.
    node
        What to aggregate; a tumble or a hop.
    row_time
        The event time of an input row, as Spark SQL text.
    keeping
        Into how many buckets state is cut.
    """
    columns = OperatorColumns(node.input.schema.names, row_time)
    keys = tuple(columns.add(key.expression) for key in node.keys)
    calls = calls_of(node.measures, columns)
    edges = {START: f"{WINDOW}.start", END: f"{WINDOW}.end"}
    # A change is put into windows like a row: a retraction comes to the same ones as
    # the append that it takes back.
    in_windows = frame.select("*", *assigned(node.assign, alone=False))
    read = columns.read(in_windows, retracts=True, also=edges)
    operator = AggregateKernel(read.schema, (START, END, *dict.fromkeys(keys)), calls)
    parts = read.rows.mapInArrow(WindowPartials(operator, keeping.buckets), _PARTS)
    steps = (
        parts.selectExpr(bucket_number_sql(keeping.buckets), START, END, "part")
        # A column that is built anew bears no watermark unless it is marked.
        .select(BUCKET, "part", marked(_BOTH, WINDOW))
        .groupBy(BUCKET)
        .transformWithState(Close(operator), "changes binary", "Append", "EventTime")
    )
    items = {
        node.window_name: _BOTH,
        **{key.name: name for name, key in zip(keys, node.keys, strict=True)},
        **measured(node.measures),
        WINDOW: _BOTH,
    }
    told = decode_changes(steps, operator.output, decoded)
    final = told.selectExpr(*select_list(items))
    visible = map(quoted, node.schema.names)
    return final.select(*visible, marked(WINDOW, WINDOW))
