"""``%%arroyo --compare``: windows of several kinds of the same rows."""

import base64
import re
from xml.etree import ElementTree

import pytest
from shells import shell_of, shown

from arroyo_nb import whatif_tasks
from arroyo_nb.errors import RunProblem

# 10:00:09 is late for the window that ends at 10:00:10, and for no session: its own
# would end at 10:00:14.
CLICKS = """at       | user
10:00:00 | ann
10:00:04 | bob
10:00:11 | ann
10:00:13 | bob
10:00:09 | cyd
10:00:31 | ann
"""
COUNTS = """-- tumble(INTERVAL '1 day') is no call here
SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n
FROM clicks GROUP BY w"""


@pytest.fixture
def shell(session):
    session.rows("clicks", CLICKS, watermark="1 second")
    with shell_of(session) as shell:
        yield shell


def windows(session, name):
    rows = session.get(name).table().to_pylist()
    return {f"{r['w']['start']:%S}-{r['w']['end']:%S}": r["n"] for r in rows}


def test_one_cell_draws_three_kinds_on_one_axis(shell, session):
    error, outputs = shown(shell, f"%%arroyo kinds << --compare windows\n{COUNTS}")
    assert error is None
    assert windows(session, "kinds_tumble") == {"00-10": 2, "10-20": 2, "30-40": 1}
    hop = windows(session, "kinds_hop")
    assert hop["05-15"] == 3, "09 is late for 00-10 only"
    session_windows = windows(session, "kinds_session")
    assert sum(session_windows.values()) >= 5
    html = outputs[-1]["text/html"]
    drawn = [
        ElementTree.fromstring(base64.b64decode(data))
        for data in re.findall(r"svg\+xml;base64,([^\"]+)", html)
    ]
    assert len(drawn) == 3
    ticks = [
        [
            (group.get("data-key"), group.get("style"))
            for group in picture.iter("{http://www.w3.org/2000/svg}g")
            if (group.get("data-key") or "").startswith("t")
        ]
        for picture in drawn
    ]
    assert ticks[0]
    assert ticks[0] == ticks[1] == ticks[2]
    lines = outputs[-1]["text/plain"].splitlines()
    assert lines[0] == "tumble 10 s: 3 windows, 1 late row (kinds_tumble)"
    assert lines[1].startswith("hop 5 s, 10 s:")
    assert lines[2].startswith("session 5 s:")
    assert shell.user_ns["kinds"].runs[0] is session.get("kinds_tumble")
    assert "stale" not in html
    _, outputs = shown(shell, f"%%arroyo_rows clicks\n{CLICKS}10:00:32 | bob")
    said = "stale: clicks was changed after this run began; run the cell again"
    changed = [o for o in outputs if said in o.get("text/html", "")]
    assert [said in o["text/plain"] for o in changed] == [True]


def test_it_tells_which_kind_it_is_at_and_what_that_waits_for(session, monkeypatch):
    monkeypatch.setattr(whatif_tasks, "TOLD_EVERY_S", 0)
    session.rows("clicks", CLICKS, watermark="1 second")
    said = []
    session.compare_windows(COUNTS, "tumble 10s, session 3s", tell=said.append)
    first, second = (
        [line for line in said if line.startswith(f"{call}: ")]
        for call in (
            "tumble(INTERVAL '10 seconds'), 1 of 2",
            "session(INTERVAL '3 seconds'), 2 of 2",
        )
    )
    assert len(first) + len(second) == len(said)
    assert re.search(
        r": (waiting for the engine: .*|starting its queries), \d", first[0]
    )
    assert second


def test_a_window_that_has_late_rows_only_is_none_of_the_result(session):
    session.rows("clicks", f"{CLICKS}09:00:00 | ann", watermark="1 second")
    found = session.compare_windows(COUNTS, "tumble 10s")
    assert repr(found) == "tumble 10 s: 3 windows, 2 late rows (windows_tumble)"


def test_kinds_can_be_named(session):
    session.rows("clicks", CLICKS, watermark="1 second")
    found = session.compare_windows(COUNTS, "session 3s, session 1m", name="gaps")
    assert [run.name for run in found.runs] == ["gaps_session_1", "gaps_session_2"]
    assert len(windows(session, "gaps_session_2")) == 1


@pytest.mark.parametrize(
    ("sql", "kinds", "said"),
    [
        ("SELECT user FROM clicks", "windows", "the query has no window"),
        (COUNTS, "tumbel 10s", "'tumbel 10s' is not a window"),
        (COUNTS, "hop 10s", "'hop 10s' is not a window"),
        (COUNTS.replace("clicks", "endless"), "windows", "'endless' never ends"),
    ],
)
def test_what_cannot_be_compared_is_refused(session, sql, kinds, said):
    session.rows("clicks", CLICKS)
    session.run(
        "CREATE TABLE endless WITH (connector = 'impulse', event_rate = '1')", name="x"
    )
    with pytest.raises(RunProblem, match=re.escape(said)):
        session.compare_windows(sql, kinds)
    assert all(run.state.ended or run.wait(20) for run in session.runs.values())
