from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.jobs.runner.supervisor import JobState, Restarts, Supervisor
from arroyo_nb.run.observe.snapshot import RunState

AT_ONCE = Restarts(most=3, healthy_s=100, first_s=0, longest_s=0)
AWAY, WRONG = RunProblem("the broker is away"), RunProblem("a value is wrong")


@dataclass
class Ended:
    """A run that ran for so long and has ended."""

    error: RunProblem | None = None
    running_s: float = 1.0
    state: RunState = RunState.FINISHED
    note: str = ""

    def stop(self, note, mode):
        self.state, self.note = RunState.STOPPED, note

    def wait_quietly(self, timeout=None):
        return True


class Endless(Ended):
    """A run that ends once it is stopped."""

    def __init__(self, began):
        super().__init__(state=RunState.RUNNING)
        self._began = began

    def wait_quietly(self, timeout=None):
        self._began.set()
        return self.state.ended


class Supervision:
    def __init__(self, *runs, restarts=AT_ONCE):
        self.told = []
        self._runs = iter(runs)
        self.supervisor = Supervisor(
            self._next, lambda e: e is not WRONG, self._tell, restarts
        )

    def _next(self):
        run = next(self._runs)
        if isinstance(run, Exception):
            raise run
        return run

    def _tell(self, event, **facts):
        self.told.append((event, facts))

    def ended(self):
        state = self.supervisor.supervise()
        return state, self.supervisor.restarted


def failed(error=AWAY, running_s=1.0):
    return Ended(error, running_s, RunState.FAILED)


def test_what_ends_well_is_over():
    made = Supervision(Ended())
    assert made.ended() == (JobState.FINISHED, 0)
    assert made.told == [
        ("job_ended", {"level": "info", "state": "finished", "error": None})
    ]


def test_what_may_pass_begins_again():
    made = Supervision(failed(), failed(), Ended())
    assert made.ended() == (JobState.FINISHED, 2)
    assert made.supervisor.error is None
    restarts = [facts for event, facts in made.told if event == "restarting"]
    assert [facts["failure"] for facts in restarts] == [1, 2]
    assert restarts[0]["error"] == "the broker is away"


def test_what_cannot_pass_fails():
    made = Supervision(failed(), failed(WRONG), Ended())
    assert made.ended() == (JobState.FAILED, 1)
    assert made.supervisor.error is WRONG


def test_what_never_ran_fails_and_what_ran_before_may_be_refused_for_a_while():
    assert Supervision(AWAY, Ended()).ended() == (JobState.FAILED, 0)
    assert Supervision(failed(running_s=0), Ended()).ended() == (JobState.FAILED, 0)
    assert Supervision(failed(), AWAY, Ended()).ended() == (JobState.FINISHED, 2)


def test_a_server_that_is_away_at_the_start_is_waited_for():
    gone = Unreached("no broker at 127.0.0.1:9")
    made = Supervision(gone, gone, Ended())
    assert made.ended() == (JobState.FINISHED, 2)
    waits = [facts["failure"] for event, facts in made.told if event == "waiting"]
    assert waits == [1, 2]
    assert Supervision(*[gone] * 4, Ended()).ended() == (JobState.FAILED, 3)


def test_too_many_failures_in_a_row_are_enough():
    made = Supervision(*(failed() for _ in range(4)), Ended())
    assert made.ended() == (JobState.FAILED, 3)


def test_a_run_that_held_for_a_while_begins_to_count_anew():
    runs = [failed(), failed(), failed(running_s=100), failed(), failed(), Ended()]
    assert Supervision(*runs).ended() == (JobState.FINISHED, 5)


@pytest.mark.parametrize("waiting", [False, True])
def test_it_is_stopped_while_it_runs_and_while_it_waits(waiting):
    began = threading.Event()
    patient = Restarts(most=3, first_s=1000, longest_s=1000)
    first = failed() if waiting else Endless(began)
    made = Supervision(first, restarts=patient)
    thread = threading.Thread(target=made.ended)
    thread.start()
    if not waiting:
        assert began.wait(10)
    else:
        while made.supervisor.state is not JobState.WAITING:
            assert thread.is_alive()
    made.supervisor.stop("SIGTERM")
    thread.join(10)
    assert made.supervisor.state is JobState.STOPPED
    told = {"reason": "SIGTERM", "mode": "checkpoint"}
    assert ("stopping", told) in made.told or waiting


def test_what_does_not_end_in_time_is_stopped_all_the_same():
    made = Supervision(Ended(state=RunState.RUNNING))
    assert made.ended() == (JobState.STOPPED, 0)


def test_what_is_stopped_from_elsewhere_is_stopped():
    made = Supervision(Ended(state=RunState.STOPPED))
    assert made.ended() == (JobState.STOPPED, 0)


class FailsAsItStops(Ended):
    """A run that is stopped while it is looked at, and whose last batch fails."""

    fails_by = AWAY

    def stop(self, note, mode):
        self.state, self.error = RunState.FAILED, self.fails_by

    def wait_quietly(self, timeout=None):
        self.supervisor.stop("SIGTERM")
        return self.state.ended


def test_a_stop_whose_last_batch_fails_is_a_failure():
    run = FailsAsItStops(state=RunState.RUNNING)
    made = Supervision(run)
    run.supervisor = made.supervisor
    assert made.ended() == (JobState.FAILED, 0)
    assert made.supervisor.error is AWAY


def test_a_stop_whose_last_batch_meets_no_server_is_a_stop():
    run = FailsAsItStops(state=RunState.RUNNING)
    run.fails_by = Unreached("no broker at 127.0.0.1:9")
    made = Supervision(run)
    run.supervisor = made.supervisor
    assert made.ended() == (JobState.STOPPED, 0)


class GivesUpItsBatch(FailsAsItStops):
    def stop(self, note, mode):
        self.state, self.note = RunState.STOPPED, f"{note}: no broker"


def test_why_a_stop_gave_up_its_batch_is_told():
    run = GivesUpItsBatch(state=RunState.RUNNING)
    made = Supervision(run)
    run.supervisor = made.supervisor
    assert made.ended() == (JobState.STOPPED, 0)
    assert ("note", {"level": "warn", "text": "SIGTERM: no broker"}) in made.told


def test_an_error_that_comes_again_is_told_in_one_line():
    gone = Unreached("no broker at 127.0.0.1:9", hint="start it")
    made = Supervision(*[gone] * 3, Ended())
    assert made.ended() == (JobState.FINISHED, 3)
    errors = [facts["error"] for event, facts in made.told if event == "waiting"]
    assert errors == [str(gone), gone.message, gone.message]
