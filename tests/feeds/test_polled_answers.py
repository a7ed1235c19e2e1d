"""A real server that is polled: every answer, changed ones, failures."""

import time
from itertools import count

import pytest
from feed_servers import (
    HttpServer,
    begin_events,
    feed_of,
    free_port,
    payloads,
    reply,
    silent,
    taken,
    wait_for_end,
)

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import receiver
from arroyo_nb.feeds.connectors import polling_http
from arroyo_nb.feeds.receiver import Receiver

FAST = {"poll_interval_ms": 20}


@pytest.fixture
def _short_waits(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 0.05)


def answers(*bodies):
    """Answers one after the other, and then the last one again and again."""
    left = list(bodies)

    def answer(handler):
        reply(handler, 200, left.pop(0) if len(left) > 1 else left[0])

    return answer


def test_every_answer_is_a_message():
    with HttpServer(answers(b"1", b"1", b"2")) as server:
        feed = feed_of("polling_http", server.url + "/state?of=it", **FAST)
        assert payloads(feed, 4) == [b"1", b"1", b"2", b"2"]
    assert {r.command for r in server.requests} == {"GET"}
    assert {r.path for r in server.requests} == {"/state?of=it"}
    # One connection serves all requests.
    assert len({r.client_address for r in server.requests}) == 1


def test_method_body_and_headers_are_those_of_the_options():
    options = {"method": "POST", "body": '{"q": "\u00e9"}', "headers": "X-Key: a"}
    with HttpServer(answers(b"1")) as server:
        payloads(feed_of("polling_http", server.url, **options), 1)
    request = server.requests[0]
    assert (request.command, request.headers["X-Key"]) == ("POST", "a")
    assert request.body == '{"q": "\u00e9"}'.encode()


def test_only_changed_answers_are_messages_also_over_a_restart():
    options = {**FAST, "emit_behavior": "changed"}
    with HttpServer(answers(b"1", b"1", b"2", b"2", b"1")) as server:
        feed = feed_of("polling_http", server.url, **options)
        with Receiver(feed, None, resumed=False) as received:
            messages = taken(received, 3)
            asked = len(server.requests)
            assert received.take(0.2) == []
            assert len(server.requests) > asked
        assert [message.payload for message in messages] == [b"1", b"2", b"1"]
        again = feed_of("polling_http", server.url, **options)
        with Receiver(again, messages[-1].position, resumed=True) as received:
            assert received.take(0.3) == []


@pytest.mark.parametrize("tag", ['"%s"', 'W/"\u00e4%s"'], ids=["ascii", "latin-1"])
def test_a_server_with_tags_is_asked_for_changes_alone(tag):
    versions = iter(["one", "one", "two", "two", "two"])

    def answer(handler):
        version = next(versions, "two")
        asked = handler.headers.get("If-None-Match", "")
        if asked.encode("latin-1").decode() == tag % version:
            reply(handler, 304, ETag=tag % version)
        else:
            reply(handler, 200, version.encode(), ETag=tag % version)

    with HttpServer(answer) as server:
        feed = feed_of("polling_http", server.url, emit_behavior="changed", **FAST)
        with Receiver(feed, None, resumed=False) as received:
            assert [m.payload for m in taken(received, 2)] == [b"one", b"two"]
            assert received.take(0.1) == []
    asked = [r.headers.get("If-None-Match", "") for r in server.requests][:3]
    known = [one.encode("latin-1").decode() for one in asked]
    assert known == ["", tag % "one", tag % "one"]


def test_an_answer_without_content_is_none():
    bodies = iter([204, 200])

    def answer(handler):
        status = next(bodies, 204)
        reply(handler, status, b"1" if status == 200 else b"")

    with HttpServer(answer) as server:
        assert payloads(feed_of("polling_http", server.url, **FAST), 1) == [b"1"]


@pytest.mark.usefixtures("_short_waits")
def test_a_failed_poll_is_tried_again_and_told():
    numbers = count(1)

    def answer(handler):
        number = next(numbers)
        reply(handler, 500 if number in (2, 3) else 200, b"%d" % number)

    with HttpServer(answer) as server:
        feed = feed_of("polling_http", server.url, **FAST)
        with Receiver(feed, None, resumed=False) as received:
            assert [m.payload for m in taken(received, 2)] == [b"1", b"4"]
            assert received.connection_status.gaps == 1


@pytest.mark.usefixtures("_short_waits")
@pytest.mark.parametrize(
    "times", [3, pytest.param(20, marks=pytest.mark.long("feeds"))], ids=str
)
def test_a_server_that_goes_and_comes_back_is_polled_again(times, eventually):
    port = free_port()
    feed = feed_of("polling_http", f"http://127.0.0.1:{port}", poll_interval_ms=10)
    with Receiver(feed, None, resumed=True) as received:
        for number in range(times):
            with HttpServer(answers(b"%d" % number), port):
                while taken(received, 1)[-1].payload != b"%d" % number:
                    pass
            eventually(lambda: received.connection_status.away_s)


def test_an_answer_has_at_most_five_megabytes():
    with HttpServer(answers(b"x" * 5_000_000, b"x" * 5_000_001)) as server:
        feed = feed_of("polling_http", server.url, **FAST)
        with Receiver(feed, None, resumed=False) as received:
            assert len(taken(received, 1)[0].payload) == 5_000_000
            with pytest.raises(RunProblem, match="more than 5,000,000 bytes"):
                taken(received, 1)


def test_a_server_that_sends_for_ever_gives_no_answer(monkeypatch):
    monkeypatch.setattr(polling_http, "LONGEST_ANSWER_S", 0.2)

    def answer(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x")
            time.sleep(0.01)

    with (
        HttpServer(answer) as server,
        pytest.raises(Unreached, match="took too long to answer"),
    ):
        payloads(feed_of("polling_http", server.url), 1)


@pytest.mark.parametrize("state", ["waiting", "silent"])
def test_a_stop_is_heard_within_a_second(state, monkeypatch, eventually):
    monkeypatch.setattr("arroyo_nb.feeds.http.ANSWER_S", 1.2)
    with HttpServer(answers(b"1")) as server, silent() as port:
        url = server.url if state == "waiting" else f"http://127.0.0.1:{port}"
        feed = feed_of("polling_http", url, poll_interval_ms=60_000)
        received = Receiver(feed, None, resumed=True)
        with received:
            if state == "waiting":
                taken(received, 1)
            else:
                eventually(received._thread.is_alive)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 1.0
        received._thread.join(10)
        assert not received._thread.is_alive()


def test_an_answer_without_end_is_told():
    def answer(handler):
        begin_events(handler)
        wait_for_end(handler)

    says = "answers text/event-stream, which has no end"
    with HttpServer(answer) as server, pytest.raises(RunProblem, match=says):
        payloads(feed_of("polling_http", server.url), 1)
