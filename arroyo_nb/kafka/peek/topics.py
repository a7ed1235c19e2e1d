"""What a broker has: its topics, and a look into one of them.

Nothing here joins a group or commits an offset: nobody's reading is disturbed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from arroyo_nb.connectors import create_topic_hint
from arroyo_nb.engine.jars import Check
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.client import (
    ANSWER_S,
    LOOK_S,
    admin,
    library,
    offsets,
    problem,
    settings,
)
from arroyo_nb.kafka.reading import time_ms
from arroyo_nb.registry import did_you_mean

SAMPLE = 200
"""How many of a topic's newest records are looked at."""


class Partition(NamedTuple):
    """A partition: its first offset, and the one that the next record will get."""

    number: int
    first: int
    next: int

    @property
    def records(self) -> int:
        """At most so many are there: what was compacted left a gap."""
        return self.next - self.first


class Topic(NamedTuple):
    """A topic and its partitions."""

    name: str
    partitions: tuple[Partition, ...]

    @property
    def records(self) -> int:
        """At most so many are there."""
        return sum(partition.records for partition in self.partitions)


class TopicRecord(NamedTuple):
    """A record as the broker has it; ``timestamp_ms`` is since 1970, or None."""

    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None


def topics(servers: str, *, check: Check) -> list[Topic]:
    """All topics but Kafka's own, by name.

    Parameters
    ----------
    servers
        Where the broker is.
    check
        Is called again and again; what it raises ends the wait.

    Raises
    ------
    RunProblem
        When the broker does not answer, or the client is not installed.
    """
    asker = admin(servers)
    found = _metadata(asker, servers, check)
    parts = {name: list(found[name].partitions) for name in _ours(found)}
    return _with_offsets(asker, parts, check)


def names(servers: str, *, check: Check) -> list[str]:
    """The names of all topics but Kafka's own.

    Raises
    ------
    RunProblem
        When the broker does not answer, or the client is not installed.
    """
    return _ours(_metadata(admin(servers), servers, check))


def require(servers: str, name: str, *, check: Check) -> None:
    """Find out whether there is a topic.

    Raises
    ------
    RunProblem
        When there is none, or the broker does not answer.
    """
    _numbers(admin(servers), servers, name, check)


def missing(name: str, known: Iterable[str]) -> RunProblem:
    """That there is no such topic among those."""
    hint = did_you_mean(name, known) or create_topic_hint(name)
    return RunProblem(f"there is no topic '{name}'", hint=hint)


def sample(
    servers: str, name: str, *, check: Check, most: int = SAMPLE
) -> tuple[Topic, list[TopicRecord]]:
    """A topic and its newest records, the oldest of them first.

    Parameters
    ----------
    most
        How many records, dealt out to its partitions.

    Raises
    ------
    RunProblem
        When there is no such topic, or the broker does not answer.
    """
    asker = admin(servers)
    numbers = _numbers(asker, servers, name, check)
    (topic,) = _with_offsets(asker, {name: numbers}, check)
    share = max(1, most // max(1, len(topic.partitions)))
    return topic, sorted(_newest(servers, topic, share, check), key=_age)


def _age(record: TopicRecord) -> tuple[int, int, int]:
    return record.timestamp_ms or 0, record.partition, record.offset


def _ours(found: Iterable[str]) -> list[str]:
    """Those that are not Kafka's own."""
    return [name for name in found if not name.startswith("__")]


def _numbers(asker: Any, servers: str, name: str, check: Check) -> list[int]:
    """The partitions of a topic."""
    found = _metadata(asker, servers, check)
    if name not in found:
        raise missing(name, _ours(found))
    return list(found[name].partitions)


def _metadata(asker: Any, servers: str, check: Check) -> dict[str, Any]:
    """What the broker says about its topics; asked in short calls, as none of them
    hears an interrupt."""
    deadline = time.monotonic() + ANSWER_S
    while True:
        check()
        try:
            topics: dict[str, Any] = asker.list_topics(timeout=5 * LOOK_S).topics
        except library().KafkaException as error:
            if time.monotonic() > deadline:
                raise problem(f"no answer from Kafka at {servers}", error) from error
        else:
            return topics


def _with_offsets(asker: Any, names: dict[str, list[int]], check: Check) -> list[Topic]:
    spec = library("confluent_kafka.admin").OffsetSpec
    parts = [(name, number) for name in sorted(names) for number in sorted(names[name])]
    first = offsets(asker, parts, spec.earliest(), check)
    last = offsets(asker, parts, spec.latest(), check)
    made: dict[str, list[Partition]] = {name: [] for name in sorted(names)}
    for (name, number), start, end in zip(parts, first, last, strict=True):
        made[name].append(Partition(number, start, end))
    return [Topic(name, tuple(partitions)) for name, partitions in made.items()]


def _newest(
    servers: str, topic: Topic, share: int, check: Check
) -> Iterator[TopicRecord]:
    """The last records of each partition that has any."""
    places = library().TopicPartition
    begins = {
        part.number: max(part.first, part.next - share)
        for part in topic.partitions
        if part.records
    }
    with _consumer(servers) as consumer:
        consumer.assign([places(topic.name, *begin) for begin in begins.items()])
        yield from _read(consumer, topic, set(begins), check)


def _read(
    consumer: Any, topic: Topic, left: set[int], check: Check
) -> Iterator[TopicRecord]:
    """Read partitions up to the ends that they had."""
    ends = {part.number: part.next for part in topic.partitions}
    deadline = time.monotonic() + ANSWER_S
    while left and time.monotonic() < deadline:
        check()
        for message in consumer.consume(SAMPLE, LOOK_S):
            number, offset = message.partition(), message.offset()
            if message.error() is None and offset < ends[number]:
                yield _record(message)
            # What ends a transaction takes an offset, and is no record.
            if message.error() is not None or offset >= ends[number] - 1:
                left.discard(number)


def _record(message: Any) -> TopicRecord:
    return TopicRecord(
        message.partition(),
        message.offset(),
        time_ms(message),
        message.key(),
        message.value(),
    )


@contextmanager
def _consumer(servers: str) -> Iterator[Any]:
    made = library().Consumer(
        {
            **settings(servers),
            # The client wants one; it is never joined, and nothing is committed.
            "group.id": "arroyo_nb-peek",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            # Says where a partition ends, in place of a record.
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        yield made
    finally:
        made.close()
