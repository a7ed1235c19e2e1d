"""Receives the messages of a feed, in a thread, into a bounded buffer.

A connection that is lost is made again, at growing intervals, for as long as the run
lasts. While the buffer is full nothing is received: a server that can wait does so, and
what cannot wait its connection counts as lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import Connection, ConnectionStatus, Feed, Message
from arroyo_nb.feeds.backoff import backoff_s
from arroyo_nb.tape import Position

BUFFER_MESSAGES, BUFFER_BYTES = 200_000, 64 * 2**20
"""What is received and not yet on the tape, at most."""

TAKEN_MESSAGES, TAKEN_BYTES = 50_000, 16 * 2**20
"""What goes into one chunk, at most."""

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 30.0
"""Before a connection is made again: the first time, and after many."""

STEADY_S = 10.0
"""A connection that held so long was a good one: the waits begin anew."""

USEFUL_TRIES = 3
"""One that gave messages is tried again as after so many tries at most."""

STOP_S = 0.5
"""How long a stop waits for a connection that hangs."""

_RECEIVE_S = 0.1
"""A stop is heard so soon."""


class Receiver:
    """Messages of one feed, oldest first; a context manager that ends its thread.

    Parameters
    ----------
    feed
        Makes the connections.
    position
        Where the first one goes on; None: nowhere.
    resumed
        Whether the run went on from an earlier one: it then waits for a server that is
        away, instead of failing at its first connection.
    clock
        A monotonic clock, in seconds.
    """

    def __init__(
        self,
        feed: Feed,
        position: Position | None,
        *,
        resumed: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._feed = feed
        self._position = position
        self._patient = resumed
        self._clock = clock
        self._buffer: list[Message] = []
        self._size_bytes = 0
        self._received = 0
        self._changed = threading.Condition()
        self._connection: Connection | None = None
        self._status = ConnectionStatus()
        self._away_since: float | None = None
        self._failure: BaseException | None = None
        self._stopping = False
        self._thread = threading.Thread(
            target=self._run, name=f"feed {feed.server}", daemon=True
        )

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        # A server that hangs holds the thread for some seconds; nobody waits for it.
        self._thread.join(STOP_S)

    @property
    def connection_status(self) -> ConnectionStatus:
        """How it is connected now."""
        since, connection = self._away_since, self._connection
        away_s = 0.0 if since is None else self._clock() - since
        lost = connection.lost_messages if connection is not None else 0
        known = self._status
        return replace(known, away_s=away_s, lost_messages=known.lost_messages + lost)

    def take(self, timeout_s: float) -> Sequence[Message]:
        """What has come, as much as a chunk holds; waits for the first one so long.

        Raises
        ------
        RunProblem
            When no connection will give any more.
        """
        with self._changed:
            if not self._buffer and self._failure is None:
                self._changed.wait(timeout_s)
            if not self._buffer and self._failure is not None:
                raise self._failure
            taken = _fitting(self._buffer)
            del self._buffer[: len(taken)]
            self._size_bytes -= sum(message.size_bytes for message in taken)
            self._changed.notify_all()
        return taken

    def acknowledge(self, position: Position | None) -> None:
        """All messages up to this position are on disk."""
        if (connection := self._connection) is not None:
            # Whoever is not told sends them again, and they are left out by their
            # position: a connection that is lost is another one's matter.
            with suppress(Unreached, OSError):
                connection.acknowledge(position)

    def _run(self) -> None:
        try:
            self._receive_for_ever()
        except BaseException as problem:  # the conductor's thread raises it
            with self._changed:
                self._failure = problem
                self._changed.notify_all()

    def _receive_for_ever(self) -> None:
        tries = 0
        self._away_since = self._clock()
        while not self._stopping:
            began_s, received = self._clock(), self._received
            try:
                self._receive()
            except Unreached as problem:
                if not self._patient:
                    raise
                held = self._away_since is None
                self._disconnected(problem)
                tries += 1
                if held and self._clock() - began_s >= STEADY_S:
                    tries = 0
                elif self._received > received:
                    tries = min(tries, USEFUL_TRIES)
                self._wait(_wait_s(tries, problem.retry_after_s))

    def _receive(self) -> None:
        """Connect, and receive until the connection is lost or the run stops."""
        connection = self._feed.connect(self._position)
        try:
            self._connected(connection)
            while self._has_room():
                self._put(connection.receive(_RECEIVE_S))
        finally:
            with self._changed:
                lost = self._status.lost_messages + connection.lost_messages
                self._status = replace(self._status, lost_messages=lost)
                self._connection = None
            with suppress(RunProblem, OSError):
                connection.close()

    def _connected(self, connection: Connection) -> None:
        with self._changed:
            known = self._status
            # The first one of a run that was not resumed has nothing before it.
            missed = self._patient and not connection.resumes
            self._status = ConnectionStatus(
                connections=known.connections + 1,
                gaps=known.gaps + missed,
                lost_messages=known.lost_messages,
            )
            self._connection = connection
            self._away_since = None
            self._patient = True

    def _disconnected(self, problem: Unreached) -> None:
        with self._changed:
            self._status = replace(self._status, why=problem.message)
            if self._away_since is None:
                self._away_since = self._clock()

    def _has_room(self) -> bool:
        """Wait until there is room in the buffer; False when the run stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or not self._is_full)
            return not self._stopping

    @property
    def _is_full(self) -> bool:
        full = len(self._buffer) >= BUFFER_MESSAGES
        return full or self._size_bytes >= BUFFER_BYTES

    def _put(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        with self._changed:
            self._received += len(messages)
            self._buffer.extend(messages)
            self._size_bytes += sum(message.size_bytes for message in messages)
            if (position := messages[-1].position) is not None:
                self._position = position
            self._changed.notify_all()

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)


def _wait_s(tries: int, asked_s: float | None) -> float:
    """How long to wait before the connection is tried again.

    Parameters
    ----------
    tries
        How many have failed.
    asked_s
        What the server asks for: the first wait is this one, and a later one no
        shorter. None: it asks for nothing.
    """
    usual_s = backoff_s(tries, FIRST_WAIT_S, LONGEST_WAIT_S)
    if asked_s is None:
        return usual_s
    return asked_s if tries <= 1 else max(asked_s, usual_s)


def _fitting(messages: Sequence[Message]) -> Sequence[Message]:
    """The first ones, as many as a chunk holds; one at least."""
    size_bytes = 0
    for number, message in enumerate(messages[:TAKEN_MESSAGES]):
        size_bytes += message.size_bytes
        if size_bytes > TAKEN_BYTES and number:
            return messages[:number]
    return messages[:TAKEN_MESSAGES]
