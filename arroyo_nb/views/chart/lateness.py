"""The lateness of rows, and which delays would keep them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from arroyo_nb.run.observe.lateness import Lateness
from arroyo_nb.views.chart.common import (
    CLOSED,
    KEEPS,
    LATE,
    WATER,
    Plottable,
    frame,
    refuse_nothing,
    sized,
    windowed_snapshot,
)
from arroyo_nb.views.formatting import duration
from arroyo_nb.views.sections.watermark.histogram import exceeds, more_than

POWERS = [0, *(10**n for n in range(13))]
"""Ticks of the logarithmic axis of rows."""

LENGTHS = (
    *(timedelta(milliseconds=10**n) for n in range(3)),
    *(timedelta(seconds=n) for n in (1, 3, 10, 30)),
    *(timedelta(minutes=n) for n in (1, 3, 10, 30)),
    *(timedelta(hours=n) for n in (1, 2, 4, 8)),
    *(timedelta(days=n * 10**k) for k in range(5) for n in (1, 3)),
)
"""Ticks of the logarithmic axis of lateness."""

TITLE = "lateness of rows, as the view 'watermark' has it (both axes are logarithmic)"


def lateness_chart(run: Plottable) -> Any:
    """A column a stretch of lateness; lines for the delay and for those that keep
    99 %, 99.9 % and all rows."""
    import altair as alt

    lateness = windowed_snapshot(run).lateness
    if lateness is None or not lateness.rows:
        raise refuse_nothing(
            "lateness", "it is known of rows that came into tumble, hop or session"
        )
    delay_s = lateness.delay.total_seconds()
    # The last column may have no end.
    end_s = max(lateness.longest.total_seconds() * 1.1, delay_s * 1.1, 1.0)
    data = frame(_columns(lateness, end_s))
    marks = frame(
        {
            "at": length.total_seconds(),
            "text": f"{name} {text}",
            "kind": kind,
            "line": number,
        }
        for number, (length, name, kind, text) in enumerate(
            (
                (lateness.delay, "delay", "delay", duration(lateness.delay) or "0 s"),
                *(
                    (over, f"{share} kept:", "keeps", exceeds(over))
                    for share, least in (
                        ("99 %", lateness.keep_99),
                        ("99.9 %", lateness.keep_999),
                        ("all", lateness.keep_all),
                    )
                    for over in [more_than(least)]
                ),
            )
        )
    )
    across = alt.Scale(
        type="symlog", domain=[0, end_s], nice=False, constant=_linear_s(lateness)
    )
    # Room above the columns for the names of the lines.
    most = max(each.rows for each in lateness.bins)
    up = alt.Scale(type="symlog", domain=[0, (most + 1) ** 1.6], nice=False)
    colours = alt.Scale(domain=["within the delay", "beyond it"], range=[CLOSED, LATE])
    columns = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("low:Q", scale=across, axis=_axis(lateness, end_s)),
            x2="high",
            y=alt.Y("rows:Q", scale=up, title="rows", axis=alt.Axis(values=POWERS)),
            y2=alt.Y2(datum=0),
            color=alt.Color("which:N", scale=colours, title=None),
            tooltip=["low:Q", "high:Q", "rows:Q"],
        )
    )
    kinds = alt.Scale(domain=["delay", "keeps"], range=[WATER, KEEPS])
    rules = alt.Chart(marks).encode(
        x=alt.X("at:Q", scale=across),
        color=alt.Color("kind:N", scale=kinds, legend=None),
    )
    lines = rules.mark_rule(strokeWidth=2)
    # Under each other: delays that keep nearly all rows lie close together. And on a
    # ground of their own, as the lines of the shorter delays pass through them.
    words: dict[str, Any] = {"align": "right", "dx": -5, "fontWeight": "bold"}
    at = rules.encode(
        y=alt.Y("line:O", axis=None, scale=alt.Scale(range=[8, 74])), text="text:N"
    )
    ground = at.mark_text(**words, stroke="white", strokeWidth=5)
    layered = alt.layer(columns, lines, ground, at.mark_text(**words)).resolve_scale(
        color="independent", y="independent"
    )
    return sized(layered, TITLE)


def _columns(lateness: Lateness, end_s: float) -> Iterator[dict[str, Any]]:
    """The stretches that have rows; the one with the delay in it in two parts."""
    delay_s = lateness.delay.total_seconds()
    for each in lateness.bins:
        low, high = each.low.total_seconds(), min(each.high.total_seconds(), end_s)
        middle = min(max(delay_s, low), high)
        parts = ((low, middle, "within the delay"), (middle, high, "beyond it"))
        for left, right, which in parts:
            if each.rows and left < right:
                yield {"low": left, "high": right, "rows": each.rows, "which": which}


def _linear_s(lateness: Lateness) -> float:
    """Up to where the logarithmic axis is nearly linear: the first column takes no more
    room than it needs."""
    first = lateness.bins[0]
    return max((first.high - first.low).total_seconds() / 2, 1e-3)


def _axis(lateness: Lateness, end_s: float) -> Any:
    """Ticks at even lengths of time, as far apart as a logarithmic axis wants them."""
    import altair as alt

    least_s = _linear_s(lateness)
    ticks = [each for each in LENGTHS if least_s <= each.total_seconds() <= end_s]
    # JavaScript writes a whole number without a point.
    names = {"0": "0 s"} | {
        f"{tick.total_seconds():.6f}".rstrip("0").rstrip("."): duration(tick)
        for tick in ticks
    }
    return alt.Axis(
        values=[0, *(tick.total_seconds() for tick in ticks)],
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelOverlap="greedy",
        title="lateness: newest event past the end of the row's pane",
    )
