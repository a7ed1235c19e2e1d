"""A small HTTP server for loopback that no client can take down.

One request a connection, GET or HEAD, of at most :data:`MOST_BYTES`, within
:data:`REQUEST_S`, however slowly it comes; at most :data:`MOST_CONNECTIONS` at once,
and whoever comes then is turned away. So memory and threads are bounded. A request
whose ``Host`` is not this machine is refused: a page of another site, whose name was
made to lead here, may not read the answer (DNS rebinding).
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus

from arroyo_nb.errors import RunProblem

HOST = "127.0.0.1"
MOST_BYTES = 8_192
MOST_CONNECTIONS = 16
REQUEST_S = 5.0
"""How long a request may take to come, and its answer to go."""

_ACCEPT_S = 0.2
_REQUEST = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]\Z")
_LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?\Z", re.IGNORECASE)
_METHODS = ("GET", "HEAD")


@dataclass(frozen=True)
class HttpAnswer:
    """What is answered."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain; charset=utf-8"

    @classmethod
    def of_json(cls, status: HTTPStatus, value: object) -> HttpAnswer:
        """An answer that is a JSON document."""
        return cls(status, json.dumps(value, default=str).encode(), "application/json")

    def bytes(self, *, head: bool) -> bytes:
        """As it is sent; a HEAD is answered without the body."""
        headers = {
            "Content-Type": self.kind,
            "Content-Length": str(len(self.body)),
            "Connection": "close",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        if self.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_METHODS)
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += (f"{name}: {value}" for name, value in headers.items())
        start = "\r\n".join((*lines, "", "")).encode("ascii")
        return start if head else start + self.body


Page = Callable[[], HttpAnswer]


@contextmanager
def serving(pages: Mapping[str, Page], port: int) -> Iterator[int]:
    """Answer while it is held; gives the port, also where 0 asked for a free one.

    Parameters
    ----------
    pages
        What answers, by its path; called on threads of the server.

    Raises
    ------
    RunProblem
        When the port is taken.
    """
    try:
        listener = socket.create_server((HOST, port), backlog=MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a port"
        raise RunProblem(
            f"nothing can be served at {HOST}:{port}: {reason}",
            hint="choose another port; 0 takes a free one",
        ) from error
    server = _Server(pages, listener)
    thread = threading.Thread(target=server.accept_on, name="endpoint", daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.over.set()
        thread.join()
        listener.close()


class _Server:
    def __init__(self, pages: Mapping[str, Page], listener: socket.socket) -> None:
        self._pages = pages
        self._listener = listener
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.over = threading.Event()

    def accept_on(self) -> None:
        """Accept connections until the server is over; on its own thread."""
        # So that the thread sees that it is over: closing a socket does not wake who
        # accepts on it.
        self._listener.settimeout(_ACCEPT_S)
        while not self.over.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # as where no descriptor is left
                self.over.wait(_ACCEPT_S)
                continue
            # Turned away at once: one that waited here would keep the others, a probe
            # among them, from being answered.
            if not self._free.acquire(blocking=False):
                client.close()
                continue
            thread = threading.Thread(target=self._answer, args=(client,), daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread is left
                self._free.release()
                client.close()

    def _answer(self, client: socket.socket) -> None:
        deadline_s = time.monotonic() + REQUEST_S
        try:
            with client, suppress(OSError):
                method, answer = self._answered(_head(client, deadline_s))
                left_s = max(deadline_s - time.monotonic(), _ACCEPT_S)
                client.settimeout(left_s)
                client.sendall(answer.bytes(head=method == "HEAD"))
                client.shutdown(socket.SHUT_WR)
                # What it still sends is read, or it may never see the answer: a
                # connection that is closed on unread bytes is reset.
                _drain(client, deadline_s)
        finally:
            self._free.release()

    def _answered(self, head: bytes | None) -> tuple[str, HttpAnswer]:
        if head is None:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            return "GET", _refused(status, f"at most {MOST_BYTES} bytes")
        first, *fields = head.split(b"\r\n")
        found = _REQUEST.match(first)
        if found is None:
            return "GET", _refused(HTTPStatus.BAD_REQUEST, "no request of HTTP")
        method, path = found[1].decode(), found[2].decode().partition("?")[0]
        if method not in _METHODS:
            return method, _refused(HTTPStatus.METHOD_NOT_ALLOWED, "GET or HEAD")
        # Before the path is looked at: a foreign page must not learn which pages there
        # are.
        if not _is_local(fields):
            why = f"ask {HOST} or localhost by its name"
            return method, _refused(HTTPStatus.MISDIRECTED_REQUEST, why)
        page = self._pages.get(path)
        if page is None:
            known = " or ".join(self._pages)
            return method, _refused(HTTPStatus.NOT_FOUND, known)
        try:
            return method, page()
        except Exception as error:  # a page that fails fails alone
            kind = type(error).__name__
            return method, _refused(HTTPStatus.INTERNAL_SERVER_ERROR, kind)


def _head(client: socket.socket, deadline_s: float) -> bytes | None:
    """The request without its body; None where it is too long.

    Raises
    ------
    OSError
        When it does not come in time.
    """
    read = b""
    while (end := read.find(b"\r\n\r\n")) < 0:
        if len(read) >= MOST_BYTES:
            return None
        piece = _received(client, MOST_BYTES - len(read), deadline_s)
        if not piece:
            raise ConnectionError
        read += piece
    return read[:end]


def _drain(client: socket.socket, deadline_s: float) -> None:
    left = 16 * MOST_BYTES
    while left > 0 and (piece := _received(client, MOST_BYTES, deadline_s)):
        left -= len(piece)


def _received(client: socket.socket, size: int, deadline_s: float) -> bytes:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    client.settimeout(left_s)
    return client.recv(size)


def _is_local(fields: list[bytes]) -> bool:
    """Whether a request names this machine: once, or, as of HTTP/1.0, not at all."""
    pairs = (field.partition(b":") for field in fields)
    hosts = [value for name, _, value in pairs if name.strip().lower() == b"host"]
    named = [value.decode("latin-1").strip() for value in hosts]
    return not named or (len(named) == 1 and bool(_LOCAL.match(named[0])))


def _refused(status: HTTPStatus, why: str) -> HttpAnswer:
    return HttpAnswer(status, f"{status.phrase}: {why}\n".encode())
