"""Charts of what a run has captured, with altair: ``plot(run, kind)``.

The result is altair's own chart, to be changed further. altair is imported when the
first chart is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.views.chart.arrivals import arrivals_chart
from arroyo_nb.views.chart.common import Plottable
from arroyo_nb.views.chart.keys import keys_chart
from arroyo_nb.views.chart.lateness import lateness_chart
from arroyo_nb.views.chart.rows import rows_chart
from arroyo_nb.views.chart.theme import THEMES, in_theme
from arroyo_nb.views.chart.watermark import watermark_chart
from arroyo_nb.views.chart.windows import windows_chart

if TYPE_CHECKING:
    import altair as alt

__all__ = ["KINDS", "Plottable", "draw_offline", "plot"]

Draw: TypeAlias = "Callable[..., alt.Chart | alt.LayerChart]"

KINDS: Mapping[str, Draw] = {
    "rows": rows_chart,
    "windows": windows_chart,
    "arrivals": arrivals_chart,
    "watermark": watermark_chart,
    "lateness": lateness_chart,
    "keys": keys_chart,
}
"""What can be drawn of a run."""

TAKES = {"rows": ("x", "y", "color"), "keys": ("y", "color")}
"""Kinds whose columns can be named, and as what."""


def plot(
    run: Plottable,
    kind: str = "rows",
    *,
    theme: str | None = None,
    **columns: str | None,
) -> Any:
    """Draw a chart of a run; see :meth:`arroyo_nb.run.run.Run.plot`."""
    if theme is not None and theme not in THEMES:
        raise RunProblem(
            f"there is no theme '{theme}' of charts",
            hint=f"known: {' and '.join(THEMES)}; left out it is altair's own",
        )
    if (draw := KINDS.get(kind)) is None:
        raise RunProblem(
            f"there is no chart of the kind '{kind}'", hint=did_you_mean(kind, KINDS)
        )
    named = {name: column for name, column in columns.items() if column is not None}
    takes = TAKES.get(kind, ())
    if unknown := [name for name in named if name not in takes]:
        can = f"it takes {' and '.join(takes)}" if takes else "leave it out"
        raise RunProblem(f"a chart of the kind '{kind}' has no {unknown[0]}", hint=can)
    drawn = draw(run, **named)
    draw_offline()
    return drawn if theme is None else in_theme(drawn, theme)


def draw_offline() -> None:
    """Let altair's charts be pictures, unless another renderer was chosen.

    altair's default fetches its library from a CDN when the page is opened; a picture
    shows everywhere, also without a network.
    """
    import altair as alt

    if alt.renderers.active == "default":
        alt.renderers.enable("png")
