"""The result rows as a chart that fits their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.views.chart.common import (
    CLOCK,
    HEIGHT,
    WIDTH,
    Plottable,
    escaped_field,
)

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

MOST_COLOURS = 12
"""A column with more values than this is not told by colour."""

MOST_NAMES = 60
"""Names that have a line of their own each; of more those with the largest sums."""

NAME_PIXELS = 16
"""Height of the line of a name."""

MOST_ROWS = 5_000
"""Newest rows that a chart takes; a page with more becomes slow."""

END = " end"
"""What is added to a window's column name for the column of its ends."""

STRETCH = "_stretch"
"""Column that numbers the stretches of windows without a gap: no line crosses one."""


@dataclass(frozen=True)
class Encoding:
    """Which columns a chart shows: across, up, by colour; windows also to an end."""

    x: str
    y: str
    color: str | None
    end: str | None = None


def rows_chart(
    run: Plottable, x: str | None = None, y: str | None = None, color: str | None = None
) -> alt.Chart:
    """Draw the result rows of a run; see :meth:`arroyo_nb.run.run.Run.plot`."""
    table = flat(run.table())
    if table.num_rows == 0:
        raise RunProblem("there is no row to draw", hint="wait for the first window")
    return _chart(table, _encoding(table, x, y, color))


def flat(table: pa.Table) -> pa.Table:
    """Windows become two columns: their starts under their own name, and the ends."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = table.slice(max(table.num_rows - MOST_ROWS, 0))
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        if _is_window(column.type):
            columns[name] = pc.struct_field(column, "start")
            columns[name + END] = pc.struct_field(column, "end")
        else:
            columns[name] = column
    return pa.table(columns)


def _is_window(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(type_)) and [f.name for f in type_] == [
        "start",
        "end",
    ]


def _encoding(
    table: pa.Table, x: str | None, y: str | None, color: str | None
) -> Encoding:
    x, y, color = (named_column(table, name) for name in (x, y, color))
    windows = [name for name in table.column_names if name + END in table.column_names]
    texts, times, numbers = columns_by_kind(table)
    across = x or next(iter((*windows, *times, *texts)), None)
    up = y or next((name for name in numbers if name != across), None)
    if across is None or up is None:
        raise RunProblem(
            "there is nothing to draw by default: a chart needs a number and a window, "
            "time or text beside it",
            hint="name the columns: run.plot(x='...', y='...')",
        )
    others = [name for name in texts if name != across]
    few = [name for name in others if _is_few(table, name)]
    end = across + END if across in windows else None
    return Encoding(across, up, color or next(iter((*few, *others)), None), end)


def named_column(table: pa.Table, name: str | None) -> str | None:
    """The column of that name; ``window.start`` is what pandas calls it."""
    if name is None or name in table.column_names:
        return name
    window, _, edge = name.rpartition(".")
    flat = {"start": window, "end": window + END}.get(edge)
    if flat in table.column_names and window + END in table.column_names:
        return flat
    known = did_you_mean(name, table.column_names)
    raise RunProblem(f"the result has no column '{name}'", hint=known)


def columns_by_kind(table: pa.Table) -> tuple[list[str], list[str], list[str]]:
    """Names of the text, time and number columns, in order."""
    import pyarrow.types as types

    kinds: tuple[list[str], list[str], list[str]] = ([], [], [])
    for field in table.schema:
        if types.is_string(field.type) or types.is_large_string(field.type):
            kinds[0].append(field.name)
        elif types.is_temporal(field.type):
            kinds[1].append(field.name)
        elif types.is_integer(field.type) or types.is_floating(field.type):
            kinds[2].append(field.name)
    return kinds


def _is_few(table: pa.Table, name: str) -> bool:
    return len(table.column(name).unique()) <= MOST_COLOURS


def _chart(table: pa.Table, encoding: Encoding) -> alt.Chart:
    """Bars from start to end for windows, a line for times by colour, else bars."""
    import altair as alt

    kinds = _kinds(table)
    timed = kinds[encoding.x] == "temporal"
    name = encoding.color if timed else encoding.x
    if name is not None and kinds[name] == "nominal" and not _is_few(table, name):
        return _by_name(table, encoding, kinds, name)
    axis = alt.Axis(format=CLOCK, labelOverlap=True) if timed else alt.Axis()
    channels: dict[str, Any] = {
        "x": alt.X(**_field(encoding.x, kinds), axis=axis),
        "y": alt.Y(**_field(encoding.y, kinds)),
        "tooltip": [alt.Tooltip(**_field(name, kinds)) for name in kinds],
    }
    line = encoding.color is not None and timed
    if encoding.color is not None:
        channels["color"] = alt.Color(**_field(encoding.color, kinds))
    elif encoding.end is not None:
        # With both ends across, the foot of a bar must be given too.
        channels["x2"] = alt.X2(field=escaped_field(encoding.end))
        channels["y2"] = alt.Y2(datum=0)
    if line and encoding.end is not None:
        table = table.append_column(STRETCH, _stretches(table, encoding))
        channels["detail"] = alt.Detail(field=STRETCH, type="nominal")
    base = alt.Chart(table.to_pandas()).encode(**channels)
    drawn = base.mark_line(point=True) if line else base.mark_bar(stroke="white")
    sized: alt.Chart = drawn.properties(width=WIDTH, height=HEIGHT)
    return sized


def _by_name(
    table: pa.Table, encoding: Encoding, kinds: dict[str, str], name: str
) -> alt.Chart:
    """A line for each of many names: over time its number by shade, else as a bar."""
    import altair as alt

    table, title = _largest(table, name, encoding.y)
    sums = alt.EncodingSortField(
        escaped_field(encoding.y), op="sum", order="descending"
    )
    channels: dict[str, Any] = {
        "y": alt.Y(**_field(name, kinds), sort=sums),
        "tooltip": [alt.Tooltip(**_field(each, kinds)) for each in kinds],
    }
    base = alt.Chart(table.to_pandas())
    if kinds[encoding.x] != "temporal":
        channels["x"] = alt.X(**_field(encoding.y, kinds))
        drawn = base.mark_bar()
    else:
        axis = alt.Axis(format=CLOCK, labelOverlap=True)
        channels["x"] = alt.X(**_field(encoding.x, kinds), axis=axis)
        shades = alt.Scale(scheme="blues")
        channels["color"] = alt.Color(**_field(encoding.y, kinds), scale=shades)
        drawn = base.mark_square(size=NAME_PIXELS**2 / 2)
        if encoding.end is not None:
            channels["x2"] = alt.X2(field=escaped_field(encoding.end))
            drawn = base.mark_rect()
    sized: alt.Chart = drawn.encode(**channels).properties(
        width=WIDTH, height=alt.Step(NAME_PIXELS), title=title
    )
    return sized


def _largest(table: pa.Table, name: str, value: str) -> tuple[pa.Table, str]:
    """The rows of the names whose values sum up highest, and how many names those
    are."""
    import pyarrow.compute as pc

    sums = table.group_by(name).aggregate([(value, "sum")])
    order = pc.sort_indices(sums, [(f"{value}_sum", "descending")])
    kept = sums.take(order.slice(0, MOST_NAMES)).column(name).combine_chunks()
    shown = table.filter(pc.is_in(table.column(name), value_set=kept))
    if sums.num_rows <= MOST_NAMES:
        return shown, f"{value} by {name}"
    return shown, f"{value} by {name}: the {MOST_NAMES} largest of {sums.num_rows:,}"


def _stretches(table: pa.Table, encoding: Encoding) -> pa.Array:
    """For each window the number of gaps before it, among those of its colour."""
    import pyarrow as pa

    assert encoding.end is not None
    frame = table.select([encoding.x, encoding.end, encoding.color]).to_pandas()
    frame.columns = ["start", "end", "color"]
    ordered = frame.sort_values("start", kind="stable")
    groups = ordered.groupby("color", dropna=False)
    gap = ordered["start"] > groups["end"].shift()
    return pa.array(
        gap.groupby(ordered["color"], dropna=False).cumsum().loc[frame.index]
    )


def _kinds(table: pa.Table) -> dict[str, str]:
    """Column name to altair's type; a column of neither kind is left out."""
    texts, times, numbers = columns_by_kind(table)
    kinds = dict.fromkeys(texts, "nominal")
    kinds |= dict.fromkeys(times, "temporal") | dict.fromkeys(numbers, "quantitative")
    return {name: kinds[name] for name in table.column_names if name in kinds}


def _field(name: str, kinds: dict[str, str]) -> dict[str, Any]:
    return {
        "field": escaped_field(name),
        "type": kinds.get(name, "nominal"),
        "title": name,
    }
