"""Late rows and their reasons."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from html_page import Page
from scenes import END, TUMBLE, UNWINDOWED, at
from time_scenes import MINUTE, TIMES, Stream

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.late_ledger import late_in_results
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    LateRows,
    MarkPoint,
    RunState,
    Selection,
    Snapshot,
    WindowBar,
    WindowState,
)
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections import VIEWS
from arroyo_nb.views.sections.arrivals.layout import layout
from arroyo_nb.views.sections.late import (
    LIMITS,
    MOST_LINES,
    closed_for,
    sums_by_lateness,
)

LATE = TIMES["tumble"].snapshot()
MANY = Stream(batches=200, delay=MINUTE).snapshot()


def lines(html: str) -> list[list[str]]:
    """The cells of each line of the table."""
    table = html[html.index("<tbody>") : html.index("</tbody>")]
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row)]
        for row in re.findall(r"<tr.*?</tr>", table)
    ]


def test_each_line_says_why_its_rows_were_late() -> None:
    shown = lines(body(LATE, view="late"))
    assert shown[0] == [
        *("38", "× 1", "17 s", "2013-01-01 10:00 – 11:00"),
        *("2013-01-01 11:00:17", "batch 37"),
    ]
    assert len(shown) == len(LATE.late)
    batches = [int(line[0]) for line in shown]
    assert batches == sorted(batches, reverse=True)  # newest first
    assert sum(int(line[1].removeprefix("× ")) for line in shown) == LATE.late_rows
    assert (
        "departures_by_hour.late() lists them with their values; its late_by"
        in body(LATE, view="late")
    )


def test_a_line_selects_its_window() -> None:
    html = body(LATE, view="late")
    for rows in LATE.late:
        do = f"select window {rows.start.isoformat()} {rows.end.isoformat()}"
        assert f'<button type="button" data-do="{do}">' in html


def test_lines_of_other_windows_are_dim() -> None:
    rows = LATE.late[0]
    chosen = replace(LATE, selected=Selection(rows.start, rows.end))
    html = body(chosen, view="late")
    same = sum(each.start == rows.start for each in LATE.late)
    assert html.count('<tr class="dim">') == len(LATE.late) - same > 0
    assert '<tr class="dim">' not in body(
        replace(LATE, selected=Selection(key=1)), view="late"
    )


def test_what_the_table_leaves_out_is_counted() -> None:
    html = body(MANY, view="late")
    shown = lines(html)
    assert len(shown) == MOST_LINES
    listed = sum(int(line[1].removeprefix("× ").replace(",", "")) for line in shown)
    more = MANY.late_rows - listed
    assert f"+ {more:,} more: departures_by_hour.late() lists them" in html
    assert len(html.encode()) <= 50_000


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (replace(LATE, late=(), late_rows=0), "No row was late"),
        (UNWINDOWED, "This query has no window, so no row is late"),
        (TUMBLE, "× 37 late; Run.late() lists them with their values."),
    ],
)
def test_where_there_is_no_line_a_sentence_says_why(
    snapshot: Snapshot, said: str
) -> None:
    assert said in body(snapshot, view="late")
    assert said in static_html.bundle(snapshot, view="late")["text/html"]


def test_late_rows_are_summed_by_how_late_they_came() -> None:
    def came(late: timedelta, rows: int) -> LateRows:
        return LateRows(3, 1.0, at(8), at(9), at(9) + late, rows)

    rows = [came(limit, 1) for limit in LIMITS] + [came(timedelta(), 5)]
    sums = sums_by_lateness(rows)
    assert sums[0] == ("closed for less than 1 s", 5)
    assert sums[-1] == ("closed for more than 7 d", 1)
    assert sum(number for _, number in sums) == len(LIMITS) + 5
    html = body(LATE, view="late")
    said = re.findall(r"<span>[^<]*: <b>× (\d+)</b></span>", html)
    assert sum(map(int, said)) == LATE.late_rows


def test_rows_after_the_end_were_closed_for_no_length_of_time() -> None:
    assert closed_for(LateRows(3, 1.0, at(8), at(9), END, 1)) == "after the end"
    assert "9998" not in body(
        replace(LATE, late=(LateRows(3, 1.0, at(8), at(9), END, 1),)), view="late"
    )


def test_what_stays_has_late_rows_where_there_are_any() -> None:
    html = static_html.bundle(LATE)["text/html"]
    assert "<details><summary" in html
    assert "× late rows, with their windows" in html
    assert "17 s" in Page(html).text
    assert "<details open>" in static_html.bundle(LATE, view="late")["text/html"]
    assert "× late rows" not in static_html.bundle(replace(LATE, late=()))["text/html"]


def late_for_sessions() -> Snapshot:
    """A row of 10:00:12, when the watermark was at 10:00:31, with a gap of 8 s; beside
    it an open session from 10:00:15."""
    noon = at(10)

    def second(number: float) -> datetime:
        return noon + timedelta(seconds=number)

    gap = timedelta(seconds=8)
    row = second(12)
    end = row + timedelta(microseconds=1)
    return Snapshot(
        "s",
        RunState.RUNNING,
        windowed=True,
        sessions=True,
        gap=gap,
        late_rows=1,
        late_results=3,
        watermark=second(31),
        max_event_time=second(33),
        windows=(
            WindowBar(row, end, 0, 1, WindowState.CLOSED, late_only=True),
            WindowBar(second(15), second(41), 3, 0, WindowState.OPEN),
        ),
        late=(LateRows(9, 2.0, row, end, second(31), 1, gap=gap),),
        history=tuple(
            MarkPoint(batch, batch * 0.2, second(33), second(31))
            for batch in range(8, 11)
        ),
        arrivals=(
            # Not late, though its session would be one that has closed.
            BatchArrivals(8, 8 * 0.2, 1, (second(24),), second(31)),
            BatchArrivals(9, 9 * 0.2, 2, (row, second(30)), second(31)),
        ),
    )


def test_a_late_row_of_sessions_is_told_by_its_own_time() -> None:
    told = late_for_sessions()
    html = body(told, view="late")
    assert lines(html) == [
        ["9", "× 1", "11 s", "2013-01-01 10:00:12", "2013-01-01 10:00:31"]
    ]
    text = Page(html).text
    assert "the watermark had reached its event time plus the gap (8 s)" in text
    assert "longer by more than that would have kept the row" in text
    assert "Arroyo is stricter" in text
    assert "closed in" not in text
    assert "closed for" not in text


def test_a_late_row_of_sessions_is_drawn_at_its_time_and_no_session_is_for_it() -> None:
    told = late_for_sessions()
    svg = VIEWS.get("windows").live(told, "")
    assert svg.count('class="bar open"') == 2  # the open session, and the legend's
    assert svg.count('class="bar closed"') == 1  # the legend's
    assert "in no session</title>" in svg
    made = layout(told)
    assert made is not None
    assert [(dot.moment.second, dot.late) for dot in made.dots] == [
        (24, False),
        (12, True),
        (30, False),
    ]


def test_one_row_that_several_results_missed_is_one_late_row() -> None:
    told = late_for_sessions()
    for page in (body(told), static_html.bundle(told)["text/html"]):
        assert "1 late in 3 results" in Page(page).text
    source = (
        "CREATE TABLE c (at TIMESTAMP NOT NULL, k TEXT, v BIGINT, WATERMARK FOR at AS "
        "at - INTERVAL '1 second') WITH (connector = 'single_file', path = 'c.json', "
        "type = 'source', format = 'json');"
    )
    windows = ("tumble(INTERVAL '5 seconds')", "session(INTERVAL '8 seconds')")

    def inputs(*queries: str) -> list[nodes.Node]:
        script = source + ";".join(queries)
        return [
            node.input
            for sink in plan_script(script, Catalog()).sinks
            for node in walk(sink)
            if isinstance(node, nodes.WindowAggregate)
        ]

    same = inputs(
        f"SELECT {windows[0]} AS w, count(*) AS n FROM c GROUP BY w",
        f"SELECT {windows[1]} AS w, k, sum(v) AS n FROM c GROUP BY w, k",
    )
    assert late_in_results(zip(same, (1, 1), strict=True)) == 1
    assert late_in_results(zip(same, (1, 5), strict=True)) == 5
    others = inputs(
        f"SELECT {windows[0]} AS w, count(*) AS n FROM c WHERE v > 1 GROUP BY w",
        f"SELECT {windows[0]} AS w, count(*) AS n FROM c WHERE v <= 1 GROUP BY w",
    )
    assert late_in_results(zip(others, (1, 5), strict=True)) == 6
