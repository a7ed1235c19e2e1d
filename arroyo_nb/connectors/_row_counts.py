"""How many rows a Spark action writes, where Spark itself is the writer.

Spark counts them while they flow: no second pass, and no row comes to the driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAIT_S = 5.0
"""How long the count may come after the action: by a queue of Spark's, which drops
events when it is full. To write goes before to count."""

_TICK_S = 0.005


def counted_rows(batch: DataFrame) -> tuple[DataFrame, Callable[[], int]]:
    """A batch that is counted as it is computed, and what gives the count after its one
    action; 0 where Spark has lost it."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    counts: Any = Observation()
    observed = batch.observe(counts, F.count(F.lit(1)).alias("rows"))

    def counted() -> int:
        deadline = time.monotonic() + WAIT_S
        while not counts._jo.future().isCompleted():  # `get` would wait for ever
            if time.monotonic() > deadline:
                return 0
            time.sleep(_TICK_S)
        return int(counts.get["rows"])

    return observed, counted
