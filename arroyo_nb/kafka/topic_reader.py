"""Reading a topic beside a run: records as a tape has them.

No group is joined and no offset is committed, so nobody else's reading is disturbed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from arroyo_nb.kafka.client import consumer, library
from arroyo_nb.kafka.config import FETCH_WAIT_MS
from arroyo_nb.tape.records import NO_TIME, TapeRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arroyo_nb.connectors import Offsets
    from arroyo_nb.kafka.source import KafkaStream

POLL_S = 0.1
"""How long a poll for records waits: an interrupt is noticed between two."""

READ_S = 5.0
"""How long a look at a topic reads at most."""

QUEUED_KBYTES = 32 * 2**10
"""How much the client may hold that was not taken yet."""

ADDED_S = 2.0
"""How often the brokers are asked whether a topic has new partitions."""


@contextmanager
def open_reader(stream: KafkaStream, begin: Offsets) -> Iterator[Any]:
    """A consumer that reads a table's topic from there on."""
    is_committed = stream.spec.options.get("source.read_mode") == "read_committed"
    settings = {
        "isolation.level": "read_committed" if is_committed else "read_uncommitted",
        # A live recording notes when a record arrives: the broker must not hold it.
        "fetch.wait.max.ms": FETCH_WAIT_MS,
        "queued.max.messages.kbytes": QUEUED_KBYTES,
    }
    group = "arroyo_nb-record"
    with consumer(stream.access, stream.subject, group, settings) as client:
        place = library().TopicPartition
        client.assign([place(stream.topic, *each) for each in begin.items()])
        yield client


class AddedPartitions:
    """Has a consumer of :func:`open_reader` read partitions that are added to its topic
    later, from their beginning.

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

    def assign_new(self, consumer: Any) -> None:
        """Look for them, if it is time to; a broker that is away is asked later."""
        if time.monotonic() < self._next_s:
            return
        client, self._next_s = library(), time.monotonic() + ADDED_S
        try:
            topics = consumer.list_topics(self._topic, timeout=POLL_S).topics
        except client.KafkaException:
            return
        # Added, not assigned anew: the partitions that are read keep their places.
        added = sorted(topics[self._topic].partitions.keys() - self._known)
        if added:
            self._known.update(added)
            begin = client.OFFSET_BEGINNING
            consumer.incremental_assign(
                [client.TopicPartition(self._topic, number, begin) for number in added]
            )


def record_time_ms(message: Any) -> int | None:
    """The time of a record, in milliseconds after 1970; None: it has none."""
    kind, timestamp_ms = message.timestamp()
    has_time = kind != library().TIMESTAMP_NOT_AVAILABLE
    return int(timestamp_ms) if has_time else None


def record_of(message: Any) -> TapeRecord:
    """A message of the client, as a tape has it."""
    at_ms = record_time_ms(message)
    return TapeRecord(
        message.partition(),
        message.offset(),
        NO_TIME if at_ms is None else at_ms,
        message.key(),
        message.value(),
        message.headers(),
    )
