"""What brokers still know of a sink tells older notes, and a sink that never wrote."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from arroyo_nb.connectors import _kafka_past
from arroyo_nb.connectors._kafka_broker import Described
from arroyo_nb.connectors._kafka_past import Past
from arroyo_nb.errors import RunProblem


class Broker:
    """A topic of two partitions; what is told when it is read from somewhere."""

    def __init__(self, now=(), oldest=(0, 0), told=(), groups=()):
        self._now, self._oldest = now, oldest
        self._told, self._groups = list(told), groups
        self.read = None

    def described(self):
        return Described("a", (0, 1))

    def next_batches(self, groups):
        assert [*groups] == ["p-0", "p-1"]
        return self._groups

    def beginnings(self, numbers):
        return dict(zip(numbers, self._oldest, strict=True))

    def ends(self, numbers):
        return dict(zip(numbers, self._now, strict=True))

    @contextmanager
    def reader(self, begin):
        self.read = begin
        yield SimpleNamespace(poll=lambda _: self._told.pop(0) if self._told else None)


def message(code=None, partition=0):
    error = None if code is None else KafkaError(code)
    return SimpleNamespace(error=lambda: error, partition=lambda: partition)


END, AWAY = KafkaError._PARTITION_EOF, KafkaError._TRANSPORT


@pytest.mark.parametrize(
    ("groups", "is_newest"),
    [((-1001, -1001), True), ((-1001, 7), True), ((8, -1001), False), ((8, 9), False)],
)
def test_a_new_batch_that_is_there_is_of_an_older_copy(groups, is_newest):
    past = Past("out", "t", Broker(groups=groups))
    if is_newest:
        past.check_newest(["p-0", "p-1"], 7)
        return
    with pytest.raises(RunProblem, match=r"batch 7 of 'out', .* older copy"):
        past.check_newest(["p-0", "p-1"], 7)


@pytest.mark.parametrize(
    ("ends", "now", "oldest", "told", "is_empty", "read"),
    [
        # Nobody has written.
        ((5, 6), (5, 6), (0, 0), [], True, None),
        # Where it ended is not known.
        ((), (0, 0), (0, 0), [], False, None),
        # What came is gone.
        ((5, 6), (9, 9), (6, 0), [], False, None),
        # What came was given up.
        ((5, 6), (9, 6), (5, 6), [message(AWAY), None, message(END)], True, {0: 5}),
        ((5, 6), (9, 9), (0, 0), [message(END, 1), message()], False, {0: 5, 1: 6}),
        # A partition was added.
        ((5,), (5, 2), (0, 0), [message(partition=1)], False, {1: 0}),
        # It is not known in time.
        ((5, 6), (9, 6), (0, 0), [], False, {0: 5}),
    ],
)
def test_a_topic_without_a_new_record_was_not_written(
    monkeypatch, ends, now, oldest, told, is_empty, read
):
    monkeypatch.setattr(_kafka_past, "SEARCH_S", 0.2)
    broker = Broker(now, oldest, told)
    assert Past("out", "t", broker).is_empty(ends) is is_empty
    assert broker.read == read
