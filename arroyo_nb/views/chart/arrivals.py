"""Event time against processing time: rows, the watermark, and late rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arroyo_nb.run.observe.sampled_rows import SampledRow
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.chart.common import (
    CLOSED,
    LATE,
    WATER,
    Plottable,
    frame,
    refuse_nothing,
    sized,
    time_axis,
    windowed_snapshot,
)
from arroyo_nb.views.chart.watermark import MARK, NEWEST, curve_points
from arroyo_nb.views.formatting import values_in_words
from arroyo_nb.views.sections.arrivals.layout import late_and_other_rows

BEHIND = "behind the watermark"

MOST_POINTS = 4_000
"""Rows that a chart takes: a page with more becomes slow."""


def arrivals_chart(run: Plottable) -> Any:
    """A dot a row, at the micro-batch that read it; late ones are crosses. Without
    a window those behind the watermark are rings."""
    import altair as alt

    snapshot = windowed_snapshot(run)
    lines = [p for p in curve_points(snapshot) if p["line"] in (MARK, NEWEST)]
    lines += [
        {
            "elapsed": point.elapsed_s,
            "batch": point.batch_id,
            "line": NEWEST,
            "moment": point.max_event_time,
        }
        for point in snapshot.history
        if len(point.sources) > 1 and point.max_event_time is not None
    ]
    if not lines:
        raise refuse_nothing("event time", "wait for the first rows")
    across = alt.X("elapsed:Q", title="processing time (s)")
    up = alt.Y("moment:T", axis=time_axis("event time"), scale=alt.Scale(zero=False))
    curves = alt.Chart(frame(lines)).encode(x=across, y=up, order="elapsed:Q")
    parts = [
        curves.transform_filter(f"datum.line == '{NEWEST}'").mark_line(
            strokeDash=[3, 3], color=WATER, strokeWidth=1
        ),
        curves.transform_filter(f"datum.line == '{MARK}'").mark_line(
            interpolate="step-after", color=WATER
        ),
    ]
    has_window = all(batch.has_window for batch in snapshot.arrivals)
    late = "late" if has_window else BEHIND
    if rows := list(_rows(snapshot, late)):
        dots = alt.Chart(frame(rows)).encode(
            x=across,
            y=up,
            color=alt.Color(
                "row:N",
                scale=alt.Scale(domain=["in time", late], range=[CLOSED, LATE]),
                title=None,
            ),
            tooltip=["moment:T", "values:N", "batch:Q", "row:N"],
        )
        # A sign beside the colour: who prints it in grey sees it too.
        crosses = dots.transform_filter(f"datum.row == '{late}'").mark_point(
            shape="cross" if has_window else "circle",
            angle=45,
            size=60 if has_window else 40,
            filled=has_window,
            opacity=1,
        )
        others = dots.transform_filter(f"datum.row != '{late}'").mark_circle(
            size=14, opacity=0.6
        )
        parts = [others, *parts, crosses]
    return sized(alt.layer(*parts), "event time against processing time")


def _rows(snapshot: Snapshot, late_text: str) -> Iterator[dict[str, Any]]:
    """The sampled rows, evenly thinned; late ones are all there."""
    parted = late_and_other_rows(snapshot, snapshot.arrivals)
    others = sum(len(rest) for _, _, rest in parted)
    every = -(-others // MOST_POINTS) or 1
    number = 0
    for batch, late, rest in parted:
        at = {"elapsed": batch.elapsed_s, "batch": batch.batch_id}
        for row in late[:MOST_POINTS]:
            yield {**at, **_told(row), "row": late_text}
        for row in rest:
            if number % every == 0:
                yield {**at, **_told(row), "row": "in time"}
            number += 1


def _told(row: SampledRow) -> dict[str, Any]:
    return {"moment": row.time, "values": values_in_words(row.values)}
