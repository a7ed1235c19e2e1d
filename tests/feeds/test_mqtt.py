"""The MQTT connector against a real broker."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import closing
from itertools import islice

import mosquitto_server as broker
import pytest
from certificates import certificates
from feed_process import KilledFeed
from feed_tables import Tape, batch, declared, open_writer, recorder
from machine import allowed
from mosquitto_server import DURABLE, mosquitto, subscribed
from server_process import resident_bytes

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import ArroyoError, DataProblem, RunProblem
from arroyo_nb.feeds.connectors.mqtt import _client
from arroyo_nb.feeds.peek import peek
from arroyo_nb.feeds.recording import feed_records

MQTT = CONNECTORS.get("mqtt")
ENOUGH = 200
"""So many messages end a look."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with mosquitto(tmp_path_factory.mktemp("mqtt"), *DURABLE) as server:
        yield server


def url(server):
    return f"mqtt://127.0.0.1:{server.port}"


def source(server, columns="n BIGINT", **options):
    given = {"url": url(server), "topic": "rooms/#", **options}
    return recorder("mqtt", columns, **given)


def numbers(*values):
    return [json.dumps({"n": value}).encode() for value in values]


def connected(tape):
    return lambda: tape.recorder.connection_status.connections > 0 or tape.error


def reach(**options):
    table = declared("mqtt", "sink", topic="rooms/a", **options)
    MQTT.reach(table.spec.resolved(), lambda: None)


@pytest.mark.parametrize("qos", ["AtMostOnce", "AtLeastOnce", "ExactlyOnce"])
def test_messages_come_in_order_with_their_topic(server, qos, eventually):
    columns = "n BIGINT, topic TEXT METADATA FROM 'topic'"
    topic = f"order/{qos}"
    with Tape(source(server, columns, topic="order/+", qos=qos)) as tape:
        eventually(connected(tape))
        broker.publish(server.port, numbers(*range(50)), topic, qos=2)
        eventually(lambda: len(tape.rows) >= 50)
    assert tape.error is None
    assert tape.column() == list(range(50))
    assert set(tape.column("topic")) == {topic}
    assert tape.recorder.connection_status.lost_messages == 0


def test_messages_of_the_time_between_two_runs_come_to_the_second(server, eventually):
    options = {"topic": "between/a", "qos": "AtLeastOnce"}
    with Tape(source(server, **options)) as first:
        eventually(connected(first))
        broker.publish(server.port, numbers(1, 2), "between/a")
        eventually(lambda: len(first.rows) >= 2)
    broker.publish(server.port, numbers(3, 4), "between/a")
    with Tape(source(server, **options), first.position) as second:
        eventually(lambda: 4 in second.column())
    assert sorted(set(first.column() + second.column())) == [1, 2, 3, 4]
    assert second.column()[-2:] == [3, 4]
    assert second.recorder.connection_status.gaps == 0


def test_a_session_that_waits_is_taken_before_the_queue_has_room(
    server, eventually, monkeypatch
):
    """Its messages come before the answer to the subscription."""
    monkeypatch.setattr("arroyo_nb.feeds.connectors.mqtt._source.QUEUE_BYTES", 500)
    options = {"topic": "backlog/a", "qos": "AtLeastOnce"}
    with Tape(source(server, **options)) as first:
        eventually(connected(first))
        broker.publish(server.port, numbers(0), "backlog/a")
        eventually(lambda: first.rows)
    broker.publish(server.port, numbers(*range(1, 60)), "backlog/a")
    with Tape(source(server, **options), first.position) as second:
        eventually(lambda: 59 in second.column())
    assert second.recorder.connection_status.connections == 1
    assert [*dict.fromkeys(first.column() + second.column())] == list(range(60))


def test_nothing_is_missing_when_a_connection_ends_before_its_subscription(
    server, eventually
):
    """What came until then was thrown away, and comes again."""
    options = {"topic": "cut/a", "qos": "AtLeastOnce"}
    with Tape(source(server, **options)) as first:
        eventually(connected(first))
        broker.publish(server.port, numbers(0), "cut/a")
        eventually(lambda: first.rows)
    broker.publish(server.port, numbers(*range(1, 40)), "cut/a")
    with broker.cut_before_subscriptions(server.port, b'{"n": 9}') as port:
        options["url"] = f"mqtt://127.0.0.1:{port}"
        with Tape(source(server, **options), first.position) as second:
            eventually(lambda: 39 in second.column())
    assert set(first.column() + second.column()) == set(range(40))


@pytest.mark.parametrize("packet", [b"\x30\x02\xff\xff", b"\x30\x04\x00\x01\xff\x00"])
def test_a_broker_that_sends_no_mqtt_is_told(packet, eventually):
    """A length that is none, and a topic that is no text."""
    with broker.sending(packet) as port:
        options = {"url": f"mqtt://127.0.0.1:{port}", "topic": "a"}
        with Tape(recorder("mqtt", **options)) as tape:
            why = lambda: tape.recorder.connection_status.why  # noqa: E731
            # The library tells the first by itself in some versions, and the second may
            # end the first connection of all.
            eventually(lambda: why() or tape.error)
    assert "cannot reach the MQTT broker" in str(tape.error or why())


def kills(server, tmp_path, eventually, times):
    """Everything that is published comes, though the run is killed again and again."""
    topic = f"kills/{times}"
    table = {"connector": "mqtt", "url": url(server), "topic": topic}
    with KilledFeed(tmp_path / "chunks", {**table, "qos": "AtLeastOnce"}) as feed:
        sent = 1
        with feed.running():

            def begins():
                broker.publish(server.port, numbers(0), topic)
                return feed.values

            # Before its first message a client is not known to a run that is resumed.
            eventually(begins, every_s=0.2)
        for _ in range(times):
            with feed.running():
                before = len(feed.values)
                payloads = numbers(*range(sent, sent + random.randrange(1, 500)))
                broker.publish(server.port, payloads, topic)
                sent += len(payloads)
                eventually(lambda before=before: len(feed.values) > before)
        with feed.running():
            eventually(lambda: set(feed.values) == set(range(sent)))


def test_nothing_is_missing_when_the_run_is_killed(server, tmp_path, eventually):
    kills(server, tmp_path, eventually, 2)


@pytest.mark.long("feeds")
def test_nothing_is_missing_when_the_run_is_killed_often(server, tmp_path, eventually):
    kills(server, tmp_path, eventually, 20)


def test_without_a_session_a_lost_connection_is_a_gap(tmp_path, eventually):
    with mosquitto(tmp_path) as server, Tape(source(server)) as tape:
        eventually(connected(tape))
        server.kill()
        eventually(lambda: tape.recorder.connection_status.away_s > 0)
        server.start()
        eventually(lambda: tape.recorder.connection_status.gaps == 1)
        broker.publish(server.port, numbers(1))
        eventually(lambda: tape.column() == [1])


def test_what_comes_again_on_a_new_connection_is_left_out(tmp_path, eventually):
    with (
        mosquitto(tmp_path, *DURABLE) as server,
        Tape(source(server, qos="AtLeastOnce")) as tape,
    ):
        eventually(connected(tape))
        broker.publish(server.port, numbers(0))
        eventually(lambda: tape.rows)
        # Nothing is on disk, so nothing is acknowledged, and all of it comes again.
        tape.pause()
        broker.publish(server.port, numbers(*range(1, 40)))
        for _ in range(3):
            server.end()
            server.start()
            eventually(lambda: tape.recorder.connection_status.away_s == 0)
        broker.publish(server.port, numbers(40))
        tape.resume()
        eventually(lambda: 40 in tape.column())
    assert sorted(tape.column()) == list(range(41))
    assert tape.recorder.connection_status.gaps == 0


def test_a_broker_that_speaks_no_mqtt_5_is_read_and_written(
    server, tmp_path, eventually
):
    with broker.without_mqtt_5(server.port) as port:
        options = {"url": f"mqtt://127.0.0.1:{port}", "topic": "old/a"}
        options["qos"] = "AtLeastOnce"
        with Tape(recorder("mqtt", **options)) as first:
            eventually(connected(first))
            with open_writer("mqtt", tmp_path, **options) as sink:
                sink.take(batch(numbers(*range(100))), 0)
            eventually(lambda: len(first.rows) >= 100)
        broker.publish(server.port, numbers(100), "old/a")
        with Tape(recorder("mqtt", **options), first.position) as second:
            eventually(lambda: 100 in second.column())
    assert first.column() == list(range(100))


def test_a_wrong_password_is_told_and_not_shown(tmp_path, eventually):
    with mosquitto(tmp_path, users=[("ann", "right")]) as server:
        login = {"username": "ann", "password": "wr0ng-secret"}
        with Tape(source(server, **login)) as tape:
            eventually(lambda: tape.error)
        with pytest.raises(RunProblem) as refused:
            reach(url=url(server), **login)
        reach(url=url(server), username="ann", password="right")
    for problem in (tape.error, refused.value):
        assert type(problem) is RunProblem
        assert "refuses the login of the table 't'" in problem.message
        assert "wr0ng-secret" not in str(problem) + repr(problem)


def test_a_subscription_that_is_refused_is_told(tmp_path, eventually):
    (tmp_path / "acl").write_text("topic readwrite open/#\n")
    with mosquitto(tmp_path, f"acl_file {tmp_path}/acl") as server:
        with Tape(source(server, topic="$SYS/secret")) as tape:
            eventually(
                lambda: tape.error or tape.recorder.connection_status.connections
            )
        with (
            open_writer(
                "mqtt", tmp_path, url=url(server), topic="shut/a", qos="AtLeastOnce"
            ) as sink,
            pytest.raises(RunProblem, match="refuses messages to 'shut/a'"),
        ):
            sink.take(batch(numbers(1)), 0)


@pytest.mark.parametrize(
    ("name", "trusted"), [("IP:127.0.0.1", True), ("DNS:other.example", False)]
)
def test_a_broker_of_another_name_is_not_trusted(tmp_path, name, trusted, eventually):
    made = certificates(tmp_path, name)
    settings = (f"certfile {made.certificate}", f"keyfile {made.key}")
    with mosquitto(tmp_path, *settings) as server:
        tls = {"url": f"mqtts://127.0.0.1:{server.port}", "tls.ca": made.authority}
        if trusted:
            reach(**tls)
            with Tape(recorder("mqtt", topic="a", **tls)) as tape:
                eventually(connected(tape))
            assert tape.error is None
            return
        with pytest.raises(RunProblem, match="cannot be trusted by the table 't'"):
            reach(**tls)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"url": "mqtt://one", "tls.ca": "a.pem"},
            "'tls.ca' is set, and 'url' is not of an encrypted connection",
        ),
        (
            {"url": "mqtt://one", "password": "pw"},
            "required option 'username' not set",
        ),
    ],
)
def test_options_that_would_do_nothing_are_told(options, said):
    with pytest.raises(ArroyoError) as refused:
        declared("mqtt", "source", topic="a", **options)
    assert said in str(refused.value)


def test_options_of_tls_are_told_where_a_variable_has_the_url(monkeypatch):
    monkeypatch.setenv("BROKER_URL", "mqtt://one")
    options = {"url": "{{ BROKER_URL }}", "topic": "a", "tls.ca": "a.pem"}
    with pytest.raises(RunProblem, match=r"'tls\.ca' is set"):
        recorder("mqtt", **options)


@pytest.mark.parametrize("kept", [True, False])
def test_a_broker_keeps_a_session_for_a_run_that_can_go_on(server, kept, eventually):
    options = {"topic": "session/a", "qos": "AtLeastOnce"}
    made = source(server, **options)
    if not kept:
        made.forget()
    with Tape(made) as tape:
        eventually(connected(tape))
        broker.publish(server.port, numbers(1), "session/a")
        eventually(lambda: tape.rows)
    table = declared("mqtt", "source", url=url(server), **options)
    client = tape.position["position"]["client"]

    def has_session():
        again = _client.MqttClient(
            _client.Broker.of(table.spec), client, keeps_session=True
        )
        again.close(forget=True)
        return again.has_session

    assert has_session() is kept


def test_a_recording_acknowledges_what_it_has(server, eventually):
    """A broker sends twenty messages, by default, before one is acknowledged."""
    options = {"url": url(server), "topic": "taped/a", "qos": "AtLeastOnce"}
    table = declared("mqtt", "source", **options)
    with closing(feed_records(table)) as records:
        assert next(records).record is None
        broker.publish(server.port, numbers(*range(100)), "taped/a")
        found = (one.record.value for one in records if one.record is not None)
        assert list(islice(found, 100)) == numbers(*range(100))


def test_a_broker_without_tls_is_told(server):
    with pytest.raises(RunProblem, match="cannot reach the MQTT broker"):
        reach(url=f"mqtts://127.0.0.1:{server.port}")


@pytest.mark.parametrize("qos", ["AtMostOnce", "AtLeastOnce", "ExactlyOnce"])
def test_rows_are_published_in_order(server, tmp_path, qos, eventually):
    topic = f"out/{qos}"
    options = {"url": url(server), "topic": topic, "qos": qos}
    with subscribed(server.port, topic, 2) as got:
        with open_writer("mqtt", tmp_path, **options) as sink:
            assert sink.take(batch(numbers(*range(2_500))), 0) == 2_500
            assert sink.take(batch([]), 1) == 0
            assert sink.take(batch([None]), 2) == 1
        eventually(lambda: len(got) == 2_501)
    assert [one.payload for one in got] == [*numbers(*range(2_500)), b""]


def test_the_newest_message_is_retained(server, tmp_path, eventually):
    options = {"url": url(server), "topic": "kept/a", "sink.retain": "true"}
    with open_writer("mqtt", tmp_path, qos="AtLeastOnce", **options) as sink:
        sink.take(batch(numbers(1, 2)), 0)
    with subscribed(server.port, "kept/a") as got:
        eventually(lambda: got)
    assert [(one.payload, one.retain) for one in got] == [(*numbers(2), True)]


def test_a_batch_waits_for_a_broker_that_is_away(tmp_path, eventually):
    options = {"topic": "out/a", "qos": "AtLeastOnce"}
    with (
        mosquitto(tmp_path, *DURABLE) as server,
        # Before the broker ends: it keeps for a reader only what comes after that.
        subscribed(server.port, "out/a") as got,
        open_writer("mqtt", tmp_path, url=url(server), **options) as sink,
    ):
        sink.take(batch(numbers(1)), 0)
        server.end()
        writing = threading.Thread(target=sink.take, args=(batch(numbers(2)), 1))
        writing.start()
        time.sleep(0.5)
        assert writing.is_alive()
        server.start()
        writing.join(allowed(20))
        assert not writing.is_alive()
        eventually(lambda: {one.payload for one in got} == set(numbers(1, 2)))


def test_a_row_that_is_too_large_is_told(server, tmp_path):
    options = {"url": url(server), "topic": "a", "max_packet_size": 1_000}
    said = "a message of 2,000 bytes; the MQTT"
    with (
        open_writer("mqtt", tmp_path, **options) as sink,
        pytest.raises(DataProblem, match=said),
    ):
        sink.take(batch([b"x" * 2_000]), 0)


def test_a_topic_can_be_looked_into(server):
    sending = threading.Event()

    def send():
        while not sending.wait(0.05):
            broker.publish(server.port, numbers(1) * ENOUGH, "peeked/a")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        found = peek(
            f"mqtt://127.0.0.1:{server.port}/peeked/#",
            {},
            check=lambda: None,
            seconds=60,
        )
    finally:
        sending.set()
        sender.join()
    assert len(found.messages) == ENOUGH
    assert found.options == {
        "connector": "mqtt",
        "url": url(server),
        "topic": "peeked/#",
    }
    assert {message.payload for message in found.messages} == set(numbers(1))
    for wrong, said in (
        ("mqtt://127.0.0.1", "does not say which topic"),
        ("mqtt://ann:pw@one/a", "has a login in it"),
    ):
        with pytest.raises(RunProblem, match=said) as refused:
            peek(wrong, {}, check=lambda: None, seconds=1)
        assert "pw" not in str(refused.value)
    with pytest.raises(RunProblem, match="has no option 'headers'"):
        peek("mqtt://one/a", {"headers": "A: b"}, check=lambda: None, seconds=1)


@pytest.mark.long("feeds")
def test_a_flood_is_taken_or_counted_in_bounded_memory(server, eventually):
    """100,000 messages a second for ten seconds: the broker gives on what it can."""
    before = resident_bytes()
    with Tape(source(server, topic="storm/#")) as tape:
        eventually(connected(tape))
        sent = broker.flood(server.port, "storm/a", numbers(1)[0], 100_000, 10)
        status = tape.recorder

        def settled():
            known = len(tape.rows)
            time.sleep(2)
            return known == len(tape.rows)

        eventually(settled)
        lost = status.connection_status.lost_messages
        print(f"sent {sent:,}, taken {len(tape.rows):,}, counted as lost {lost:,}")
        assert len(tape.rows) + lost <= sent
        assert len(tape.rows) > 50_000
        assert tape.error is None
    # The rows that the test keeps are a good part of it.
    grown = resident_bytes() - before
    print(f"memory grew by {grown / 2**20:,.0f} MiB")
    assert grown < 900 * 2**20
