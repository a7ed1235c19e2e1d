"""What keeps the state of updating operators, in Spark's terms.

When a query starts, Spark asks each of its processors what state it has, one after the
other, each in a new Python process. So this module loads PySpark alone, and an operator
is unpickled by the first rows that come to it: that process takes half the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

if TYPE_CHECKING:
    from arroyo_nb.changelog.aggregate import AggregateKernel
    from arroyo_nb.changelog.state_tables import State
    from arroyo_nb.spark.bucket_state import BucketState
    from arroyo_nb.spark.stateful_operators import Chain, StatefulOperator

T_co = TypeVar("T_co", covariant=True)

# A text would be sent to the JVM to be parsed, by each task.
_STATE = StructType([StructField("tables", BinaryType())])
_ENTRY = StructType([StructField("number", IntegerType())])


class Bucket(StatefulProcessor):  # type: ignore[misc]
    """A processor whose state is that of an operator, for each bucket of keys."""

    def __init__(self, operator: StatefulOperator) -> None:
        self._packed = Packed(operator)

    def init(self, handle: Any) -> None:
        """Get the bucket's state from Spark; called once per task, before any row."""
        self._handle = handle
        self._state = handle.getValueState("state", _STATE)

    def close(self) -> None:
        """Nothing is held open."""


class Step(Bucket):
    """A bucket's state, taken one batch further.

    Parameters
    ----------
    operator
        Whose state it is.
    ttl_us
        After how long without an append a group is forgotten, in microseconds.
    chain
        What reads the changes here; None: they are sent as they are.
    """

    def __init__(
        self,
        operator: StatefulOperator,
        ttl_us: int | None,
        chain: Chain | None = None,
    ) -> None:
        super().__init__(operator)
        self._ttl_us = ttl_us
        self._chain = None if chain is None else Packed(chain)

    def init(self, handle: Any) -> None:
        """Get the log as well, of a bucket whose state is large."""
        super().init(handle)
        self._log = handle.getMapState("log", _ENTRY, _STATE)

    def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Any:  # noqa: N802
        """Take the rows of a bucket of one micro-batch."""
        from arroyo_nb.spark.stateful_operators import NOW, advance, to_bytes

        operator, saved, rows = self._packed.value, self._saved(), list(rows)
        kept = saved.read()
        # A beat has no part.
        blobs = [bytes(row.part) for row in rows if row.part is not None]
        # A beat for a bucket that never had rows.
        if kept is None and not blobs:
            return
        before = saved.nothing() if kept is None else kept
        parts = [operator.partial_layout.from_bytes(blob) for blob in blobs]
        now_us = rows[0][NOW]
        idle_us = None if self._ttl_us is None else now_us - self._ttl_us
        seen = before.touched(parts, idle_us)
        after = advance(operator, seen.state, parts, now_us, idle_us)
        # Also where nothing is told: an idle row of a join may have had no match.
        if after.updates:
            saved.write(before, seen, after.updates)
        if not after.changes.num_rows:
            return
        if self._chain is None:
            yield Row(changes=to_bytes(after.changes))
            return
        for part in self._chain.value(after.changes).to_pylist():
            yield Row(**part)

    def _saved(self) -> BucketState:
        from arroyo_nb.spark.bucket_state import BucketState
        from arroyo_nb.spark.state_files import StateFiles

        operator, files = self._packed.value, StateFiles.of_worker()
        keys = tuple(operator.group_keys)
        return BucketState(self._state, self._log, operator.layout, keys, files)


class Close(Bucket):
    """A bucket's state of open windows."""

    _packed: Packed[AggregateKernel]

    def handleInputRows(self, _key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
        """Take the rows of a bucket of one micro-batch."""
        layout = self._packed.value.partial_layout
        parts = [layout.from_bytes(bytes(row.part)) for row in rows]
        yield from self._sent(parts, timers)

    def handleExpiredTimer(self, timerValues: Any, **_: Any) -> Any:  # noqa: N802, N803
        """Close the windows that the watermark has passed, without new rows."""
        yield from self._sent((), timerValues)

    def _sent(self, parts: Sequence[State], timers: Any) -> Any:
        from arroyo_nb.spark.stateful_operators import END, to_bytes

        operator, found = self._packed.value, self._state.get()
        layout = operator.layout
        state = layout.from_bytes(bytes(found[0])) if found else layout.empty()
        if parts:
            state = operator.merged_state(state, parts)
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


class Packed(Generic[T_co]):
    """A value that travels as bytes, and is unpickled where it is asked for."""

    def __init__(self, value: T_co) -> None:
        # As bytes inside: Spark unpickles the processor in each new process, also in
        # those that only ask what state it has.
        self._bytes: bytes = cloudpickle.dumps(value)

    @cached_property
    def value(self) -> T_co:
        """The value, one for each process."""
        value: T_co = cloudpickle.loads(self._bytes)
        return value

    def __getstate__(self) -> bytes:
        return self._bytes

    def __setstate__(self, state: bytes) -> None:
        self._bytes = state
