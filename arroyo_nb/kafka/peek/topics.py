"""What a broker has: its topics, and a look into one of them.

Nothing here joins a group or commits an offset: nobody's reading is disturbed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arroyo_nb.engine.jars import Check
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.client import consumer, library
from arroyo_nb.kafka.cluster import Cluster
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import ErrorSubject
from arroyo_nb.kafka.topic_reader import POLL_S, READ_S, record_time_ms

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
    """A topic and its partitions; ``newest_ms`` is the time of its newest record, since
    1970, None where it is not known."""

    name: str
    partitions: tuple[Partition, ...]
    newest_ms: int | None = None

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
        Called again and again; what it raises ends the wait.

    Raises
    ------
    RunProblem
        When the broker does not answer, or the client is not installed.
    """
    return _listed(_lister(Access(servers), servers), check)


def topics_with_times(access: Access, broker: str, *, check: Check) -> list[Topic]:
    """All topics as of :func:`topics`, with the times of their newest records.

    Parameters
    ----------
    access
        How the broker is reached.
    broker
        What errors call it.
    check
        As of :func:`topics`.

    Raises
    ------
    RunProblem
        As of :func:`topics`.
    """
    cluster = _lister(access, broker)
    found = _listed(cluster, check)
    parts = [(topic.name, part.number) for topic in found for part in topic.partitions]
    try:
        times = dict(zip(parts, cluster.newest_times(parts, check), strict=True))
    except RunProblem:
        # An older broker does not know the question: how many there are it has told.
        return found
    return [topic._replace(newest_ms=_newest_time(topic, times)) for topic in found]


def _lister(access: Access, broker: str) -> Cluster:
    return Cluster(access, ErrorSubject(broker, action="list"), ask_s=READ_S)


def _listed(cluster: Cluster, check: Check) -> list[Topic]:
    found = cluster.topics(check)
    ours = {name: found[name] for name in found if not name.startswith("__")}
    return _with_offsets(cluster, ours, check)


def _newest_time(
    topic: Topic, times: Mapping[tuple[str, int], int | None]
) -> int | None:
    known = (times[topic.name, part.number] for part in topic.partitions)
    return max((at_ms for at_ms in known if at_ms is not None), default=None)


def sample(
    servers: str, name: str, *, check: Check, most: int = SAMPLE
) -> tuple[Topic, list[TopicRecord]]:
    """A topic and its newest records, the oldest of them first.

    Parameters
    ----------
    most
        How many records, divided among its partitions.

    Raises
    ------
    RunProblem
        When there is no such topic, or the broker does not answer.
    """
    subject = ErrorSubject(servers, name)
    cluster = Cluster(Access(servers), subject, ask_s=READ_S)
    (topic,) = _with_offsets(cluster, {name: cluster.require_topic(check)}, check)
    share = max(1, most // max(1, len(topic.partitions)))
    return topic, sorted(_newest(subject, topic, share, check), key=_age)


def _age(record: TopicRecord) -> tuple[int, int, int]:
    return record.timestamp_ms or 0, record.partition, record.offset


def _with_offsets(
    cluster: Cluster, partitions: Mapping[str, tuple[int, ...]], check: Check
) -> list[Topic]:
    spec = library("confluent_kafka.admin").OffsetSpec
    parts = [(name, n) for name in sorted(partitions) for n in sorted(partitions[name])]
    first = cluster.offsets(parts, spec.earliest(), check)
    last = cluster.offsets(parts, spec.latest(), check)
    found: dict[str, list[Partition]] = {name: [] for name in sorted(partitions)}
    for (name, number), start, end in zip(parts, first, last, strict=True):
        found[name].append(Partition(number, start, end))
    return [Topic(name, tuple(each)) for name, each in found.items()]


def _newest(
    subject: ErrorSubject, topic: Topic, share: int, check: Check
) -> Iterator[TopicRecord]:
    """The last records of each partition that has any."""
    place = library().TopicPartition
    begin = {
        part.number: max(part.first, part.next - share)
        for part in topic.partitions
        if part.records
    }
    settings = {
        # Retention may delete the first ones meanwhile: the others are shown.
        "auto.offset.reset": "earliest",
        # Says where a partition ends, in place of a record.
        "enable.partition.eof": True,
        "isolation.level": "read_uncommitted",
    }
    access = Access(subject.servers)
    with consumer(access, subject, "arroyo_nb-peek", settings) as client:
        client.assign([place(topic.name, *each) for each in begin.items()])
        yield from _read(client, topic, set(begin), check)


def _read(
    client: Any, topic: Topic, left: set[int], check: Check
) -> Iterator[TopicRecord]:
    """Read partitions up to the ends that they had."""
    ends = {part.number: part.next for part in topic.partitions}
    deadline = time.monotonic() + READ_S
    while left and time.monotonic() < deadline:
        check()
        for message in client.consume(SAMPLE, POLL_S):
            number, offset = message.partition(), message.offset()
            if message.error() is None and offset < ends[number]:
                yield _record(message)
            # The mark that ends a transaction takes an offset, and is no record: a
            # partition whose last offset is one ends with an error that says so.
            if message.error() is not None or offset >= ends[number] - 1:
                left.discard(number)


def _record(message: Any) -> TopicRecord:
    return TopicRecord(
        message.partition(),
        message.offset(),
        record_time_ms(message),
        message.key(),
        message.value(),
    )
