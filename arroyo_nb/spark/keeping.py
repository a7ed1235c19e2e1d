"""How the state of updating operators is kept, for all of a query alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.changelog import BUCKETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@contextmanager
def state_in_rocksdb(spark: SparkSession) -> Iterator[None]:
    """The queries that are started meanwhile keep their state in RocksDB.

    Python operators want it, and the windows of other queries are faster in memory: a
    query takes along the settings it is started with.
    """
    before = spark.conf.get(_STATE_STORE)
    spark.conf.set(_STATE_STORE, _ROCKSDB)
    try:
        yield
    finally:
        spark.conf.set(_STATE_STORE, before)


@dataclass(frozen=True)
class Keeping:
    """How state is cut, and when it is forgotten.

    Parameters
    ----------
    buckets
        Into how many pieces the state of an operator is cut; the same for as long as
        it lives.
    ttl
        Processing time without an append after which a key is retracted and
        forgotten; None: never.
    beats
        Gives a stream that has a row now and then: each has every operator look for
        idle keys, also while no other rows come. None: they are looked for with each
        batch of a bucket only.
    """

    buckets: int = BUCKETS
    ttl: timedelta | None = None
    beats: Callable[[], DataFrame] | None = None

    @property
    def ttl_us(self) -> int | None:
        """The time to live in microseconds."""
        return None if self.ttl is None else self.ttl // timedelta(microseconds=1)


KEPT = Keeping()
"""For as long as the query lives, in as many buckets as is usual."""
