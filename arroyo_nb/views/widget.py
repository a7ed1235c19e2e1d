"""The live panel as a widget: one ES module of our own, no imports, no CDN."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from arroyo_nb.views.inert import PAGE_WITHOUT_WIDGETS
from arroyo_nb.views.panel import live_style

_MODULE = (files("arroyo_nb.views") / "static" / "panel.js").read_text("utf-8")


class PanelWidget(anywidget.AnyWidget):
    """Shows the frames it is given; says which button was pressed.

    Parameters
    ----------
    still
        Class of the snapshot output that is hidden while the widget is on the page.
    pressed
        Called with the name of a button, or ``alive`` while somebody looks.
    """

    _esm = _MODULE
    frame = traitlets.Unicode().tag(sync=True)
    # Not "style": ipywidgets takes that for a widget, and fails in the page.
    sheet = traitlets.Unicode().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    # A page that hears neither a frame nor a beat takes the kernel for gone.
    beat = traitlets.Int().tag(sync=True)

    beats = True
    """Whether the page says that it is there."""

    def __init__(self, still: str, pressed: Callable[[str], None]) -> None:
        super().__init__(still=still, sheet=live_style())
        self.on_msg(lambda _, message, __: pressed(_name(message)))

    def view(self) -> dict[str, Any]:
        """The MIME bundle that shows it."""
        bundle: Any = self._repr_mimebundle_()
        data = dict(bundle[0] if isinstance(bundle, tuple) else bundle)
        # A page without widgets would show the name of this class.
        return {**data, "text/plain": PAGE_WITHOUT_WIDGETS}

    def say_alive(self) -> None:
        """Have the page know that the kernel lives."""
        self.beat += 1


def _name(message: Any) -> str:
    return str(message.get("do")) if isinstance(message, dict) else ""
