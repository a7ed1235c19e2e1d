"""What a view declares, and which views are shown."""

from __future__ import annotations

import re

import pytest
from scenes import TUMBLE, UNWINDOWED, UPDATING

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.sections import (
    ALL,
    VIEWS,
    needs_plan,
    view_names,
    views,
    views_of,
)
from arroyo_nb.views.view_tabs import OVERVIEW, chosen_view, view_tabs


def test_views_have_the_names_of_their_files_and_places_of_their_own() -> None:
    assert sorted(view.name for view in views()) == list(VIEWS.names)
    assert len({view.place for view in views()}) == len(views())
    assert ALL not in VIEWS.names
    assert view_names() == (*VIEWS.names, ALL)


def test_a_run_is_shown_by_the_views_that_suit_it() -> None:
    shown = [view.name for view in views_of(None, TUMBLE)]
    assert shown == ["windows", "table"]
    assert [view.name for view in views_of(None, UPDATING)] == ["table"]
    static = [view.name for view in views_of(None, UPDATING, static=True)]
    assert static == ["windows", "table", "changelog"]
    assert views_of(ALL, UPDATING) == views()


def tabs(snapshot: Snapshot, view: str | None = None) -> dict[str, bool]:
    """The tabs of a live panel for views of ours, and which are pressed; a plug-in may
    have brought others."""
    found = re.findall(
        r'data-do="view (\w+)"[^>]* aria-pressed="(\w+)"', view_tabs(view, snapshot)
    )
    return {name: pressed == "true" for name, pressed in found if name in OURS}


OURS = (
    *("overview", "windows", "arrivals", "watermark", "late", "table", "changelog"),
    "plan",
)


def test_a_panel_has_tabs_for_what_its_run_has() -> None:
    assert list(tabs(TUMBLE)) == [
        *("overview", "windows", "arrivals", "watermark", "late", "table", "plan"),
    ]
    assert list(tabs(UNWINDOWED)) == [
        *("overview", "arrivals", "watermark", "table", "plan"),
    ]
    # One view that suits needs no tab of its own for an overview.
    assert list(tabs(UPDATING)) == ["watermark", "table", "changelog", "plan"]


@pytest.mark.parametrize(
    ("snapshot", "view", "pressed"),
    [
        (TUMBLE, None, {"overview"}),
        (UPDATING, None, {"table"}),
        (TUMBLE, "late", {"late"}),
        (UPDATING, ALL, {"watermark", "table", "changelog", "plan"}),
    ],
)
def test_the_tab_of_what_is_shown_is_pressed(
    snapshot: Snapshot, view: str | None, pressed: set[str]
) -> None:
    shown = tabs(snapshot, view)
    assert {name for name, is_pressed in shown.items() if is_pressed} == pressed


def test_each_tab_asks_for_its_view() -> None:
    for name in tabs(TUMBLE):
        asked = chosen_view(f"view {name}")
        assert asked == (None if name == OVERVIEW else name)
    for message in ("view", "view x", "late", "stop", ""):
        with pytest.raises(LookupError):
            chosen_view(message)


def test_the_plan_is_made_where_a_view_shows_it() -> None:
    assert [name for name in view_names() if needs_plan(name)] == ["plan", ALL]
    assert not needs_plan(None)
