"""Gives up a batch that can never be written: its topic deleted, its login refused.

A client waits for a broker that is away, for minutes, as it should; and just as long
for a topic that was deleted, and for a login that is refused from now on. So beside a
batch that takes long the brokers are asked what they are asked before a run starts,
each time by a new client: one that was let in before stays in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.errors import RunProblem

LOOK_S = 1.0
"""How often the brokers are asked; a batch shorter than that is not watched at all."""

SURE_LOOKS = 3
"""How often in a row the answer must be the same: a broker that has just come back may
not know a topic or a user yet."""

_TICK_S = 0.05

Ask: TypeAlias = "Callable[[Callable[[], None]], RunProblem | None]"
"""Asks why a topic can never be written; None: it can be, or nobody is there. What it
is given is called again and again, and what that raises ends the question."""


class Watch:
    """Watches the batches of a sink, one after the other.

    Parameters
    ----------
    ask
        Asks the brokers.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @contextmanager
    def over(self, batch: DataFrame) -> Iterator[None]:
        """Ends the jobs of a batch that can never arrive.

        Raises
        ------
        RunProblem
            Why it cannot, in place of what its jobs raise then.
        """
        context = batch.sparkSession.sparkContext
        # Only the jobs of this query: the session may run others.
        group = context.getLocalProperty("spark.jobGroup.id")
        watched = _start_watching(self._ask, lambda: context.cancelJobGroup(group))
        try:
            yield
        except Exception:
            # Spark says that the job was cancelled, and not why.
            if watched.lost is not None:
                raise watched.lost from None
            raise
        finally:
            watched.end()

    def beside(self) -> Watched:
        """Watches over rows that are written all along, until it is ended; who writes
        them asks what is lost."""
        return _start_watching(self._ask, lambda: None)


def _start_watching(ask: Ask, give_up: Callable[[], None]) -> Watched:
    watched = Watched(ask, give_up)
    Thread(target=watched.look_on, name="watch a sink", daemon=True).start()
    return watched


class Watched:
    """A batch that is watched.

    Parameters
    ----------
    ask
        Asks the brokers.
    give_up
        Ends the batch; called again until it has ended.
    """

    def __init__(self, ask: Ask, give_up: Callable[[], None]) -> None:
        self.lost: RunProblem | None = None
        """Why it can never arrive."""
        self._ask = ask
        self._give_up = give_up
        self._is_over = False
        # Who gives up a batch must not cancel the jobs of the next one, which has the
        # same group: so a batch ends and is given up under one lock.
        self._ending = Lock()

    def end(self) -> None:
        """Look no more; waits for nobody."""
        with self._ending:
            self._is_over = True

    def look_on(self) -> None:
        """Look until it has ended."""
        looks = 0
        try:
            while True:
                self._rest()
                lost = self._ask(self._look)
                looks = looks + 1 if lost is not None else 0
                # Again and again: a job that Spark was just about to start when the
                # others were cancelled goes on.
                if looks >= SURE_LOOKS:
                    self._lose(lost)
        except _OverError:
            return

    def _lose(self, lost: RunProblem | None) -> None:
        with self._ending:
            self._look()
            self.lost = lost
            self._give_up()

    def _rest(self) -> None:
        until_s = time.monotonic() + LOOK_S
        while time.monotonic() < until_s:
            self._look()
            time.sleep(_TICK_S)

    def _look(self) -> None:
        if self._is_over:
            raise _OverError


class _OverError(Exception):
    """The batch has ended."""
