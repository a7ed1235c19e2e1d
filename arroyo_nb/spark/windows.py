"""How a row gets its window in Spark, and what the window is when it leaves.

Windows are half open and aligned to the epoch in UTC. Arroyo merges rows of a session
that are *less* than the gap apart, Spark those that are at most the gap apart: Spark
gets the gap less a microsecond, and the end that it reports is given that back.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from arroyo_nb.plan.nodes import Hop, SessionWindow, Tumble, Window
from arroyo_nb.schema import MICROSECOND, TIMESTAMP, quoted
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    from pyspark.sql import Column

WINDOW = "_window"
"""Hidden column of a windowed relation: the struct that carries the watermark."""

END_OF_TIME = f"timestamp_micros({END_OF_TIME_US}L)"
"""Event time of the row that ends a stream, as Spark SQL text."""

_DELAY_KEY, _NOT_EVENT_TIME = "spark.watermarkDelayMs", "arroyo_nb.notEventTime"


def assigned(window: Window | None, *, alone: bool) -> list[Column]:
    """The group keys that put a row into its windows; the first is ``_window``.

    Parameters
    ----------
    window
        None keeps the window that the row has.
    alone
        Whether there are no other keys.
    """
    from pyspark.sql import functions as F  # noqa: N812

    match window:
        case None:
            return [F.col(WINDOW)]
        case Tumble(width):
            return [F.window(TIMESTAMP, _text(width)).alias(WINDOW)]
        case Hop(slide, width):
            return [F.window(TIMESTAMP, _text(width), _text(slide)).alias(WINDOW)]
        case SessionWindow(gap):
            # Spark refuses a session without another key on a stream, and drops a
            # constant one: this one is the same for all rows, but not a constant.
            same = F.expr(f"{quoted(TIMESTAMP)} > {END_OF_TIME}")
            other = [same.alias("_same")] if alone else []
            shorter = F.session_window(TIMESTAMP, _text(gap - MICROSECOND))
            return [shorter.alias(WINDOW), *other]
        case _:
            assert_never(window)


def finished(window: Window | None) -> Column:
    """``_window`` as it leaves an aggregate, marked with the watermark."""
    from pyspark.sql import functions as F  # noqa: N812

    if not isinstance(window, SessionWindow):
        return F.col(WINDOW)
    start, end = (f"{quoted(WINDOW)}.{quoted(edge)}" for edge in ("start", "end"))
    one = "INTERVAL '0.000001' SECOND"
    # Not deterministic to Spark, so it tests no window of a session before its rows are
    # merged: it takes a filter above for one of the keys of single rows.
    one = f"IF(spark_partition_id() < 0, {one}, {one})"
    return marked(f"named_struct('start', {start}, 'end', {end} + {one})", WINDOW)


def marked(value: str, name: str) -> Column:
    """A column that Spark takes for event time, with the query's own watermark."""
    from pyspark.sql import functions as F  # noqa: N812

    # That the key is there is what counts: the delay is that of withWatermark.
    return F.expr(value).alias(name, metadata={_DELAY_KEY: 0})


def unmarked(value: Column, name: str) -> Column:
    """A column that Spark does not take for event time, also where it is a copy of one:
    a stateful operator refuses an input with two such columns."""
    # Anything but the key: Spark's optimizer forgets that metadata is to be empty.
    return value.alias(name, metadata={_NOT_EVENT_TIME: True})


def _text(duration: timedelta) -> str:
    return f"{duration // MICROSECOND} microseconds"
