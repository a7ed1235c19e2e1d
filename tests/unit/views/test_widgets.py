"""The two widgets: the same frames in, the same buttons out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arroyo_nb.views.core_widget import CorePanel
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
    widget.frame = "<p>frame</p>"
    assert widget.frame.endswith("<p>frame</p>")
    assert "application/vnd.jupyter.widget-view+json" in widget.view()
    for name in ("pause", "resume", "step", "stop"):
        press(widget, name)
    assert pressed == ["pause", "resume", "step", "stop"]
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
