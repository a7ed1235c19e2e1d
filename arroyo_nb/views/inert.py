"""Pieces of HTML that need neither style sheet nor script."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from importlib.resources import files

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import escaped
from arroyo_nb.views.selection import without_picks
from arroyo_nb.views.summary import told

PAGE_WITHOUT_WIDGETS = "live view: needs the kernel"
"""What a page that shows no widgets has in the place of a live panel."""

SOFT = "opacity:.75;margin:4px 0"
CELL = "padding:2px 12px 2px 0;white-space:nowrap;text-align:"
BROKEN = "white-space:normal;overflow-wrap:anywhere"
WIDE_CELL = f"padding:2px 12px 2px 0;text-align:left;vertical-align:top;{BROKEN}"


def cell_html(text: str | None) -> str:
    """A value inside a cell."""
    return "<em>NULL</em>" if text is None else escaped(text)


def image(snapshot: Snapshot, drawn: str, what: str) -> str:
    """A drawing as an image that carries its own style.

    Parameters
    ----------
    snapshot
        Told in words to who does not see it.
    drawn
        The ``<svg>`` element.
    what
        What it shows.
    """
    return picture(drawn, f"{what}: {told(snapshot)}")


def picture(drawn: str, alt: str) -> str:
    """A drawing as an image that carries its own style, and what it shows in words."""
    # Nothing in an image can be clicked.
    drawn = without_picks(drawn)
    inside = drawn.replace("<defs/>", f"<style>{_style()}</style>", 1)
    data = b64encode(inside.encode()).decode()
    return (
        f'<img alt="{escaped(alt, 320)}" width="880" '
        f'style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
    )


@cache
def _style() -> str:
    """The style sheet of the pictures, as a drawing of its own carries it."""
    sheet = files("arroyo_nb.views") / "static" / "picture.css"
    return sheet.read_text("utf-8").replace("<", "").strip()
