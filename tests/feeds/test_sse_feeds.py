"""Server-sent events of a real server: kept, resumed, cut, slow, refused."""

import re
import threading
import time

import pytest
from feed_servers import (
    HttpServer,
    begin_events,
    feed_of,
    free_port,
    make_certificate,
    payloads,
    reply,
    silent,
    spec_of,
    taken,
    wait_for_end,
)
from machine import allowed

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import FeedEnded, event_stream, receiver
from arroyo_nb.feeds.connectors import sse
from arroyo_nb.feeds.receiver import Receiver


@pytest.fixture
def _short_waits(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 0.05)


def event(number, *, identified=True):
    head = f"id: {number}\n" if identified else ""
    return f'{head}data: {{"n": {number}}}\n\n'.encode()


def stream(text):
    """Answers with a text of events, and waits."""

    def answer(handler):
        begin_events(handler)
        handler.wfile.write(text)
        wait_for_end(handler)

    return answer


def test_events_are_messages_with_their_ids():
    with HttpServer(stream(event(1) + event(2, identified=False))) as server:
        feed = feed_of("sse", server.url + "/events")
        with Receiver(feed, None, resumed=False) as received:
            messages = taken(received, 2)
    assert [message.payload for message in messages] == [b'{"n": 1}', b'{"n": 2}']
    assert [message.position for message in messages] == [{"id": "1"}] * 2
    request = server.requests[0]
    assert request.path == "/events"
    assert request.headers["Accept"] == "text/event-stream"
    assert "Last-Event-ID" not in request.headers


def test_headers_are_sent():
    with HttpServer(stream(event(1))) as server:
        headers = "Authorization: Bearer abc, X-Any: a, b"
        payloads(feed_of("sse", server.url, headers=headers), 1)
    assert server.requests[0].headers["Authorization"] == "Bearer abc"
    assert server.requests[0].headers["X-Any"] == "a, b"


def test_only_the_events_that_are_named_are_kept():
    text = b"event: add\ndata: 1\n\nevent: drop\ndata: 2\n\ndata: 3\n\n"
    with HttpServer(stream(text)) as server:
        feed = feed_of("sse", server.url, events="add, message")
        assert payloads(feed, 2) == [b"1", b"3"]


def test_a_resumed_run_asks_for_what_is_behind_its_last_event():
    with HttpServer(stream(event(8))) as server:
        feed = feed_of("sse", server.url)
        with Receiver(feed, {"id": "7"}, resumed=True) as received:
            taken(received, 1)
            assert received.connection_status.gaps == 0
    assert server.requests[0].headers["Last-Event-ID"] == "7"


@pytest.mark.parametrize(
    ("last_id", "asked"),
    [("caf\u00e9 1 ", "caf\u00e9 1"), ("a\x01", None), ("", None)],
)
def test_an_id_is_any_text_that_a_header_can_be(last_id, asked, eventually):
    with HttpServer(stream(event(8))) as server:
        feed = feed_of("sse", server.url)
        with Receiver(feed, {"id": last_id}, resumed=True) as received:
            taken(received, 1)
            assert received.connection_status.gaps == (asked is None)
    sent = server.requests[0].headers["Last-Event-ID"]
    assert (sent and sent.encode("latin-1").decode()) == asked


def test_an_id_that_no_header_can_hold_is_none():
    longest = "x" * sse.LONGEST_ID_BYTES
    text = "".join(f"id: {one}\ndata: 1\n\n" for one in (longest, longest + "x"))
    with HttpServer(stream(text.encode())) as server:
        with Receiver(feed_of("sse", server.url), None, resumed=False) as received:
            first, second = taken(received, 2)
        assert (first.position, second.position) == ({"id": longest}, {"id": ""})
        for message in (first, second):
            feed = feed_of("sse", server.url)
            with Receiver(feed, message.position, resumed=True) as received:
                taken(received, 1)
                assert received.connection_status.gaps == (message is second)
    asked = [request.headers["Last-Event-ID"] for request in server.requests]
    assert asked == [None, longest, None]


def cut_off(events, each, *, identified=True):
    """Serves numbered events behind the last id; each connection gives so many, half of
    the next one, and is cut."""

    def answer(handler):
        first = int(handler.headers.get("Last-Event-ID", "0"))
        begin_events(handler)
        for number in range(first + 1, min(first + each, events) + 1):
            handler.wfile.write(event(number, identified=identified))
        if first + each < events:
            handler.wfile.write(event(first + each + 1)[:-3])
            return
        wait_for_end(handler)

    return answer


def ids(messages):
    return [int(message.payload[6:-1]) for message in messages]


@pytest.mark.usefixtures("_short_waits")
def test_every_event_is_received_once_over_many_cuts():
    events, each = 55, 5
    with HttpServer(cut_off(events, each)) as server:
        feed = feed_of("sse", server.url)
        with Receiver(feed, None, resumed=False) as received:
            found = ids(taken(received, events))
            status = received.connection_status
    assert found == list(range(1, events + 1))
    assert len(server.requests) == 11
    assert (status.connections, status.gaps) == (11, 0)


@pytest.mark.usefixtures("_short_waits")
def test_a_cut_in_the_middle_of_a_chunk_is_a_lost_connection():
    served = iter([1, 2])

    def answer(handler):
        begin_events(handler, Transfer_Encoding="chunked")
        text = event(next(served))
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        handler.wfile.write(b"40\r\ndata: half")

    with HttpServer(answer) as server:
        found = payloads(feed_of("sse", server.url), 2)
    assert found == [b'{"n": 1}', b'{"n": 2}']
    assert [r.headers["Last-Event-ID"] for r in server.requests][:2] == [None, "1"]


def test_an_encrypted_connection_is_ended_as_soon_as_a_plain_one(tmp_path, monkeypatch):
    certificate, context = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with HttpServer(stream(event(1)), context=context) as server:
        received = Receiver(
            feed_of("sse", f"https://localhost:{server.port}"), None, resumed=False
        )
        with received:
            assert ids(taken(received, 1)) == [1]
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 0.4
        assert not received._thread.is_alive()


@pytest.mark.usefixtures("_short_waits")
def test_without_ids_each_new_connection_is_told_as_a_gap(eventually):
    with HttpServer(stream(event(1, identified=False))) as first:
        feed = feed_of("sse", first.url)
        received = Receiver(feed, None, resumed=False)
        received.__enter__()
        taken(received, 1)
    with HttpServer(stream(event(2, identified=False)), port=first.port):
        assert ids(taken(received, 1)) == [2]
        assert received.connection_status.gaps == 1
        received.__exit__()


@pytest.mark.usefixtures("_short_waits")
@pytest.mark.parametrize(
    "times", [3, pytest.param(20, marks=pytest.mark.long("feeds"))], ids=str
)
def test_a_server_that_goes_and_comes_back_is_received_from_again(times):
    port = free_port()
    served = iter(range(1, times + 1))

    def answer(handler):
        begin_events(handler)
        handler.wfile.write(event(next(served)))
        wait_for_end(handler)

    with HttpServer(answer, port):
        received = Receiver(
            feed_of("sse", f"http://127.0.0.1:{port}"), None, resumed=False
        )
        received.__enter__()
        assert ids(taken(received, 1)) == [1]
    for number in range(2, times + 1):
        with HttpServer(answer, port):
            assert ids(taken(received, 1)) == [number]
    received.__exit__()
    assert received.connection_status.connections == times


def test_a_slow_server_is_waited_for_byte_by_byte():
    def answer(handler):
        begin_events(handler)
        for byte in event(1) + event(2):
            handler.wfile.write(bytes([byte]))
            time.sleep(0.002)
        wait_for_end(handler)

    with HttpServer(answer) as server:
        assert payloads(feed_of("sse", server.url), 2) == [b'{"n": 1}', b'{"n": 2}']


@pytest.mark.usefixtures("_short_waits")
def test_silence_behind_the_first_answer_is_no_failure(monkeypatch, eventually):
    """The limit for an answer does not hold for the events in it."""
    monkeypatch.setattr("arroyo_nb.feeds.http.ANSWER_S", 0.2)
    go = threading.Event()

    def answer(handler):
        begin_events(handler)
        handler.wfile.flush()
        go.wait(10)
        handler.wfile.write(event(1))
        wait_for_end(handler)

    with HttpServer(answer) as server:
        feed = feed_of("sse", server.url)
        with Receiver(feed, None, resumed=False) as received:
            eventually(lambda: received.connection_status.connections == 1)
            assert received.take(0.6) == []
            go.set()
            taken(received, 1)
            assert received.connection_status.connections == 1


@pytest.mark.usefixtures("_short_waits")
def test_the_wait_that_the_server_asks_for_is_kept():
    text = b"retry: 700\n" + event(1)
    times = []

    def answer(handler):
        times.append(time.monotonic())
        begin_events(handler)
        handler.wfile.write(text)

    with HttpServer(answer) as server:
        payloads(feed_of("sse", server.url), 2)
    assert times[1] - times[0] >= 0.7


def failure(server_url, **options):
    with pytest.raises(RunProblem) as failed:
        payloads(feed_of("sse", server_url, **options), 1)
    return failed.value


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, RunProblem, r"refuses the request \(401 Unauthorized\)"),
        (403, RunProblem, r"refuses the request \(403 Forbidden\)"),
        (404, RunProblem, r"has nothing there \(404 Not Found\)"),
        (400, RunProblem, "answers 400 Bad Request: no such thing"),
        (204, FeedEnded, r"has ended its stream \(204\)"),
        (408, Unreached, "answers 408"),
        (429, Unreached, "answers 429"),
        (500, Unreached, "answers 500"),
        (503, Unreached, "answers 503"),
    ],
)
def test_an_answer_that_is_no_stream_says_what_is_wrong(status, kind, says):
    body = b"" if status == 204 else b"no  such\nthing"
    with HttpServer(lambda handler: reply(handler, status, body)) as server:
        failed = failure(server.url)
    assert type(failed) is kind
    assert f"the server of 'numbers', {server.url}, " in failed.message
    assert re.search(says, failed.message), failed.message


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7),
        ("9" * 30, 3600),
        ("\u00b2", None),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
    ],
)
def test_a_server_may_say_when_to_come_again(said, seconds):
    with HttpServer(lambda handler: reply(handler, 503, Retry_After=said)) as server:
        assert failure(server.url).retry_after_s == seconds


def test_a_server_may_ask_for_no_more_than_an_hour_before_the_next_connection():
    with HttpServer(stream(b"retry: 86400000\ndata: 1\n\n")) as server:
        feed = feed_of("sse", server.url)
        payloads(feed, 1)
    assert feed.retry_s == 3600


def test_an_answer_of_another_type_is_refused():
    def answer(handler):
        reply(handler, 200, b"<html>", Content_Type="text/html")

    with HttpServer(answer) as server:
        assert "answers text/html, not text/event-stream" in failure(server.url).message


def test_what_is_no_http_is_refused():
    def answer(handler):
        handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        handler.close_connection = True

    with HttpServer(answer) as server:
        assert "does not answer as HTTP says" in failure(server.url).message


def test_a_server_that_is_not_there_is_told():
    failed = failure(f"http://127.0.0.1:{free_port()}")
    assert isinstance(failed, Unreached)
    assert "cannot be reached: connection refused" in failed.message


def test_an_event_of_any_size_is_not_kept(monkeypatch):
    monkeypatch.setattr(event_stream, "LARGEST_EVENT_BYTES", 2**20)

    def answer(handler):
        begin_events(handler)
        while True:
            handler.wfile.write(b"data: " + b"x" * 2**16 + b"\n")

    with HttpServer(answer) as server:
        assert "sends an event of more than" in failure(server.url).message


@pytest.mark.parametrize("state", ["connecting", "silent", "flooded", "away"])
def test_a_stop_is_heard_within_a_second(state, monkeypatch, eventually):
    def answer(handler):
        begin_events(handler)
        while state == "flooded":
            handler.wfile.write(event(1) * 100)
        wait_for_end(handler)

    monkeypatch.setattr("arroyo_nb.feeds.http.ANSWER_S", 1.2)
    monkeypatch.setattr(receiver, "BUFFER_MESSAGES", 1_000)
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 60.0)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 60.0)
    with HttpServer(answer) as server, silent() as port:
        url = (
            server.url if state in ("silent", "flooded") else f"http://127.0.0.1:{port}"
        )
        if state == "away":
            url = f"http://127.0.0.1:{free_port()}"
        received = Receiver(feed_of("sse", url), None, resumed=True)
        with received:
            if state == "flooded":
                eventually(lambda: len(received._buffer) >= 1_000)
            elif state == "silent":
                eventually(lambda: received.connection_status.connections)
            elif state == "away":
                eventually(lambda: received.connection_status.why)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < allowed(1.0)
        received._thread.join(15)
        assert not received._thread.is_alive()


def test_options_are_checked_when_the_table_is_made():
    sse = CONNECTORS.get("sse")
    wrong = spec_of(sse, "ftp://ann:rose@host/x", headers="what")
    found = dict(sse.check(wrong, None))
    assert list(found) == ["endpoint", "headers"]
    assert "is not a URL that begins with http:// or https://" in str(found["endpoint"])
    assert "rose" not in str(found["endpoint"])
    assert not list(sse.check(spec_of(sse, "{{ URL }}"), None))
