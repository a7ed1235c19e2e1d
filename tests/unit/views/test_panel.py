"""What the panel and the snapshot draw, and what can never get through them."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from html_page import Page
from scenes import (
    CLOSED,
    FAILED,
    FINISHED,
    HOP,
    KEYED_SESSIONS,
    MANY,
    OPEN,
    OVERLAPPING,
    SCENES,
    SESSIONS,
    STARTING,
    STOPPED,
    TUMBLE,
    UNWINDOWED,
    UPDATING,
    at,
)

from arroyo_nb.run.observe.query_facts import Condition, QueryFacts
from arroyo_nb.run.observe.snapshot import (
    Change,
    MarkPoint,
    PartitionProgress,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)
from arroyo_nb.views import listing, panel, static_html
from arroyo_nb.views.caption import lesson
from arroyo_nb.views.panel import body, frame
from arroyo_nb.views.rows import numeric_columns

OPEN_ONES = tuple(bar for bar in TUMBLE.windows if bar.state is OPEN)
ALL_LATE = WindowBar(at(8), at(9), 0, 37, CLOSED)


def words(text: str) -> set[str]:
    return set(text.split())


def drawn(snapshot: Snapshot) -> list[Page]:
    return [
        Page(frame(snapshot, view="all", plan="plan")),
        Page(body(snapshot, keys=True)),
        Page(static_html.bundle(snapshot, marker="m")["text/html"]),
    ]


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_is_whole_and_small(scene: str) -> None:
    snapshot = SCENES[scene]
    assert drawn(snapshot)
    assert len(frame(snapshot).encode()) <= 50_000
    assert sum(len(v) for v in static_html.bundle(snapshot).values()) <= 64_000
    assert "script" not in Page(frame(snapshot)).tags


def test_says_what_is_to_be_seen() -> None:
    text = Page(frame(TUMBLE)).text
    for said in (
        "running",
        "12.4k",
        "1,815",
        "× 37",
        "180 ms",
        "watermark 11:12",
        "newest event 12:21",
        "1 h 9 min behind",
        "252 so far",
        "2013-01-01 10:00 – 11:00",
        "12.125",
        "NULL",
        "3 bad rows dropped",
        "line 9: not json",
        "delay allowed 1 h",
        "Next: 12:00, 48 min to go.",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (STARTING, "Spark starts once"),
        (STOPPED, "2 windows were still open"),
        (FINISHED, "The input has ended, so the watermark went to the end of time"),
        (
            replace(STOPPED, state=RunState.FINISHED),
            "2 windows are still open there: newer records may belong to them",
        ),
        (UNWINDOWED, "each row goes out as it comes"),
        (FAILED, "the 9 rows it had given stay"),
        (
            replace(TUMBLE, late_rows=1, windows=OPEN_ONES),
            "1 row was late: its window had already closed",
        ),
        (
            replace(HOP, late_rows=7),
            "7 rows were late: they missed 18 windows in all, which had already closed",
        ),
        (replace(TUMBLE, watermark=None), "starts with the first rows"),
    ],
)
def test_lesson_depends_on_the_state(snapshot: Snapshot, said: str) -> None:
    assert said in lesson(snapshot)


def test_a_table_that_is_looked_up_has_no_time() -> None:
    users = SourceProgress(
        *("users", 0, None, timedelta()), bounded=True, dropped_rows=2, looked_up=True
    )
    text = frame(replace(TUMBLE, sources=(users,)))
    assert "<b>users</b> looked up · " in text
    assert "2 bad rows dropped" in text
    assert "delay allowed" not in text


def test_a_feed_says_how_it_is_connected_and_what_may_be_missing() -> None:
    feed = SourceProgress(
        *("prices", 8, None, timedelta()),
        bounded=False,
        is_feed=True,
        away_s=12.3,
        away_why="the server <b>is</b> away",
        gaps=3,
        lost_messages=1234,
    )
    text = frame(replace(TUMBLE, sources=(feed,)))
    lost = "1,234 messages lost: they came faster than they were read"
    why = "the server &lt;b&gt;is&lt;/b&gt; away"
    assert f'<span class="bad">no connection for 12 s: {why}</span>' in text
    assert "reconnected 3 times, messages may be missing" in text
    assert f'<span class="bad">{lost}</span>' in text
    steady = replace(feed, away_s=0.2, gaps=0, lost_messages=0)
    assert "<b>prices</b> 8 rows read · delay" in frame(
        replace(TUMBLE, sources=(steady,))
    )


TOPIC = SourceProgress(
    *("clicks", 8, None, timedelta()),
    bounded=False,
    paused=True,
    partitions=(PartitionProgress(0, 5, 7), PartitionProgress(1, 3, 3, idle=True)),
    rows_per_s=40.0,
    away_s=9.0,
)


@pytest.mark.parametrize(
    ("bounded", "end", "said"),
    [
        (False, 7, "2 partitions, 2 records not read (partition 0: 2)"),
        (False, 5, "2 partitions"),
        (True, 5, "2 partitions, read to the end"),
    ],
)
def test_a_run_that_has_ended_is_behind_nothing(
    bounded: bool, end: int, said: str
) -> None:
    first = replace(TOPIC.partitions[0], end=end)
    topic = replace(TOPIC, bounded=bounded, partitions=(first, TOPIC.partitions[1]))
    running = replace(UNWINDOWED, sources=(topic,), history=(), watermark=None)
    lag = f"2 partitions, {end - 5} records behind"
    for told in (body(running), *static_html.bundle(running).values()):
        assert lag in told
        assert "partition 1 is idle" in told
        assert "no broker answers" in told
    for state in (RunState.FINISHED, RunState.STOPPED, RunState.FAILED):
        ended = replace(running, state=state)
        for told in (body(ended), *static_html.bundle(ended).values()):
            assert said in told
            for untrue in ("behind", "idle", "no broker answers", "/s", "paused"):
                assert untrue not in Page(told).text
        assert "behind" not in listing.runs([ended])["text/plain"].splitlines()[1]


def test_many_windows_show_the_newest_and_say_so() -> None:
    text = frame(MANY)
    assert "earlier windows not drawn" in text
    assert "earlier windows not drawn" in static_html.bundle(MANY)["text/html"]
    shown = set(re.findall(r'class="bar (closed|open)" width', text))
    assert shown == {"closed", "open"}  # both sides of the watermark


def test_sessions_by_key_are_counted_apart() -> None:
    for told in (
        frame(KEYED_SESSIONS),
        static_html.bundle(KEYED_SESSIONS)["text/html"],
    ):
        assert "1,612 sessions closed: final · 13 open: may change" in told
        assert "so far" not in told
    assert "Next: " not in lesson(KEYED_SESSIONS)
    stopped = replace(KEYED_SESSIONS, state=RunState.STOPPED)
    assert "13 sessions were still open" in lesson(stopped)
    some = replace(stopped, density=(), open_sessions=None)
    opened = [replace(w, state=WindowState.OPEN) for w in TUMBLE.windows[:2]]
    said = lesson(replace(some, windows=tuple(opened)))
    assert said.startswith("2 stretches of sessions were still open")


def test_hops_that_overlap_often_are_columns_on_both_sides_of_the_watermark() -> None:
    text = frame(OVERLAPPING)
    assert "a column is a window, drawn where it ends" in text
    assert "35 other windows not drawn" in text
    assert set(re.findall(r'class="bar (closed|open)" y', text)) == {"closed", "open"}
    # A watermark that is far behind leaves none of the newest closed.
    behind = replace(
        OVERLAPPING,
        watermark=at(9, 10),
        windows=tuple(
            replace(bar, state=CLOSED if bar.end <= at(9, 10) else OPEN)
            for bar in OVERLAPPING.windows
        ),
    )
    shown = set(re.findall(r'class="bar (closed|open)" y', frame(behind)))
    assert shown == {"closed", "open"}


@pytest.mark.parametrize("hops", [1, 2, 3, 6, 12])
def test_a_hop_in_lanes_has_its_counts_and_closed_windows(hops: int) -> None:
    slide = timedelta(minutes=60 // hops)
    windows = tuple(
        WindowBar(start, start + timedelta(hours=1), 100 + i, 0, state)
        for i in range(6 * hops)
        for start in [at(7) + i * slide]
        for state in [CLOSED if start + timedelta(hours=1) <= at(11, 12) else OPEN]
    )
    text = frame(replace(TUMBLE, windows=windows))
    drawn = re.findall(r'class="bar (closed|open)" width', text)
    labels = re.findall(r'class="on-(closed|open)"', text)
    assert set(drawn) == set(labels) == {"closed", "open"}
    assert len(labels) == len(drawn)


P = PartitionProgress
TO_COME = SourceProgress(
    *("clicks", 0, None, timedelta()), bounded=False, partitions=(P(0, 5, 5),)
)

ALL_BAD = replace(TUMBLE.sources[0], rows=0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"state": RunState.STARTING},
            "No row yet: 'departures_by_hour' has not started: Spark starts.</p>",
        ),
        ({"rows_in": 0, "sources": ()}, "no record has come from the source"),
        (
            {"rows_in": 0, "windows": (), "sources": (ALL_BAD,)},
            "3 records could not be read and none could: those of 'flights' are bad "
            "data; the first: line 3: expected a number. Compare the columns",
        ),
        (
            {"rows_in": 0, "paused": True, "sources": ()},
            "'departures_by_hour' is paused: Pause was pressed in its panel",
        ),
        ({"rows_in": 0, "sources": (TO_COME,)}, "no record has come from 'clicks'."),
        (
            {"rows_in": 0, "sources": (replace(TO_COME, older_records="'x' = 'y'"),)},
            "A topic is read from its newest record on unless 'x' = 'y'.",
        ),
        (
            {
                "rows_in": 0,
                "sources": (replace(TO_COME, partitions=(P(0, 0, 2_005),)),),
            },
            "Spark prepares the first micro-batch, which takes longer than those that "
            "follow. 2,005 records wait to be read.",
        ),
        (
            {"rows_in": 0, "sources": (replace(TO_COME, unread=True),)},
            "Spark prepares the first micro-batch",
        ),
        ({"windows": ()}, "1,815 rows came in, and a WHERE before the window"),
        ({"windowed": False, "windows": ()}, "a WHERE or HAVING kept none of them"),
        (
            {"windowed": False, "windows": (), "hints": ("the number ts is text",)},
            "kept none of them. Probably overlooked: the number ts is text.",
        ),
        ({"windows": (ALL_LATE,)}, "all 37 rows came after their windows had closed"),
        ({"watermark": None, "windows": OPEN_ONES}, "there is no watermark yet"),
        ({"windows": OPEN_ONES}, "the first window ends at 2013-01-01 12:00:00"),
        (
            {"state": RunState.FAILED, "error": "no disk\n  hint: make space"},
            "No row came out before the run failed.</p>",
        ),
        ({}, "a WHERE or HAVING behind the window kept none"),
        ({"state": RunState.STOPPED}, "No row came out: 3 windows closed"),
    ],
)
def test_no_row_says_why(changed: dict[str, Any], said: str) -> None:
    where = QueryFacts(conditions=(Condition("origin = 'EWR'"),))
    none = replace(TUMBLE, rows=(), rows_kept=0, rows_out=0, facts=where)
    none = replace(none, **changed)
    assert said in unescape(frame(none))
    assert said in unescape(static_html.bundle(none)["text/html"])


@pytest.mark.parametrize(
    ("view", "there", "gone"),
    [
        ("table", "N14228", "windows on event time"),
        ("windows", "windows on event time", "N14228"),
        ("watermark", "watermark: departures", "N14228"),
        ("plan", "the plan", "N14228"),
    ],
)
def test_the_view_that_was_asked_for_stays(view: str, there: str, gone: str) -> None:
    made = static_html.bundle(TUMBLE, view=view, plan="the plan")["text/html"]
    assert there in made
    assert gone not in made


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.FINISHED])
def test_what_is_odd_in_the_rows_stands_in_every_view(state: RunState) -> None:
    note = "all times of 'ts' lie in January 1970: milliseconds?"
    sources = tuple(replace(source, notes=(note,)) for source in TUMBLE.sources)
    odd = replace(TUMBLE, state=state, sources=sources)
    for told in (
        frame(odd),
        static_html.text(odd),
        static_html.bundle(odd)["text/html"],
    ):
        assert note in unescape(told)


def test_sessions_are_called_what_they_are() -> None:
    near = replace(SESSIONS, late_exact=False)
    for told in (
        frame(near),
        static_html.text(near),
        static_html.bundle(near)["text/html"],
    ):
        assert "up to 37" in told
        assert "late rows are counted by pieces of event time" in told
    for told in (frame(near), static_html.bundle(near)["text/html"]):
        assert "session 10 min · a bar is a session; open ones" in told
    assert 'aria-label="5 bars, ' in frame(near)
    assert lesson(near).count("Up to 37 rows were late") == 1
    exact = frame(replace(near, late_exact=True))
    assert "up to" not in exact
    assert "pieces" not in exact


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ({"rows_kept": 9}, "newest 3 of 9 rows; Run.table() has all"),
        (
            {"rows_kept": 10_000, "rows_cut": 2_345},
            "newest 3 of 12,345 rows; 10,000 kept",
        ),
        ({"rows_kept": 9, "handle": "by_hour"}, "of 9 rows; by_hour.table() has all"),
        ({"more_outputs": 1, "handle": "two"}, "1 more output: two.table(1)"),
        ({"more_outputs": 2}, "2 more outputs: Run.table(1) to Run.table(2)"),
        ({"unwritten": ("a", "b")}, "nothing is written to 'a', 'b'; --sinks writes"),
        ({"windows_cut": 1}, "1 closed window no longer kept"),
        ({"exact": False}, "counts of windows are near"),
        ({"recorded_to": 9_999}, "batches after 9,999 are counted but not recorded"),
        ({"columns": tuple(map(str, range(42)))}, "2 more columns not shown"),
    ],
)
def test_what_is_left_out_is_told_in_every_view(cut: dict[str, Any], said: str) -> None:
    whole = replace(TUMBLE, rows_kept=3)
    some = replace(whole, **cut)
    if "columns" in cut:
        some = replace(some, numeric=(), rows=(tuple(range(42)),), rows_kept=1)
    html, text = (
        static_html.bundle(some)[f"text/{kind}"] for kind in ("html", "plain")
    )
    for view in (body(some), html, text):
        assert said in unescape(view)
    for view in (body(whole), *static_html.bundle(whole).values()):
        assert said not in unescape(view)


def test_a_snapshot_shows_as_many_rows_as_were_asked_for() -> None:
    asked = replace(
        UNWINDOWED, columns=("n",), numeric=(True,), rows_kept=90, changes=()
    )
    asked = replace(asked, rows=tuple((1_000 + i,) for i in range(50)))
    for told in static_html.bundle(asked).values():
        assert "1049" in told
        assert "newest 50 of 90 rows" in told


WIDE = replace(
    UNWINDOWED,
    state=RunState.FINISHED,
    columns=tuple(f"a_rather_long_column_{n}" for n in range(20)),
    numeric=(),
    rows=tuple(tuple(f"{row}-{n} " + "x" * n for n in range(20)) for row in range(9)),
    changes=(),
    rows_kept=9,
)


def test_a_table_of_many_columns_stands_on_its_side() -> None:
    for made in (body(WIDE), static_html.bundle(WIDE)["text/html"]):
        lines = re.findall(r"<tr>(.*?)</tr>", made)
        names = [re.findall(r"<th[^>]*>(.*?)</th>", line) for line in lines]
        assert names == [[name] for name in WIDE.columns]
        assert all(line.count("<td") == 4 for line in lines)
        # Long values do not squeeze a name letter by letter.
        assert made.count('white-space:nowrap">a_rather') == 20
        assert "3-19 x" in made
        assert "4-19 x" not in made
        assert "newest 4 of 9 rows" in made
        assert "every row is here" not in made
    assert "white-space:nowrap;text-align:left;vertical-align:top" not in made
    first = static_html.text(WIDE).splitlines()
    assert any(line.startswith("a_rather_long_column_0   0-0") for line in first)


def test_changes_of_many_columns_stand_on_their_side() -> None:
    before, after = (tuple(f"{n}{what}" for n in range(20)) for what in "ab")
    change = Change("u", 7, before, after[:1] + before[1:])
    wide = replace(WIDE, updating=True, changes=(change,) * 9, result_rows=9)
    live = body(wide, view="changelog")
    assert live.count("~ changed, batch 7") == 4
    for made in (live, static_html.bundle(wide, view="changelog")["text/html"]):
        assert made.count("<s>0a</s> 0b") == 4
        assert made.count("<s>") == 4
        assert '<th scope="row"' in made


def test_a_table_does_not_turn_with_its_values() -> None:
    few = replace(WIDE, columns=WIDE.columns[:3], rows=(("x" * 80,) * 3,))
    assert "sideways" not in body(few)
    assert 'class="long"' in body(few)


@pytest.mark.parametrize("view", ["windows", "watermark", "plan"])
def test_a_picture_without_rows_says_where_they_are(view: str) -> None:
    kept = replace(TUMBLE, rows_kept=26)
    made = static_html.bundle(kept, view=view)["text/html"]
    assert "of 26 rows" not in made
    assert "Run.table() has the 26 rows, and --view all shows them too" in made
    assert "--view all" not in static_html.bundle(kept, view="all")["text/html"]


def test_the_result_of_an_ended_run_is_said_to_be_whole_only_where_it_is() -> None:
    ended = replace(UPDATING, state=RunState.FINISHED)
    assert "these rows are the result" in body(ended)
    part = body(replace(ended, result_rows=15))
    assert "these rows are the result" not in part
    assert "all 15 rows are in Run.table()" in part


def test_rows_too_large_for_any_page_are_not_said_to_be_none() -> None:
    assert "newest 0 of 9 rows" in body(TUMBLE, rows=0)
    assert "newest 0 of 9 rows" in static_html.text(replace(TUMBLE, rows=()))


def test_hop_windows_lie_in_lanes_that_do_not_overlap() -> None:
    places = re.findall(
        r'data-key="w(\d+)-(\d+)" style="transform:translate\([\d.]+px,(\d+)px',
        frame(HOP),
    )
    lanes: dict[str, list[tuple[int, int]]] = {}
    for start, end, y in places:
        lanes.setdefault(y, []).append((int(start), int(end)))
    assert len(lanes) == 4
    for bars in lanes.values():
        ordered = sorted(bars)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))


def test_drawing_is_bounded_whatever_the_run() -> None:
    second = timedelta(seconds=1)
    huge = replace(
        TUMBLE,
        name="n" * 10_000,
        error="e" * 1_000_000,
        note="<" * 10_000,
        windows=tuple(
            WindowBar(at(0) + i * second, at(0) + (i + 1) * second, i, i, OPEN)
            for i in range(5_000)
        ),
        history=tuple(
            MarkPoint(i, i / 10, at(0) + i * second, at(0)) for i in range(20_000)
        ),
        sources=TUMBLE.sources * 500,
        columns=tuple("c" * 200 + str(i) for i in range(300)),
        numeric=(False,) * 300,
        rows=tuple(("&" * 5_000,) * 300 for _ in range(1_000)),
    )
    assert len(body(huge, view="all", rows=1_000).encode()) <= panel.MOST_BYTES
    assert sum(len(v.encode()) for v in static_html.bundle(huge).values()) <= 64_000


def test_snapshot_needs_neither_script_nor_style_sheet() -> None:
    page = Page(static_html.bundle(TUMBLE)["text/html"])
    beside_a_panel = Page(
        static_html.bundle(TUMBLE, marker="arroyo-still-1")["text/html"]
    )
    assert beside_a_panel.tags - page.tags == {"style"}
    assert page.tags <= words(
        "div p b em img table thead tbody tr th td pre ul li details summary"
    )
    picture = next(s for s in page.said if s.startswith("data:image/svg+xml;base64,"))
    svg = ElementTree.fromstring(base64.b64decode(picture.partition(",")[2]))
    assert svg.tag.endswith("svg")
    assert "snapshot at watermark 2013-01-01 11:12" in page.text
    assert "live view: %arroyo show departures_by_hour" in page.text


def test_snapshot_tells_what_was_dropped_and_why() -> None:
    kept = static_html.bundle(TUMBLE)
    page = Page(kept["text/html"])
    assert "× 3 dropped" in page.text
    assert ", 37 late, 3 dropped, watermark" in kept["text/plain"]
    for told in (page.text, kept["text/plain"]):
        assert "3 bad rows dropped, such as:" in told
        assert "flights: line 9: not json" in told

    bad = tuple(f"line {i}: <b>" for i in range(4))
    (source,) = TUMBLE.sources
    many = replace(TUMBLE, sources=(replace(source, dropped_rows=4, bad=bad),) * 2)
    for told in static_html.bundle(many).values():
        assert "8 bad rows dropped, such as:" in told
        assert told.count(": line") == 3
    assert "line 2: &lt;b&gt;" in static_html.bundle(many)["text/html"]

    whole = replace(TUMBLE, sources=(replace(source, dropped_rows=2),))
    assert "2 bad rows dropped:" in static_html.text(whole)
    none = replace(TUMBLE, sources=(replace(source, dropped_rows=0, bad=()),))
    assert not any("dropped" in told for told in static_html.bundle(none).values())


def test_snapshot_says_why_the_run_ended() -> None:
    assert "; stopped by interrupt;" in static_html.text(STOPPED)
    assert "finished: the sources have ended" in static_html.text(FINISHED)
    assert "hint: write bad_data" in static_html.text(FAILED)
    assert "EWR         161       9.400" in static_html.text(TUMBLE)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (at(23, 59), "17:00 – 23:59"),
        (at(24), "17:00 – 01-02 00:00"),
        (at(30, 58), "17:00 – 01-02 06:58"),
        (at(24 * 365 + 17), "17:00 – 2014-01-01 17:00"),
    ],
)
def test_a_window_tells_the_day_of_its_end(end: datetime, said: str) -> None:
    window = replace(TUMBLE, rows=(({"start": at(17), "end": end}, "EWR", 1, 1.0, ""),))
    for told in (body(window), *static_html.bundle(window).values()):
        assert f"2013-01-01 {said}" in told


def test_numeric_columns_are_told_by_their_values_where_not_given() -> None:
    snapshot = replace(TUMBLE, numeric=())
    assert numeric_columns(snapshot) == (False, False, True, True, False)


def test_closed_bar_is_a_whole_bar_and_an_open_one_grows() -> None:
    bar = WindowBar(at(12), at(13), 79, 0, OPEN)
    grown = frame(replace(TUMBLE, windows=(bar,)))
    widths = re.findall(r'class="bar (?:hull|open)" width="([\d.]+)"', grown)
    hull, covered = map(float, widths[:2])
    assert covered == pytest.approx(hull * 21 / 60, abs=0.2)
    whole = frame(replace(TUMBLE, windows=(replace(bar, state=CLOSED),)))
    assert f'class="bar closed" width="{hull}"' in whole


def test_an_updating_result_has_two_sides_and_one_is_shown() -> None:
    made = body(UPDATING, keys=True)
    assert re.search(r'data-do="view table"[^>]* aria-pressed="true"', made)
    assert re.search(r'data-do="view changelog"[^>]* aria-pressed="false"', made)
    assert "<b>1,204</b> changes" in made
    assert "<b>3</b> rows" in made
    other = body(UPDATING, view="changelog", keys=True)
    assert re.search(r'data-do="view changelog"[^>]* aria-pressed="true"', other)
    assert "never final" in other
    assert "data-do" not in body(UPDATING)


def test_a_change_shows_what_it_changed_and_nothing_else_as_changed() -> None:
    made = body(UPDATING, view="changelog")
    signs = re.findall(r'<td class="op" title="(\w+)">(.)</td>', made)
    assert signs == [("changed", "~"), ("new", "+"), ("gone", "−")]
    assert made.count("<s>") == 1
    assert "<s>1011</s> 1018" in made
    assert "newest 3 of 1,204 changes" in made
    kept = static_html.bundle(UPDATING)["text/html"]
    assert "<s>1011</s> 1018" in kept


def test_a_result_that_is_not_shown_whole_says_so() -> None:
    part = replace(UPDATING, result_rows=70)
    assert "the last 3 to change of 70 rows" in body(part)
    held = replace(UPDATING, rows=(), result_rows=None)
    assert "the result is not known" in body(held)


def test_what_a_run_waits_for_is_said_once() -> None:
    none = replace(TUMBLE, rows=(), rows_kept=0, rows_out=0, windows=OPEN_ONES)
    for told in (body(none), static_html.bundle(none)["text/html"]):
        assert told.count("to go") == 1
    assert body(none, view="windows").count("to go") == 1


def test_a_saved_picture_of_a_running_run_does_not_say_that_it_runs() -> None:
    html = static_html.bundle(TUMBLE, marker="m")["text/html"]
    assert "<b>◌ was running</b>" in html
    assert "● running" not in html
    assert "<b>✓ finished</b>" in static_html.bundle(FINISHED)["text/html"]
