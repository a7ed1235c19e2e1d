"""How a run is stopped: what becomes of the batch that runs, and of what has come."""

import json
import threading

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.output import Output

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
SINK = """
CREATE TABLE out (flight INT) WITH (connector = 'single_file', type = 'sink',
path = '{path}', format = 'json');
INSERT INTO out SELECT flight FROM flights
"""
TICKS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '500');
SELECT tumble(INTERVAL '1 day') AS day, count(*) AS n FROM ticks GROUP BY day;
SELECT counter FROM ticks
"""


class Gate:
    """Holds the first batch that it is called with until it is opened."""

    def __init__(self):
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, rows, batch_id):
        self.reached.set()
        assert self.opened.wait(60)


def logged(run, log):
    found = (run.folder / "outputs/0/checkpoint" / log).glob("*")
    numbers = (int(path.name) for path in found if path.name.isdecimal())
    return max(numbers, default=-1)


def flights(path):
    return sorted(json.loads(line)["flight"] for line in path.read_text().splitlines())


@pytest.fixture
def undisturbed(session, tmp_path):
    session.run(FLIGHTS + SINK.format(path=tmp_path / "whole"), wait=True)
    return flights(tmp_path / "whole")


@pytest.fixture
def looks(monkeypatch):
    """What a run that winds down has seen of its queries, look by look."""
    seen, look = [], Output.has_ended

    def looking(output):
        seen.append(look(output))
        return seen[-1]

    monkeypatch.setattr(Output, "has_ended", looking)
    return seen


@pytest.mark.parametrize("trigger", [None, "1h"])
def test_the_batch_that_runs_is_the_last_one(
    session, tmp_path, undisturbed, eventually, looks, trigger
):
    script, gate = FLIGHTS + SINK.format(path=tmp_path / "out"), Gate()
    run = session.run(
        script, name="held", keep=True, state_dir=tmp_path / "state", trigger=trigger
    )
    run.on_rows(gate)
    assert gate.reached.wait(60)
    run.stop("stopped here", mode="checkpoint")
    eventually(lambda: run.note == "stopped here: ending the micro-batch that runs")
    eventually(lambda: len(looks) > 2)
    assert (run.state, any(looks)) == (RunState.RUNNING, False)
    gate.opened.set()
    assert run.wait(60)
    assert (run.state, run.note) == (RunState.STOPPED, "stopped here")
    assert logged(run, "offsets") == logged(run, "commits") == 0
    session.run(script, name="held", state_dir=tmp_path / "state", wait=True)
    assert flights(tmp_path / "out") == undisturbed


def test_a_run_that_waits_for_its_trigger_stops_at_once(session, eventually):
    run = session.run(FLIGHTS + "SELECT flight FROM flights", trigger="1h")
    eventually(lambda: run.table().num_rows)
    eventually(lambda: logged(run, "commits") == 0)
    run.stop(mode="checkpoint")
    assert run.wait(30)
    assert run.state is RunState.STOPPED


def test_what_has_come_is_read_and_open_windows_stay_open(session, eventually):
    run = session.run(TICKS, speed=1)
    eventually(lambda: run.table(1).num_rows > 300)
    run.stop(mode="graceful")
    assert run.wait(60)
    assert (run.state, run.error) == (RunState.STOPPED, None)
    counters = run.table(1)["counter"].to_pylist()
    (source,) = run.snapshot().sources
    assert counters == list(range(source.rows))
    assert run.table(0).num_rows == 0


def test_a_second_stop_need_not_wait(session):
    gate = Gate()
    run = session.run(FLIGHTS + "SELECT flight FROM flights")
    run.on_rows(gate)
    assert gate.reached.wait(60)
    run.stop(mode="checkpoint")
    run.stop("at once")
    try:
        assert run.wait(60)
    finally:
        gate.opened.set()
    assert run.note == "at once"


def test_a_mode_that_there_is_not_is_told(session):
    run = session.run(FLIGHTS + "SELECT flight FROM flights")
    with pytest.raises(RunProblem, match="there is no stop mode 'gracefull'") as told:
        run.stop(mode="gracefull")
    assert "graceful" in told.value.hint


def test_a_cell_that_ends_with_stop_shows_the_end(session, eventually, monkeypatch):
    from IPython.core.formatters import DisplayFormatter

    monkeypatch.setattr("arroyo_nb.run.run.SETTLE_S", 60.0)
    run = session.run(TICKS)
    show = DisplayFormatter().format
    shown, _ = show(run)
    assert "starting" in shown["text/plain"] or "running" in shown["text/plain"]
    eventually(lambda: run.state is RunState.RUNNING)
    shown, _ = show(run.stop())
    assert "stopped" in shown["text/plain"]
    assert "stopped" in shown["text/html"]
