"""Calls that wait for a server, and that whoever has called can leave."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

_LOOK_S = 0.05

T = TypeVar("T")


def run_in_thread(work: Callable[[], T], look: Callable[[], None], name: str) -> T:
    """What a call gives that may block.

    Parameters
    ----------
    work
        The call.
    look
        Is called again and again meanwhile; what it raises ends the wait, not the call.
    name
        Of the thread.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as problem:  # who waits raises it
            result.set_exception(problem)

    Thread(target=run, name=name, daemon=True).start()
    while not wait([result], _LOOK_S).done:
        look()
    return result.result()
