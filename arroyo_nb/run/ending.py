"""The end of a run: every step is taken, whichever fails, and the folder is let go."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from arroyo_nb.spark.failures import run_problem

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine
    from arroyo_nb.run.lifecycle import Lifecycle
    from arroyo_nb.run.observe.snapshot import RunState
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.prepare import PreparedRun
    from arroyo_nb.state.folder import StateFolder

_log = logging.getLogger(__name__)

RECORDER_S = 10.0
"""How long the end of a run waits for the sources that are being read."""


class Ending:
    """What a run has to let go of when it ends; on the worker.

    Attributes
    ----------
    claim
        The run's folder; None before it is locked.
    repeated
        Cancel what the worker repeats for the run.
    listeners
        Called once at the end.

    Parameters
    ----------
    engine_lives
        Says whether the engine is still the one that the queries run on.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        lifecycle: Lifecycle,
        engine: Engine,
        engine_lives: Callable[[], bool],
    ) -> None:
        self.claim: StateFolder | None = None
        self.repeated: list[Callable[[], None]] = []
        self.listeners: tuple[Callable[[], object], ...] = ()
        self._outputs = prepared.outputs
        self._sources = prepared.sources
        self._lifecycle = lifecycle
        self._engine = engine
        self._engine_lives = engine_lives

    def end(self, state: RunState, note: str) -> None:
        """End the run, once."""
        life = self._lifecycle
        if life.state.ended:
            return
        try:
            for step in self._last_steps():
                self._attempt(step)
        finally:
            life.stop_clock()
            for output in self._outputs:
                output.observation.lived_s = life.elapsed_s
            life.end(state, note)
        self.tell_listeners()

    def tell_listeners(self) -> None:
        """Call who wants to know that the run has ended."""
        for callback in self.listeners:
            try:
                callback()
            except Exception:  # the run has ended: there is nothing left to fail
                _log.exception("a function called at the end of a run failed")

    def release(self) -> None:
        """Let go of the folder once nothing writes to it any more; returns soon."""
        if self._is_quiet(0, RECORDER_S):
            self._let_go()
        else:  # a source or a sink hangs, and may still write when it wakes up
            threading.Thread(target=self._let_go, daemon=True).start()

    def _last_steps(self) -> Iterator[Callable[[], object]]:
        """What the end of a run does, in this order."""
        # Nothing polls a query that is being stopped; no source writes for it.
        yield from self.repeated
        yield self._sources.close
        # A batch that a pause holds would never come to its end.
        for output in self._outputs:
            yield output.gate.abandon
        for output in self._outputs:
            yield partial(self._end_output, output)
        if self.claim is not None:
            yield partial(self.claim.note_files, at_once=True)
        yield self.release
        yield self._engine.tidy

    def _attempt(self, step: Callable[[], object]) -> None:
        """Take a step of the end. One that fails keeps no other from being taken: who
        waits for the run, or for its folder, would wait for ever."""
        try:
            step()
        except Exception as error:
            # The first failure is the one that explains the others.
            life = self._lifecycle
            life.error = life.error or run_problem(error)

    def _end_output(self, output: Output) -> None:
        try:
            if self._engine_lives():
                output.stop(self._sources.topics(output.sink))
        finally:
            output.close()

    def _let_go(self) -> None:
        # Not before all is written: the next run writes to the same folder.
        while not self._is_quiet(RECORDER_S, RECORDER_S):
            pass
        if self.claim is not None:
            self.claim.release()

    def _is_quiet(self, outputs_s: float, sources_s: float) -> bool:
        """Whether neither a source nor a sink writes any more; waits that long."""
        written = all(output.join(outputs_s) for output in self._outputs)
        return self._sources.join(sources_s) and written
