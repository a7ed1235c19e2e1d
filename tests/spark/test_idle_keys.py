"""Keys of updating queries that are idle for longer than they may be.

A step of the impulse is one row.
"""

from collections import Counter

TICKS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '100');
"""
COUNTS = "SELECT counter >= 0 AS k, count(*) AS n FROM ticks GROUP BY k"
TOP = """
SELECT k, counter FROM (
    SELECT counter >= 0 AS k, counter,
           row_number() OVER (PARTITION BY counter >= 0 ORDER BY counter DESC) AS place
    FROM ticks
) WHERE place = 1
"""


def ops(run):
    return Counter(run.changelog()["op"].to_pylist())


def test_are_taken_back_once_and_start_anew(session, eventually):
    run = session.run(TICKS + COUNTS, name="counts", ttl="1s", step=True)
    run.step()
    # No other row comes: it is the heartbeat that finds the key.
    eventually(lambda: ops(run) == {"c": 1, "d": 1}, 180)
    assert run.table().num_rows == 0
    assert run.rows_in == 1, "a beat is not a row"
    run.step()
    eventually(lambda: ops(run) == {"c": 2, "d": 2}, 60)
    sums = [row["n"] for row in run.changelog()["after"].to_pylist() if row]
    assert sums == [1, run.rows_in - 1]
    run.stop().wait(60)


def test_are_taken_back_once_after_a_restart_too(session, eventually):
    script = f"SET updating_ttl = INTERVAL '3 seconds';{TICKS}{TOP}"
    run = session.run(script, name="top", step=True)
    run.step()
    eventually(lambda: run.outputs[0].preview.total_rows, 180)
    run.stop().wait(60)
    run = session.resume("top")
    run.pause()  # what came meanwhile has updated the row
    eventually(lambda: ops(run)["d"], 180)
    assert run.table().num_rows == 0
    # What finds nothing more to forget changes nothing.
    newest = run.changelog()["batch"].to_pylist()[-1]
    eventually(lambda: run.progress and run.progress.batch_id > newest + 1, 60)
    assert (ops(run)["c"], ops(run)["d"]) == (1, 1)
    run.stop().wait(60)
