"""What a submitted job is told when the JVM that started it is to end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from machine import allowed

from arroyo_nb.engine.spark_submit import _Hook

SOON_S = 10.0


@pytest.fixture
def listen() -> Iterator[Callable[[], list[int]]]:
    """Begins to listen to SIGTERM; gives what is heard."""
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    heard: list[int] = []

    def begin() -> list[int]:
        signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
        return heard

    yield begin
    signal.signal(signal.SIGTERM, before)


def test_a_job_is_told_once_it_listens_and_only_once(
    listen: Callable[[], list[int]],
) -> None:
    hook = _Hook()
    ending = Thread(target=hook.run)
    ending.start()
    ending.join(0.3)  # it does not listen yet, and is not cut off
    heard, deadline = listen(), time.monotonic() + allowed(SOON_S)
    while not heard and time.monotonic() < deadline:
        ending.join(0.01)
    ending.join(0.3)
    assert heard == [signal.SIGTERM]
    assert ending.is_alive()
    hook.over.set()
    ending.join(allowed(SOON_S))
    assert not ending.is_alive()
