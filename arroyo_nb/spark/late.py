"""The rows that came after their window had closed, found again with a batch query.

Spark drops a row of a window whose end is not after the watermark of the batch
*before* the one that brings the row. A session's row opens a window of its own, from
its event time to the gap's end, and is dropped by that one's end.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes import WindowAggregate
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, quoted
from arroyo_nb.spark.lower import Read, lower
from arroyo_nb.spark.windows import WINDOW, assigned, finished

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

START, END, LATE_BY = "window_start", "window_end", "late_by"


def late_rows(
    aggregate: WindowAggregate, read: Read, late_watermark: datetime
) -> DataFrame:
    """Each late row of one micro-batch, once for each window that it missed.

    Parameters
    ----------
    aggregate
        One that puts rows into windows.
    read
        Gives the rows of that batch, as a batch DataFrame.
    late_watermark
        The watermark of the batch before it; naive is UTC.

    Returns
    -------
    DataFrame
        The visible columns of the aggregate's input, ``_timestamp``,
        ``window_start``, ``window_end``, and ``late_by``: how far the watermark had
        passed the row's event time, as a day-time interval.
    """
    assert aggregate.assign is not None
    columns = [quoted(name) for name in aggregate.input.schema.names]
    # Nothing is grouped: a session needs no other key.
    window, *_ = assigned(aggregate.assign, alone=False)
    watermark = f"timestamp_micros({_micros(late_watermark)}L)"
    end = f"{quoted(WINDOW)}.`end`"
    rows = lower(aggregate.input, read, again=True)
    return (
        rows.select(*columns, quoted(TIMESTAMP), window)
        # Before `finished`: Spark compares the end of the session that it made.
        .filter(f"{end} <= {watermark}")
        .select(*columns, quoted(TIMESTAMP), finished(aggregate.assign))
        .selectExpr(
            *columns,
            quoted(TIMESTAMP),
            f"{quoted(WINDOW)}.`start` AS {START}",
            f"{end} AS {END}",
            f"{watermark} - {quoted(TIMESTAMP)} AS {LATE_BY}",
        )
    )


def _micros(instant: datetime) -> int:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND
