"""The worker thread: order, interrupts, polls, the end."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.worker_thread import Worker

DEADLINE_S = 5
BUSY_S = 60
"""The longest that a test keeps the thread busy: far longer than it needs."""


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.fixture
def busy(worker: Worker) -> Iterator[Callable[[], None]]:
    """Keeps the thread busy until it is called."""
    entered, go = threading.Event(), threading.Event()
    worker.post(lambda: (entered.set(), go.wait(BUSY_S)))
    assert entered.wait(DEADLINE_S)
    yield go.set
    go.set()


def test_a_call_runs_on_the_thread_and_returns(worker: Worker) -> None:
    def work(a: int, b: int) -> tuple[int, bool]:
        return a + b, worker.is_current

    assert worker.call(work, 1, 2) == (3, True)
    assert not worker.is_current


def test_an_error_reaches_the_caller_and_the_thread_lives(worker: Worker) -> None:
    def fail() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        worker.call(fail)
    assert worker.call(lambda: 1) == 1


def test_a_time_out_of_the_work_itself_is_passed_on(worker: Worker) -> None:
    def fail() -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        worker.call(fail)


def test_a_call_on_the_thread_runs_at_once(worker: Worker) -> None:
    assert worker.call(lambda: worker.call(lambda: 1), timeout=DEADLINE_S) == 1


def test_calls_keep_their_order_and_go_ahead_of_idle_work(
    worker: Worker, busy: Callable[[], None]
) -> None:
    order: list[str] = []
    idle = worker.when_idle(order.append, "idle")
    for name in ("a", "b"):
        worker.post(order.append, name)
    busy()
    idle.result(DEADLINE_S)
    assert order == ["a", "b", "idle"]


def test_a_call_that_times_out_before_its_turn_never_runs(
    worker: Worker, busy: Callable[[], None]
) -> None:
    ran: list[int] = []
    with pytest.raises(TimeoutError):
        worker.call(ran.append, 1, timeout=0.01)
    busy()
    worker.call(lambda: None)
    assert ran == []


def test_an_interrupt_gets_through_while_the_thread_is_busy(
    worker: Worker, busy: Callable[[], None]
) -> None:
    ran: list[int] = []
    main = threading.main_thread().ident
    assert main is not None

    def call() -> None:
        # The signal may come before start returns.
        threading.Timer(0.005, signal.pthread_kill, (main, signal.SIGINT)).start()
        worker.call(ran.append, 1, timeout=BUSY_S)

    gc.disable()  # Python drops what is raised in the callbacks of its collector
    try:
        for _ in range(50):
            with pytest.raises(KeyboardInterrupt):
                call()
    finally:
        gc.enable()
    busy()
    assert worker.call(lambda: 1) == 1
    assert ran == []


def test_a_poll_repeats_until_it_is_cancelled(worker: Worker) -> None:
    enough = threading.Event()
    seen: list[int] = []

    def look() -> None:
        seen.append(1)
        if len(seen) == 3:
            cancel()
            enough.set()

    cancel = worker.every(0.001, look)
    assert enough.wait(DEADLINE_S)
    worker.call(lambda: None)
    assert len(seen) == 3


def test_a_poll_that_fails_is_told_and_goes_on(worker: Worker) -> None:
    errors: list[BaseException] = []
    twice = threading.Event()

    def fail() -> None:
        raise ValueError("bad")

    def tell(error: BaseException) -> None:
        errors.append(error)
        if len(errors) == 2:
            twice.set()
        raise error  # a handler that fails harms no more

    cancel = worker.every(0.001, fail, tell)
    assert twice.wait(DEADLINE_S)
    cancel()
    assert worker.call(lambda: 1) == 1


def test_polls_do_not_keep_calls_from_their_turn(worker: Worker) -> None:
    cancel = worker.every(0, lambda: None)
    assert worker.call(lambda: 1, timeout=DEADLINE_S) == 1
    cancel()


def test_a_closed_worker_refuses(worker: Worker, busy: Callable[[], None]) -> None:
    waiting = worker.post(lambda: 1)
    closing = threading.Thread(target=worker.close)
    closing.start()
    busy()
    closing.join(DEADLINE_S)
    with pytest.raises(EngineProblem, match="closed"):
        waiting.result(DEADLINE_S)
    with pytest.raises(EngineProblem, match="closed"):
        worker.call(lambda: 1)


def test_a_waiting_call_ends_when_the_worker_is_closed(
    worker: Worker, busy: Callable[[], None]
) -> None:
    raised: list[Any] = []

    def caller() -> None:
        with pytest.raises(EngineProblem):
            worker.call(lambda: 1)
        raised.append(True)

    thread = threading.Thread(target=caller)
    thread.start()
    worker.close(timeout=0)
    busy()
    thread.join(DEADLINE_S)
    assert raised == [True]


def test_a_forked_child_is_refused(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(EngineProblem, match="closed"):
        worker.post(lambda: 1)
