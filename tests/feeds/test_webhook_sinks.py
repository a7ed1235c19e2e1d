"""Rows that are posted to a real server: in order, again, refused, stopped."""

import socket
import threading
import time

import pyarrow as pa
import pytest
from feed_servers import (
    HttpServer,
    drip,
    free_port,
    make_certificate,
    reply,
    silent,
    spec_of,
)

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds.connectors import webhook
from arroyo_nb.feeds.connectors.webhook import WebhookWriter
from arroyo_nb.feeds.payloads import VALUE

WEBHOOK = CONNECTORS.get("webhook")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(webhook, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(webhook, "LONGEST_WAIT_S", 0.02)


@pytest.fixture
def writer():
    """Makes writers, and closes them."""
    made = []

    def make(url, **options):
        made.append(WebhookWriter(spec_of(WEBHOOK, url, **options)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def batch(*texts):
    return pa.table({VALUE: pa.array(texts, pa.string())})


def bodies(server):
    return [request.body.decode() for request in server.requests]


def test_each_row_is_a_post_in_order_over_one_connection(writer):
    with HttpServer(lambda h: reply(h, 200, b"thanks")) as server:
        hook = writer(server.url + "/hook", headers="X-Key: a")
        assert hook.take(batch("1", "2", "3"), 0) == 3
        assert hook.take(batch(), 1) == 0
        assert hook.take(batch("4"), 2) == 1
    assert bodies(server) == ["1", "2", "3", "4"]
    assert {(r.command, r.path) for r in server.requests} == {("POST", "/hook")}
    assert {r.headers["X-Key"] for r in server.requests} == {"a"}
    assert {r.headers["Content-Type"] for r in server.requests} == {"application/json"}
    assert len({r.client_address for r in server.requests}) == 1


@pytest.mark.parametrize(
    ("options", "content_type"),
    [
        ({"format": "raw_string"}, "text/plain; charset=utf-8"),
        ({"format": "raw_bytes"}, "application/octet-stream"),
        ({"headers": "content-type: text/csv"}, "text/csv"),
    ],
)
def test_the_content_type_is_the_format_s_unless_a_header_says_otherwise(
    writer, options, content_type
):
    with HttpServer(lambda h: reply(h, 204)) as server:
        writer(server.url, **options).take(batch("1"), 0)
    assert server.requests[0].headers.get_all("Content-Type") == [content_type]


def test_changes_of_a_batch_are_documents(writer):
    changes = pa.table(
        {
            "row": ['{"n":1}', '{"n":2}'],
            WEIGHT: pa.array([-1, 1], pa.int64()),
            ROW_ID: ["a", "a"],
        }
    )
    with HttpServer(lambda h: reply(h, 200)) as server:
        assert writer(server.url, format="debezium_json").take(changes, 0) == 1
    assert bodies(server) == ['{"before":{"n":1},"after":{"n":2},"op":"u"}']


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_row_is_posted_again_until_it_is_taken_and_none_overtakes_it(writer, status):
    answers = iter([200, status, status, 200, 200])
    with HttpServer(lambda h: reply(h, next(answers))) as server:
        assert writer(server.url).take(batch("1", "2", "3"), 0) == 3
    assert bodies(server) == ["1", "2", "2", "2", "3"]


def test_a_row_that_is_refused_ends_the_run_with_its_place_and_the_answer(writer):
    answers = iter([200, 422])
    with HttpServer(lambda h: reply(h, next(answers), b"n is too large")) as server:
        with pytest.raises(RunProblem) as failed:
            writer(server.url).take(batch("1", "2", "3"), 7)
        assert not isinstance(failed.value, Unreached)
    said = failed.value.message
    assert said.startswith("row 2 of batch 7 was not taken: the server of 'numbers'")
    assert said.endswith("answers 422 Unprocessable Entity: n is too large")
    assert bodies(server) == ["1", "2"]


def test_a_server_that_was_never_there_is_told_soon(writer, monkeypatch):
    monkeypatch.setattr(webhook, "FIRST_PATIENCE_S", 0.1)
    hook = writer(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unreached, match="cannot be reached: connection refused"):
        hook.take(batch("1"), 0)


def test_a_server_that_asks_for_hours_gets_no_more_than_patience(writer, monkeypatch):
    monkeypatch.setattr(webhook, "FIRST_PATIENCE_S", 0.3)
    with HttpServer(lambda h: reply(h, 503, Retry_After="3600")) as server:
        began_s = time.monotonic()
        with pytest.raises(Unreached, match="answers 503"):
            writer(server.url).take(batch("1"), 0)
        assert time.monotonic() - began_s < 10.0
    # At once, and when patience ends.
    assert bodies(server)[:2] == ["1", "1"]


def test_a_row_is_taken_though_its_answer_comes_slowly(writer, monkeypatch):
    monkeypatch.setattr(webhook, "_READ_S", 0.1)
    with HttpServer(lambda h: drip(h, 200)) as server:
        began_s = time.monotonic()
        assert writer(server.url).take(batch("1", "2"), 0) == 2
        assert time.monotonic() - began_s < 5.0
    assert bodies(server) == ["1", "2"]


def test_a_server_that_goes_is_waited_for(writer, monkeypatch):
    monkeypatch.setattr(webhook, "FIRST_PATIENCE_S", 0.0)
    with HttpServer(lambda h: reply(h, 200)) as server:
        hook = writer(server.url)
        hook.take(batch("1"), 0)
    monkeypatch.setattr(webhook, "PATIENCE_S", 0.05)
    with pytest.raises(Unreached):
        hook.take(batch("2"), 1)
    monkeypatch.setattr(webhook, "PATIENCE_S", 30.0)
    posted = threading.Thread(target=hook.take, args=(batch("2", "3"), 1))
    posted.start()
    with HttpServer(lambda h: reply(h, 200), port=server.port) as again:
        posted.join(30)
    assert bodies(again) == ["2", "3"]


@pytest.mark.parametrize("state", ["hanging", "away"])
def test_a_stop_is_heard_in_the_middle_of_a_batch(
    writer, state, eventually, monkeypatch
):
    monkeypatch.setattr(webhook, "FIRST_PATIENCE_S", 60.0)
    monkeypatch.setattr(webhook, "LONGEST_WAIT_S", 60.0)
    monkeypatch.setattr(webhook, "FIRST_WAIT_S", 60.0)
    failed = []

    def take():
        try:
            hook.take(batch("1"), 3)
        except Unreached as problem:
            failed.append(problem.message)

    with silent() as hanging:
        port = hanging if state == "hanging" else free_port()
        hook = writer(f"http://127.0.0.1:{port}")
        post = threading.Thread(target=take)
        post.start()
        if state == "hanging":
            eventually(lambda: hook._socket._newest is not None)
        began_s = time.monotonic()
        hook.give_up()
        post.join(10)
        assert time.monotonic() - began_s < 1.0
    assert failed == ["the run was stopped before row 1 of batch 3 was taken"]


def reach(url):
    WEBHOOK.reach(spec_of(WEBHOOK, url), lambda: None)


@pytest.fixture
def _no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("_no_proxy")
def test_a_server_that_is_there_is_sent_no_request_before_a_run():
    with HttpServer(lambda h: reply(h, 500)) as server:
        reach(server.url + "/hook")
        with socket.create_connection(("127.0.0.1", server.port)) as later:
            later.sendall(b"GET /later HTTP/1.0\r\n\r\n")
            later.recv(100)
    # Connections are answered in their order.
    assert [request.path for request in server.requests] == ["/later"]


@pytest.mark.usefixtures("_no_proxy")
@pytest.mark.parametrize(
    ("url", "kind", "said"),
    [
        ("http://127.0.0.1:{free}/hook", Unreached, "connection refused"),
        ("https://127.0.0.1:{free}", Unreached, "connection refused"),
        ("http://nobody.invalid/hook", Unreached, "cannot be reached: "),
        (f"http://{'a' * 70}.example/", RunProblem, "is not at a URL of HTTP"),
        ("https://127.0.0.1:{plain}", Unreached, "cannot be reached: "),
    ],
    ids=["away", "away, encrypted", "no name", "no URL", "not encrypted"],
)
def test_a_server_that_is_not_there_is_told_before_a_run(url, kind, said):
    with (
        HttpServer(lambda h: reply(h, 200)) as server,
        pytest.raises(kind, match=said) as told,
    ):
        reach(url.format(free=free_port(), plain=server.port))
    assert told.value.message.startswith("the server of 'numbers', http")


@pytest.mark.usefixtures("_no_proxy")
def test_a_certificate_is_verified_before_a_run(tmp_path, monkeypatch):
    certificate, context = make_certificate(tmp_path)
    with HttpServer(lambda h: reply(h, 200), context=context) as server:
        url = f"https://localhost:{server.port}"
        with pytest.raises(RunProblem, match="a certificate that is not valid"):
            reach(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        reach(url)
        with pytest.raises(RunProblem, match="a certificate that is not valid"):
            reach(f"https://127.0.0.1:{server.port}")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
        with pytest.raises(RunProblem, match="certificates to trust cannot be read"):
            reach(url)


@pytest.mark.usefixtures("_no_proxy")
@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_behind_a_proxy_nothing_is_checked(monkeypatch, name):
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    reach(f"http://127.0.0.1:{free_port()}")


@pytest.mark.usefixtures("_no_proxy")
def test_a_run_does_not_start_without_its_webhook(session, monkeypatch):
    posted = []
    monkeypatch.setattr(WebhookWriter, "_post", lambda _, *row: posted.append(row))
    with pytest.raises(Unreached, match=r"the server of 'hook', .*connection refused"):
        session.run(
            f"""CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);
            CREATE TABLE hook (n BIGINT) WITH (connector = 'webhook',
              endpoint = 'http://127.0.0.1:{free_port()}', format = 'json');
            INSERT INTO hook SELECT counter FROM ticks""",
            wait=True,
        )
    assert not posted
