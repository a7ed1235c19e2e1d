"""The writer of a query's sink, which two threads share: Spark's callback thread writes
batches, the worker closes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import CollectingWriter
from arroyo_nb.engine.descriptors import check_spare
from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.connectors import Writer
    from arroyo_nb.engine.arrow_sink import Receive
    from arroyo_nb.run.observe.query_observation import QueryObservation
    from arroyo_nb.run.pause_gate import BatchGate

_log = logging.getLogger(__name__)

WRITE_S = 10.0
"""How long the end of a query waits for the batch that Python is writing."""


class SinkWriter:
    """Writes the batches of a query, one at a time, and closes after the last.

    Attributes
    ----------
    error
        What the newest batch failed with: Spark wraps it in its own words.

    Parameters
    ----------
    name
        The sink's.
    gate
        Holds batches while the run is paused.
    observation
        Is told what was written.
    """

    def __init__(
        self, name: str, gate: BatchGate, observation: QueryObservation
    ) -> None:
        self.error: BaseException | None = None
        self._name = name
        self._gate = gate
        self._observation = observation
        self._writer: Writer | None = None
        # How long the batch that has begun was held.
        self._held_s = 0.0
        self._context: Context | None = None
        # Held while the writer writes or closes: each is on a thread of its own.
        self._writing = Lock()
        self._closing: Thread | None = None

    @property
    def is_open(self) -> bool:
        """Whether a writer may write."""
        return self._writer is not None

    def open(self, writer: Writer, context: Context) -> None:
        """Take a writer; its batches are written in the context."""
        self.error = None
        self._writer, self._context = writer, context

    def begin(self, writer: Writer) -> None:
        """Let a batch begin, once the run is not paused; on Spark's callback thread.

        Raises
        ------
        RunProblem
            When the writer is not this sink's any more: its query does not know yet
            that it ended.
        """
        self._held_s = self._gate.pass_batch()
        self._check(writer)
        with self._kept_error():
            check_spare()

    def write(self, writer: Writer, batch: DataFrame, batch_id: int) -> None:
        """Let a batch :meth:`begin` and write it."""
        self.begin(writer)
        self._write(writer, writer.write, batch, batch_id)

    def take(self, writer: CollectingWriter, receive: Receive, batch_id: int) -> None:
        """Receive the rows of a batch that has begun and write them; raises as
        :meth:`begin` does."""
        self._check(writer)
        with self._kept_error():
            # Again: the batch may have been computed for long.
            check_spare()
            rows = receive()
        self._write(writer, writer.take, rows, batch_id)

    def _write(
        self,
        writer: Writer,
        write: Callable[[Any, int], int | None],
        batch: Any,
        batch_id: int,
    ) -> None:
        assert self._context is not None
        self._observation.hold(batch_id, self._held_s)
        with self._writing:
            self._check(writer)
            with self._kept_error():
                # A copy: the queries of a run write at the same time.
                rows = self._context.copy().run(write, batch, batch_id)
            self._observation.write(batch_id, rows)

    def _check(self, writer: Writer) -> None:
        if writer is not self._writer:
            raise RunProblem("the run has released its sink")

    @contextmanager
    def _kept_error(self) -> Iterator[None]:
        """Spark wraps what is raised in its own words; ours are kept."""
        try:
            yield
        except Exception as error:
            self.error = error
            raise

    def give_up(self) -> None:
        """Let the batch that is being written not wait for a server; on the worker."""
        if isinstance(self._writer, CollectingWriter):
            self._writer.give_up()

    def close(self) -> None:
        """Let go of the writer; on the worker, harmless twice.

        The batch that is being written comes first. For one that hangs it waits no
        longer than :data:`WRITE_S`; its writer is closed when it wakes up.
        """
        writer, self._writer = self._writer, None
        if writer is None:
            return
        if self._writing.acquire(timeout=WRITE_S):
            try:
                writer.close()
            finally:
                self._writing.release()
        else:
            self._closing = Thread(
                target=self._close_later, args=(writer,), daemon=True
            )
            self._closing.start()

    def join(self, timeout_s: float) -> bool:
        """Wait until a writer that hung is closed; True when so."""
        if self._closing is None:
            return True
        self._closing.join(timeout_s)
        return not self._closing.is_alive()

    def _close_later(self, writer: Writer) -> None:
        with self._writing:
            try:
                writer.close()
            except Exception:
                # The run has ended; who goes on with it finishes what is left here.
                _log.exception("the sink '%s' could not be closed", self._name)
