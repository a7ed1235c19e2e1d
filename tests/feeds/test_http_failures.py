"""Redirects, certificates and secrets, whoever sends the request."""

from contextlib import ExitStack
from functools import partial

import httpx
import pytest
from feed_servers import (
    HttpServer,
    drip,
    feed_of,
    make_certificate,
    payloads,
    reply,
    spec_of,
    wait_for_end,
)

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import http_errors
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.http import new_client, send
from arroyo_nb.schema import Schema

SECRET = "Authorization: Bearer abcde, Cookie: id=rose, X-Api-Key: fghij"


def polled(url, **options):
    return payloads(feed_of("polling_http", url, **options), 1)


def refusal(url, **options):
    """The error of the first poll."""
    with pytest.raises(RunProblem) as failed:
        polled(url, **options)
    return str(failed.value)


def redirect(to, status=302):
    return lambda handler: reply(handler, status, Location=to)


def test_a_redirect_on_the_same_server_takes_the_headers_along():
    def answer(handler):
        if handler.path == "/old":
            return reply(handler, 302, Location="/new")
        return reply(handler, 200, handler.headers["X-Api-Key"].encode())

    with HttpServer(answer) as server:
        assert polled(server.url + "/old", headers=SECRET) == [b"fghij"]
        assert [r.path for r in server.requests] == ["/old", "/new"]


@pytest.mark.parametrize("connector", ["polling_http", "sse", "websocket"])
def test_the_value_of_a_header_is_any_text(connector):
    with HttpServer(lambda h: reply(h, 401)) as server:
        url = server.url if connector != "websocket" else f"ws{server.url[4:]}"
        with pytest.raises(RunProblem, match="refuses"):
            payloads(feed_of(connector, url, headers="X-Key: \u00e4\u20ac"), 1)
    sent = server.requests[0].headers["X-Key"]
    assert sent.encode("latin-1").decode() == "\u00e4\u20ac"


def test_no_header_of_the_table_goes_to_another_server():
    with ExitStack() as stack:
        other = stack.enter_context(HttpServer(lambda h: reply(h, 200, b"1")))
        # The same machine at another port is another server.
        server = stack.enter_context(HttpServer(redirect(other.url + "/x?key=klmno")))
        assert polled(server.url, headers=SECRET) == [b"1"]
    sent = other.requests[0].headers
    assert not {"Authorization", "Cookie", "X-Api-Key"} & set(sent)
    assert "rose" not in str(sent)


def test_a_ring_of_redirects_is_left():
    with HttpServer(redirect("/again")) as server:
        assert "redirects more than 5 times" in refusal(server.url)
    assert len(server.requests) == 6


def test_what_is_posted_is_not_sent_on():
    with HttpServer(redirect("http://other.example/x?key=klmno", 307)) as server:
        said = refusal(server.url, method="POST")
    assert "redirects to http://other.example, and only a GET is sent on" in said
    assert "klmno" not in said


def test_the_body_of_a_get_goes_to_no_other_server():
    def answer(handler):
        to = "/new" if handler.path == "/old" else f"{other.url}/x?key=klmno"
        reply(handler, 302, Location=to)

    with HttpServer(lambda h: reply(h, 200, b"1")) as other, HttpServer(answer) as one:
        said = refusal(one.url + "/old", body="token=pqrst")
    # On the same server it goes along.
    assert [r.body for r in one.requests] == [b"token=pqrst"] * 2
    assert not other.requests
    assert f"redirects to {other.url}, and a body is sent to no other server" in said
    assert "klmno" not in said


@pytest.mark.parametrize(
    ("connector", "url"),
    [
        ("websocket", "ws://[bad"),
        ("websocket", "ws://127.0.0.1:99999/"),
        ("websocket", f"ws://{'a' * 70}.example"),
        ("polling_http", "http://127.0.0.1:x/"),
        ("sse", f"http://{'a' * 70}.example"),
    ],
)
def test_what_a_variable_has_may_be_no_url(connector, url):
    with pytest.raises(RunProblem, match="is not at a URL of") as failed:
        payloads(feed_of(connector, url), 1)
    assert failed.value.hint == "check the URL"


@pytest.mark.parametrize("connector", ["polling_http", "sse", "websocket"])
@pytest.mark.parametrize("trusted", [False, True])
def test_a_certificate_must_be_trusted_and_of_that_name(
    connector, trusted, tmp_path, monkeypatch
):
    certificate, context = make_certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with HttpServer(lambda h: reply(h, 200, b"1"), context=context) as server:
        # The certificate is of localhost.
        url = server.url
        if connector == "websocket":
            url = url.replace("https", "wss")
        with pytest.raises(RunProblem, match="certificate that is not valid") as failed:
            payloads(feed_of(connector, url), 1)
        why = "IP address mismatch" if trusted else "self-signed certificate"
        assert why in failed.value.message
        if trusted and connector == "polling_http":
            assert polled(url.replace("127.0.0.1", "localhost")) == [b"1"]


def test_what_is_encrypted_is_not_sent_on_in_the_clear(tmp_path, monkeypatch):
    certificate, context = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with HttpServer(redirect("http://localhost/x"), context=context) as server:
        said = refusal(f"https://localhost:{server.port}", headers=SECRET)
    assert "redirects to http://localhost, which is not encrypted" in said


@pytest.mark.parametrize("connector", ["polling_http", "sse", "websocket"])
def test_no_log_has_a_secret(connector, caplog):
    """Whatever the clients log, at whatever level the user has set."""
    caplog.set_level("DEBUG")
    with HttpServer(lambda h: reply(h, 401)) as server:
        url = server.url if connector != "websocket" else f"ws{server.url[4:]}"
        with pytest.raises(RunProblem, match="refuses"):
            payloads(feed_of(connector, f"{url}/?key=klmno", headers=SECRET), 1)
    assert server.requests[0].headers["X-Api-Key"] == "fghij"
    assert not [word for word in ("klmno", "fghij", "abcde") if word in caplog.text]


def test_requests_of_others_are_logged_as_before(caplog):
    caplog.set_level("INFO", "httpx")
    with HttpServer(lambda h: reply(h, 200, b"1")) as server:
        polled(server.url + "/ours")
        httpx.get(server.url + "/theirs", trust_env=False)
    assert "/theirs" in caplog.text
    assert "/ours" not in caplog.text


def test_a_server_that_repeats_a_secret_does_not_bring_it_into_the_error():
    def answer(handler):
        reply(handler, 400, f"bad token {handler.headers['Authorization']}".encode())

    with HttpServer(answer) as server:
        said = refusal(server.url, headers=SECRET)
    assert "bad token ****" in said
    assert "abcde" not in said


def test_of_an_error_that_comes_slowly_the_beginning_is_told(monkeypatch):
    monkeypatch.setattr(http_errors, "_EXCERPT_S", 0.2)
    with HttpServer(lambda h: drip(h, 400)) as server:
        said = refusal(server.url)
    assert "answers 400 Bad Request: xx" in said
    # All of it would be longer than what is shown.
    assert not said.endswith("\u2026")


def test_an_error_whose_body_never_comes_is_told_by_its_status(monkeypatch):
    monkeypatch.setattr("arroyo_nb.feeds.http.ANSWER_S", 0.3)

    def answer(handler):
        handler.send_response(401)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        wait_for_end(handler)

    with HttpServer(answer) as server:
        assert "refuses the request (401 Unauthorized)" in refusal(server.url)


def test_a_server_that_repeats_its_url_does_not_bring_a_variable_into_the_error(
    monkeypatch,
):
    monkeypatch.setenv("HOOK", "T0001/klmnopqr?key=stuvw")
    with HttpServer(lambda h: reply(h, 400, f"bad path {h.path}".encode())) as server:
        options = {"endpoint": server.url + "/{{ HOOK }}", "format": "json"}
        spec = TableSpec("t", Schema(), options).resolved()
        endpoint = Endpoint.of(spec)
        with new_client() as client, pytest.raises(RunProblem) as failed:
            send(client, endpoint)
    said = str(failed.value)
    assert "bad path /****/****?key=****" in said
    assert not [word for word in ("T0001", "klmnopqr", "stuvw") if word in said]


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("sse", "httpx"),
        ("polling_http", "httpx"),
        ("webhook", "httpx"),
        ("websocket", "websockets"),
    ],
)
def test_a_package_that_is_missing_is_named(name, package, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda found: found != package or None
    )
    connector = CONNECTORS.get(name)
    assert connector.info.python_packages == (package,)
    spec = spec_of(connector, "http://host.example")
    use = partial(connector.writer, state=tmp_path)
    with pytest.raises(RunProblem) as failed:
        (use if name == "webhook" else connector.recorder)(spec)
    said = f"the table 'numbers' needs the package {package}"
    assert failed.value.message == said
    assert failed.value.hint == "pip install 'arroyo-nb[feeds]'"


def test_an_endpoint_shows_no_secret(monkeypatch):
    monkeypatch.setenv("KEY", "pqrst")
    options = {
        "endpoint": "https://ann:rose@host.example/a?key={{ KEY }}",
        "headers": "Authorization: Bearer {{ KEY }}",
    }
    endpoint = Endpoint.of(TableSpec("t", Schema(), options).resolved())
    assert endpoint.headers == (("Authorization", "Bearer pqrst"),)
    assert endpoint.url == "https://ann:rose@host.example/a?key=pqrst"
    said = repr(endpoint) + endpoint.unreached("is away").message
    assert "rose" not in said
    assert "pqrst" not in said
    assert "host.example/a?key={{ KEY }}" in said
