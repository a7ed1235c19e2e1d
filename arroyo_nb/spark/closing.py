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

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from arroyo_nb.changelog.aggregate import UpdatingAggregate
from arroyo_nb.changelog.keys import first_rows, group_ids
from arroyo_nb.changelog.state import State
from arroyo_nb.plan import nodes
from arroyo_nb.schema import quoted
from arroyo_nb.spark.keeping import Keeping
from arroyo_nb.spark.stateful import (
    BUCKET,
    Columns,
    bucket_of,
    call_of,
    stacked,
    to_bytes,
    told,
)
from arroyo_nb.spark.windows import WINDOW, assigned, marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

START, END = "window_start", "window_end"
_PARTS = f"{BUCKET} int, {START} timestamp, {END} timestamp, part binary"
_BOTH = f"named_struct('start', {START}, 'end', {END})"


def closed(
    frame: DataFrame, node: nodes.WindowAggregate, row_time: str, keeping: Keeping
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
    columns = Columns(row_time)
    keys = tuple(columns.add(key.expression) for key in node.keys)
    calls = tuple(call_of(measure, columns) for measure in node.measures)
    edges = [f"{WINDOW}.start AS {START}", f"{WINDOW}.end AS {END}"]
    in_windows = frame.select("*", *assigned(node.assign, alone=False))
    rows, schema = columns.read(in_windows, retracts=True, also=edges)
    operator = UpdatingAggregate(schema, (START, END, *dict.fromkeys(keys)), calls)
    parts = rows.selectExpr("*", bucket_of(operator.keys, keeping.buckets)).mapInArrow(
        _Partials(operator), _PARTS
    )
    steps = (
        parts.select(BUCKET, "part", marked(_BOTH, WINDOW))
        .groupBy(BUCKET)
        .transformWithState(_Close(operator), "changes binary", "Append", "EventTime")
    )
    named = (
        f"{name} AS {quoted(key.name)}"
        for name, key in zip(keys, node.keys, strict=True)
    )
    final = told(steps, operator.output).selectExpr(
        f"{_BOTH} AS {quoted(node.window_name)}",
        *named,
        *(quoted(measure.name) for measure in node.measures),
        f"{_BOTH} AS {WINDOW}",
    )
    visible = map(quoted, node.schema.names)
    return final.select(*visible, marked(WINDOW, WINDOW))


class _Partials:
    """Rows as partial states, one per bucket and window that they touch."""

    def __init__(self, operator: UpdatingAggregate) -> None:
        self._operator = operator

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        layout = self._operator.partial_layout
        for rows in stacked(batches):
            places = [rows[name] for name in (BUCKET, START, END)]
            slots = group_ids(places, len(rows))
            parts = self._operator.partials(rows.drop(BUCKET), slots)
            # They come in the order of their numbers, as the first rows do.
            written = pa.array(
                [layout.to_bytes(part) for _, part in parts], pa.binary()
            )
            first = pa.array(first_rows(slots))
            taken = [place.take(first).combine_chunks() for place in places]
            yield pa.record_batch([*taken, written], names=[BUCKET, START, END, "part"])


class _Close(StatefulProcessor):  # type: ignore[misc]
    """A bucket's state of open windows."""

    def __init__(self, operator: UpdatingAggregate) -> None:
        self._operator = operator

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "tables binary")

    def handleInputRows(self, _key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
        layout = self._operator.partial_layout
        parts = [layout.from_bytes(bytes(row.part)) for row in rows]
        yield from self._sent(parts, timers)

    def handleExpiredTimer(self, timerValues: Any, **_: Any) -> Any:  # noqa: N802, N803
        yield from self._sent((), timerValues)

    def close(self) -> None:
        """Nothing is held open."""

    def _sent(self, parts: Sequence[State], timers: Any) -> Any:
        from pyspark.sql import Row

        operator, found = self._operator, self._state.get()
        layout = operator.layout
        state = layout.from_bytes(bytes(found[0])) if found else layout.empty()
        if parts:
            state, _ = operator.step(state, parts, 0)
        until_us = timers.getCurrentWatermarkInMs() * 1000
        state, final, following = operator.close(state, END, until_us)
        if following is None:
            self._state.clear()
        else:
            self._state.update((layout.to_bytes(state),))
            # Spark keeps time in milliseconds: called too early, it is asked again.
            self._handle.registerTimer(following // 1000)
        if final.num_rows:
            yield Row(changes=to_bytes(final))
