"""Windows over event time: how many rows each has, and how many were late."""

from __future__ import annotations

from typing import Any

from arroyo_nb.views.chart.common import (
    CLOSED,
    LATE,
    OPEN,
    Plottable,
    frame,
    refuse_nothing,
    sized,
    time_axis,
    windowed_snapshot,
)

MOST_WINDOWS = 2_000
"""The newest ones that a chart takes."""

MOST_MARKED = 40
"""Windows beside which there is room for the number of their late rows."""


def windows_chart(run: Plottable) -> Any:
    """A bar a window, from its start to its end; × marks late rows, where there is no
    room for it a red piece on top does."""
    import altair as alt

    snapshot = windowed_snapshot(run)
    if not snapshot.windows:
        raise refuse_nothing(
            "window", "a chart of windows needs tumble, hop or session"
        )
    bars = sorted(snapshot.windows, key=lambda bar: (bar.end, bar.start))
    data = frame(
        {
            "start": bar.start,
            "end": bar.end,
            "middle": bar.start + (bar.end - bar.start) / 2,
            "rows": bar.rows,
            "late": bar.late_rows,
            "all": bar.rows + bar.late_rows,
            "mark": f"× {bar.late_rows:,}" if bar.late_rows else "",
            "state": bar.state.value,
        }
        for bar in bars[-MOST_WINDOWS:]
    )
    states = alt.Scale(domain=["closed", "open"], range=[CLOSED, OPEN])
    tooltip = ["start:T", "end:T", "rows:Q", "late:Q", "state:N"]
    base = alt.Chart(data)
    across = alt.X("start:T", axis=time_axis("event time"))
    columns = base.mark_bar(stroke="white", opacity=0.85).encode(
        x=across,
        x2="end",
        y=alt.Y("rows:Q", title="rows"),
        y2=alt.Y2(datum=0),
        color=alt.Color("state:N", scale=states, title="window"),
        tooltip=tooltip,
    )
    few = len(data) <= MOST_MARKED
    missed = base.transform_filter("datum.late > 0")
    late = (
        missed.mark_text(dy=-8, color=LATE, fontWeight="bold").encode(
            x="middle:T", y="rows:Q", text="mark:N", tooltip=tooltip
        )
        if few
        else missed.mark_bar(color=LATE).encode(
            x=across, x2="end", y="rows:Q", y2="all", tooltip=tooltip
        )
    )
    what = f" ({snapshot.window_text})" if snapshot.window_text else ""
    sign = "×" if few else "red:"
    marked = f", {sign} late rows" if snapshot.late_rows else ""
    return sized(columns + late, f"rows by window{what}{marked}")
