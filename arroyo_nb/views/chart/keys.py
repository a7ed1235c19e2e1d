"""The history of each key of a result: its number after each micro-batch."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.views.chart.common import Plottable, frame, refuse_nothing, sized
from arroyo_nb.views.chart.rows import columns_by_kind, flat, named_column

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEYS = 12
"""Keys that are told apart by colour: those that changed most often."""

MOST_GREY = 200
"""Keys that are drawn at all: the others are grey lines behind them."""

FEW_COLOURS = 10
"""Keys for which the colours that differ most are enough."""

MOST_CHANGES = 5_000
"""The newest ones that a chart takes."""


def keys_chart(run: Plottable, y: str | None = None, color: str | None = None) -> Any:
    """A line of steps for each key, from the run's changes."""
    import altair as alt

    changes = run.changelog()
    changes = changes.slice(max(changes.num_rows - MOST_CHANGES, 0))
    if changes.num_rows == 0:
        raise refuse_nothing("change", "wait for the first result rows")
    after = flat(_rows_of(changes, "after"))
    key, value = _key(after, color), _value(after, y, color)
    points = _points(changes, key, value)
    often = Counter(point["key"] for point in points)
    keys = [name for name, _ in often.most_common(MOST_KEYS)]
    newest = {point["key"]: point["value"] for point in points}
    # The list of colours is in the order in which the lines end.
    keys.sort(key=lambda name: _height(newest[name]), reverse=True)
    few = len(keys) <= FEW_COLOURS
    colours = alt.Scale(scheme="tableau10" if few else "tableau20")
    chart = (
        alt.Chart(frame(point for point in points if point["key"] in keys))
        .mark_line(interpolate="step-after", point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("batch:Q", title="micro-batch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=value),
            color=alt.Color("key:N", title=key, sort=keys, scale=colours),
            tooltip=["key:N", "value:Q", "batch:Q", "op:N"],
        )
    )
    if len(often) == len(keys):
        return sized(chart, f"{value} of each {key}")
    others = [name for name, _ in often.most_common(MOST_GREY)[MOST_KEYS:]]
    grey = (
        alt.Chart(frame(point for point in points if point["key"] in others))
        .mark_line(interpolate="step-after", color="#888", opacity=0.4, strokeWidth=1)
        .encode(
            x="batch:Q", y="value:Q", detail="key:N",
            tooltip=["key:N", "value:Q", "batch:Q", "op:N"],
        )
    )  # fmt: skip
    said = f"{len(keys)} of {len(often):,} keys in colour, those that changed most"
    return sized(grey + chart, f"{value} of each {key}: {said}")


def _height(value: Any) -> float:
    """How high a line ends; one whose key is gone, or has no value, at the bottom."""
    return -math.inf if value is None or value != value else float(value)


def _rows_of(changes: pa.Table, side: str) -> pa.Table:
    """The rows before or after the changes; NULLs where there was none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    structs = changes.column(side)
    names = [field.name for field in structs.type]
    return pa.table([pc.struct_field(structs, i) for i in range(len(names))], names)


def _key(rows: pa.Table, color: str | None) -> str:
    """The column that names a key: a text, else a window or a time."""
    if (named := named_column(rows, color)) is not None:
        return named
    texts, times, _ = columns_by_kind(rows)
    if not (found := next(iter((*texts, *times)), None)):
        raise RunProblem(
            "there is no column that names a key: a text, a window or a time",
            hint="name it: run.plot('keys', color='...')",
        )
    return found


def _value(rows: pa.Table, y: str | None, color: str | None) -> str:
    if (named := named_column(rows, y)) is not None:
        return named
    *_, numbers = columns_by_kind(rows)
    if not (found := next((name for name in numbers if name != color), None)):
        raise RunProblem(
            "there is no number to draw", hint="name it: run.plot('keys', y='...')"
        )
    return found


def _points(changes: pa.Table, key: str, value: str) -> list[dict[str, Any]]:
    """The number of a key after each change; none where it was taken back."""
    before, after = (flat(_rows_of(changes, side)) for side in ("before", "after"))
    sides = (rows.select([key, value]).to_pylist() for rows in (before, after))
    return [
        {
            "key": str((old if op == "d" else new)[key]),
            "value": None if op == "d" else new[value],
            "batch": batch,
            "op": op,
        }
        for op, batch, old, new in zip(
            changes.column("op").to_pylist(),
            changes.column("batch").to_pylist(),
            *sides,
            strict=True,
        )
    ]
