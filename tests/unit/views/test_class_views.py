"""What a class needs of the panel: a filter, a delay slider, stale marks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

from html_page import Page
from scenes import SESSIONS, TUMBLE
from test_selection import Run, Stage
from time_scenes import TIMES

from arroyo_nb.run.observe.lateness import Lateness
from arroyo_nb.views import live, static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.row_filter import filtered
from arroyo_nb.views.sections.delays import choices_of

S = timedelta(seconds=1)
LATE = TIMES["tumble"].snapshot()


def lateness(**changes: Any) -> Lateness:
    made = LATE.lateness
    assert made is not None
    return replace(made, **changes)


def test_the_filter_keeps_rows_that_have_every_word() -> None:
    run, stage = Run((TUMBLE,)), Stage()
    live.Panel(run, stage)  # type: ignore[arg-type]
    assert "LGA" in stage.frame
    assert 'type="search"' in stage.frame
    stage.press("find jfk 10:00")
    shown = Page(stage.frame).text
    assert "LGA" not in shown
    assert 'class="hit"' in stage.frame
    assert "JFK" in shown
    stage.press("find <b>nobody")
    assert "No row has every word" in stage.frame
    assert "<b>nobody" not in stage.frame
    stage.press("find ")
    assert "LGA" in stage.frame
    hits = filtered(TUMBLE, "jfk").found_rows
    assert hits[1] == len(TUMBLE.rows)
    assert 0 < hits[0] < hits[1]


def test_the_delay_slider_says_what_would_be_late() -> None:
    shown = lateness(
        rows=10, late_rows=3, delay=2 * S, needed=((1 * S, 1), (3 * S, 2), (9 * S, 1))
    )
    assert [(c.delay // S, c.late) for c in choices_of(shown)] == [
        *((0, 4), (1, 3), (2, 3), (3, 1), (9, 0)),
    ]
    frame = body(replace(LATE, lateness=shown), view="delays", keys=True)
    found = re.search(r'data-steps="([^"]*)"', frame)
    assert found is not None
    steps = json.loads(unescape(found[1]))
    assert len(steps) == 5
    assert steps[0][1].startswith("With a delay of 0 s, 4 of 10 rows would be late")
    assert "3 of 10 rows would be late (30 %): the delay of this run." in steps[2][1]
    assert steps[4][1].endswith("results would come 7 s later.")
    above = re.findall(r'<text [^>]*text-anchor="middle">(\d+)</text>', frame)
    assert above == ["4", "3", "3", "1", "0"]
    assert 'value="2"' in frame


def test_a_delay_that_must_be_longer_than_a_length_is_said_so() -> None:
    needed = ((timedelta(minutes=5, milliseconds=1), 1),)
    shown = lateness(rows=10, late_rows=1, delay=2 * S, needed=needed)
    frame = unescape(body(replace(LATE, lateness=shown), view="delays", keys=True))
    assert "With a delay of just over 5 min, 0 of 10 rows would be late" in frame
    assert "results would come just over 4 min 58 s later." in frame
    assert ">> 5 min<" in frame
    assert "1 ms" not in frame


def test_the_slider_of_sessions_says_which_rows_are_late() -> None:
    shown = lateness(rows=10, late_rows=1, delay=2 * S, needed=((3 * S, 1),))
    sessions = replace(SESSIONS, lateness=shown, gap=timedelta(minutes=10))
    frame = body(sessions, view="delays", keys=True)
    assert "With a delay of 3 s, 0 of 10 rows would be late" in unescape(frame)
    assert "its event time plus the gap (10 min), whichever sessions" in frame
    near = body(replace(sessions, late_exact=False), view="delays", keys=True)
    assert "With a delay of 2 s, at most 1 of 10 rows would be late" in unescape(near)
    assert "counted by pieces of the gap: at most so many would be late" in near


def test_a_panel_whose_table_has_changed_is_marked_stale() -> None:
    class Ending(Run):
        told: Callable[[], object]

        def on_stale(self, callback: Callable[[], object]) -> None:
            self.told = callback

    run, stage = Ending((TUMBLE,)), Stage()
    panel = live.Panel(run, stage)  # type: ignore[arg-type]
    run.stop()
    panel.close()
    assert "stale" not in stage.shown[0]["text/html"]
    run.pictures = tuple(replace(p, stale=("clicks",)) for p in run.pictures)
    run.told()
    for kind in ("text/html", "text/plain"):
        assert (
            "stale: clicks was changed after this run began"
            in Page(stage.shown[0][kind]).text
        )
    assert "run the cell again" in body(replace(TUMBLE, stale=("clicks",)), keys=True)
    assert "stale" not in static_html.bundle(TUMBLE)["text/html"]
