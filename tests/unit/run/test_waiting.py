"""Waiting for a run, without an engine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run

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


def test_an_interrupted_wait_is_one_line(failed, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    failed._life.state = RunState.RUNNING
    monkeypatch.setattr("arroyo_nb.run.background.time.sleep", interrupted)
    with pytest.raises(Interrupted, match="the wait was interrupted; the run goes on"):
        failed.wait()


def test_a_view_tells_it_once_and_takes_nothing_from_who_waits(failed):
    with pytest.raises(RunProblem, match="broken"):
        failed.table()
    assert failed.table().num_rows == 0
    with pytest.raises(RunProblem, match="broken"):
        failed.wait()
