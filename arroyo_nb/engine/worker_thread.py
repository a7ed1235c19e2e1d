"""The one thread on which all Spark calls run.

Nobody but this thread is ever inside py4j: an interrupt that hits a py4j read on the
main thread breaks the gateway. Callers hand tasks over through a C queue and wait on
a bare lock, so there is no moment at which an interrupt could leave a lock held that
this thread needs.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from arroyo_nb.engine.errors import EngineProblem

T = TypeVar("T")
P = ParamSpec("P")
OnError = Callable[[BaseException], None]

_log = logging.getLogger(__name__)

# How long a caller waits before it looks whether the thread is still there.
_LOOK_S = 0.1


class _Task:
    """A call that waits for the thread; ``finished`` is held until it has run."""

    def __init__(self, work: Callable[[], Any], *, idle: bool = False) -> None:
        self.work = work
        self.idle = idle
        self.future: Future[Any] = Future()
        self.abandoned = False
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self) -> None:
        """Run the work on the worker's thread; errors are kept, never raised."""
        if not self.abandoned and self.future.set_running_or_notify_cancel():
            try:
                result = self.work()
            except BaseException as error:  # the thread must outlive every task
                self.future.set_exception(error)
            else:
                self.future.set_result(result)
        self.finished.release()

    def refuse(self) -> None:
        """End the task without running it: the worker is closed."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(_closed())
        self.finished.release()


class _Poll:
    """Work that repeats until it is cancelled."""

    def __init__(
        self, seconds: float, work: Callable[[], Any], on_error: OnError
    ) -> None:
        self.seconds = seconds
        self.work = work
        self.on_error = on_error
        self.due = time.monotonic() + seconds
        self.cancelled = False

    def run(self) -> None:
        """Run the work once; an error goes to the handler, and the poll goes on."""
        try:
            self.work()
        except Exception as error:
            self._tell(error)
        # From now, not from when it was due: a busy thread must not owe polls.
        self.due = time.monotonic() + self.seconds

    def _tell(self, error: Exception) -> None:
        try:
            self.on_error(error)
        except Exception:
            _log.exception("the error handler of a poll failed")


class Worker:
    """A daemon thread that runs what it is given, one thing at a time.

    Due polls go first, then calls and posts in their order, then idle work.

    Attributes
    ----------
    served
        How many calls and posts have begun.
    """

    def __init__(self, name: str = "arroyo-engine") -> None:
        # Not Queue: its put() takes a Python lock, in which an interrupt could leave it
        # held.
        self._inbox: SimpleQueue[_Task | _Poll | None] = SimpleQueue()
        self._ready: deque[_Task] = deque()
        self._idle: deque[_Task] = deque()
        self._polls: list[_Poll] = []
        self._closed = False
        self.served = 0
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Is the caller on this thread?"""
        return threading.current_thread() is self._thread

    def call(
        self,
        work: Callable[..., T],
        *args: Any,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
    ) -> T:
        """Run ``work(*args)`` on the thread and wait for what it returns.

        An interrupt gets through at once. The task is then skipped if it has not
        begun; one that has begun goes on, and what it returns is dropped.

        Parameters
        ----------
        timeout
            Seconds to wait; for ever by default.
        check
            Is called while it waits; what it raises ends that.

        Raises
        ------
        TimeoutError
            When it has not returned in time.
        EngineProblem
            When the worker is closed.
        """
        # A task that waits for a task behind it would wait for ever.
        if self.is_current:
            return work(*args)
        task = self._put(_Task(lambda: work(*args)))
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            # In short waits: the thread may die, and a bare lock tells nobody.
            while not task.finished.acquire(timeout=_left(deadline)):
                if check is not None:
                    check()
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError(f"the engine did not answer in {timeout:g} s")
                if not self._thread.is_alive():
                    raise _closed()
        except BaseException:
            task.abandoned = True
            raise
        result: T = task.future.result()
        return result

    def post(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Run ``work(*args)`` on the thread some time; returns at once."""
        return self._put(_Task(lambda: work(*args))).future

    def when_idle(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Like :meth:`post`, but every call and post goes ahead of it."""
        return self._put(_Task(lambda: work(*args), idle=True)).future

    def every(
        self,
        seconds: float,
        work: Callable[[], Any],
        on_error: OnError | None = None,
    ) -> Callable[[], None]:
        """Run ``work`` again and again on the thread.

        Parameters
        ----------
        seconds
            From the end of one time to the beginning of the next.
        on_error
            Is told what ``work`` raises, on the thread; it is logged by default.

        Returns
        -------
        Callable
            Ends the repetition; may be called on any thread, more than once.
        """
        poll = self._put(_Poll(seconds, work, on_error or _log_error))

        def cancel() -> None:
            poll.cancelled = True

        return cancel

    def close(self, timeout: float = 2) -> None:
        """Refuse what is waiting, and what comes; waits for the task at hand."""
        self._closed = True
        # Wakes the thread, which may wait for something to come.
        self._inbox.put(None)
        if not self.is_current and self._pid == os.getpid():
            self._thread.join(timeout)

    def _put(self, item: _TaskOrPoll) -> _TaskOrPoll:
        # A forked child has this object but not the thread.
        if self._closed or self._pid != os.getpid():
            raise _closed()
        self._inbox.put(item)
        return item

    def _loop(self) -> None:
        while not self._closed:
            self._take(self._wait_s())
            poll = min(self._polls, key=lambda poll: poll.due, default=None)
            if poll is not None and poll.due <= time.monotonic():
                poll.run()
            # Not "else": polls that are always due must not starve the calls.
            if self._ready:
                self.served += 1
                self._ready.popleft().run()
            elif self._idle:
                self._idle.popleft().run()
        self._refuse_all()

    def _wait_s(self) -> float | None:
        if self._ready or self._idle:
            return 0
        due = min((poll.due for poll in self._polls), default=None)
        return None if due is None else max(0, due - time.monotonic())

    def _take(self, wait_s: float | None) -> None:
        """Sort what has come in; waits for the first item only."""
        try:
            item = self._inbox.get(timeout=wait_s)
            while True:
                match item:
                    case _Poll():
                        self._polls.append(item)
                    case _Task():
                        (self._idle if item.idle else self._ready).append(item)
                item = self._inbox.get_nowait()
        except Empty:
            pass
        self._polls = [poll for poll in self._polls if not poll.cancelled]

    def _refuse_all(self) -> None:
        self._take(0)
        for task in (*self._ready, *self._idle):
            task.refuse()


_TaskOrPoll = TypeVar("_TaskOrPoll", _Task, _Poll)


def _left(deadline: float | None) -> float:
    if deadline is None:
        return _LOOK_S
    return max(0, min(_LOOK_S, deadline - time.monotonic()))


def _closed() -> EngineProblem:
    return EngineProblem(
        "the engine is closed", hint="restart the kernel, or make a new session"
    )


def _log_error(error: BaseException) -> None:
    _log.error("a poll failed", exc_info=error)
