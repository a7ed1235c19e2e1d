"""The records of a topic as they arrive, for a recording.

They are read by a client that joins no group and commits nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from arroyo_nb.kafka.errors import UNREACHABLE, problem
from arroyo_nb.kafka.topic_reader import (
    POLL_S,
    AddedPartitions,
    open_reader,
    record_of,
)
from arroyo_nb.tape.records import ArrivedRecord, TapeRecord, Unreadable

if TYPE_CHECKING:
    from arroyo_nb.connectors import Offsets
    from arroyo_nb.kafka.source import KafkaStream


def topic_records(stream: KafkaStream) -> Iterator[ArrivedRecord]:
    """The records of a topic, without end.

    Parameters
    ----------
    stream
        The topic, how it is reached, and where to begin.

    Raises
    ------
    RunProblem
        When the broker does not say where to begin.
    Unreadable
        When no more records will come.
    """
    # In this order: what comes between the two counts as there already, and what was
    # there is never taken for live.
    begin = stream.begin().offsets
    ends = stream.ends()
    arrivals = Arrivals(begin, ends.offsets if ends is not None else {})
    # Not asked for later, when the first record is wanted: what comes meanwhile is of
    # the recording.
    return _records_from(stream, begin, arrivals)


def _records_from(
    stream: KafkaStream, begin: Offsets, arrivals: Arrivals
) -> Iterator[ArrivedRecord]:
    added = AddedPartitions(stream.topic, begin)
    with open_reader(stream, begin) as consumer:
        while True:
            added.assign_new(consumer)
            record = _record(stream, consumer.poll(POLL_S))
            if record is not None:
                yield ArrivedRecord(record, arrivals(record))
            else:
                # A pause is a fact of the stream once it is live; before that it is
                # only the client that fetches.
                now_us = arrivals.now_us() if arrivals.are_live else None
                yield ArrivedRecord(None, now_us)


def _record(stream: KafkaStream, message: Any) -> TapeRecord | None:
    """What a message is; None: nothing that is kept."""
    if message is None:
        return None
    if (error := message.error()) is not None:
        # The client reconnects by itself; what came meanwhile is read then.
        if error.name() in UNREACHABLE:
            return None
        worded = problem(error, stream.subject)
        raise Unreadable(worded.message, hint=worded.hint)
    return record_of(message)


class Arrivals:
    """When records arrive, in microseconds after the epoch; it never goes back.

    Parameters
    ----------
    begin, ends
        Where each partition is read from, and where it ended when that began: what is
        between was there then, however long it takes to be read.
    """

    def __init__(self, begin: Offsets, ends: Offsets) -> None:
        self._ends = ends
        self._left = {n for n, end in ends.items() if begin.get(n, end) < end}
        # The wall clock may be set meanwhile, and arrivals must not go back.
        self._offset_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self._last_us = self.now_us()

    def now_us(self) -> int:
        """Now, in microseconds after the epoch, by a clock that is never set back."""
        return self._offset_us + time.monotonic_ns() // 1000

    @property
    def are_live(self) -> bool:
        """Whether all that was there has been read. A partition that ends with what is
        no record, as a transaction does, is not known to be."""
        return not self._left

    def __call__(self, record: TapeRecord) -> int:
        """When a record arrived that is here now."""
        end = self._ends.get(record.partition, 0)
        # Its last record of before: from here on the partition is live.
        if record.offset >= end - 1:
            self._left.discard(record.partition)
        if record.offset >= end:
            self._last_us = self.now_us()
        return self._last_us
