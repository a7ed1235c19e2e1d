"""A started emission: rows that are sent in the background, at a rate or as they come.

Two threads: one asks the iterator for rows, and may wait in it for ever; the other
sends what is there, and hears a stop at once. No more than :data:`AHEAD` rows are
between them, so an endless iterator costs no memory. At a rate a row is asked for when
it is due, so that a generator that reads a clock or a sensor is read at the rate.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.kafka.emit.destination import EmitDestination, Outgoing
from arroyo_nb.kafka.emit.rows import RowRecord
from arroyo_nb.run.background import BackgroundTask
from arroyo_nb.run.interrupts import LOOK_S, STOP_S, Interrupted
from arroyo_nb.run.observe.snapshot import RunState

AHEAD = 5_000
"""How many rows may wait to be sent."""

TOGETHER = 1_000
"""How many are sent at once, at most."""

TICK_S = 0.02
"""How often rows are due, at a rate."""

LEAD_S = 0.1
"""At a rate, how long before they are due rows are asked for: those of a slow rate when
they are due, those of a fast one in time."""

LATE_S = 1.0
"""Rows that are due for longer are sent as if they were due now."""


class PrefetchingIterator:
    """The rows of an iterator, asked for on a thread of their own."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = rows
        self._there: deque[Any] = deque()
        self._asked = 0
        self._allowed: int | None = 0
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._error: BaseException | None = None
        # A daemon: the user's iterator may never come back, and must not keep the
        # process from ending.
        threading.Thread(target=self._pull, name="emitted rows", daemon=True).start()

    def allow(self, rows: int | None) -> None:
        """Ask for so many rows since the beginning; None: for as many as there are."""
        with self._changed:
            self._allowed = rows
            self._changed.notify_all()

    def take(self, most: int, within_s: float) -> list[Any] | None:
        """The next rows, at least one if it comes in time; None at their end.

        Raises
        ------
        BaseException
            What the iterator raised, after the rows before it.
        """
        with self._changed:
            if not self._there and not self._ended:
                self._changed.wait(within_s)
            taken = [self._there.popleft() for _ in range(min(most, len(self._there)))]
            self._changed.notify_all()
            # What the iterator raised comes after the rows that it gave before.
            if taken or not self._ended:
                return taken
        if self._error is not None:
            raise self._error
        return None

    def close(self) -> None:
        """Ask for no more rows."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _pull(self) -> None:
        rows: Iterator[Any] | None = None
        try:
            rows = iter(self._rows)
            while self._has_room():
                row = next(rows)
                with self._changed:
                    self._asked += 1
                    self._there.append(row)
                    self._changed.notify_all()
        except StopIteration:
            pass
        except BaseException as error:  # it is raised where the rows are taken
            self._error = error
        finally:
            # A generator cleans up behind itself.
            if (close := getattr(rows, "close", None)) is not None and self._closed:
                close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until another row is wanted; False: none is any more."""
        with self._changed:
            while not self._closed and not self._is_wanted():
                self._changed.wait()
            return not self._closed

    def _is_wanted(self) -> bool:
        is_allowed = self._allowed is None or self._asked < self._allowed
        return is_allowed and len(self._there) < AHEAD


@dataclass(frozen=True)
class EmissionPace:
    """When the rows of an emission are due, and when a tape says that they came.

    Parameters
    ----------
    rate
        How many rows a second; None: as they come.
    together
        Whether they all were there when it began, as the rows of a table are.
    held_back
        Whether a row waits until it is due. One for a tape need not, where it is there.
    """

    rate: float | None = None
    together: bool = False
    held_back: bool = True

    def due(self, elapsed_s: float) -> int | None:
        """How many rows are due by then; None: as many as there are."""
        if self.rate is None or not self.held_back:
            return None
        # The first row is due at once, not after the time of one.
        return int(elapsed_s * self.rate) + 1

    def wanted(self, elapsed_s: float) -> int | None:
        """How many rows are to be asked for by then; None: as many as there are."""
        due = None if self.together else self.due(elapsed_s)
        return None if due is None else due + int((self.rate or 0) * LEAD_S)

    def behind_s(self, number: int, elapsed_s: float) -> float:
        """By how long rows come too late, from a second on, if so many came."""
        if self.rate is None or not self.held_back:
            return 0.0
        late_s = elapsed_s - number / self.rate
        return late_s if late_s > LATE_S else 0.0

    def arrival_us(self, number: int, elapsed_s: float) -> int:
        """When a row came, in microseconds after the beginning.

        Parameters
        ----------
        number
            How many came before it.
        elapsed_s
            How long ago it began.
        """
        if self.rate is not None:
            return int(number / self.rate * 1e6)
        return 0 if self.together else int(elapsed_s * 1e6)


class Emission(BackgroundTask):
    """Rows on their way: what :meth:`arroyo_nb.session.Session.emit` gives.

    A context manager that stops it.

    Parameters
    ----------
    name
        Where to.
    rows
        What is sent; it may be endless.
    made
        Makes records of some of them.
    target
        Takes the records.
    pace
        When.
    """

    def __init__(
        self,
        name: str,
        rows: Iterable[Any],
        made: Callable[[Sequence[Any]], Sequence[RowRecord]],
        target: EmitDestination,
        pace: EmissionPace,
    ) -> None:
        self.name = name
        self._rows = rows
        self._made = made
        self._target = target
        self._pace = pace
        self._taken = 0
        self._stopping = False
        self._state = RunState.STARTING
        self._error: ArroyoError | None = None

    def __enter__(self) -> Emission:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop().wait_quietly()
        if error is None and self.error is not None:
            raise self.error

    def __repr__(self) -> str:
        is_stopping = self._stopping and not self.state.ended
        state = "stopping" if is_stopping else self.state.value
        return f"<Emission to {self.name}: {state}, {self.rows:,} rows>"

    @property
    def state(self) -> RunState:
        """Where it is."""
        return self._state

    @property
    def error(self) -> ArroyoError | None:
        """What ended it early."""
        return self._error

    @property
    def rows(self) -> int:
        """How many rows have arrived: the broker said so, or they are on the tape."""
        return self._target.rows

    def start(self) -> Emission:
        """Begin; returns once the target takes rows. None is asked for before.

        Raises
        ------
        RunProblem
            When it takes none.
        """
        self._target.__enter__()
        threading.Thread(
            target=self._run, name=f"emit {self.name}", daemon=True
        ).start()
        return self

    def stop(self) -> Emission:
        """Send no more rows; returns at once, what was sent stays."""
        self._stopping = True
        return self

    def wait_for(self, check: Callable[[], None]) -> None:
        """Wait until it has ended; what ``check`` raises stops it first.

        Raises
        ------
        ArroyoError
            When it failed.
        Interrupted
            In place of an interrupt: how much was sent is told.
        """
        try:
            while not self.wait(LOOK_S):
                check()
        except KeyboardInterrupt:
            self.stop().wait_quietly(STOP_S)
            raise Interrupted(
                f"stopped by interrupt; {self.rows:,} rows sent"
            ) from None

    def _run(self) -> None:
        self._state = RunState.RUNNING
        pulled = PrefetchingIterator(self._rows)
        try:
            with ExitStack() as entered:
                # It was entered in start(), where its error belongs to the caller; only
                # its end belongs to this thread.
                entered.push(self._target)
                self._send(pulled)
        except ArroyoError as problem:
            self._error = problem
        except BaseException as problem:  # what ends this thread must reach the user
            self._error = RunProblem(
                f"what gives the rows for '{self.name}' failed after row "
                f"{self._taken:,}: {problem!r}"
            )
            self._error.__cause__ = problem
        finally:
            pulled.close()
        if self._error is not None:
            self._state = RunState.FAILED
        else:
            self._state = RunState.STOPPED if self._stopping else RunState.FINISHED

    def _send(self, pulled: PrefetchingIterator) -> None:
        """Send all; in a topic, what came before a bad row arrives too."""
        try:
            for records in self._records(pulled):
                self._target.send(records, self._is_stopped)
        except BaseException:
            # The first error is the one to tell: what failed, not that little could be
            # sent after it.
            with suppress(ArroyoError):
                self._target.finish(self._is_stopped, failed=True)
            raise
        self._target.finish(self._is_stopped)

    def _is_stopped(self) -> bool:
        return self._stopping

    def _records(self, pulled: PrefetchingIterator) -> Iterator[list[Outgoing]]:
        began_us, began_s = time.time_ns() // 1000, time.monotonic()
        while not self._stopping:
            elapsed_s = time.monotonic() - began_s
            due = self._pace.due(elapsed_s)
            pulled.allow(self._pace.wanted(elapsed_s))
            most = TOGETHER if due is None else min(TOGETHER, due - self._taken)
            if most <= 0:
                time.sleep(TICK_S)
                continue
            # Who was held up does not make up for it in a burst.
            began_s += self._pace.behind_s(self._taken, elapsed_s)
            rows = pulled.take(most, TICK_S)
            if rows is None:
                return
            for made in self._pieces(rows):
                yield [
                    Outgoing(*record, began_us + self._arrival_us(n, began_s))
                    for n, record in enumerate(made, self._taken)
                ]
                self._taken += len(made)

    def _arrival_us(self, number: int, began_s: float) -> int:
        return self._pace.arrival_us(number, time.monotonic() - began_s)

    def _pieces(self, rows: Sequence[Any]) -> Iterator[Sequence[RowRecord]]:
        """Their records; where one makes none, those before it first."""
        try:
            # All at once is the fast way. One by one is only how the bad row is found.
            yield self._made(rows)
        except Exception:  # a value of the user's may raise anything
            for row in rows:
                try:
                    yield self._made([row])
                except RunProblem as problem:
                    problem.message = f"row {self._taken + 1:,}: {problem.message}"
                    raise
                except Exception as problem:
                    raise RunProblem(
                        f"row {self._taken + 1:,}: it cannot be written as a record, a "
                        f"value of type {type(row).__name__}: {problem!r}",
                        hint="emit mappings of texts, numbers, times, lists and "
                        "mappings; texts and bytes are sent as they are",
                    ) from problem
