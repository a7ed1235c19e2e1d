"""Where emitted rows go: to a topic, or onto a tape.

Both take records in order and hold back whoever is faster than they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from arroyo_nb.kafka.client import ANY_PARTITION, NOW, library, produce, producer
from arroyo_nb.kafka.errors import ErrorSubject, problem
from arroyo_nb.tape.records import EMITTED, RecordWriter, TapeRecord

if TYPE_CHECKING:
    from arroyo_nb.kafka.config import Access

WAIT_S = 0.1
"""How often a wait for the broker looks whether it is stopped."""

FLUSH_S = 5.0
"""How long one that is stopped waits for what it has handed on."""

SETTINGS: Mapping[str, Any] = {
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 64 * 2**10,
}
"""Settings of an emission's producer, before those of the table."""


class Outgoing(NamedTuple):
    """A record that is sent.

    Attributes
    ----------
    timestamp_ms
        Its own time; None: when it is sent.
    arrival_us
        When it arrived, as a tape says, in microseconds after the epoch.
    """

    value: bytes
    key: bytes | None
    timestamp_ms: int | None
    arrival_us: int


class EmitDestination(Protocol):
    """Takes records; a context manager, entered by who sends them."""

    @property
    def rows(self) -> int:
        """How many have arrived."""

    def __enter__(self) -> EmitDestination:
        """Begin.

        Raises
        ------
        RunProblem
            When nothing can be sent.
        """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release what it holds."""

    def send(self, records: Iterable[Outgoing], stopped: Callable[[], bool]) -> None:
        """Take some records, once there is room for them, or until it is stopped.

        Raises
        ------
        RunProblem
            When one could not be sent.
        """

    def finish(self, stopped: Callable[[], bool], *, failed: bool = False) -> None:
        """Wait until all have arrived; not for long once it is stopped.

        Parameters
        ----------
        failed
            Whether there were to be more, of which one was bad.

        Raises
        ------
        RunProblem
            When one has not.
        """


class TopicTarget:
    """Sends records to a topic.

    Parameters
    ----------
    access
        How its brokers are reached.
    subject
        The topic, and what errors call it.
    """

    def __init__(self, access: Access, subject: ErrorSubject) -> None:
        self._access = access
        self._subject = subject
        self._failed: Any = None
        self.rows = 0

    def __enter__(self) -> TopicTarget:
        own = {**SETTINGS, "on_delivery": self._delivered}
        self._producer = producer(self._access, self._subject, own)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # What could not be sent by now never will be: without this, the client goes
        # on trying for minutes.
        with suppress(library().KafkaException):
            self._producer.purge()
        self._producer.poll(0)

    def send(self, records: Iterable[Outgoing], stopped: Callable[[], bool]) -> None:
        """Hand records to the client, which sends them in the background."""
        accepted = takewhile(lambda _: not stopped(), records)
        sent = (
            (value, key, ANY_PARTITION, NOW if at_ms is None else at_ms)
            for value, key, at_ms, _ in accepted
        )
        try:
            produce(self._producer, self._subject.topic, sent, stopped)
        except library().KafkaException as error:
            self._failed = self._failed or error.args[0]
        self._check()

    def finish(
        self,
        stopped: Callable[[], bool],
        *,
        failed: bool = False,  # noqa: ARG002
    ) -> None:
        """Wait until the broker has all that was sent."""
        last_s: float | None = None
        while self._producer.flush(WAIT_S):
            self._check()
            if last_s is None and stopped():
                last_s = time.monotonic() + FLUSH_S
            if last_s is not None and time.monotonic() > last_s:
                return
        self._check()

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is None:
            self.rows += 1
        self._failed = self._failed or error

    def _check(self) -> None:
        if self._failed is not None:
            raise problem(self._failed, self._subject)


class TapeTarget:
    """Writes records on a tape, which appears at its path once it is whole.

    Parameters
    ----------
    path
        Where it will be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows = 0

    def __enter__(self) -> TapeTarget:
        self._writer = RecordWriter(self._path, self._path.stem, made_by=EMITTED)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.__exit__(kind, error, traceback)

    def send(self, records: Iterable[Outgoing], stopped: Callable[[], bool]) -> None:
        """Write them down."""
        for value, key, timestamp_ms, arrival_us in records:
            if stopped():
                return
            at_ms = arrival_us // 1000 if timestamp_ms is None else timestamp_ms
            record = TapeRecord(0, self._writer.records, at_ms, key, value)
            self._writer.append(record, arrival_us)
            self.rows += 1

    def finish(
        self,
        stopped: Callable[[], bool],  # noqa: ARG002
        *,
        failed: bool = False,
    ) -> None:
        """Move it to its place; half a tape is none."""
        if failed:
            self.rows = 0
        else:
            self._writer.finish()
