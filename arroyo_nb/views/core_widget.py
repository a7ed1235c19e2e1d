"""The live panel from ipywidgets alone, for where anywidget cannot be imported.

Same frames, same buttons; those that a frame has not are off. Without the page's
heartbeat and without morphing, so open details close with the next frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import Any

import ipywidgets

from arroyo_nb.views.inert import PAGE_WITHOUT_WIDGETS
from arroyo_nb.views.panel import style
from arroyo_nb.views.sections import VIEWS
from arroyo_nb.views.selection import without_picks
from arroyo_nb.views.view_tabs import MESSAGE, OVERVIEW

# ipywidgets marks its elements so when the kernel is restarted; nothing is sent then.
LOST = (
    ".jupyter-widgets-disconnected .arroyo :is(.state, .pace), "
    ".jupyter-button.jupyter-widgets-disconnected { display: none }"
    ".jupyter-widgets-disconnected .arroyo header::after { font-weight: 600; "
    "content: '■ ended with its kernel: run the cell again' }"
)

TAB = re.compile(
    r'<button type="button" role="tab"[^>]* data-do="(output \d+)" '
    r'aria-selected="(\w+)"[^>]*>([^<]*)<'
)

KEYS = ("pause", "resume", "step", "stop", "back", "forward", "play", "hold", "newest")
TABS = tuple(f"{MESSAGE}{name}" for name in (OVERVIEW, *VIEWS.names))
ALWAYS = ("pause", "resume", "step", "stop")
"""Buttons that stay where a run has them not, so that the others do not jump."""


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
            f".{still} {{ display: none !important }} "
            ".arroyo :is(.keys, .tabs, .scrubber, .turn, .search, .delays) "
            "{ display: none }"
        )
        self._style = f"<style>{style()}{hidden}{LOST}</style>"
        self._html = ipywidgets.HTML()
        self._keys = {
            key: ipywidgets.Button(description=key.removeprefix(MESSAGE).capitalize())
            for key in (*KEYS, *TABS)
        }
        for key, button in self._keys.items():
            button.on_click(partial(_press, pressed, key))
        keys = ipywidgets.HBox([self._keys[key] for key in KEYS])
        tabs = ipywidgets.HBox([self._keys[key] for key in TABS])
        tabs.layout.flex_flow = "row wrap"
        self._pressed = pressed
        self._outputs: dict[str, ipywidgets.Button] = {}
        self._tabs = ipywidgets.HBox([])
        self._box = ipywidgets.VBox([keys, self._tabs, tabs, self._html])

    @property
    def frame(self) -> str:
        """The frame that is shown."""
        return str(self._html.value)

    @frame.setter
    def frame(self, frame: str) -> None:
        # Nothing here hears a click on it.
        self._html.value = self._style + without_picks(frame)
        self._show_outputs(frame)
        for key, button in self._keys.items():
            button.disabled = f'data-do="{key}"' not in frame
            hidden = button.disabled and key not in ALWAYS
            button.layout.display = "none" if hidden else ""
            if key in TABS:
                is_shown = re.search(f'data-do="{key}"[^>]* aria-pressed="true"', frame)
                button.button_style = "info" if is_shown else ""

    def _show_outputs(self, frame: str) -> None:
        """A button for each output of the frame; the one that is shown is marked."""
        tabs = {do: (unescape(name), on) for do, on, name in TAB.findall(frame)}
        if list(tabs) != list(self._outputs):
            for button in self._outputs.values():
                button.close()
            self._outputs = {do: ipywidgets.Button() for do in tabs}
            for do, button in self._outputs.items():
                button.on_click(partial(_press, self._pressed, do))
            self._tabs.children = list(self._outputs.values())
        for do, (name, is_shown) in tabs.items():
            button = self._outputs[do]
            button.description = name
            button.button_style = "primary" if is_shown == "true" else ""

    def view(self) -> dict[str, Any]:
        """The MIME bundle that shows it."""
        # A page without widgets would show the name of the class.
        return {**self._box._repr_mimebundle_(), "text/plain": PAGE_WITHOUT_WIDGETS}

    def say_alive(self) -> None:
        """Nothing: it has no module that would hear it."""

    def close(self) -> None:
        """Take it and its parts off the page."""
        buttons = (*self._keys.values(), *self._outputs.values())
        for part in (*buttons, *self._box.children, self._box):
            part.close()


def _press(pressed: Callable[[str], None], key: str, _: Any) -> None:
    pressed(key)
