"""A redis-server of a test's own, on a free port of loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

LAST_PORT = 65_535
BUS_ABOVE = 10_000
"""A server of a cluster listens there too, so far above its port."""


def free_port() -> int:
    while True:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = int(taken.getsockname()[1])
        if port + BUS_ABOVE <= LAST_PORT:
            return port


class Server:
    """A server that is up; ``client`` talks to it."""

    def __init__(self, folder: Path, *settings: str, port: int | None = None) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("there is no redis-server: scripts/servers.sh installs one")
        self.port = port or free_port()
        self.address = f"redis://127.0.0.1:{self.port}"
        given = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "")
        self._process = subprocess.Popen(
            [program, *given, "--dir", str(folder), *settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # What is asked while it starts is asked again here, and a login that it refuses
        # is no reason to wait.
        self.client = redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0))
        self._wait_until_up()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                self.client.ping()
            except redis.AuthenticationError:  # it wants a password of the test
                return
            except redis.ConnectionError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.end()
                    raise
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """End it at once; harmless twice."""
        self._process.kill()
        self.end()

    def end(self) -> None:
        """End it; harmless twice."""
        self.client.close()
        self._process.terminate()
        self._process.wait()


@contextmanager
def running(folder: Path, *settings: str, port: int | None = None) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server(folder, *settings, port=port)
    try:
        yield server
    finally:
        server.end()
