"""Runs of a class: a table that is changed under them, and a hand-out of one."""

from IPython.utils.capture import capture_output
from shells import shell_of, shown

CLICKS = """at       | user
10:00:00 | ann
10:00:04 | bob
10:00:31 | ann
"""
COUNTS = """SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n
FROM clicks GROUP BY w"""


def test_runs_of_changed_rows_are_stale(session):
    session.rows("clicks", CLICKS)
    session.rows("others", CLICKS)
    run = session.run(COUNTS, name="counts", wait=True)
    other = session.run(COUNTS.replace("clicks", "others"), name="rest", wait=True)
    told = []
    run.on_stale(lambda: told.append(run.snapshot().stale))
    session.rows("clicks", CLICKS)
    assert run.stale == ()  # the same rows are the same table
    session.rows("clicks", CLICKS.replace("bob", "cyd"))
    assert told == [("clicks",)]
    assert "stale: clicks was changed" in repr(run)
    assert other.stale == ()
    assert session.run(COUNTS, name="again", wait=True).stale == ()


def test_a_hand_out_has_the_rows_that_were_given(session, tmp_path):
    session.rows("clicks", CLICKS)
    session.run(COUNTS, name="counts", wait=True)
    page = tmp_path / "page.html"
    with shell_of(session) as shell, capture_output() as captured:
        shell.user_ns["intro"] = "Three rows.\n\nHow many windows?"
        shell.run_cell(
            f"%arroyo save counts -o {page} --title 'Clicks by time' --text intro"
        )
        refused, _ = shown(shell, f"%arroyo save counts -o {tmp_path}/t --title x")
    assert "only a page has a title" in str(refused)
    made = page.read_text()
    assert "<h1>Clicks by time</h1><p>Three rows.</p><p>How many windows?</p>" in made
    assert "<h2>clicks: all rows</h2>" in made
    assert "10:00:31" in made.partition("clicks: all rows")[2]
    assert "saved" in captured.stdout
