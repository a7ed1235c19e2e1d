"""The two widgets: the same frames in, the same buttons out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from scenes import TUMBLE, UPDATING

from arroyo_nb.views.core_widget import KEYS, TABS, CorePanel
from arroyo_nb.views.panel import body
from arroyo_nb.views.widget import PanelWidget


def press_module(widget: Any, name: str) -> None:
    widget._handle_custom_msg({"do": name}, [])


def press_core(widget: Any, name: str) -> None:
    keys = widget._box.children[0].children
    next(key for key in keys if key.description == name.capitalize()).click()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("make", "press"), [(PanelWidget, press_module), (CorePanel, press_core)]
)
def test_shows_frames_and_says_what_was_pressed(
    make: Callable[..., Any], press: Callable[[Any, str], None]
) -> None:
    pressed: list[str] = []
    widget = make("arroyo-still-1", pressed.append)
    frame = "".join(f'<button data-do="{key}">' for key in KEYS)
    widget.frame = frame
    assert widget.frame.endswith(frame)
    assert "application/vnd.jupyter.widget-view+json" in widget.view()
    assert widget.view()["text/plain"] == "live view: needs the kernel"
    for name in KEYS:
        press(widget, name)
    assert pressed == list(KEYS)
    widget.close()


def test_a_button_that_the_frame_has_not_is_off() -> None:
    widget = CorePanel("arroyo-still-1", print)
    for snapshot, off in (
        (TUMBLE, {"resume"}),
        (replace(TUMBLE, paused=True), {"pause"}),
        (replace(TUMBLE, can_pause=False), {"pause", "resume", "step"}),
        (UPDATING, {"resume"}),
    ):
        widget.frame = body(snapshot, keys=True)
        tabs = {key for key in widget._keys if key in TABS}
        there = {key for key in tabs if f'data-do="{key}"' in widget.frame}
        # A run of one picture has nothing to go back to.
        gone = {*(tabs - there), "back", "forward", "play", "hold", "newest"}
        assert {"view table"} <= there
        assert {"view changelog" if not snapshot.updating else "view windows"} <= gone
        off |= gone
        assert {key for key, button in widget._keys.items() if button.disabled} == off
        hidden = {k for k, b in widget._keys.items() if b.layout.display == "none"}
        assert hidden == gone
        shown = "table" if snapshot.updating else "overview"
        pressed = {k for k, b in widget._keys.items() if b.button_style}
        assert pressed == {f"view {shown}"}
    widget.close()


def test_a_message_that_is_none_of_ours_is_no_button() -> None:
    pressed: list[str] = []
    widget = PanelWidget("arroyo-still-1", pressed.append)
    widget._handle_custom_msg(["stop"], [])
    assert pressed == [""]
    widget.close()


def test_module_needs_nothing_from_elsewhere() -> None:
    module = PanelWidget._esm
    assert len(module) < 50_000
    assert "import " not in module
    assert "http" not in module
