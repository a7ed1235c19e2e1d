"""The sockets below requests of HTTP: how a thread that waits for one is woken."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

IDLE_S, INTERVAL_S, PROBES = 30, 10, 3
"""A silent server is probed after so long, and is gone when it answers none of the
probes."""


def end_reading(answer: httpx.Response) -> None:
    """Let the thread that reads an answer find its end; from any other thread."""
    if (found := _socket(answer.extensions.get("network_stream"))) is not None:
        _shut_down(found)


def probe_silence(answer: httpx.Response) -> None:
    """Have the system find out whether a silent server is gone: a stream may have
    nothing to say for hours, and a machine that lost its power says nothing either."""
    if (found := _socket(answer.extensions.get("network_stream"))) is None:
        return
    # Some systems have no such settings.
    with suppress(OSError, AttributeError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, INTERVAL_S)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)


class OpenSocket:
    """The newest socket of a client, also while it waits for an answer; the extension
    ``trace`` of its requests."""

    def __init__(self) -> None:
        self._newest: socket.socket | None = None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Is told what happens below a request."""
        if event in _OPENED:
            self._newest = _socket(info.get("return_value"))

    def shut_down(self) -> None:
        """Let whoever waits for an answer find the connection closed."""
        if self._newest is not None:
            _shut_down(self._newest)


_OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


def _shut_down(found: socket.socket) -> None:
    # Not by the method of a TLS socket, which would take it from under its reader.
    with suppress(OSError):
        socket.socket.shutdown(found, socket.SHUT_RDWR)


def _socket(stream: Any) -> socket.socket | None:
    found = None if stream is None else stream.get_extra_info("socket")
    return found if isinstance(found, socket.socket) else None
