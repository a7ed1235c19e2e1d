"""Counts of rows by the pane of event time that they lie in.

They are made in the middle of the code that Spark generates for a micro-batch; see
``PaneCounts.java``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.external_session import has_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


NO_STREAM = -1
"""Stands for the batch of rows that are no stream's."""


@dataclass(frozen=True)
class CountedPanes:
    """What was counted in one micro-batch; times are microseconds since the epoch.

    Parameters
    ----------
    newest_us
        The newest event time.
    together
        How many neighbouring panes are counted as one; 1: each is told apart.
    sample
        Event times of some of the rows, at most 64, evenly drawn; of few rows all.
    told
        What is told of each row of the sample; nothing where nothing is.
    rows
        Rows by the start of their pane.
    of_partitions
        The same by partition, where that is known: by :func:`table_number` and the
        partition's number.
    """

    newest_us: int
    together: int
    sample: tuple[int, ...]
    told: tuple[str, ...]
    rows: dict[int, int]
    of_partitions: Mapping[tuple[int, int], Mapping[int, int]] = field(
        default_factory=dict
    )


class PaneCounts:
    """Counts the rows of one DataFrame, with each micro-batch.

    Parameters
    ----------
    spark
        A session with our classes (:func:`has_pane_counts`).
    width_us
        Of a pane, in microseconds.
    most
        Panes of one batch that are told apart; of more, neighbours are counted as one.
    """

    def __init__(self, spark: SparkSession, width_us: int, most: int) -> None:
        self._java = spark._jvm.arroyo_nb.PaneCounts(width_us, most)

    def counted(self, rows: DataFrame, micros: str, told: str = "") -> DataFrame:
        """The rows as they are, counted on their way; may be called once.

        Parameters
        ----------
        micros
            Their event time in microseconds since the epoch, as Spark SQL; a row where
            that is NULL is not counted.
        told
            What is told of a row of the sample, as Spark SQL, a text of one line; it is
            evaluated for those rows only. Empty: nothing is.
        """
        from pyspark.sql import DataFrame

        texts = (told,) if told else ()
        counted = self._java.counted(rows._jdf, micros, *texts)
        return DataFrame(counted, rows.sparkSession)

    def take(self, batch_id: int) -> CountedPanes | None:
        """What a batch counted, None without a row; the batches before it are
        forgotten."""
        encoded = self._java.take(batch_id)
        if encoded is None:
            return None
        (length,) = struct.unpack_from(">q", encoded)
        end = 8 * (1 + length)
        numbers = struct.unpack(f">{length}q", encoded[8:end])
        texts = bytes(encoded[end:]).decode()
        newest, together, drawn, *rest = numbers
        sample, rest = tuple(rest[:drawn]), rest[drawn:]
        rows, rest = _rows_of_panes(rest)
        parts: dict[tuple[int, int], Mapping[int, int]] = {}
        while rest:
            place = divmod(rest[0], 2**32)
            parts[place], rest = _rows_of_panes(rest[1:])
        told = tuple(texts.split("\n")) if texts else ()
        return CountedPanes(newest, together, sample, told, rows, parts)


def _rows_of_panes(numbers: list[int]) -> tuple[dict[int, int], list[int]]:
    """The panes that begin a list, how many stands first, and what is behind them."""
    end = 1 + 2 * numbers[0]
    return dict(zip(numbers[1:end:2], numbers[2:end:2], strict=True)), numbers[end:]


def table_number(name: str) -> int:
    """What stands for a table where a task notes which partition it reads."""
    return zlib.crc32(name.encode()) >> 1


def placed(records: DataFrame, table: str, partition: str) -> DataFrame:
    """The records of a topic as they are; rows that a task makes of them are counted
    for their partition too, up to the first shuffle.

    Parameters
    ----------
    partition
        The number of a record's partition, as Spark SQL.
    """
    from pyspark.sql import DataFrame

    java = records.sparkSession._jvm.arroyo_nb.PaneCounts
    made = java.placed(records._jdf, table_number(table), partition)
    return DataFrame(made, records.sparkSession)


def has_pane_counts(spark: SparkSession) -> bool:
    """Whether rows can be counted so: the session has our classes, which one that a
    user has made need not, and works in one process."""
    context: Any = spark.sparkContext
    return has_class(spark, "PaneCounts") and bool(context._jsc.isLocal())
