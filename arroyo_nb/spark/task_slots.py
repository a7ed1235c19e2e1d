"""How many tasks can run at once, where all must: in Spark's real-time mode.

There each partition of a topic takes a task for as long as the query runs. What finds
no slot is read by nobody, and Spark does not say so.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTORS_S = 60.0
"""How long a cluster may have too few: executors come one by one, and come again."""


class Slots:
    """The task slots of a Spark; on its worker."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext
        master = self._context.master
        has_all = master == "local" or master.startswith("local[")
        self._patience_s = 0.0 if has_all else EXECUTORS_S
        self._short_s: float | None = None

    @property
    def number(self) -> int:
        """How many there are now."""
        scala = self._context._jsc.sc()
        profile = scala.resourceProfileManager().defaultResourceProfile()
        return int(scala.maxNumConcurrentTasks(profile))

    def check(self, partitions: int) -> None:
        """Refuse more partitions than can be read at once.

        Parameters
        ----------
        partitions
            Of all topics that are read, by all queries of the run.

        Raises
        ------
        RunProblem
            When there have been too few slots for too long.
        """
        slots, now_s = self.number, time.monotonic()
        if partitions <= slots:
            self._short_s = None
            return
        self._short_s = now_s if self._short_s is None else self._short_s
        if now_s - self._short_s >= self._patience_s:
            raise RunProblem(
                "in real-time mode each partition takes a task slot: the queries read "
                f"{partitions} partitions, and there are {slots} slots",
                hint="set `parallelism`, add executors, or leave `real_time` out",
            )
