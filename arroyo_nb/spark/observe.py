"""Exact counts of what came into a window aggregate, with each micro-batch.

The input of an aggregate is observed by Spark itself while it flows: no second pass.
What Spark counts as dropped are groups after pre-aggregation; from these counts and
the watermark that Spark used, the run tells the late *rows* of each window.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from arroyo_nb.plan.nodes import Hop, Session, Tumble, Window, WindowAggregate
from arroyo_nb.schema import TIMESTAMP, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREFIX = "window:"
"""Observations are named ``window:0``, ``window:1`` .. in the plan's order."""

PANES = 512
"""Most panes that one batch reports exactly."""

_MICROSECOND = timedelta(microseconds=1)


def observed_input(frame: DataFrame, node: WindowAggregate, number: int) -> DataFrame:
    """The rows, observed; one observation per micro-batch and window aggregate."""
    from pyspark.sql import functions as F  # noqa: N812

    assert node.assign is not None
    time = f"unix_micros({quoted(TIMESTAMP)})"
    pane_us = pane(node.assign) // _MICROSECOND
    start = f"{time} - pmod({time}, {pane_us}L)"
    return frame.observe(
        f"{PREFIX}{number}",
        F.expr("count(1)").alias("rows"),
        F.expr(f"min({time})").alias("min_us"),
        F.expr(f"max({time})").alias("max_us"),
        # A histogram of at most PANES bins is exact until a bin would be the next.
        F.expr(f"histogram_numeric({start}, {PANES})").alias("panes"),
    )


def pane(window: Window) -> timedelta:
    """The piece of event time that lies in the same windows as a whole.

    For a session, which has no fixed windows, pieces of the gap's width.
    """
    match window:
        case Tumble(width):
            return width
        case Hop(slide, _):
            return slide
        case Session(gap):
            return gap
        case _:
            assert_never(window)
