"""The gate that holds the batches of a run of topics."""

import threading

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.pause_gate import BatchGate

DEADLINE_S = 20


@pytest.fixture
def query():
    """A thread that asks the gate again and again, as a query does for each batch."""

    class Query:
        def __init__(self):
            self.gate = BatchGate(paused=True)
            self.passed = threading.Semaphore(0)
            self.error = None
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()

        def run(self):
            try:
                while self.gate.pass_batch() >= 0:
                    self.passed.release()
            except RunProblem as problem:
                self.error = problem

    made = Query()
    yield made
    made.gate.pause()
    made.gate.abandon()
    made.thread.join(DEADLINE_S)


def test_a_step_lets_exactly_one_batch_go(query):
    assert not query.passed.acquire(timeout=0.1)
    for _ in range(3):
        query.gate.step()
        assert query.passed.acquire(timeout=DEADLINE_S)
        assert not query.passed.acquire(timeout=0.1)
    query.gate.resume()
    for _ in range(10):
        assert query.passed.acquire(timeout=DEADLINE_S)


def test_a_batch_that_is_held_ends_with_its_run(query):
    query.gate.abandon()
    query.thread.join(DEADLINE_S)
    assert "ended while it was paused" in str(query.error)


def test_a_gate_says_how_long_it_held():
    gate = BatchGate(paused=True)
    threading.Timer(0.1, gate.resume).start()
    assert gate.pass_batch() >= 0.1
    assert gate.pass_batch() < 0.1
