"""Reading a topic without being noticed: no group is joined, no offset is committed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from arroyo_nb.kafka.client import LOOK_S, library
from arroyo_nb.kafka.config import FETCH_WAIT_MS
from arroyo_nb.tape.records import NO_TIME, TapeRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arroyo_nb.connectors import Offsets
    from arroyo_nb.kafka.source import KafkaStream

QUEUED_KBYTES = 32 * 2**10
"""What the client may hold that was not taken yet."""

ADDED_S = 2.0
"""How often it is asked whether a topic has got partitions."""


@contextmanager
def assigned(stream: KafkaStream, begin: Offsets) -> Iterator[Any]:
    """A client that reads a topic from there on."""
    committed = stream.spec.options.get("source.read_mode") == "read_committed"
    client = library()
    consumer = client.Consumer(
        {
            "log_level": 0,
            **stream.access.for_librdkafka(),
            # The client wants one; it is never joined, and nothing is committed.
            "group.id": "arroyo_nb-record",
            "enable.auto.commit": False,
            # What is gone is told, not passed over.
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "fetch.wait.max.ms": FETCH_WAIT_MS,
            "queued.max.messages.kbytes": QUEUED_KBYTES,
        }
    )
    try:
        consumer.assign(
            [client.TopicPartition(stream.topic, *place) for place in begin.items()]
        )
        yield consumer
    finally:
        consumer.close()


class Additions:
    """Lets a client of :func:`assigned` read the partitions too that are added to its
    topic, from their beginning.

    Parameters
    ----------
    topic
        Its name.
    known
        The partitions that it reads.
    """

    def __init__(self, topic: str, known: Iterable[int]) -> None:
        self._topic = topic
        self._known = set(known)
        self._next_s = time.monotonic() + ADDED_S

    def look(self, consumer: Any) -> None:
        """Look for them, if it is time to; a broker that is away is asked later."""
        if time.monotonic() < self._next_s:
            return
        client, self._next_s = library(), time.monotonic() + ADDED_S
        try:
            found = consumer.list_topics(self._topic, timeout=LOOK_S).topics
        except client.KafkaException:
            return
        added = sorted(found[self._topic].partitions.keys() - self._known)
        if added:
            self._known.update(added)
            begin = client.OFFSET_BEGINNING
            consumer.incremental_assign(
                [client.TopicPartition(self._topic, number, begin) for number in added]
            )


def time_ms(message: Any) -> int | None:
    """The time of a record, in milliseconds after 1970; None: it has none."""
    kind, timestamp_ms = message.timestamp()
    known = kind != library().TIMESTAMP_NOT_AVAILABLE
    return int(timestamp_ms) if known else None


def record_of(message: Any) -> TapeRecord:
    """A message of the client, as a tape has it."""
    at_ms = time_ms(message)
    return TapeRecord(
        message.partition(),
        message.offset(),
        NO_TIME if at_ms is None else at_ms,
        message.key(),
        message.value(),
        message.headers(),
    )
