"""The NATS connector against a real server."""

from __future__ import annotations

import json
import random
import socket
import threading
import time

import nats_server as nats
import pytest
from certificates import certificates
from feed_process import KilledFeed
from feed_tables import Tape, batch, declared, open_writer, recorder
from machine import allowed
from nats_server import nats_server
from server_process import free_port, resident_bytes

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import DataProblem, RunProblem, Unreached
from arroyo_nb.feeds.peek import peek

NATS = CONNECTORS.get("nats")
ENOUGH = 200
"""So many messages end a look."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
def stream(server, request):
    """The name of a stream of the test's own."""
    name = request.node.name.translate(str.maketrans("[]-", "___"))
    nats.add_stream(server.port, name, f"{name}.>")
    return name


def source(server, columns="n BIGINT", **options):
    return recorder("nats", columns, servers=f"127.0.0.1:{server.port}", **options)


def numbers(*values):
    return [json.dumps({"n": value}).encode() for value in values]


def connected(tape):
    return lambda: tape.recorder.connection_status.connections > 0 or tape.error


def reach(**options):
    table = declared("nats", "sink", subject="a", **options)
    NATS.reach(table.spec.resolved(), lambda: None)


def test_messages_of_a_subject_come_in_order(server, eventually):
    with Tape(source(server, subject="plain.*")) as tape:
        eventually(connected(tape))
        nats.publish_plain(server.port, "plain.a", numbers(*range(500)))
        eventually(lambda: len(tape.rows) >= 500)
    assert tape.column() == list(range(500))


def test_messages_of_a_stream_come_once_over_two_runs(server, stream, eventually):
    nats.publish(server.port, f"{stream}.a", numbers(*range(100)))
    with Tape(source(server, stream=stream)) as first:
        eventually(lambda: len(first.rows) >= 100)
    nats.publish(server.port, f"{stream}.a", numbers(*range(100, 250)))
    with Tape(source(server, stream=stream), first.position) as second:
        eventually(lambda: len(second.rows) >= 150)
        assert second.recorder.connection_status.gaps == 0
    assert first.column() + second.column() == list(range(250))


def test_a_stream_can_be_filtered(server, stream, eventually):
    nats.publish(server.port, f"{stream}.a", numbers(1, 2))
    nats.publish(server.port, f"{stream}.b", numbers(3))
    options = {"consumer.filter_subjects": f"{stream}.b", "consumer.max_batch": 10}
    with Tape(source(server, stream=stream, **options)) as tape:
        eventually(lambda: tape.rows or tape.error)
    assert tape.error is None
    assert tape.column() == [3]


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_messages_that_are_on_disk_leave_the_queue(server, retention, eventually):
    name = f"kept_{retention}"
    nats.add_stream(server.port, name, f"{name}.>", retention=retention)
    left = lambda: len(nats.stored(server.port, name))  # noqa: E731
    with Tape(source(server, stream=name)) as first:
        eventually(connected(first))
        nats.publish(server.port, f"{name}.a", numbers(*range(50)))
        eventually(lambda: len(first.rows) >= 50 and left() == 0)
    nats.publish(server.port, f"{name}.a", numbers(*range(50, 60)))
    with Tape(source(server, stream=name), first.position) as second:
        eventually(lambda: len(second.rows) >= 10 and left() == 0)
    assert first.column() + second.column() == list(range(60))


@pytest.mark.parametrize("kept", [True, False])
def test_a_queue_can_be_read_again_at_once(server, kept, eventually):
    """By a run that goes on, and by a new one."""
    name = f"again_{kept}"
    nats.add_stream(server.port, name, f"{name}.>", retention="workqueue")
    left = lambda: len(nats.stored(server.port, name))  # noqa: E731
    with Tape(source(server, stream=name)) as first:
        eventually(connected(first))
        nats.publish(server.port, f"{name}.a", numbers(1))
        eventually(lambda: first.rows and left() == 0)
    nats.publish(server.port, f"{name}.a", numbers(2))
    with Tape(source(server, stream=name), first.position if kept else None) as second:
        eventually(lambda: second.rows or second.error)
    assert second.error is None
    assert second.column() == [2]


def test_a_stream_of_interest_keeps_what_is_not_on_disk(tmp_path, eventually):
    """The connection is lost, and then the run is killed."""
    with nats_server(tmp_path) as server:
        nats.add_stream(server.port, "s", "s.>", retention="interest")
        with Tape(source(server, stream="s")) as first:
            eventually(connected(first))
            nats.publish(server.port, "s.a", numbers(0))
            eventually(lambda: first.rows and not nats.stored(server.port, "s"))
            position = first.position
            first.pause()
            nats.publish(server.port, "s.a", numbers(*range(1, 20)))
            receiver = first.recorder._receiver
            eventually(lambda: receiver._position["sequence"] == 20)
            server.end()
            server.start()
            status = lambda: first.recorder.connection_status  # noqa: E731
            eventually(lambda: status().connections == 2)
            # The run is as good as killed: nothing of it is on disk any more.
            with Tape(source(server, stream="s"), position) as second:
                eventually(lambda: len(second.rows) >= 19, 20)
    assert second.column() == list(range(1, 20))


def test_a_message_that_no_request_holds_is_told(server, stream, eventually):
    nats.publish(server.port, f"{stream}.a", [b'{"n": 1, "x": "%s"}' % (b"x" * 5_000)])
    options = {"consumer.max_bytes": 1_000}
    with Tape(source(server, stream=stream, **options)) as tape:
        eventually(lambda: tape.error, 20)
    assert "its next message is larger than a request of 1,000 bytes" in str(tape.error)
    assert "consumer.max_bytes" in str(tape.error)


def test_a_stream_of_the_same_length_that_was_made_anew_is_told(
    server, stream, eventually
):
    nats.publish(server.port, f"{stream}.a", numbers(1))
    with Tape(source(server, stream=stream)) as first:
        eventually(lambda: first.rows)
    nats.talk(server.port, lambda c: c.jetstream().delete_stream(stream))
    nats.add_stream(server.port, stream, f"{stream}.>")
    nats.publish(server.port, f"{stream}.a", numbers(2, 3))
    with Tape(source(server, stream=stream), first.position) as second:
        eventually(lambda: second.error or second.rows)
    assert "has another stream" in str(second.error)


def test_a_stream_that_was_made_anew_is_told(server, stream, eventually):
    nats.publish(server.port, f"{stream}.a", numbers(1))
    position = {"messages": 9, "position": {"consumer": "gone", "sequence": 9}}
    with Tape(source(server, stream=stream), position) as tape:
        eventually(lambda: tape.error)
    assert "has another stream" in str(tape.error)


def test_messages_that_the_stream_has_dropped_are_a_gap(server, stream, eventually):
    nats.publish(server.port, f"{stream}.a", numbers(*range(10)))
    nats.talk(server.port, lambda c: c.jetstream().purge_stream(stream, seq=8))
    position = {"messages": 3, "position": {"consumer": "gone", "sequence": 3}}
    with Tape(source(server, stream=stream), position) as tape:
        eventually(lambda: len(tape.rows) >= 3)
        assert tape.recorder.connection_status.gaps == 1
    assert tape.column() == [7, 8, 9]


@pytest.mark.parametrize(
    ("streams", "options", "said"),
    [
        (False, {"stream": "none"}, "JetStream is not enabled"),
        (True, {"stream": "none"}, "cannot give the stream 'none' to the table 't'"),
    ],
)
def test_a_stream_that_is_not_there_is_told(
    tmp_path, streams, options, said, eventually
):
    with (
        nats_server(tmp_path, streams=streams) as server,
        Tape(source(server, **options)) as tape,
    ):
        eventually(lambda: tape.error)
    assert said in str(tape.error)


def kills(server, stream, tmp_path, eventually, times):
    """Each message comes once, though the run is killed again and again."""
    table = {"connector": "nats", "servers": f"127.0.0.1:{server.port}"}
    with KilledFeed(tmp_path / "chunks", {**table, "stream": stream}) as feed:
        sent = 0
        for _ in range(times):
            with feed.running():
                before = len(feed.values)
                payloads = numbers(*range(sent, sent + random.randrange(1, 3_000)))
                nats.publish(server.port, f"{stream}.a", payloads)
                sent += len(payloads)
                eventually(lambda before=before: len(feed.values) > before)
        with feed.running():
            eventually(lambda: len(feed.values) >= sent)
        assert feed.values == list(range(sent))


def test_each_message_comes_once_when_the_run_is_killed(
    server, stream, tmp_path, eventually
):
    kills(server, stream, tmp_path, eventually, 2)


@pytest.mark.long("feeds")
def test_each_message_comes_once_when_the_run_is_killed_often(
    server, stream, tmp_path, eventually
):
    kills(server, stream, tmp_path, eventually, 20)


def test_a_message_that_is_not_on_disk_in_time_comes_once(server, stream, eventually):
    options = {"consumer.ack_wait": 1}
    with Tape(source(server, stream=stream, **options)) as tape:
        eventually(connected(tape))
        nats.publish(server.port, f"{stream}.a", numbers(1))
        eventually(lambda: tape.rows)
        tape.pause()
        time.sleep(1.3)
        nats.publish(server.port, f"{stream}.a", numbers(2))
        tape.resume()
        eventually(lambda: 2 in tape.column())
    assert tape.column() == [1, 2]


def test_the_server_that_answers_is_used(server, eventually):
    servers = f"127.0.0.1:{free_port()},127.0.0.1:{server.port}"
    with Tape(recorder("nats", servers=servers, subject="a")) as tape:
        eventually(connected(tape))
    assert tape.error is None


def test_a_wrong_password_is_told_and_not_shown(tmp_path, eventually):
    users = "authorization { users: [ { user: ann, password: right } ] }"
    with nats_server(tmp_path, users) as server:
        servers = f"127.0.0.1:{server.port}"
        login = {"auth.type": "credentials", "auth.username": "ann"}
        wrong = {**login, "auth.password": "wr0ng-secret"}
        with Tape(source(server, subject="a", **wrong)) as tape:
            eventually(lambda: tape.error)
        with pytest.raises(RunProblem) as refused:
            reach(servers=servers, **wrong)
        reach(servers=servers, **login, **{"auth.password": "right"})
    for problem in (tape.error, refused.value):
        assert type(problem) is RunProblem
        assert "refuses the table 't': Authorization Violation" in problem.message
        assert "wr0ng-secret" not in str(problem) + repr(problem)


def test_a_login_by_jwt_needs_a_seed_that_is_one(tmp_path):
    pytest.importorskip("nkeys")
    login = {"auth.type": "jwt", "auth.jwt": "e30", "auth.nkey_seed": "SECRET-SEED"}
    users = "authorization { users: [ { nkey: %s } ] }"
    key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
    with (
        nats_server(tmp_path, users % key) as server,
        pytest.raises(RunProblem) as refused,
    ):
        reach(servers=f"127.0.0.1:{server.port}", **login)
    assert "'auth.nkey_seed' is no seed of a user" in refused.value.message
    assert "SECRET-SEED" not in str(refused.value)


def test_what_a_login_may_not_do_is_told(tmp_path, eventually, monkeypatch):
    allowed_subjects = """publish: { allow: ["open.>"] },
        subscribe: { allow: ["open.>", "_INBOX.>"] }"""
    ann = f"user: ann, password: pw, permissions: {{ {allowed_subjects} }}"
    users = f"authorization {{ users: [ {{ {ann} }} ] }}"
    login = {"auth.type": "credentials", "auth.username": "ann", "auth.password": "pw"}
    with nats_server(tmp_path, users, streams=False) as server:
        servers = {"servers": f"127.0.0.1:{server.port}", **login}
        with Tape(recorder("nats", subject="shut.a", **servers)) as tape:
            eventually(lambda: tape.error)
        assert "permissions violation for subscription" in str(tape.error).lower()
        # Nobody waits for JetStream, which the login may not ask.
        monkeypatch.setattr("arroyo_nb.feeds.connectors.nats._sink.FIND_S", 60)
        began_s = time.monotonic()
        with open_writer("nats", tmp_path, subject="open.a", **servers) as sink:
            assert sink.take(batch(numbers(1)), 0) == 1
        assert time.monotonic() - began_s < allowed(5)
        with (
            open_writer("nats", tmp_path, subject="shut.a", **servers) as sink,
            pytest.raises(RunProblem, match="permissions violation for publish"),
        ):
            sink.take(batch(numbers(1)), 0)


@pytest.mark.parametrize(
    ("name", "trusted"), [("IP:127.0.0.1", True), ("DNS:other.example", False)]
)
def test_a_server_of_another_name_is_not_trusted(
    tmp_path, name, trusted, eventually, monkeypatch
):
    made = certificates(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    tls = f'tls {{ cert_file: "{made.certificate}", key_file: "{made.key}" }}'
    with nats_server(tmp_path, tls) as server:
        servers = f"tls://127.0.0.1:{server.port}"
        if trusted:
            reach(servers=servers)
            with Tape(recorder("nats", servers=servers, subject="a")) as tape:
                eventually(connected(tape))
            assert tape.error is None
            return
        with pytest.raises(RunProblem, match="cannot be trusted by the table 't'"):
            reach(servers=servers)


def test_a_login_is_not_sent_to_a_server_that_does_not_encrypt():
    """It is told in clear what it should do, by whoever is there."""
    heard = []

    def answer(server):
        one, _ = server.accept()
        with one:
            one.sendall(
                b'INFO {"server_id":"a","version":"2.10.0","max_payload":9}\r\n'
            )
            while data := one.recv(4096):
                heard.append(data)

    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=answer, args=(server,))
        answering.start()
        login = {"auth.username": "ann", "auth.password": "s3cret"}
        with pytest.raises(RunProblem, match="does not encrypt the connection of"):
            reach(
                servers=f"tls://127.0.0.1:{server.getsockname()[1]}",
                **{"auth.type": "credentials", **login},
            )
        answering.join(allowed(10))
    assert not answering.is_alive()
    assert heard == []


def test_rows_wait_for_jetstream_that_does_not_know_its_streams(
    server, stream, tmp_path, monkeypatch
):
    from nats.js.errors import ServiceUnavailableError
    from nats.js.manager import JetStreamManager

    asked, ask = [], JetStreamManager.find_stream_name_by_subject

    async def find(manager, subject):
        asked.append(subject)
        if len(asked) == 1:
            raise ServiceUnavailableError(code=503, err_code=10008, description="busy")
        return await ask(manager, subject)

    monkeypatch.setattr(JetStreamManager, "find_stream_name_by_subject", find)
    options = {"servers": f"127.0.0.1:{server.port}", "subject": f"{stream}.out"}
    with open_writer("nats", tmp_path, **options) as sink:
        sink.take(batch(numbers(1)), 0)
        assert sink._publisher._confirms
    assert len(asked) == 2


def test_where_a_stream_was_rows_are_not_sent_unconfirmed(
    tmp_path, server, stream, monkeypatch
):
    monkeypatch.setattr("arroyo_nb.feeds.sink.PATIENCE_S", 0.3)
    options = {"servers": f"127.0.0.1:{server.port}", "subject": f"{stream}.out"}
    with open_writer("nats", tmp_path, **options) as sink:
        sink.take(batch(numbers(1)), 0)
        nats.talk(server.port, lambda c: c.jetstream().delete_stream(stream))
        with pytest.raises(Unreached, match="no stream takes"):
            sink.take(batch(numbers(2)), 1)


def test_rows_are_published_in_order_to_a_subject(server, tmp_path, eventually):
    options = {"servers": f"127.0.0.1:{server.port}", "subject": "out.plain"}
    with Tape(source(server, subject="out.*")) as tape:
        eventually(connected(tape))
        with open_writer("nats", tmp_path, **options) as sink:
            assert sink.take(batch(numbers(*range(2_500))), 0) == 2_500
            assert sink.take(batch([]), 1) == 0
        eventually(lambda: len(tape.rows) >= 2_500)
    assert tape.column() == list(range(2_500))


def test_a_batch_that_is_written_again_is_in_the_stream_once(server, stream, tmp_path):
    options = {"servers": f"127.0.0.1:{server.port}", "subject": f"{stream}.out"}
    rows = [1, 2, 2, 3]
    with open_writer("nats", tmp_path, **options) as sink:
        sink.take(batch(numbers(*rows)), 0)
    # Another process has the same state folder; its rows are in another order.
    with open_writer("nats", tmp_path, **options) as sink:
        sink.take(batch(numbers(3, 2, 1, 2)), 0)
        sink.take(batch(numbers(1)), 1)
    found = [row["n"] for row in nats.stored(server.port, stream)]
    assert found == [*rows, 1]


def test_a_batch_waits_for_a_server_that_is_away(tmp_path):
    with nats_server(tmp_path) as server:
        nats.add_stream(server.port, "s", "s.>")
        options = {"servers": f"127.0.0.1:{server.port}", "subject": "s.out"}
        with open_writer("nats", tmp_path, **options) as sink:
            sink.take(batch(numbers(1)), 0)
            server.kill()
            writing = threading.Thread(target=sink.take, args=(batch(numbers(2)), 1))
            writing.start()
            time.sleep(0.5)
            server.start()
            writing.join(allowed(20))
            assert not writing.is_alive()
        assert [row["n"] for row in nats.stored(server.port, "s")] == [1, 2]


def test_a_row_that_is_too_large_is_told(tmp_path):
    with nats_server(tmp_path, "max_payload: 1000") as server:
        options = {"servers": f"127.0.0.1:{server.port}", "subject": "a"}
        with (
            open_writer("nats", tmp_path, **options) as sink,
            pytest.raises(DataProblem, match="a message of 2,000 bytes; NATS at"),
        ):
            sink.take(batch([b"x" * 2_000]), 0)


def test_a_subject_can_be_looked_into(server):
    sending = threading.Event()

    def send():
        while not sending.wait(0.05):
            nats.publish_plain(server.port, "peeked.a", numbers(1) * ENOUGH)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        found = peek(
            f"nats://127.0.0.1:{server.port}/peeked.*",
            {},
            check=lambda: None,
            seconds=60,
        )
    finally:
        sending.set()
        sender.join()
    assert len(found.messages) == ENOUGH
    assert found.options == {
        "connector": "nats",
        "servers": f"nats://127.0.0.1:{server.port}",
        "subject": "peeked.*",
    }
    assert {message.payload for message in found.messages} == set(numbers(1))
    for wrong, said in (
        ("nats://127.0.0.1", "does not say which subject"),
        ("nats://ann:pw@one/a", "has a login in it"),
    ):
        with pytest.raises(RunProblem, match=said) as refused:
            peek(wrong, {}, check=lambda: None, seconds=1)
        assert "pw" not in str(refused.value)
    with pytest.raises(RunProblem, match="has no option 'headers'"):
        peek("nats://one/a", {"headers": "A: b"}, check=lambda: None, seconds=1)


@pytest.mark.long("feeds")
@pytest.mark.parametrize("what", ["subject", "stream"])
def test_a_flood_is_taken_or_counted_in_bounded_memory(
    server, stream, what, eventually
):
    """A hundred thousand messages a second for ten seconds, as far as a client sends
    so many; a stream has them all."""
    before = resident_bytes()
    name = stream if what == "stream" else f"{stream}.>"
    with Tape(source(server, **{what: name})) as tape:
        eventually(connected(tape))
        until_s = time.monotonic() + 10
        sent, payloads = 0, numbers(1) * 10_000
        while time.monotonic() < until_s:
            nats.publish_plain(server.port, f"{stream}.a", payloads)
            sent += len(payloads)
        status = tape.recorder

        def settled():
            known = len(tape.rows)
            time.sleep(3)
            return known == len(tape.rows)

        eventually(settled, 120)
        seen = status.connection_status
        lost, taken = seen.lost_messages, len(tape.rows)
        print(f"sent {sent:,}, taken {taken:,}, lost {lost:,}, gaps {seen.gaps}")
        # A server ends the connection of a client that is much too slow.
        assert taken + lost == sent or (what == "subject" and seen.gaps > 0)
        assert lost == 0 or what == "subject"
    grown = resident_bytes() - before
    print(f"memory grew by {grown / 2**20:,.0f} MiB")
    assert grown < 900 * 2**20
