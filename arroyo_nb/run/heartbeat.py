"""A row now and then, so that idle keys of updating queries are found.

Spark's own timers ask for empty micro-batches for ever; without a batch nothing looks
at the state. So a query that forgets idle keys reads one more folder, into which a file
is put a few times in the life of a key.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.paths import spark_pattern
from arroyo_nb.state.files import BEAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEATS = 10
"""How often the heart beats in the life of a key: by a tenth of it a key may outlive
its time."""

LEAST_S, MOST_S = 1.0, 60.0
"""Seconds between two beats, whatever the life of a key."""

KEPT_BEATS = 100
"""Files that stay: a batch that comes again reads its own once more."""


class Heartbeat:
    """The beats of a run, in a folder that its queries watch.

    Parameters
    ----------
    folder
        Where the files go; those of an earlier process are counted on.
    ttl
        How long a key may be idle.
    """

    def __init__(self, folder: Path, ttl: timedelta) -> None:
        self.period_s = min(max(ttl.total_seconds() / BEATS, LEAST_S), MOST_S)
        self._folder = folder
        self._newest = max((int(path.stem) for path in folder.glob("*.txt")), default=0)

    def beat(self) -> None:
        """Have every query look at its state once."""
        self._newest += 1
        draft = self._folder / f".{self._newest}.draft"
        draft.write_text(BEAT)
        draft.replace(self._path(self._newest))
        self._path(self._newest - KEPT_BEATS).unlink(missing_ok=True)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """A row for each beat; all that wait at once."""
        return spark.readStream.text(spark_pattern(self._folder))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.txt"
