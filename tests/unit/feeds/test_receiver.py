"""The thread that receives: reconnections, a bounded buffer, its end."""

import time
from itertools import count

import pytest
from fake_feeds import FakeConnection, FakeFeed, message, taken

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import Message, receiver
from arroyo_nb.feeds.receiver import Receiver

LOST = Unreached("the connection is lost")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 0.01)


def test_messages_come_in_order_and_a_new_connection_goes_on_behind_the_last_one():
    first = FakeConnection([[message(1), message(2)], LOST])
    second = FakeConnection([[message(3)]], resumes=True)
    feed = FakeFeed(first, Unreached("away"), second)
    with Receiver(feed, None, resumed=False) as received:
        assert taken(received, 3) == [message(1), message(2), message(3)]
        status = received.connection_status
    assert feed.positions == [None, {"n": 2}, {"n": 2}]
    assert (status.connections, status.gaps, status.away_s) == (2, 0, 0.0)
    assert first.closed
    assert second.closed


def test_a_connection_that_cannot_go_on_is_counted_as_a_gap(eventually):
    feed = FakeFeed(FakeConnection([LOST]), FakeConnection([LOST]), FakeConnection([]))
    with Receiver(feed, None, resumed=False) as received:
        eventually(lambda: received.connection_status.connections == 3)
        assert received.connection_status.gaps == 2


def test_the_first_connection_of_a_resumed_run_may_have_missed_messages(eventually):
    with Receiver(FakeFeed(FakeConnection([])), {"n": 1}, resumed=True) as received:
        eventually(lambda: received.connection_status.gaps == 1)


def test_what_a_connection_lost_is_counted_over_all_of_them(eventually):
    feed = FakeFeed(
        FakeConnection([LOST], lost_messages=3), FakeConnection([], lost_messages=4)
    )
    with Receiver(feed, None, resumed=False) as received:
        eventually(lambda: received.connection_status.lost_messages == 7)


def test_a_new_run_whose_server_is_away_fails_at_once():
    away = Receiver(FakeFeed(), None, resumed=False)
    with away, pytest.raises(Unreached, match="nobody is there"):
        taken(away, 1)


def test_a_resumed_run_waits_for_its_server_and_tells_for_how_long(eventually):
    seconds = count()
    feed = FakeFeed()
    with Receiver(feed, None, resumed=True, clock=lambda: next(seconds)) as received:
        eventually(lambda: len(feed.positions) > 3)
        assert received.take(0) == []
        status = received.connection_status
    assert status.away_s > 0
    assert status.why == "nobody is there"


def test_an_error_that_stays_ends_the_run_behind_the_messages_before_it():
    refused = RunProblem("the server refuses")
    feed = FakeFeed(FakeConnection([[message(1)], refused]))
    with Receiver(feed, None, resumed=True) as received:
        assert taken(received, 1) == [message(1)]
        with pytest.raises(RunProblem, match="refuses"):
            taken(received, 1)


def test_while_the_buffer_is_full_nothing_is_received(monkeypatch, eventually):
    monkeypatch.setattr(receiver, "BUFFER_MESSAGES", 10)
    steps = [[message(n)] for n in range(50)]
    connection = FakeConnection(steps)
    with Receiver(FakeFeed(connection), None, resumed=False) as received:
        eventually(lambda: len(connection._script) == 40)
        assert taken(received, 50) == [message(n) for n in range(50)]


def test_a_full_buffer_is_bounded_in_bytes(monkeypatch, eventually):
    monkeypatch.setattr(receiver, "BUFFER_BYTES", 10_000)
    large = Message(b"x" * 6_000, 0)
    connection = FakeConnection([[large]] * 5)
    with Receiver(FakeFeed(connection), None, resumed=False) as received:
        eventually(lambda: len(connection._script) == 3)
        assert len(taken(received, 5)) == 5


def test_a_chunk_is_bounded_and_has_one_message_at_least(monkeypatch):
    monkeypatch.setattr(receiver, "TAKEN_BYTES", 1_000)
    large = Message(b"x" * 2_000, 0)
    feed = FakeFeed(FakeConnection([[large, message(1), message(2)]]))
    with Receiver(feed, None, resumed=False) as received:
        sizes = [len(taken(received, 1)) for _ in range(2)]
    assert sizes == [1, 2]


def test_what_is_on_disk_is_acknowledged_and_a_lost_connection_does_not_matter():
    connection = FakeConnection([[message(1)]])
    feed = FakeFeed(connection)
    with Receiver(feed, None, resumed=False) as received:
        taken(received, 1)
        received.acknowledge({"n": 1})
    received.acknowledge({"n": 2})
    assert connection.acknowledged == [{"n": 1}]


@pytest.mark.parametrize("state", ["connecting", "receiving", "full", "waiting"])
def test_a_stop_is_heard_within_a_second(state, monkeypatch, eventually):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 60.0)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 60.0)
    connection = FakeConnection([[message(1)]])
    feed = FakeFeed(connection)
    if state == "connecting":
        feed.connect = lambda _: time.sleep(2.0) or connection
    elif state == "full":
        monkeypatch.setattr(receiver, "BUFFER_MESSAGES", 1)
    elif state == "waiting":
        feed = FakeFeed()
    received = Receiver(feed, None, resumed=True)
    with received:
        eventually(received._thread.is_alive)
        if state in ("receiving", "full"):
            eventually(lambda: received._buffer)
        if state == "waiting":
            eventually(lambda: received.connection_status.why)
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 1.0
    # The thread that waited for a connection closes it.
    received._thread.join(5.0)
    assert not received._thread.is_alive()
    assert connection.closed or state == "waiting"


def test_waits_grow_and_are_what_the_server_asks_for(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.2)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 30.0)
    assert 0.1 <= receiver._wait_s(0, None) <= 0.2
    assert 15.0 <= receiver._wait_s(40, None) <= 30.0
    assert receiver._wait_s(1, 0.05) == 0.05
    assert receiver._wait_s(9, 60.0) == 60.0
    assert receiver._wait_s(9, 0.05) >= 15.0


def test_a_connection_that_gave_messages_is_tried_again_soon(monkeypatch, eventually):
    tries = []
    monkeypatch.setattr(
        receiver, "_wait_s", lambda number, _asked: tries.append(number) or 0.0
    )
    useful = [FakeConnection([[message(n)], LOST]) for n in range(6)]
    feed = FakeFeed(*useful, *[Unreached("away")] * 2, FakeConnection([]))
    with Receiver(feed, None, resumed=False) as received:
        eventually(lambda: received.connection_status.connections == 7)
    assert tries == [1, 2, 3, 3, 3, 3, 4, 5]
