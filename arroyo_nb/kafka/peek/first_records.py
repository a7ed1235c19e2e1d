"""The first records of a topic as the rows of a table, read without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arroyo_nb.kafka.client import library
from arroyo_nb.kafka.connectors.tape import TapeRecorder
from arroyo_nb.kafka.topic_reader import POLL_S, READ_S, open_reader, record_of
from arroyo_nb.tape.records import TapeRecord, record_table

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.connectors import Offsets, TableSpec
    from arroyo_nb.engine.jars import Check
    from arroyo_nb.kafka.source import KafkaStream
    from arroyo_nb.tape import Chunk, Position


class _FewRecords:
    """Records in memory, as a tape has them."""

    def __init__(self, topic: str, records: pa.Table) -> None:
        self.topic = topic
        self._records = records

    def chunks(self, after: Position | int = 0) -> Iterator[tuple[int, pa.Table]]:  # noqa: ARG002
        """All records as one chunk with the number 1."""
        yield 1, self._records


def first_rows(
    stream: KafkaStream, spec: TableSpec, count: int, check: Check
) -> Iterator[Chunk]:
    """The oldest rows that a topic has, bad records left out.

    Parameters
    ----------
    stream
        The table's topic.
    spec
        The table.
    count
        How many records are read at most.
    check
        Is called again and again; what it raises ends the wait.

    Raises
    ------
    RunProblem
        When the broker does not answer.
    """
    stream.check(check)
    records = first_records(stream, count, check)
    lenient = replace(spec, options={**spec.options, "bad_data": "drop"})
    arrivals = [(record, 0) for record in records]
    tape: Any = _FewRecords(stream.topic, record_table(arrivals))
    return TapeRecorder(tape, lenient).chunks(None)


def first_records(stream: KafkaStream, count: int, check: Check) -> list[TapeRecord]:
    """The oldest records that a topic has, tombstones left out.

    Raises
    ------
    RunProblem
        When the broker does not answer.
    """
    begin, ends = stream.beginnings().offsets, stream.ends()
    there = {
        number: (offset, ends.offsets[number])
        for number, offset in begin.items()
        if ends is not None and offset < ends.offsets.get(number, offset)
    }
    return list(_read(stream, there, count, check))


def _read(
    stream: KafkaStream, there: dict[int, tuple[int, int]], count: int, check: Check
) -> Iterator[TapeRecord]:
    if not there:
        return
    begin: Offsets = {number: first for number, (first, _) in there.items()}
    left, found = set(there), 0
    client, deadline = library(), time.monotonic() + READ_S
    with open_reader(stream, begin) as consumer:
        while left and found < count and time.monotonic() < deadline:
            check()
            for message in consumer.consume(count, POLL_S):
                if message.error() is None and message.value() is not None:
                    found += 1
                    yield record_of(message)
            # What ends a transaction takes an offset, and is no record.
            places = [client.TopicPartition(stream.topic, n) for n in left]
            for place in consumer.position(places):
                if place.offset >= there[place.partition][1]:
                    left.discard(place.partition)
