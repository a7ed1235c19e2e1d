"""When the sources of a run were idle, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.observe.idle_sources import IdlePeriod


def idle_table(periods: Sequence[IdlePeriod]) -> pa.Table:
    """A row for each period, oldest first; of one that goes on, when the source came
    back is NULL."""
    import pyarrow as pa

    schema = pa.schema(
        {
            "source": pa.string(),
            "batch_id": pa.int64(),
            "elapsed_s": pa.float64(),
            "idle_s": pa.float64(),
            "back_batch_id": pa.int64(),
            "back_elapsed_s": pa.float64(),
        }
    )
    return pa.Table.from_pylist([asdict(period) for period in periods], schema)
