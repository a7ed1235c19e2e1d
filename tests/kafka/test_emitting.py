"""Rows that a notebook sends to a topic, and reads there again."""

from __future__ import annotations

import itertools
import time
from datetime import datetime

import pyarrow as pa
import pytest
from topics import PASSWORD, USER

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.emit import destination
from arroyo_nb.kafka.errors import ErrorSubject
from arroyo_nb.kafka.peek.topics import sample
from arroyo_nb.run.observe.snapshot import RunState

NOW = int(time.time() * 1000) - 60_000


@pytest.fixture
def sent(broker):
    """The records of a topic: its partitions, keys, times and values."""

    def read(topic):
        _, records = sample(broker.bootstrap_servers, topic, check=lambda: None)
        return [(r.partition, r.key, r.timestamp_ms, r.value) for r in records]

    return read


@pytest.fixture(autouse=True)
def local(broker, session):
    session.broker = broker


def test_rows_are_read_by_the_table_that_they_were_sent_to(new_topic, session, rows):
    made = new_topic(2)
    columns = "id INT NOT NULL, at TIMESTAMP(3), n DECIMAL(9, 2), key BYTEA METADATA "
    script = made.declared(columns + "FROM 'key'", json__decimal_encoding="string")
    session.run(script)
    at = datetime(2024, 1, 1, 12)
    frame = pa.table({"id": [1, 2], "at": [at, None], "n": ["1.50", None]})
    frame = frame.set_column(2, "n", frame["n"].cast(pa.decimal128(9, 2)))
    assert session.emit("t", frame, key="id").rows == 2
    found = rows(script + "SELECT id, at, CAST(n AS DOUBLE) AS n, key FROM t", 2)
    assert sorted(found) == [(1, at, 1.5, b"1"), (2, None, None, b"2")]


def test_changes_of_rows_that_are_made(new_topic, session, eventually):
    made = new_topic()
    script = made.declared("id INT PRIMARY KEY, at TIMESTAMP", format="debezium_json")
    session.run(script)
    session.emit("t", [(1, datetime(2024, 1, 1)), (2, None)])
    run = session.run(script + "SELECT count(*) AS n, max(at) AS at FROM t")
    expected = [{"n": 2, "at": datetime(2024, 1, 1)}]
    eventually(lambda: run.state.ended or run.table().to_pylist() == expected, 60)
    assert run.error is None


def test_a_local_topic_is_made_where_there_is_none(session, sent):
    name = "made-by-emit"
    rows = [{"id": 1, "at": NOW}, "text", b"\0"]
    session.emit(name, [rows[0]], key="id", timestamp="at")
    session.emit(name, rows[1:])
    assert sent(name)[0] == (0, b"1", NOW, b'{"id":1,"at":%d}' % NOW)
    assert [value for *_, value in sent(name)[1:]] == [b"text", b"\0"]


def test_no_topic_is_made_at_another_broker(session, broker):
    with pytest.raises(RunProblem, match="the topic 'not-there' does not exist at"):
        session.emit("not-there", [{"a": 1}], servers=broker.bootstrap_servers)


def test_one_without_end_comes_at_its_rate_until_it_is_stopped(
    topic, session, sent, eventually
):
    made = session.emit(topic, ({"n": n} for n in itertools.count()), rate=100)
    eventually(lambda: made.rows >= 20)
    assert made.state is RunState.RUNNING
    made.stop().wait(20)
    assert len(sent(topic)) == made.rows


def test_rows_before_a_bad_one_have_arrived(topic, session, sent):
    with pytest.raises(RunProblem, match="row 3: a object has no form"):
        session.emit(topic, [{"a": 1}, {"a": 2}, {"a": object()}, {"a": 4}])
    assert {value for *_, value in sent(topic)} == {b'{"a":1}', b'{"a":2}'}


def test_more_rows_than_the_client_holds_wait_for_room(
    topic, session, broker, monkeypatch
):
    few = {**destination.SETTINGS, "queue.buffering.max.messages": 100}
    monkeypatch.setattr(destination, "SETTINGS", few)
    assert session.emit(topic, ({"n": n} for n in range(5000)), wait=True).rows == 5000


def test_a_topic_is_sent_to_as_its_table_says_who_it_is(
    new_topic, session, broker, monkeypatch
):
    monkeypatch.setenv("WORD", PASSWORD)
    made = new_topic()
    login = {
        "auth__type": "sasl",
        "auth__mechanism": "PLAIN",
        "auth__protocol": "SASL_PLAINTEXT",
        "auth__username": USER,
        "auth__password": "{{ WORD }}",
        "bootstrap_servers": broker.sasl_servers,
    }
    session.run(made.declared("id INT", **login))
    assert session.emit("t", [(1,)]).rows == 1
    monkeypatch.setenv("WORD", "canary-word")
    with pytest.raises(RunProblem, match="wrong credentials") as told:
        session.emit("t", [(1,)])
    assert "canary" not in str(told.value)


def test_an_emission_to_a_broker_that_is_away_is_stopped(topic, session, monkeypatch):
    monkeypatch.setattr(destination, "FLUSH_S", 0.2)
    servers = "127.0.0.1:1"
    target = destination.TopicTarget(Access(servers), ErrorSubject(servers, topic))
    from arroyo_nb.run.emission import Emission, EmissionPace

    made = Emission("gone", [1, 2], lambda rows: [(b"x", None, None)] * len(rows),
                    target, EmissionPace()).start()  # fmt: skip
    assert made.stop().wait(20)
    assert (made.state, made.rows) == (RunState.STOPPED, 0)
