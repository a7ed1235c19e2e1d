"""What a view declares, and which views are shown."""

from __future__ import annotations

from scenes import TUMBLE, UPDATING

from arroyo_nb.views.sections import (
    ALL,
    VIEWS,
    needs_plan,
    sides,
    view_names,
    views,
    views_of,
)


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


def test_the_tabs_of_an_updating_result_are_views() -> None:
    assert sides() == ("table", "changelog")


def test_the_plan_is_made_where_a_view_shows_it() -> None:
    assert [name for name in view_names() if needs_plan(name)] == ["plan", ALL]
    assert not needs_plan(None)
