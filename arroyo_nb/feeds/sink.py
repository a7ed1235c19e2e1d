"""Sinks of messages: each row is sent by itself, in order, and confirmed by a server.

::

    micro-batch --Spark encodes its rows--> MessageWriter: pieces, sent again while the
        server is away --Publisher: one connection--> server

A batch is written when the server has confirmed its last message: what was sent and not
confirmed is sent again. A piece is small, so that little of it comes twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds.backoff import backoff_s
from arroyo_nb.feeds.interruptible import run_in_thread
from arroyo_nb.feeds.payloads import EncodingWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.connectors import TableSpec

PIECE_MESSAGES, PIECE_BYTES = 1_000, 4 * 2**20
"""What is sent before it is confirmed, at most."""

PATIENCE_S = 60.0
"""How long a batch waits for a server that is away, before the run fails."""

FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
"""Before a piece is sent again: the first time, and after many."""

REACH_S = 5.0
"""How long a server may take to answer before a run starts."""

STOP_S = 0.4
"""How long a batch may go on when its run is stopped; what is left of it is written by
whoever resumes the run."""


class Publisher(Protocol):
    """One connection to a server; used by one thread, but for :meth:`close`."""

    def send(self, rows: pa.Table, batch_id: int) -> None:
        """Send messages in order; returns when the server has confirmed the last one.

        Parameters
        ----------
        rows
            The payloads (:data:`arroyo_nb.feeds.payloads.VALUE`), and the columns
            beside them.
        batch_id
            The micro-batch that they are of.

        Raises
        ------
        Unreached
            When the connection is lost: another one sends all of them again.
        RunProblem
            When no other one will do better.
        """

    def close(self) -> None:
        """End it, within a second."""


class MessageWriter(EncodingWriter):
    """Sends the rows of micro-batches as messages.

    Parameters
    ----------
    spec
        The table.
    connect
        Makes a connection.
    beside
        Columns that a publisher is given beside the payloads.
    prepare
        Is given the messages of each batch and its number, and returns what is sent.
    whole
        Whether a batch is sent in one piece.
    clock
        A monotonic clock, in seconds.
    """

    def __init__(
        self,
        spec: TableSpec,
        connect: Callable[[], Publisher],
        *,
        beside: Sequence[str] = (),
        prepare: Callable[[pa.Table, int], pa.Table] | None = None,
        whole: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(spec, beside)
        self._connect = connect
        self._prepare = prepare
        self._whole = whole
        self._clock = clock
        self._publisher: Publisher | None = None
        self._stopping = Event()
        self._stopped_s = 0.0

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Send one micro-batch.

        Raises
        ------
        Unreached
            When the server has been away for :data:`PATIENCE_S`, or the run is stopped
            before the server has confirmed all.
        RunProblem
            When it refuses.
        """
        messages = self.messages(rows)
        if self._prepare is not None:
            messages = self._prepare(messages, batch_id)
        for piece in [messages] if self._whole else pieces(messages):
            if piece.num_rows:
                self._send(piece, batch_id)
        return int(messages.num_rows)

    def give_up(self) -> None:
        """Wait for the server no longer: the run is stopped."""
        self._stopped_s = self._clock()
        self._stopping.set()

    def close(self) -> None:
        """Disconnect."""
        self.give_up()
        self._disconnect()

    def _send(self, piece: pa.Table, batch_id: int) -> None:
        """Send a piece, again and again while the server is away."""
        until_s, tries = self._clock() + PATIENCE_S, 0
        while True:
            try:
                run_in_thread(
                    partial(self._attempt, piece, batch_id), self._look, "sink"
                )
            except Unreached:
                self._disconnect()
                if self._stopping.is_set() or self._clock() >= until_s:
                    raise
                wait_s = backoff_s(tries, FIRST_WAIT_S, LONGEST_WAIT_S)
                self._stopping.wait(wait_s)
                tries += 1
            else:
                return

    def _attempt(self, piece: pa.Table, batch_id: int) -> None:
        try:
            if self._publisher is None:
                self._publisher = self._connect()
            self._publisher.send(piece, batch_id)
        finally:
            # Who stopped the run did not wait for this thread.
            if self._stopping.is_set():
                self._disconnect()

    def _look(self) -> None:
        if self._stopping.is_set() and self._clock() - self._stopped_s > STOP_S:
            raise Unreached(
                f"the run was stopped before the rows of '{self._spec.name}' were "
                "confirmed"
            )

    def _disconnect(self) -> None:
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            with suppress(RunProblem, OSError):
                publisher.close()


def pieces(messages: pa.Table) -> Iterator[pa.Table]:
    """Messages in order, each piece no larger than what is sent before it is
    confirmed."""
    each_bytes = max(1, messages.nbytes // max(1, messages.num_rows))
    count = max(1, min(PIECE_MESSAGES, PIECE_BYTES // each_bytes))
    for start in range(0, messages.num_rows, count):
        yield messages.slice(start, count)


def check_server(
    connect: Callable[[], Publisher], server: str, look: Callable[[], None]
) -> None:
    """Find out whether a server can be written to, within :data:`REACH_S`.

    Parameters
    ----------
    connect
        Makes a connection; it is ended at once.
    server
        What errors call it.
    look
        As of :meth:`arroyo_nb.connectors.ProbesSink.reach`.

    Raises
    ------
    Unreached
        When it does not answer.
    RunProblem
        When it refuses.
    """
    check_in_time(lambda: connect().close(), server, look)


def check_in_time(
    probe: Callable[[], None], server: str, look: Callable[[], None]
) -> None:
    """Wait for what finds out whether a server is there, for :data:`REACH_S`.

    Parameters
    ----------
    probe
        Finds it out.
    server, look
        As of :func:`check_server`.

    Raises
    ------
    Unreached
        When it takes longer.
    """
    until_s = time.monotonic() + REACH_S

    def look_in_time() -> None:
        look()
        if time.monotonic() > until_s:
            raise Unreached(f"{server} does not answer within {REACH_S:.0f} seconds")

    run_in_thread(probe, look_in_time, "sink")
