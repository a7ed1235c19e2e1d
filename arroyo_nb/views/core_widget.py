"""The live panel from ipywidgets alone, for where anywidget cannot be imported.

Same frames, same buttons; without the page's heartbeat and without morphing, so
open details close with the next frame.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets

from arroyo_nb.views.panel import style

KEYS = ("pause", "resume", "step", "stop")


class CorePanel:
    """Shows the frames it is given; says which button was pressed.

    Parameters
    ----------
    still
        Class of the snapshot output that is hidden while the widget is on the page.
    pressed
        Called with the name of a button.
    """

    beats = False

    def __init__(self, still: str, pressed: Callable[[str], None]) -> None:
        hidden = (
            f".{still} {{ display: none !important }} .arroyo .keys {{ display: none }}"
        )
        self._style = f"<style>{style()}{hidden}</style>"
        self._html = ipywidgets.HTML()
        keys = [ipywidgets.Button(description=key.capitalize()) for key in KEYS]
        for key, button in zip(KEYS, keys, strict=True):
            button.on_click(partial(_press, pressed, key))
        self._box = ipywidgets.VBox([ipywidgets.HBox(keys), self._html])

    @property
    def frame(self) -> str:
        """The frame that is shown."""
        return str(self._html.value)

    @frame.setter
    def frame(self, frame: str) -> None:
        self._html.value = self._style + frame

    def view(self) -> dict[str, Any]:
        """The MIME bundle that shows it."""
        return dict(self._box._repr_mimebundle_())

    def close(self) -> None:
        """Take it and its parts off the page."""
        for part in (*self._box.children[0].children, *self._box.children, self._box):
            part.close()


def _press(pressed: Callable[[str], None], key: str, _: Any) -> None:
    pressed(key)
