"""The endpoint of a job under requests of somebody who means harm."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http import HTTPStatus

import pytest

from arroyo_nb.jobs.runner import server
from arroyo_nb.jobs.runner.server import (
    HOST,
    MOST_BYTES,
    MOST_CONNECTIONS,
    HttpAnswer,
    serving,
)

LOCAL = b"Host: 127.0.0.1\r\n\r\n"


def broken():
    raise ValueError("secret")


@pytest.fixture(scope="module")
def port():
    pages = {"/healthz": lambda: HttpAnswer(HTTPStatus.OK, b"well"), "/broken": broken}
    with serving(pages, 0) as taken:
        yield taken


def sent(port, request, timeout=10):
    """Everything that is answered to bytes, until the connection ends."""
    with socket.create_connection((HOST, port), timeout=timeout) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(65536):
                answer += piece
        return answer


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\n" + LOCAL, 200),
        (b"GET /healthz HTTP/1.1\r\nhost: LOCALHOST:80\r\n\r\n", 200),
        (b"GET /healthz?x=/../ HTTP/1.0\r\n\r\n", 200),
        (b"HEAD /healthz HTTP/1.1\r\n" + LOCAL, 200),
        (b"POST /healthz HTTP/1.1\r\nContent-Length: 9999999\r\n" + LOCAL, 405),
        (b"DELETE /healthz HTTP/1.1\r\n" + LOCAL, 405),
        (b"GET /../../etc/passwd HTTP/1.1\r\n" + LOCAL, 404),
        (b"GET /%2e%2e/etc/passwd HTTP/1.1\r\n" + LOCAL, 404),
        (b"GET http://example.com/healthz HTTP/1.1\r\n" + LOCAL, 400),
        ("GET /héalthz HTTP/1.1\r\n".encode() + LOCAL, 400),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + LOCAL, 421),
        (b"GET /healthz HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", 421),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET /broken HTTP/1.1\r\n" + LOCAL, 500),
        (b"GET /" + b"a" * (2 * MOST_BYTES), 431),
        (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * MOST_BYTES + LOCAL, 431),
    ],
)
def test_a_request_is_answered_or_refused(port, request_, expected):
    answer = sent(port, request_)
    assert status(answer) == expected
    assert b"secret" not in answer
    assert not answer.endswith(b"well") or not request_.startswith(b"HEAD")


def test_one_request_a_connection(port):
    garbage = b"GET /healthz HTTP/1.1\r\n" + LOCAL + b"\x00garbage" * 1000
    answer = sent(port, 2 * garbage)
    assert answer.count(b"HTTP/1.1") == 1


def test_slow_and_silent_clients_keep_nobody_out_for_long(monkeypatch):
    monkeypatch.setattr(server, "REQUEST_S", 0.6)
    pages = {"/healthz": lambda: HttpAnswer(HTTPStatus.OK, b"well")}
    threads = threading.active_count()
    with serving(pages, 0) as port, contextlib.ExitStack() as clients:
        crowd = [
            clients.enter_context(socket.create_connection((HOST, port), timeout=10))
            for _ in range(6 * MOST_CONNECTIONS)
        ]
        deadline = time.monotonic() + 20
        while not status(sent(port, b"GET /healthz HTTP/1.1\r\n" + LOCAL)):
            assert threading.active_count() <= threads + MOST_CONNECTIONS + 1
            assert time.monotonic() < deadline
            for client in crowd:  # a byte now and then is no request either
                with contextlib.suppress(OSError):
                    client.send(b"G")


def test_it_listens_on_loopback_only(port):
    with (
        pytest.raises(OSError, match=r"."),
        socket.create_connection(("127.0.0.2", port), timeout=5),
    ):
        pass
