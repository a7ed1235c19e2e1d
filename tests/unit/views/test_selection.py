"""What a click selects, and what of a picture belongs to it; the outputs as tabs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st
from result_scenes import CHAIN, HISTORIES, OUTPUTS, WINDOW
from scenes import HOP, KEYED_SESSIONS, OVERLAPPING, SESSIONS, TUMBLE, at

from arroyo_nb.run.observe.snapshot import (
    Change,
    RunState,
    Selection,
    SelectionCounts,
    Snapshot,
)
from arroyo_nb.views import live, static_html
from arroyo_nb.views.core_widget import CorePanel
from arroyo_nb.views.outputs import chosen_output
from arroyo_nb.views.panel import body
from arroyo_nb.views.selection import SELECTED_ROWS, after, selected

NOW = Selection(key=7)


@pytest.mark.parametrize(
    "message",
    [
        "select",
        "select window",
        "select window 2013-01-01T10:00:00",
        "select window 2013-01-01T11:00:00 2013-01-01T10:00:00",  # ends first
        "select window 2013-01-01T10:00:00 2013-01-01T10:00:00",
        "select window 2013-01-01T10:00:00Z 2013-01-01T11:00:00",
        "select window x y",
        "select key",
        "select key 1.5",
        "select key <script>",
        "select key " + "9" * 5000,
        "select step " + "9" * 5000,
        "select key 1 2",
        "select row 7",
    ],
)
def test_bad_messages_change_nothing(message: str) -> None:
    assert after(message, NOW) == NOW
    assert after(message, None) is None


@settings(deadline=None)
@given(st.text())
def test_any_message_is_borne(text: str) -> None:
    assert after(f"select {text}", NOW) in (NOW, None) or text.split()[0] in (
        *("key", "window", "step"),
    )
    assert chosen_output(f"output {text}", 2) in (None, 0, 1)


def test_a_second_click_takes_it_away() -> None:
    start, end = at(10).isoformat(), at(11).isoformat()
    message = f"select window {start} {end}"
    assert after(message, NOW) == WINDOW
    assert after(message, WINDOW) is None
    assert after("select none", WINDOW) is None
    assert after("select key -9223372036854775808", None) == Selection(key=-(2**63))


def test_rows_of_a_window() -> None:
    found = selected(TUMBLE, WINDOW)
    assert [row[1] for row in found.rows] == ["EWR", "JFK"]
    assert found.selection_counts == SelectionCounts(2, 1)
    text = Page(body(found, keys=True)).text
    assert "window 2013-01-01 10:00 – 11:00" in text
    assert "2 rows" in text
    assert "1 row of others hidden" in text
    assert "select none" in text
    assert selected(TUMBLE, None) is TUMBLE
    nothing = selected(TUMBLE, Selection(start=at(3), end=at(4)))
    assert nothing.rows == ()
    assert "no row of those that are kept belongs" in body(nothing)


def test_rows_of_a_window_in_columns_of_their_own() -> None:
    times = replace(
        TUMBLE,
        columns=("start", "n"),
        numeric=(False, True),
        rows=((at(9), 1), (at(10), 2), (at(10, 30), 3), (None, 4)),
    )
    # Its start stands there: what begins within it is another window of a hop.
    assert selected(times, WINDOW).rows == ((at(10), 2),)
    events = replace(times, rows=(*times.rows[2:], (at(10, 59), 5), (at(11), 6)))
    assert selected(events, WINDOW).rows == ((at(10, 30), 3), (at(10, 59), 5))


def test_rows_that_have_no_time_are_all_there() -> None:
    found = selected(HISTORIES, WINDOW)
    assert found.rows == HISTORIES.rows
    assert "no column says which rows belong to it" in body(found)


def test_a_stretch_of_sessions_has_those_within_it() -> None:
    rows = tuple(
        ({"start": at(9, m), "end": at(9, m + 8)}, f"k{m}") for m in (0, 20, 40)
    )
    shape = replace(SESSIONS, columns=("w", "k"), numeric=(False, False), rows=rows)
    stretch = Selection(start=at(9, 5), end=at(9, 25))
    assert [row[1] for row in selected(shape, stretch).rows] == ["k0", "k20"]


def test_rows_and_changes_of_a_key() -> None:
    found = selected(HISTORIES, Selection(key=11))
    assert found.rows == HISTORIES.rows[:1]
    assert found.row_keys == (11,)
    assert [change.key for change in found.changes] == [11]
    assert found.selection_counts == SelectionCounts(1, 2, 1, 3)
    text = Page(body(found, keys=True)).text
    assert "selected: key UA" in text
    assert "2 rows and 3 changes of others hidden" in text
    gone = Page(body(selected(HISTORIES, Selection(key=99)), keys=True)).text
    assert "of a row that is not there any more" in gone


def test_other_windows_are_dimmed() -> None:
    text = body(selected(TUMBLE, WINDOW), keys=True)
    assert text.count('class="pick dim"') == 4  # of five windows
    assert text.count('class="dim"') == 4  # what stands in them
    assert "dim" not in body(TUMBLE, keys=True)
    for shape in (HOP, OVERLAPPING):
        bar = shape.windows[3]
        chosen = Selection(start=bar.start, end=bar.end)
        assert 'class="pick dim"' in body(selected(shape, chosen), keys=True)
    half = Selection(start=at(8), end=at(9))
    drawn = body(selected(KEYED_SESSIONS, half), keys=True)
    columns = sum(bar.start < at(9) for bar in KEYED_SESSIONS.density)
    assert drawn.count('class="pick dim"') == len(KEYED_SESSIONS.density) - columns


class Run:
    """A run of two outputs that remembers what was asked."""

    name = "q"

    def __init__(self, pictures: tuple[Snapshot, ...]) -> None:
        self.pictures, self.asked = pictures, list[tuple[int, int]]()

    def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
        self.asked.append((rows, output))
        made = self.pictures[output]
        return replace(made, rows=made.rows[:rows], row_keys=made.row_keys[:rows])

    def moments(self, output: int = 0) -> Any:
        class Nothing:
            times = ()

        return Nothing()

    def explain(self) -> str:
        return "the plan"

    def stop(self, note: str = "stopped") -> None:
        ended = (replace(p, state=RunState.STOPPED, note=note) for p in self.pictures)
        self.pictures = tuple(ended)

    def pause(self) -> None: ...

    resume = step = pause


class Stage:
    """A page: the newest frame, and what stays."""

    busy = False
    beats = True
    frame = ""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def show(self, data: live.Data) -> Any:
        number = len(self.shown)
        self.shown.append(data)

        class Slot:
            def update(_, data: live.Data) -> None:  # noqa: N805
                self.shown[number] = data

        return Slot()

    def screen(self, marker: str, pressed: Callable[[str], None]) -> Any:
        self.press = pressed
        return self

    def view(self) -> live.Data:
        return {}

    def say_alive(self) -> None: ...

    def close(self) -> None: ...


COUNTS = replace(HISTORIES, output=1, outputs=("late_flights", "result"), handle="q")
FIRST = replace(TUMBLE, outputs=COUNTS.outputs, more_outputs=1, handle="q")


def test_a_panel_follows_clicks() -> None:
    run, page = Run((FIRST, COUNTS)), Stage()
    panel = live.Panel(run, page)  # type: ignore[arg-type]
    assert "selected:" not in page.frame
    page.press(f"select window {at(10).isoformat()} {at(11).isoformat()}")
    assert "selected: window 2013-01-01 10:00" in page.frame
    assert "LGA" not in page.frame
    # Also rows that have gone by belong to it.
    assert (SELECTED_ROWS, 0) in run.asked
    page.press("select nonsense")
    assert "selected: window" in page.frame
    page.press("output 1")
    assert "selected:" not in page.frame
    assert "history of n" in page.frame
    page.press("select key 11")
    assert "selected: key UA" in page.frame
    page.press("select key 11")
    assert "selected:" not in page.frame
    page.press("output 7")
    assert "history of n" in page.frame
    page.press("output 0")
    page.press("select key 1")
    # What stays is the first output as a whole, with a few rows of the other.
    page.press("stop")
    assert not panel.refresh()
    stayed = page.shown[0]["text/html"]
    assert "LGA" in stayed
    assert "result: 0 changes out · q.table(1)" in Page(stayed).text
    assert "<s>1011</s> 1018" in stayed
    assert "result: 0 changes out" in page.shown[0]["text/plain"]


def test_what_is_pressed_while_the_last_frame_is_drawn_is_shown() -> None:
    class Pressed(Run):
        """A run that has ended; while it is drawn, somebody presses a button."""

        presser: Thread | None = None

        def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
            if self.presser is None and len(self.asked) > 1:
                self.presser = Thread(target=page.press, args=("select key 11",))
                self.presser.start()
                # It cannot be heard to the end before this frame is drawn.
                self.presser.join(0.1)
            return super().snapshot(rows, output)

    run, page = Pressed((replace(HISTORIES, state=RunState.FINISHED),)), Stage()
    panel = live.Panel(run, page)  # type: ignore[arg-type]
    assert panel.refresh()
    assert run.presser is not None
    run.presser.join(10)
    assert panel.refresh()
    assert "selected: key UA" in page.frame


def test_tabs_say_which_one_is_shown() -> None:
    text = body(replace(OUTPUTS, output=1), keys=True)
    assert text.count('role="tab"') == 3
    assert text.count('role="tablist"') == text.count('role="tabpanel"') == 1
    assert 'data-do="output 1" aria-selected="true" tabindex="0">result 1<' in text
    assert 'data-do="output 2" aria-selected="false" tabindex="-1"' in text
    assert "2 more outputs" not in Page(text).text
    assert 'role="tab' not in body(TUMBLE, keys=True)
    # A page that hears no click says where they are.
    assert "2 more outputs: departures.table(1)" in Page(body(OUTPUTS)).text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_without_a_module_outputs_have_buttons() -> None:
    pressed: list[str] = []
    widget = CorePanel("arroyo-still-1", pressed.append)
    hostile = replace(OUTPUTS, outputs=("a & <b>", "result", "z"))
    widget.frame = body(hostile, keys=True)
    buttons = list(widget._outputs.values())
    assert [button.description for button in buttons] == ["a & <b>", "result", "z"]
    assert [button.button_style for button in buttons] == ["primary", "", ""]
    buttons[2].click()
    assert pressed == ["output 2"]
    assert 'role="button"' not in widget.frame  # nobody hears a click on it
    widget.frame = body(replace(hostile, output=2), keys=True)
    assert list(widget._outputs.values()) == buttons
    assert buttons[2].button_style == "primary"
    widget.frame = body(TUMBLE, keys=True)
    assert widget._tabs.children == ()
    widget.close()


def test_outputs_that_stay_are_cut_before_the_first_one_is_lost() -> None:
    row = ({"start": at(10), "end": at(11)}, "x" * 30_000, 1, 1.0, None)
    big = replace(FIRST, rows=(row,) * 3, output=1)
    made = static_html.bundle(FIRST, others=(big,) * 8)
    assert sum(len(v.encode()) for v in made.values()) <= static_html.MOST_BYTES
    assert "late_flights" in made["text/plain"] or "result" in made["text/plain"]


def test_what_is_selected_outlives_changes_of_its_row() -> None:
    later = replace(
        HISTORIES,
        changes=(Change("u", 59, ("UA", 1018, 9.5), ("UA", 1019, 9.5), 11),),
        rows=(("UA", 1019, 9.5), *HISTORIES.rows[1:]),
    )
    found = selected(later, Selection(key=11))
    assert [row[1] for row in found.rows] == [1019]
    assert len(found.changes) == 1


def test_a_step_of_the_plan_hides_no_row() -> None:
    planned = replace(TUMBLE, plan=CHAIN)
    found = selected(planned, Selection(step=4))
    assert found.rows == planned.rows
    assert "selected:" not in body(found, keys=True)


def test_a_window_that_is_long_is_said_with_its_days() -> None:
    start = datetime(2013, 1, 1)
    found = selected(TUMBLE, Selection(start=start, end=start + timedelta(days=1)))
    assert "window 2013-01-01 00:00 – 01-02 00:00" in body(found)
