"""Interrupts that are noted, and raised where nothing can break.

Python raises ``KeyboardInterrupt`` between any two instructions of the main thread:
also half-way through the import of a library, which then cannot be imported any more,
and inside a condition variable, which then stays locked for the thread that needs it.
Who holds interrupts looks at them at a moment of its own choosing instead.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType

LOOK_S = 0.05
"""How often who waits for a run looks whether there was an interrupt."""

STOP_S = 0.4
"""How long who was interrupted waits for the run to end in good order."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that a notebook shows as one line."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Interrupts:
    """What came while interrupts were held."""

    def __init__(self) -> None:
        self._noted = False

    def check(self) -> None:
        """The safe moment: raise what was noted, once.

        Raises
        ------
        KeyboardInterrupt
            When there was an interrupt since the last look.
        """
        if self._noted:
            self._noted = False
            raise KeyboardInterrupt

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler: one that nobody has looked at yet is forced through."""
        if self._noted:
            raise KeyboardInterrupt
        self._noted = True


@contextmanager
def defer_interrupts() -> Iterator[Interrupts]:
    """Hold the interrupts of the main thread; on any other there are none.

    One that was not looked at is raised at the end. Who holds them already shares what
    came so far: an interrupt before the inner block is heard in it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts()
        return
    interrupts = _held() or Interrupts()
    before = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
    interrupts.check()


def check_interrupts() -> None:
    """The safe moment of who does not know whether interrupts are held: one that was
    noted is raised.

    Raises
    ------
    KeyboardInterrupt
        When there was one since the last look.
    """
    held = _held()
    if held is not None and threading.current_thread() is threading.main_thread():
        held.check()


def _held() -> Interrupts | None:
    """Who holds the interrupts of the main thread."""
    holder = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    return holder if isinstance(holder, Interrupts) else None


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """What a command of a notebook calls again and again, to hear an interrupt; an
    interrupt is shown as one line."""
    try:
        with defer_interrupts() as interrupts:
            yield interrupts.check
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None


def imported(*modules: str, interrupts: Interrupts) -> None:
    """Import modules on another thread: while it does, interrupts are looked at.

    What cannot be imported is told where it is imported next.

    Raises
    ------
    KeyboardInterrupt
        When there was an interrupt. They are imported all the same.
    """
    loading = threading.Thread(target=_import, args=modules, daemon=True)
    loading.start()
    while loading.is_alive():
        loading.join(LOOK_S)
        interrupts.check()


def _import(*modules: str) -> None:
    with suppress(Exception):
        for module in modules:
            import_module(module)
