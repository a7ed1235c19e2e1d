"""A schema registry that is away, and what answers in its place."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from redis_server import free_port

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.kafka.schema_registry import registered
from arroyo_nb.schema import Schema


def register(port):
    endpoint = f"http://127.0.0.1:{port}"
    options = {"topic": "clicks", "schema_registry.endpoint": endpoint}
    return registered(TableSpec("out", Schema(()), options), {})


@contextmanager
def answering(text):
    """The port of a server that answers everything so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_one_that_is_away_is_waited_for_and_named():
    port = free_port()
    said = f"of 'out' at http://127.0.0.1:{port} does not answer"
    with pytest.raises(Unreached, match=said):
        register(port)


@pytest.mark.parametrize("text", [b"<html>", b"[]", b'{"id": null}'])
def test_what_is_no_registry_is_told_at_once(text):
    with (
        answering(text) as port,
        pytest.raises(RunProblem, match="answers what no schema registry does") as told,
    ):
        register(port)
    assert not isinstance(told.value, Unreached)


def test_the_number_of_a_schema():
    with answering(b'{"id": 7}') as port:
        assert register(port) == 7
