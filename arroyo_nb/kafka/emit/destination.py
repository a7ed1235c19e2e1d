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
from typing import Any, NamedTuple, Protocol

from arroyo_nb.kafka.client import LOOK_S, library
from arroyo_nb.kafka.sending import (
    ANY_PARTITION,
    AWAY,
    NOW,
    PRODUCER,
    ErrorMessage,
    producer,
    put,
    told,
)
from arroyo_nb.tape.records import RecordWriter, TapeRecord

FLUSH_S = 5.0
"""How long one that is stopped waits for what it has handed on."""

SETTINGS: Mapping[str, Any] = {
    **PRODUCER,
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 64 * 2**10,
}


_TOLD = (
    ErrorMessage(
        ("CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"),
        "the broker does not let you write to the topic '{topic}'",
        "have the user allowed to write to it, and emit to a table that logs in",
    ),
    ErrorMessage(
        ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"),
        "a row is larger than the topic '{topic}' takes",
        "emit to a table with client_configs = 'message.max.bytes=...', if the topic "
        "takes more",
    ),
    ErrorMessage(
        ("_UNKNOWN_TOPIC", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION"),
        "the topic '{topic}' is gone, or has lost partitions",
        "make it again, and emit again",
    ),
    ErrorMessage(
        (*AWAY, "_MSG_TIMED_OUT", "REQUEST_TIMED_OUT"),
        "the broker did not take the rows for the topic '{topic}' in time",
        "it may be down; emit again once it is up",
    ),
)


class Outgoing(NamedTuple):
    """A record on its way.

    Attributes
    ----------
    timestamp_ms
        Its own time; None: when it is sent.
    arrival_us
        When a tape is to say that it came, after the epoch.
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
        """Let go of what it holds."""

    def send(self, records: Iterable[Outgoing], stopped: Callable[[], bool]) -> None:
        """Take some, as soon as there is room for them, or until it is stopped.

        Raises
        ------
        RunProblem
            When one could not be sent.
        """

    def finish(self, stopped: Callable[[], bool], *, failed: bool = False) -> None:
        """See to it that all have arrived; not for long once it is stopped.

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
    """A topic.

    Parameters
    ----------
    topic
        It.
    settings
        How its broker is reached, by librdkafka's names.
    """

    def __init__(self, topic: str, settings: Mapping[str, Any]) -> None:
        self._topic = topic
        self._settings = settings
        self._failed: Any = None
        self.rows = 0

    def __enter__(self) -> TopicTarget:
        library()  # that it is not installed is told in its words
        own = {**SETTINGS, "on_delivery": self._delivered}
        whose = f"the topic '{self._topic}'"
        self._producer = producer(whose, self._settings, own)
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
        wanted = takewhile(lambda _: not stopped(), records)
        sent = (
            (value, key, ANY_PARTITION, NOW if at_ms is None else at_ms)
            for value, key, at_ms, _ in wanted
        )
        try:
            put(self._producer, self._topic, sent, stopped)
        except library().KafkaException as problem:
            self._failed = self._failed or problem.args[0]
        self._check()

    def finish(
        self,
        stopped: Callable[[], bool],
        *,
        failed: bool = False,  # noqa: ARG002
    ) -> None:
        """Wait until the broker has all that was sent."""
        last_s: float | None = None
        while self._producer.flush(LOOK_S):
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
            otherwise = "the topic '{topic}' cannot be written"
            raise told(_TOLD, self._failed, otherwise, topic=self._topic)


class TapeTarget:
    """A tape, which is there once all is on it.

    Parameters
    ----------
    path
        Where it will be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows = 0

    def __enter__(self) -> TapeTarget:
        self._writer = RecordWriter(self._path, self._path.stem, emitted=True)
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
