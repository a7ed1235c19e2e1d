"""What brokers still know of a sink tells older notes, and a sink that never wrote."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka import cluster, recovery
from arroyo_nb.kafka.cluster import Cluster, Described
from arroyo_nb.kafka.config import table_access
from arroyo_nb.kafka.errors import AccessRefused, ErrorSubject
from arroyo_nb.kafka.recovery import SinkHistory

SUBJECT = ErrorSubject("h:1", "t", "out", "write to")


class Group:
    """A client of a group that a broker is just opening, or that it keeps to itself."""

    def __init__(self, *codes):
        self._codes = list(codes)

    def committed(self, places, within_s):
        code = self._codes.pop(0) if self._codes else None
        error = None if code is None else KafkaError(code)
        return [SimpleNamespace(partition=0, offset=-1001 if error else 7, error=error)]

    def close(self):
        pass


@pytest.fixture
def asked(monkeypatch):
    """The brokers of a table, where the client of a group is told so."""

    def make(*codes):
        monkeypatch.setattr("confluent_kafka.Consumer", lambda *_, **__: Group(*codes))
        reached = table_access({"bootstrap_servers": "h:1"}, None, {})
        return Cluster(reached, SUBJECT)

    return make


def test_a_group_that_is_being_opened_is_asked_again(asked):
    opening = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    assert asked(*opening).next_batches(["p-0"]) == [7]


def test_a_group_that_is_never_opened_is_told(asked, monkeypatch):
    monkeypatch.setattr(cluster, "GROUP_OPENING_S", 0.0)
    with pytest.raises(RunProblem, match="does not answer for the table 'out'"):
        asked(*[KafkaError.NOT_COORDINATOR] * 99).next_batches(["p-0"])


def test_a_group_that_is_kept_to_itself_is_asked_once(asked):
    broker = asked(KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(AccessRefused, match="user of the table 'out' to read the cons"):
        broker.next_batches(["p-0"])


class Broker:
    """A topic of two partitions; what is told when it is read from somewhere."""

    def __init__(self, now=(), oldest=(0, 0), told=(), groups=()):
        self._now, self._oldest = now, oldest
        self._told, self._groups = list(told), groups
        self.read = None

    def describe_topic(self):
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
    past = SinkHistory(SUBJECT, Broker(groups=groups))
    if is_newest:
        past.check_newest(["p-0", "p-1"], 7)
        return
    with pytest.raises(RunProblem, match=r"batch 7 of the table 'out', .* older copy"):
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
    monkeypatch.setattr(recovery, "SEARCH_S", 0.2)
    broker = Broker(now, oldest, told)
    assert SinkHistory(SUBJECT, broker).is_empty(ends) is is_empty
    assert broker.read == read


def test_a_client_is_never_freed_by_the_garbage_collector(asked):
    # It may run on the client's own thread, where freeing it ends the process.
    clients = cluster._abandoned
    broker = asked()
    reference, client = weakref.ref(broker), broker._client
    gc.disable()
    try:
        del broker
        assert reference() is None  # in no cycle
    finally:
        gc.enable()
    assert client in clients
    asked()  # keeps the newest: a thread may still be busy with it
    asked()
    assert client not in clients
