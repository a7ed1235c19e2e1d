"""The watermark against the newest event of each source, as they moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.chart.common import (
    WATER,
    Plottable,
    frame,
    refuse_nothing,
    sized,
    time_axis,
)

NEWEST, MARK = "newest event", "watermark"


def watermark_chart(run: Plottable) -> Any:
    """A line for the newest event of each source, steps for the watermark."""
    import altair as alt

    snapshot = run.snapshot(0)
    if not (points := list(curve_points(snapshot))):
        raise refuse_nothing("event time", "wait for the first rows")
    names = list(dict.fromkeys(point["line"] for point in points))
    colours = alt.Scale(
        domain=names,
        range=[
            WATER if name == MARK else colour
            for name, colour in zip(names, _hues(len(names)), strict=True)
        ],
    )
    base = alt.Chart(frame(points)).encode(
        x=alt.X("elapsed:Q", title="processing time (s)"),
        y=alt.Y("moment:T", axis=time_axis("event time"), scale=alt.Scale(zero=False)),
        color=alt.Color("line:N", scale=colours, sort=names, title=None),
        # Both axes are continuous: without an order a line goes up, not across.
        order="elapsed:Q",
        tooltip=["line:N", "moment:T", "elapsed:Q", "batch:Q"],
    )
    is_mark = f"datum.line == '{MARK}'"
    events = base.transform_filter(f"!({is_mark})").mark_line(strokeDash=[4, 3])
    steps = base.transform_filter(is_mark).mark_line(interpolate="step-after")
    return sized(events + steps, "the watermark against the newest event")


def curve_points(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """The points of all lines; the end of the input is none."""
    for point in snapshot.history:
        at = {"elapsed": point.elapsed_s, "batch": point.batch_id}
        several = len(point.sources) > 1
        for name, moment in point.sources if several else ():
            yield {**at, "line": _line_name(name), "moment": moment}
        if not several and point.max_event_time is not None:
            yield {**at, "line": NEWEST, "moment": point.max_event_time}
        if point.watermark is not None and point.watermark < END_OF_TIME:
            yield {**at, "line": MARK, "moment": point.watermark}


def _line_name(source: str) -> str:
    """A source's name, unless a line of another kind has it."""
    return f"{source} (source)" if source in (NEWEST, MARK) else source


def _hues(number: int) -> list[str]:
    hues = ["#1a7f37", "#9a6700", "#8250df", "#bf3989", "#1b7c83", "#57606a"]
    return [hues[i % len(hues)] for i in range(number)]
