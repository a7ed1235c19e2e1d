"""Streams of Parquet chunks, and how long a query takes over all of one."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

    from arroyo_nb.session import Session

WARM_UP, ROUNDS = 2, 7


def read(spark: SparkSession, folder: Path, columns: str) -> DataFrame:
    """The chunks of a folder as a stream, one a micro-batch."""
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    return reader.parquet(folder.as_uri())


def warm_up(session: Session) -> None:
    """What loading the extension does, to its end."""
    session.warm_up()
    while not session.engine.is_warm:
        time.sleep(0.1)


def seconds(make: Callable[[], DataFrame], mode: str = "append") -> float:
    """How long a query takes from its making to its end, writing to a sink that
    discards."""
    began = time.perf_counter()
    stream = make().writeStream.format("noop").outputMode(mode)
    return time.perf_counter() - began + drained(stream)


def drained(stream: DataStreamWriter) -> float:
    """How long a query takes from start to its end."""
    checkpoint = tempfile.mkdtemp()
    began = time.perf_counter()
    query = (
        stream.option("checkpointLocation", Path(checkpoint).as_uri())
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    took = time.perf_counter() - began
    shutil.rmtree(checkpoint, ignore_errors=True)
    return took


def in_turn(first: Callable[[], DataFrame], other: Callable[[], DataFrame]) -> float:
    """The best time of the other by that of the first: above 1 the first is faster."""
    for _ in range(WARM_UP):
        seconds(first), seconds(other)
    ours, theirs = list[float](), list[float]()
    for turn in range(ROUNDS):
        pair = [(first, ours), (other, theirs)]
        for make, times in pair if turn % 2 else reversed(pair):
            times.append(seconds(make))
    return min(theirs) / min(ours)
