"""How Spark calls Python back: a server that outlives a lack of descriptors, and
connections that end with the queries that made them.

Each streaming query has a JVM thread of its own, and py4j keeps a connection for each
JVM thread that ever called back, with a Python thread that waits at its other end. None
is closed when the JVM's thread has ended. And py4j's server ends for good when it
cannot accept a connection, after which every query waits for ever.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from py4j import protocol
from py4j.clientserver import PythonServer
from py4j.java_gateway import JavaObject, server_started, server_stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_USED_UP = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

BACKLOG = 128
"""How many connections may wait to be accepted."""

LOOK_S = 5.0
"""How often the server looks whether it was shut down, where nothing wakes it."""

RETRY_S = 0.1
"""How long it waits before it tries again, where it could not even refuse."""

REFUSAL_S = 2.0
"""How long one that is refused may take to say what it wanted."""


def start_server(gateway: Any) -> None:
    """Start the server of a gateway, in place of the one that PySpark would start with
    the first query. One that runs already stays."""
    if gateway.__dict__.get("_callback_server") is not None:
        return
    parameters = gateway.callback_server_parameters
    parameters.eager_load = True
    parameters.daemonize = parameters.daemonize_connections = True
    parameters.port = 0
    server = CallbackServer(
        gateway._gateway_client,
        gateway.java_parameters,
        parameters,
        gateway.gateway_property,
    )
    server.start()
    gateway._callback_server = server
    gateway._python_proxy_port = server.port = server.get_listening_port()
    java = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    java.resetCallbackClient(java.getCallbackClient().getAddress(), server.port)


def close_idle_connections(session: SparkSession) -> None:
    """Close the connections of JVM threads that are not in a call.

    Those of threads that have ended are among them, which nothing else would close. A
    thread that calls back again opens another one.
    """
    gateway: Any = session.sparkContext._gateway
    server = gateway.__dict__.get("_callback_server")
    # Spark's own listeners in Python are called back too, by a server that PySpark
    # started: closing is as harmless to them.
    if server is not None:
        java = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        java.getCallbackClient().periodicCleanup()


class CallbackServer(PythonServer):  # type: ignore[misc]
    """Accepts the connections of JVM threads.

    It holds one descriptor in reserve. Where there is no other, it takes the call with
    that one and answers that descriptors are used up, which fails the query.
    """

    def start(self) -> None:
        """Start to listen, on a thread."""
        self._reserve: int | None = _open_reserve()
        super().start()
        # Whoever starts it may call at once, and the thread listens a moment later.
        self.server_socket.listen(BACKLOG)

    def run(self) -> None:
        """Accept until it is shut down."""
        listener = self.server_socket
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        listener.listen(BACKLOG)
        server_started.send(self, server=self)
        while not self.is_shutdown:
            poll.poll(LOOK_S * 1000)
            if self.is_shutdown:
                break
            try:
                self._accept(listener)
            except Exception as error:
                # Whatever it was: who calls back next must not wait for ever.
                _log.debug("a callback was not accepted", exc_info=error)
                time.sleep(RETRY_S)
        self._release_reserve()
        server_stopped.send(self, server=self)

    def _accept(self, listener: socket.socket) -> None:
        if self._reserve is None:
            self._reserve = _open_reserve()
        try:
            found, _ = listener.accept()
        except OSError as error:
            if error.errno not in _USED_UP or self._reserve is None:
                raise
            self._refuse(listener, error)
            return
        connection = self._create_connection(found, found.makefile("rb"))
        with self.lock:
            if self.is_shutdown:
                connection.close()
                return
            self.connections.add(connection)
            try:
                connection.start()
            except RuntimeError:  # no further thread
                connection.close()
                raise

    def _refuse(self, listener: socket.socket, why: OSError) -> None:
        """Answer one call with the error, by the descriptor in reserve."""
        self._release_reserve()
        found, _ = listener.accept()
        with found, suppress(OSError):
            found.settimeout(REFUSAL_S)
            _read_command(found)
            text = protocol.get_command_part(str(why), self.pool)
            answer = protocol.RETURN_MESSAGE + protocol.ERROR + text
            found.sendall(answer.encode())
        self._reserve = _open_reserve()

    def _release_reserve(self) -> None:
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            os.close(reserve)


def _open_reserve() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def _read_command(caller: socket.socket) -> None:
    """Read a command to its end, as who sent it listens only then."""
    end = f"\n{protocol.END}\n".encode()
    received = b""
    while not received.endswith(end):
        part = caller.recv(65_536)
        if not part:
            return
        received = received[-len(end) :] + part
