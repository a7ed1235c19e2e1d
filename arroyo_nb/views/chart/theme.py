"""Charts on a light or a dark ground, such as that of slides.

A chart of no theme is altair's own, which can be layered with others; one that has a
theme is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PAPER = "white"
"""What charts draw around marks, so that they stand apart."""


@dataclass(frozen=True)
class Ground:
    """Colours of what is no mark: the ground, texts, lines of the grid."""

    ground: str
    text: str
    grid: str


THEMES: Mapping[str, Ground] = {
    "light": Ground("#ffffff", "#1f2328", "#d1d9e0"),
    "dark": Ground("#0f1318", "#e6edf3", "#3d444d"),
}


def in_theme(chart: Any, theme: str) -> Any:
    """The chart with the ground of a theme."""
    import altair as alt

    colours = THEMES[theme]
    chart = chart.copy(deep=True)
    _put_on(chart, colours.ground)
    words: dict[str, Any] = {"labelColor": colours.text, "titleColor": colours.text}
    lines: dict[str, Any] = {"gridColor": colours.grid, "domainColor": colours.grid,
             "tickColor": colours.grid}  # fmt: skip
    return chart.configure(
        background=colours.ground,
        axis=alt.AxisConfig(**words, **lines),
        legend=alt.LegendConfig(**words),
        title=alt.TitleConfig(color=colours.text),
        view=alt.ViewConfig(stroke=colours.grid),
        text=alt.MarkConfig(color=colours.text),
    )


def _put_on(chart: Any, ground: str) -> None:
    """Have the edges of marks, also of layers, be as the ground."""
    for layer in getattr(chart, "layer", ()):
        _put_on(layer, ground)
    mark: Any = getattr(chart, "mark", None)
    if mark is not None and getattr(mark, "stroke", None) == _PAPER:
        mark.stroke = ground
