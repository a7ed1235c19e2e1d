"""A server of a test's own: a process that is killed, hung and started again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from machine import allowed

UP_S = 20.0


def program(name: str) -> str:
    """The path of a server; the test is skipped where it is not installed."""
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/usr/sbin:/bin")
    if found is None:
        pytest.skip(f"there is no {name}: scripts/servers.sh installs one")
    return found


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class ServerProcess:
    """A server that listens on a port; a context manager that ends it.

    Parameters
    ----------
    command
        Starts it.
    port
        Where it listens.
    log
        The file of its output.
    """

    def __init__(self, command: Sequence[str], port: int, log: Path) -> None:
        self.port = port
        self.log = log
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + allowed(UP_S)
        while not self._listens():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                pytest.fail(f"{self._command[0]}: {self.log.read_text()}")
            time.sleep(0.02)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.5).close()
        except OSError:
            return False
        return True

    def end(self) -> None:
        """Let it end by itself: what it keeps is on disk then."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once; harmless twice."""
        self._signal(signal.SIGKILL)

    def hang(self) -> None:
        """Let it do nothing, while its connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def memory_bytes(self) -> int:
        """What it has in memory."""
        assert self._process is not None
        return resident_bytes(self._process.pid)

    def _signal(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait()


def resident_bytes(pid: int | str = "self") -> int:
    """What a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
