"""What ``make_pictures.py --all`` draws: every view of runs of all kinds.

Each scene is a run as the views are tested with: 1, 50 and 500 groups or windows, long
texts, 40 columns, NULLs, windows of a second and of a day, nothing yet, failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice, pairwise

import pyarrow as pa
from result_scenes import (
    HISTORIES,
    JOINED,
    OUTPUTS,
    PLANNED,
    SELF_JOIN,
    WINDOW,
    groups,
    long_plan,
)
from scenes import (
    FAILED,
    HOP,
    KEYED_SESSIONS,
    OVERLAPPING,
    PAUSED,
    SESSIONS,
    STARTING,
    STOPPED,
    TUMBLE,
    UNWINDOWED,
    at,
)
from time_scenes import TIMES, failed

from arroyo_nb.cell_tests import Check, TestResult
from arroyo_nb.cell_tests.compare import Difference, DiffLine, Mark
from arroyo_nb.run.observe.findings import Finding, Report
from arroyo_nb.run.observe.snapshot import (
    Moment,
    Selection,
    Snapshot,
    WindowBar,
    WindowState,
)
from arroyo_nb.views import doctor, static_html
from arroyo_nb.views.compare import COMPARISON_VIEWS
from arroyo_nb.views.panel import body
from arroyo_nb.views.selection import selected
from arroyo_nb.views.view_tabs import MESSAGE, chosen_view, tab_names
from arroyo_nb.views.whatif import WHAT_IF_VIEWS
from arroyo_nb.whatif.comparison import Comparison, WindowPair
from arroyo_nb.whatif.differences import Difference as RowDifference
from arroyo_nb.whatif.outcomes import DelayOutcome, WhatIf, WindowOutcome

NULLS = replace(
    UNWINDOWED,
    columns=("carrier", "delay", "notes", "window"),
    numeric=(False, True, False, False),
    rows=(
        (None, None, None, None),
        ("UA", None, "", {"start": at(8), "end": None}),
        ("", 0.0, "NULL", {"start": None, "end": None}),
        ("B6", float("nan"), [None, 1], {"start": at(8), "end": at(9)}),
    ),
)

LONG = replace(
    UNWINDOWED,
    name="a_query_whose_name_goes_on_" * 5,
    columns=("an_url_" * 12, "text", "n"),
    numeric=(False, False, True),
    rows=tuple(
        ("https://example.org/" + "a/" * 90, "words that go on " * 12, 10**15 + i)
        for i in range(6)
    ),
    note="a note that goes on and on, with its reasons, " * 6,
)

IDLE = replace(UNWINDOWED, rows=(), rows_kept=0, rows_out=0, silent_s=6.0, batch_id=12)

RUNS: dict[str, Snapshot] = {
    "1 group": groups(1),
    "50 groups": groups(50),
    "500 groups": groups(500),
    "40 columns": groups(50, columns=40),
    "histories": HISTORIES,
    "a selected key": selected(HISTORIES, Selection(key=11)),
    "NULLs": NULLS,
    "long texts": LONG,
    "rows that only come": UNWINDOWED,
    "a plan": PLANNED,
    "a selected window": selected(TUMBLE, WINDOW),
    "hop of many windows": HOP,
    "overlapping": OVERLAPPING,
    "sessions": SESSIONS,
    "sessions by key": KEYED_SESSIONS,
    "outputs": OUTPUTS,
    "paused": PAUSED,
    "an earlier batch": replace(
        TUMBLE, moment=Moment(12, 0, TUMBLE.batch_id or 60, is_newest=False)
    ),
    "stopped": STOPPED,
    "nothing yet": STARTING,
    "no row yet": IDLE,
    "failed": FAILED,
    "a join": replace(PLANNED, plan=JOINED),
    "a self-join": replace(PLANNED, plan=SELF_JOIN),
    "60 operators": replace(PLANNED, plan=long_plan(60)),
    **{name: stream.snapshot() for name, stream in TIMES.items()},
    "failed with windows": failed(TIMES["tumble"].snapshot()),
}

ONLY = {
    "a join": ("plan",),
    "a self-join": ("plan",),
    "60 operators": ("plan",),
}
"""Scenes that differ from others in some views only."""

PLAN = "Sink result\n  WindowAggregate tumble 1 h BY origin\n    Filter\n      Source"


def live() -> Iterator[tuple[str, str]]:
    """Each tab of each run: its name, and the panel without its style."""
    for scene, snapshot in RUNS.items():
        for name in tab_names(snapshot):
            if name in ONLY.get(scene, (name,)):
                view = chosen_view(f"{MESSAGE}{name}")
                drawn = body(snapshot, view=view, plan=PLAN, keys=True)
                yield f"{scene}, {name}", drawn


def static() -> Iterator[tuple[str, str]]:
    """What stays in a notebook, and what is not of one run: each as HTML."""
    for scene, snapshot in RUNS.items():
        made = static_html.bundle(snapshot, marker="m", view="all", plan=PLAN)
        yield f"{scene}, saved", str(made["text/html"])
    yield from _reports()


def _reports() -> Iterator[tuple[str, str]]:
    findings = (
        Finding(
            *("filtered", "WHERE origin = 'XXX' left out all 1,815 rows (line 4)"),
            "compare the values: SELECT DISTINCT origin FROM flights",
        ),
        Finding(
            *("held", "the watermark is held back by 'weather', idle for 20 s"),
            "set idle_time for it, or wait for its next row",
        ),
    )
    report = Report("departures", 1815, 0, findings, "looked at the first 1,815 rows")
    yield "doctor", doctor.report(report)["text/html"]
    lines = (
        DiffLine(Mark.CHANGED, ("JFK", 12), ("JFK", 13), frozenset({1})),
        DiffLine(Mark.MISSING, ("EWR", None), None),
        DiffLine(Mark.UNEXPECTED, None, ("LGA", 3)),
        DiffLine(Mark.SAME, ("BOS", 1), ("BOS", 1)),
    )
    differs = Difference("3 of 4 rows differ", ("origin", "flights"), lines)
    checks = (Check("EXPECT TABLE", 9, differs), Check("EXPECT LATE", 14))
    yield "a test", TestResult("late_flights", checks, 0.4)._repr_html_()
    minute = timedelta(minutes=1)
    outcomes = tuple(
        DelayOutcome(
            *(delay, delay == 30 * minute, 1815, lost),
            tuple(
                WindowOutcome(at(h), at(h + 1), 90, 2, delay + h * minute, None)
                for h in range(8, 16)
            ),
            *(204, lost * 2),
        )
        for delay, lost in ((0 * minute, 412), (30 * minute, 37), (120 * minute, 1))
    )
    found = WhatIf("departures", outcomes, 61, (), WHAT_IF_VIEWS)
    yield "what-if", found._repr_html_()
    for name, hours in (("two windows", 2), ("a day of windows", 24)):
        yield f"compare, {name}", _comparison(hours)._repr_html_()


def _comparison(hours: int) -> Comparison:
    starts = [at(0) + timedelta(hours=h) for h in range(hours + 1)]
    pairs = []
    for n, (start, end) in enumerate(pairwise(starts)):
        bars = [
            WindowBar(start, end, 90 + 7 * n % 50 - lost, lost, WindowState.CLOSED)
            for lost in (n % 3 * 4, 0)
        ]
        pairs.append(WindowPair(start, end, *bars))
    late = tuple(sum(pair.late_rows[side] for pair in pairs) for side in (0, 1))
    rows = pa.table({"weight": [1, -1], "origin": ["JFK", "JFK"], "flights": [12, 13]})
    return Comparison(
        names=("hasty", "patient"),
        pairs=tuple(pairs),
        result=RowDifference(rows, 1, 1),
        late_counts=(late[0], late[1]),
        late=None,
        result_rows=(24, 24),
        notes=(),
        views=COMPARISON_VIEWS,
    )


def sheets(names: list[str], a_sheet: int) -> Iterator[list[str]]:
    """The names by so many."""
    rest = iter(names)
    while group := list(islice(rest, a_sheet)):
        yield group
