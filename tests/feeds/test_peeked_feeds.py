"""``%arroyo peek URL``: which connector, which messages, which table."""

import json
import time

import pytest
from feed_servers import (
    HttpServer,
    begin_events,
    free_port,
    reply,
    silent,
    wait_for_end,
)
from test_websocket_feeds import sends, serving

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import peek as feeds
from arroyo_nb.plan.planner import plan_script


def look():
    """Nobody interrupts."""


def options(statement):
    """The options of a statement, which must be one that can be planned."""
    (table,) = plan_script(statement, Catalog()).catalog.tables.values()
    return table.connector, table.spec


def test_events_are_found_by_their_content_type(peeked):
    def answer(handler):
        begin_events(handler)
        for n in range(3):
            handler.wfile.write(b'data: {"n": %d, "name": "a"}\n\n' % n)
        wait_for_end(handler)

    with HttpServer(answer) as server:
        text, statement = peeked(server.url + "/v2/changes?since=now")
    connector, spec = options(statement)
    assert connector == "sse"
    assert spec.name == "changes"
    assert spec.options["endpoint"] == server.url + "/v2/changes?since=now"
    assert [str(f.type) for f in spec.physical] == ["BIGINT", "TEXT"]
    assert "record 3, as a whole" in text
    assert "in the next cell" in text


def test_an_answer_that_ends_is_polled(peeked, monkeypatch):
    monkeypatch.setenv("PEEK_TOKEN", "abcde")

    def answer(handler):
        body = {"user": handler.headers["X-Key"] == "abcde", "at": 1_700_000_000}
        reply(handler, 200, json.dumps(body).encode(), Content_Type="application/json")

    with HttpServer(answer) as server:
        _, statement = peeked(server.url, headers="X-Key: {{ PEEK_TOKEN }}")
    connector, spec = options(statement)
    assert connector == "polling_http"
    assert spec.options["headers"] == "X-Key: {{ PEEK_TOKEN }}"
    assert [str(f.type) for f in spec.physical] == ["BOOLEAN", "BIGINT"]
    assert "WATERMARK FOR event_time" in statement
    # Once to find out what it gives, and once for that.
    assert len(server.requests) == 2


def test_lines_of_an_answer_are_records(peeked):
    body = b'{"n": 1}\n{"n": 2}\n'
    with HttpServer(lambda h: reply(h, 200, body)) as server:
        text, statement = peeked(server.url)
    assert options(statement)[1].options["framing"] == "newline"
    assert "record 2, as a whole" in text


ANSWER = [
    {"name": 'it\'s "a"', "bikes": 2, "at": {"x": 1.5}},
    {"name": "b", "bikes": None, "at": None},
]


def test_an_answer_that_is_an_array_has_a_query_for_its_elements(peeked, session):
    """Which gives their rows, as it is shown."""
    body = json.dumps(ANSWER, indent=1).encode()
    with HttpServer(lambda h: reply(h, 200, body)) as server:
        text, statement = peeked(f"{server.url}/Stations-2")
        table, spec = options(statement)
        assert (table, spec.options["format"]) == ("polling_http", "raw_string")
        assert "each record is a JSON array, which is read as a text" in text
        query = text[text.rindex("SELECT\n") :]
        run = session.run(f"{statement}\n{query} LIMIT 2", wait=True)
    rows = run.table().select(["name", "bikes", "at"]).to_pylist()
    assert rows == [
        {"name": 'it\'s "a"', "bikes": 2, "at": '{"x":1.5}'},
        {"name": "b", "bikes": None, "at": "null"},
    ]


def test_an_answer_that_is_an_array_of_numbers(peeked, session):
    with HttpServer(lambda h: reply(h, 200, b"[3, 4]")) as server:
        text, statement = peeked(server.url + "/all")
        query = text[text.rindex("SELECT unnest") :]
        run = session.run(f"{statement}\n{query} LIMIT 2", wait=True)
    assert run.table()["item"].to_pylist() == ["3", "4"]


def test_binary_messages_are_bytes(peeked):
    with serving(sends(b"\x08\x01\x12\x03abc", b"\x08\x02\x12\x03abc")) as url:
        _, statement = peeked(url)
    assert options(statement)[1].options["format"] == "raw_bytes"


def test_websockets_are_found_by_their_scheme(peeked):
    with serving(sends('{"n": 1}', '{"n": 2}')) as url:
        _, statement = peeked(url)
    assert options(statement)[0] == "websocket"


def test_where_nothing_comes_it_is_said(peeked):
    with serving(sends()) as url:
        text, statement = peeked(url)
    assert text == "no message came in 0.4 s"
    assert statement == ""


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        ("gopher://host/x", RunProblem, "no connector can look into 'gopher://host/x'"),
        ("http://127.0.0.1:{port}", Unreached, "cannot be reached"),
        ("http://", RunProblem, "is not at a URL of HTTP"),
    ],
)
def test_what_cannot_be_looked_into_is_told(url, kind, says):
    with pytest.raises(kind, match=says):
        # The same name of the test in each process: its port is found here.
        feeds.peek(url.format(port=free_port()), {}, check=look, seconds=1)


def test_a_look_can_be_interrupted():
    began_s = time.monotonic()

    def interrupt():
        if time.monotonic() - began_s > 0.2:
            raise KeyboardInterrupt

    with silent() as port:
        for url in (f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}"):
            began_s = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                feeds.peek(url, {}, check=interrupt, seconds=1)
            assert time.monotonic() - began_s < 1.5
