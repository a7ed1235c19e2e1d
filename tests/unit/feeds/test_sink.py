"""The writer of messages: pieces, order, patience, and a stop."""

from __future__ import annotations

import threading
from contextlib import closing

import pyarrow as pa
import pytest

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import DataProblem, RunProblem, Unreached
from arroyo_nb.feeds import sink
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.feeds.sink import (
    PIECE_BYTES,
    PIECE_MESSAGES,
    MessageWriter,
    check_server,
    pieces,
)
from arroyo_nb.schema import TEXT, Field, Schema

SPEC = TableSpec("t", Schema((Field("n", TEXT),)), {"format": "json"})


class Publisher:
    """Keeps what it is sent; fails as often as it is told."""

    def __init__(self, failures=()):
        self.failures = list(failures)
        self.sent = []
        self.connections = self.closed = 0

    def connect(self):
        self.connections += 1
        return self

    def send(self, rows, batch_id):
        if self.failures:
            raise self.failures.pop(0)
        self.sent += [(batch_id, value) for value in rows[VALUE].to_pylist()]

    def close(self):
        self.closed += 1


def messages(*payloads):
    return pa.table({VALUE: pa.array(payloads, pa.binary())})


def test_pieces_are_bounded_and_in_order():
    many = messages(*(b"%d" % number for number in range(2 * PIECE_MESSAGES + 1)))
    assert [piece.num_rows for piece in pieces(many)] == [1_000, 1_000, 1]
    assert pa.concat_tables(pieces(many)).equals(many)
    large = messages(*[b"x" * (PIECE_BYTES // 3)] * 7)
    assert max(piece.num_rows for piece in pieces(large)) <= 3
    assert [p.num_rows for p in pieces(messages(b"x" * 2 * PIECE_BYTES))] == [1]


def test_a_null_is_an_empty_message():
    publisher = Publisher()
    with closing(MessageWriter(SPEC, publisher.connect)) as writer:
        assert writer.take(messages(b"a", None), 3) == 2
    assert publisher.sent == [(3, b"a"), (3, b"")]
    assert publisher.closed == 1


def test_a_lost_connection_is_made_again_and_the_piece_is_sent_again(monkeypatch):
    monkeypatch.setattr(sink, "FIRST_WAIT_S", 0.001)
    publisher = Publisher([Unreached("away")] * 3)
    with closing(MessageWriter(SPEC, publisher.connect)) as writer:
        writer.take(messages(b"a", b"b"), 0)
        writer.take(messages(b"c"), 1)
    assert publisher.sent == [(0, b"a"), (0, b"b"), (1, b"c")]
    assert publisher.connections == publisher.closed == 4


def test_patience_ends(monkeypatch):
    monkeypatch.setattr(sink, "FIRST_WAIT_S", 0.001)
    now_s = iter(range(0, 10_000, 25))
    publisher = Publisher([Unreached("away")] * 99)
    connect = publisher.connect
    writer = MessageWriter(SPEC, connect, clock=lambda: next(now_s))
    with closing(writer), pytest.raises(Unreached, match="away"):
        writer.take(messages(b"a"), 0)
    assert publisher.connections == 3


@pytest.mark.parametrize("problem", [RunProblem("refused"), DataProblem("too large")])
def test_what_another_connection_would_not_help_is_raised_at_once(problem):
    publisher = Publisher([problem])
    writer = MessageWriter(SPEC, publisher.connect)
    with closing(writer), pytest.raises(type(problem)):
        writer.take(messages(b"a"), 0)
    assert publisher.connections == 1


def test_a_batch_is_prepared_once_and_may_be_sent_whole():
    publisher, prepared = Publisher(), []

    def prepare(rows, batch_id):
        prepared.append((rows.num_rows, batch_id))
        return rows

    writer = MessageWriter(SPEC, publisher.connect, prepare=prepare, whole=True)
    with closing(writer):
        writer.take(messages(*[b"a"] * 5_000), 7)
    assert prepared == [(5_000, 7)]
    assert len(publisher.sent) == 5_000


def test_a_stopped_batch_is_given_up_and_its_connection_ended(eventually):
    going, hanging = threading.Event(), threading.Event()
    publisher = Publisher()

    def send(rows, batch_id):
        going.set()
        hanging.wait(20)

    publisher.send = send
    writer = MessageWriter(SPEC, publisher.connect)
    failures = []

    def take():
        try:
            writer.take(messages(b"a"), 0)
        except Unreached as problem:
            failures.append(problem.message)

    writing = threading.Thread(target=take)
    writing.start()
    assert going.wait(20)
    writer.give_up()
    writing.join(20)
    assert "stopped before the rows of 't' were confirmed" in failures[0]
    hanging.set()
    eventually(lambda: publisher.closed == 1)


def test_a_server_that_hangs_is_told_in_time(monkeypatch):
    monkeypatch.setattr(sink, "REACH_S", 0.1)
    hanging = threading.Event()
    with pytest.raises(Unreached, match="the server does not answer"):
        check_server(lambda: hanging.wait(20), "the server", lambda: None)
    hanging.set()


def test_a_check_is_ended_by_what_looks():
    hanging = threading.Event()

    def look():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_server(lambda: hanging.wait(20), "the server", look)
    hanging.set()
