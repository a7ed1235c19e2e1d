"""Settings of one query: it keeps those that it is started with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMING = "spark.sql.streaming."
"""What the names of Spark's settings of streaming queries begin with."""

STOP_TIMEOUT = STREAMING + "stopTimeout"
"""What Spark's error names where the thread of a query has not ended in time."""

IN_ROCKSDB: Mapping[str, str] = MappingProxyType(
    {
        STREAMING + "stateStore.providerClass": "org.apache.spark.sql.execution."
        "streaming.state.RocksDBStateStoreProvider"
    }
)
"""Settings of a query of updating operators, which are in Python and want it."""


@contextmanager
def query_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The queries that are started meanwhile have the settings: a query takes along
    those that it is started with."""
    before = {name: spark.conf.get(name) for name in settings}
    _set(spark, settings)
    try:
        yield
    finally:
        _set(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)
