"""``%%arroyo --compare``: windows of several kinds of the same rows."""

import base64
import re
from xml.etree import ElementTree

import pytest
from shells import shell_of, shown

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
