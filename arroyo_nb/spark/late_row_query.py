"""The rows that came after their window had closed, found again with a batch query.

Spark drops a row of a window whose end is not after the watermark of the batch
*before* the one that brings the row. A row of a session is dropped where that watermark
has reached its own event time and the gap, whichever sessions are open: it belongs to
no session, and so it has missed no window that could be named.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes import Hop, SessionWindow, Window, WindowAggregate
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, quoted
from arroyo_nb.spark.lower import Read, lower
from arroyo_nb.spark.windows import WINDOW, assigned, finished

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

START, END, LATE_BY = "window_start", "window_end", "late_by"
MISSED = "missed_windows"


def late_rows(
    aggregate: WindowAggregate, read: Read, late_watermark: datetime
) -> DataFrame:
    """Each late row of one micro-batch: those that missed at least one window.

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
        ``window_start`` and ``window_end`` of the window that it missed, of several
        the last one, ``missed_windows``: how many, and ``late_by``: how far the
        watermark had passed the row's event time, as a day-time interval. Of sessions
        the first three are NULL.
    """
    assert aggregate.assign is not None
    columns = [quoted(name) for name in aggregate.input.schema.names]
    # Nothing is grouped: a session needs no other key.
    window, *_ = assigned(aggregate.assign, alone=False)
    watermark = f"timestamp_micros({_micros(late_watermark)}L)"
    end = f"{quoted(WINDOW)}.`end`"
    is_last, missed = _last_missed(aggregate.assign, watermark)
    rows = lower(aggregate.input, read, again=True)
    start = f"{quoted(WINDOW)}.`start`"
    told: tuple[str, ...] = (start, end, missed)
    if isinstance(aggregate.assign, SessionWindow):
        told = (*["CAST(NULL AS TIMESTAMP)"] * 2, "CAST(NULL AS BIGINT)")
    return (
        rows.select(*columns, quoted(TIMESTAMP), window)
        # Before `finished`: Spark compares the end of the session that it made.
        .filter(f"{end} <= {watermark} AND {is_last}")
        .select(*columns, quoted(TIMESTAMP), finished(aggregate.assign))
        .selectExpr(
            *columns,
            quoted(TIMESTAMP),
            *map("{} AS {}".format, told, (START, END, MISSED)),
            f"{watermark} - {quoted(TIMESTAMP)} AS {LATE_BY}",
        )
    )


def _last_missed(window: Window, watermark: str) -> tuple[str, str]:
    """Whether a row's window is the last one that it missed, and how many it missed up
    to there: of a hop a row has several windows, and is one late row all the same."""
    if not isinstance(window, Hop):
        return "true", "1L"
    slide, width = window.slide // MICROSECOND, window.width // MICROSECOND
    time = f"unix_micros({quoted(TIMESTAMP)})"
    start = f"unix_micros({quoted(WINDOW)}.`start`)"
    following = f"({start} + {slide}L)"
    # The windows of a row begin at multiples of the slide after time - width.
    first = f"({time} - {width}L - pmod({time} - {width}L, {slide}L) + {slide}L)"
    is_last = (
        f"({following} > {time} OR {following} + {width}L > unix_micros({watermark}))"
    )
    return is_last, f"(({start} - {first}) div {slide}L + 1L)"


def _micros(instant: datetime) -> int:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND
