"""The end of a run comes, whatever fails on the way to it."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.execution import Execution
from arroyo_nb.run.lifecycle import Lifecycle
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.output import Output
from arroyo_nb.run.pending_stop import PendingStop
from arroyo_nb.run.prepare import PreparedRun, RunFolder
from arroyo_nb.run.run import Run
from arroyo_nb.run.sources.sources import Sources
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.spark.failures import WORKER_SLOW
from arroyo_nb.state.folder import StateFolder

USED_UP = OSError(errno.EMFILE, "Too many open files")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Execution:
    """A run that goes on, of two outputs, as far as its end is concerned."""
    outputs = tuple(
        Mock(spec=Output, gate=Mock(), sink=Mock(), observation=Mock()) for _ in "ab"
    )
    for output in outputs:
        output.join.return_value = True
    sources = Mock(spec=Sources)
    sources.join.return_value = True
    prepared = PreparedRun("r", Mock(), RunOptions(), outputs, sources)
    engine = SimpleNamespace(restarts=0, alive=True, tidy=Mock())
    life = Lifecycle()
    life.begin()
    life.run("")
    run = Execution(prepared, engine, RunFolder(Path("state")), life, Mock())
    run._generation = 0
    run._ending.claim = Mock(spec=StateFolder)
    run._ending.repeated, run._ending.listeners = [Mock()], (Mock(),)
    monkeypatch.setattr(PendingStop, "watch_servers", lambda *_: None)
    return run


@pytest.mark.parametrize(
    "step",
    [
        lambda run: run._ending.repeated[0],
        lambda run: run.sources.close,
        lambda run: run.outputs[0].gate.abandon,
        lambda run: run.outputs[0].stop,
        lambda run: run.outputs[0].close,
        lambda run: run._ending.claim.note_files,
        lambda run: run._engine.tidy,
    ],
)
def test_a_step_of_the_end_that_fails_keeps_none_from_the_others(
    run: Execution, step
) -> None:
    step(run).side_effect = USED_UP
    run._end(RunState.FINISHED, "the sources have ended")
    assert run._life.state is RunState.FAILED
    assert isinstance(run._life.error, RunProblem)
    assert "no file or connection can be opened any more" in run._life.error.message
    for output in run.outputs:
        output.gate.abandon.assert_called_once()
        output.stop.assert_called_once()
        output.close.assert_called()
    run._ending.claim.note_files.assert_called_once_with(at_once=True)
    run._ending.claim.release.assert_called_once()
    run._engine.tidy.assert_called_once()
    run._ending.listeners[0].assert_called_once()


def test_a_run_fails_also_where_nobody_can_say_why(run: Execution, monkeypatch) -> None:
    monkeypatch.setattr(run._engine, "died", Mock(side_effect=USED_UP), raising=False)
    run._fail(RunProblem("it broke"))
    assert run._life.state is RunState.FAILED
    assert str(run._life.error) == "it broke"
    run._ending.claim.release.assert_called_once()


def test_a_run_that_cannot_be_asked_to_end_fails(run: Execution) -> None:
    run._engine.died = Mock(return_value=None)
    run.outputs[0].end_after_batch.side_effect = RunProblem("no answer")
    run._end_soon(StopMode.CHECKPOINT, "stopped")
    assert run._life.state is RunState.FAILED
    assert str(run._life.error) == "no answer"


AGAIN = f"{WORKER_SLOW}: starting it again, 1 of 5"


@pytest.fixture
def restarted(run: Execution) -> Execution:
    """A resumed run of which one query was started again."""
    run._life.run("resumed")
    run._starter = Mock()
    run._input = Mock()
    slow, other = run.outputs
    for output in run.outputs:
        output.poll.return_value = True
        output.is_idle.return_value = False
        output.failure.return_value = None
    slow.is_unread, other.is_unread = True, False
    slow.failure.return_value = RunProblem(WORKER_SLOW)
    assert run._start_again(RunProblem(WORKER_SLOW))
    slow.failure.return_value = None
    return run


def test_a_start_that_is_repeated_is_told_until_a_micro_batch_has_ended(
    restarted: Execution,
) -> None:
    life, slow = restarted._life, restarted.outputs[0]
    restarted._look()
    assert life.note == AGAIN, "the other query's micro-batches say nothing of it"
    slow.is_unread = False
    restarted._look()
    assert life.note == "resumed"


def test_a_query_that_waits_for_rows_has_started(restarted: Execution) -> None:
    restarted.outputs[0].is_idle.return_value = True
    restarted._look()
    assert restarted._life.note == "resumed"


def test_what_is_said_later_stays_once_a_repeated_start_has_worked(
    restarted: Execution,
) -> None:
    restarted._life.move(RunState.RUNNING, "stopping after its micro-batch")
    restarted.outputs[0].is_unread = False
    restarted._look()
    assert restarted._life.note == "stopping after its micro-batch"


def test_a_run_that_is_stopped_before_it_starts_tells_who_listens(
    run: Execution,
) -> None:
    run._life = Lifecycle()
    run._engine.worker = Mock()
    run.end("stopped")
    assert run._life.state is RunState.STOPPED
    (told,) = run._engine.worker.post.call_args.args
    told()
    run._ending.listeners[0].assert_called_once()


def test_a_picture_that_fails_keeps_no_other_from_being_marked_stale() -> None:
    observation = Mock(lived_s=0.0)
    outputs = (Mock(spec=Output, observation=observation),)
    prepared = PreparedRun("r", Mock(), RunOptions(), outputs, Mock(spec=Sources))
    run = Run(prepared, Mock(), RunFolder(Path("state")))
    fails, draws = Mock(side_effect=USED_UP), Mock()
    run.on_stale(fails)
    run.on_stale(draws)
    run.mark_stale("clicks")
    draws.assert_called_once()
    assert run.stale == ("clicks",)
