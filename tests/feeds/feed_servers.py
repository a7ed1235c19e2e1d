"""Servers of feeds in the process of a test, and tables of them."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from copy import copy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from machine import allowed

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.feeds.receiver import Receiver
from arroyo_nb.schema import BIGINT, Field, Schema

SCHEMA = Schema((Field("n", BIGINT, nullable=False),))


def feed_of(connector, endpoint, **options):
    """The feed of a table, as a run would make it."""
    connector = CONNECTORS.get(connector)
    return connector.feed(spec_of(connector, endpoint, **options))


def spec_of(connector, endpoint, **options):
    defaults = {o.name: o.default for o in connector.info.options if o.default}
    given = {"format": "json", "bad_data": "fail", "endpoint": endpoint, **options}
    return TableSpec("numbers", SCHEMA, {**defaults, **given})


def taken(receiver, count, within_s=30.0):
    """So many messages."""
    found, until_s = [], time.monotonic() + allowed(within_s)
    while len(found) < count:
        assert time.monotonic() < until_s, f"{len(found)} of {count} messages came"
        found += receiver.take(0.05)
    return found


def payloads(feed, count, within_s=30.0):
    """The payloads of the first messages of a feed."""
    with Receiver(feed, None, resumed=False) as receiver:
        # Those that came at once may be more.
        found = taken(receiver, count, within_s)[:count]
        return [message.payload for message in found]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, handler, context):
        self.open = set()
        self._context = context
        super().__init__(address, handler)

    def get_request(self):
        client, address = super().get_request()
        if self._context is not None:
            client = self._context.wrap_socket(
                client, server_side=True, do_handshake_on_connect=False
            )
        self.open.add(client)
        return client, address

    def shutdown_request(self, request):
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        """Clients go away in the middle: that is what is tested."""


class HttpServer:
    """A server of HTTP/1.1 whose answers a function writes.

    Parameters
    ----------
    answer
        Is called with the handler of each request.
    port
        0: any that is free.
    context
        Of TLS.
    """

    def __init__(self, answer, port=0, context=None):
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30
            disable_nagle_algorithm = True

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length)
                # The handler is that of the next request of a connection, too.
                outer.requests.append(copy(self))
                answer(self)

            do_GET = do_POST = do_PUT = handle_any  # noqa: N815

            def log_message(self, *_):
                pass

        self._server = _Server(("127.0.0.1", port), Handler, context)
        self.port = self._server.server_port
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for client in tuple(self._server.open):
            with suppress(OSError):
                socket.socket.shutdown(client, socket.SHUT_RDWR)


def reply(handler, status, body=b"", **headers):
    """A whole answer."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def drip(handler, status):
    """An answer of 1,000 bytes, 100 of them a second."""
    handler.send_response(status)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b"x")
        time.sleep(0.01)


def begin_events(handler, **headers):
    """The head of an answer of events, which ends with its connection."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.close_connection = True


def wait_for_end(handler):
    """Keep an answer open until its client goes."""
    handler.connection.settimeout(30)
    with suppress(OSError):
        while handler.connection.recv(1024):
            pass


def free_port():
    with socket.socket() as taken_port:
        taken_port.bind(("127.0.0.1", 0))
        return taken_port.getsockname()[1]


@contextmanager
def silent():
    """The port of a server that lets everybody in and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def make_certificate(folder, name="localhost"):
    """A certificate of its own, and a context of a server that has it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", key, "-out", certificate, "-subj", f"/CN={name}"]
    command += ["-addext", f"subjectAltName=DNS:{name}"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context
