"""Any tape in disorder: the same rows, late ones among them, and a kill changes
nothing."""

import pytest

FLIGHTS = """CREATE TABLE flights (
    WATERMARK FOR sched_dep AS sched_dep - INTERVAL '1 hour'
) WITH (connector = 'sample', dataset = 'flights', {options});
SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS n FROM flights
GROUP BY w, origin"""


def late_by_origin(run):
    found = {}
    for row in run.late().to_pylist():
        found[row["origin"]] = found.get(row["origin"], 0) + 1
    return found


@pytest.mark.long("moments")
def test_the_rows_of_one_airport_are_late_and_the_same_ones_each_time(session):
    options = """'disorder.delay' = INTERVAL '12 hours',
    'disorder.delayed' = 'origin=JFK', 'disorder.burst' = INTERVAL '6 hours'"""
    script = FLIGHTS.format(options=options)
    run = session.run(script, name="slow_airport", wait=True)
    late = late_by_origin(run)
    assert late["JFK"] > 10 * late.get("EWR", 0)
    assert run.snapshot(0).rows_in == 6546
    again = session.run(script, name="again", wait=True)
    assert late_by_origin(again) == late
    assert again.table().equals(run.table())
    # A longer delay than the airport's takes nearly all of them.
    found = session.whatif(run, ["1h", "1d"])
    assert found.outcomes[0].late_rows == sum(late.values())
    assert found.outcomes[1].late_rows == 0


def test_a_run_that_was_stopped_goes_on_with_the_next_row(session, eventually):
    script = FLIGHTS.format(
        options="""'disorder.shuffle' = INTERVAL '3 hours',
        'disorder.duplicate' = 0.2, 'disorder.burst' = INTERVAL '6 hours'"""
    )
    whole = session.run(script, name="whole", wait=True)
    rows = whole.snapshot(0).rows_in
    assert 6546 * 1.1 < rows < 6546 * 1.3
    part = session.run(script, name="part", step=True)
    for steps in range(1, 8):
        part.step()
        eventually(lambda n=steps: part.outputs[0].observation.next_batch >= n)
    part.stop(mode="checkpoint").wait()
    assert 0 < part.snapshot(0).rows_in < rows
    part = session.resume("part")
    part.resume()
    assert part.wait(120)
    assert part.snapshot(0).rows_in == rows
    assert sorted(map(str, part.table().to_pylist())) == sorted(
        map(str, whole.table().to_pylist())
    )
    assert part.late().num_rows == whole.late().num_rows


def test_rows_of_a_cell_arrive_in_a_burst(session):
    rows = "\n".join(f"10:00:{n:02} | u{n % 2}" for n in range(30))
    made = session.rows("clicks", "at | user\n" + rows, watermark="1 second")
    statement = made.statement.replace(
        "connector = 'tape'",
        "connector = 'tape', 'disorder.burst' = INTERVAL '10 seconds', "
        "'disorder.shuffle' = INTERVAL '1 second'",
    )
    assert statement != made.statement
    run = session.run(
        statement.replace("clicks", "bursts", 1)
        + "; SELECT tumble(INTERVAL '5 seconds') AS w, count(*) AS n FROM bursts "
        "GROUP BY w",
        wait=True,
    )
    (trace,) = run.outputs[0].observation.traces
    sizes = [sum(b.pane_rows.values()) for b in trace.batches if b.pane_rows]
    assert sum(sizes) == 30
    assert 3 <= len(sizes) <= 5
    assert sum(row["n"] for row in run.table().to_pylist()) == 30 - run.late().num_rows
