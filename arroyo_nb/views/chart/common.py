"""What the charts have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

    from arroyo_nb.run.observe.snapshot import Snapshot

WIDTH, HEIGHT = 640, 260
"""Pixels of a chart without its axes."""

CLOCK = {"minutes": "%H:%M", "hours": "%H:%M", "day": "%b %-d", "date": "%b %-d"}
"""Formats of a time axis, as the panel writes times."""

WATER, CLOSED, OPEN, LATE, KEEPS = "#0969da", "#4a7fe0", "#9db9ee", "#cf222e", "#1a7f37"
"""Colours of the panel: the watermark, closed and open windows, late rows, and a delay
that would keep more."""


class Plottable(Protocol):
    """What a chart needs of a run, or of what was saved of one."""

    def table(self) -> pa.Table:
        """The result rows."""

    def changelog(self) -> pa.Table:
        """Its changes: op, batch, before, after."""

    def snapshot(self, rows: int = ..., output: int = ...) -> Snapshot:
        """What is known of the windows and the watermark of an output."""


def windowed_snapshot(run: Plottable) -> Snapshot:
    """What is known of the first output that has windows; of the first of all, where
    none has."""
    first = run.snapshot(0)
    if first.windowed:
        return first
    others = (run.snapshot(0, number) for number in range(1, len(first.outputs)))
    return next((other for other in others if other.windowed), first)


def frame(records: Iterable[dict[str, Any]]) -> Any:
    """Records as the data of a chart."""
    import pandas as pd

    return pd.DataFrame.from_records(list(records))


def time_axis(title: str) -> alt.Axis:
    """The axis of a time, as the panel writes it."""
    import altair as alt

    return alt.Axis(format=CLOCK, labelOverlap=True, title=title)


def sized(chart: Any, title: str) -> Any:
    """The chart in the usual size, with a title."""
    return chart.properties(width=WIDTH, height=HEIGHT, title=title)


def escaped_field(name: str) -> str:
    """A column name that Vega does not take for a path."""
    return "".join("\\" + c if c in ".[]\\" else c for c in name)


def refuse_nothing(what: str, hint: str) -> RunProblem:
    """The error where a run has nothing of what a chart draws."""
    return RunProblem(f"there is no {what} to draw", hint=hint)
