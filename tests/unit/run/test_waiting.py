"""Waiting for a run, without an engine."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.run.runs import Runs

SCRIPT = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
SELECT counter FROM ticks"""


@pytest.fixture
def failed(tmp_path):
    engine = SimpleNamespace(status="starting")
    run = Run(
        prepare("r", plan_script(SCRIPT, Catalog()), RunOptions()),
        engine,
        RunFolder(tmp_path),
    )
    run._life.error = RunProblem("broken")
    run._life.state = RunState.FAILED
    return run


def test_who_waits_is_always_told_that_the_run_failed(failed):
    for _ in range(2):
        with pytest.raises(RunProblem, match="broken"):
            failed.wait(0)
    assert failed.table().num_rows == 0, "what came before can be looked at"


@pytest.mark.parametrize("look", ["snapshot", "late", "bad", "windows", "table"])
def test_an_output_that_is_not_there_is_told(failed, look):
    failed._life.error = None
    with pytest.raises(RunProblem, match="there is no output 7"):
        getattr(failed, look)(output=7)


def test_an_interrupted_wait_is_one_line(failed, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    failed._life.state = RunState.RUNNING
    monkeypatch.setattr("arroyo_nb.run.background.time.sleep", interrupted)
    with pytest.raises(Interrupted, match="the wait was interrupted; the run goes on"):
        failed.wait()


def test_a_run_that_an_interrupt_ends_does_not_say_that_it_goes_on():
    goes_on = Interrupted("the wait was interrupted; the run goes on")
    run = Mock(wait=Mock(side_effect=goes_on))
    run.start.return_value = run
    run.wait_quietly.side_effect = [KeyboardInterrupt, True]
    with pytest.raises(KeyboardInterrupt):
        Runs().run_to_end(run)
    run.stop.assert_called_once_with("stopped by interrupt")


def test_a_view_tells_it_once_and_takes_nothing_from_who_waits(failed):
    with pytest.raises(RunProblem, match="broken"):
        failed.table()
    assert failed.table().num_rows == 0
    with pytest.raises(RunProblem, match="broken"):
        failed.wait()


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock of a run, which a test moves."""
    now_s = [100.0]
    for module in ("lifecycle", "output", "stepping", "observe.query_observation"):
        monkeypatch.setattr(f"arroyo_nb.run.{module}.time.monotonic", lambda: now_s[0])

    def pass_s(seconds):
        now_s[0] += seconds

    return pass_s


@pytest.fixture
def started(tmp_path, clock):
    """A run whose queries are being started, paused, and one to make it running."""
    engine = SimpleNamespace(status="starting Java, 3.1 s")
    options = RunOptions(step=True)
    run = Run(
        prepare("r", plan_script(SCRIPT, Catalog()), options),
        engine,
        RunFolder(tmp_path),
    )
    run._playback = SimpleNamespace(
        step=lambda: None, require_pausable=lambda: None, can_pause=True
    )
    run._stepping._step = lambda: None
    return run


def test_each_wait_of_a_start_says_its_seconds(started, clock):
    assert started.activity == "waiting for the engine: starting Java, 3.1 s"
    started.step()
    assert started.activity.endswith("starting Java, 3.1 s; a step is queued")
    started._life.begin()
    clock(4)
    assert started.activity == "starting its queries, 4 s; a step is queued"


def test_a_run_that_steps_says_so_and_is_not_called_paused(started, clock):
    (output,) = started.outputs
    started._life.begin()
    started._life.run("")
    output.observation.ended_s = 100.0
    clock(30)
    assert started.activity == "", "it is paused"
    assert started.snapshot().paused
    started.step(3)
    output._busy_since_s = 130.0
    clock(4)
    assert started.activity == "step 1 of 3, 4 s; preparing the first micro-batch, 4 s"
    assert not started.snapshot().paused


def test_a_long_micro_batch_and_a_stream_without_rows_are_told(started, clock):
    (output,) = started.outputs
    started.sources.resume()
    started._life.begin()
    started._life.run("")
    output.observation.ended_s = 100.0
    clock(1)
    assert started.activity == ""
    clock(5)
    assert started.activity == "waiting for rows, 6 s"
    output._busy_since_s = 106.0
    output._first_batch = -1  # one has ended
    clock(4)
    assert started.activity == ""
    clock(3)
    assert started.activity == "computing micro-batch 0, 7 s"
