"""Processes that end with this one, also by kill -9: Spark's JVM, and Java programs
beside it.

The stdin of each is a pipe that only this process holds, and it ends when that closes.
Each is a session of its own, so that Ctrl-C in a terminal and Jupyter's interrupt do
not reach it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from arroyo_nb.engine.java import Java
from arroyo_nb.engine.paths import Links

LEASH = Path(__file__).with_name("leash.jar")


class Child:
    """A running process.

    Parameters
    ----------
    command
        What to run.
    log
        Where its output goes, behind what is there.
    environment
        Its variables; None: those of this process.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """It as Python has it."""
        return self._process

    @property
    def pid(self) -> int:
        """Its process id, which is also its process group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Does the process run? Asked of the system."""
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        """Its exit status; negative: the signal that ended it; None: it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; whether it has come."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return not self.alive

    def close_stdin(self) -> None:
        """Let it go: it ends by itself."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def kill(self) -> None:
        """End it now; harmless when it has ended. What reads from its pipes, as Spark's
        Python workers do, sees them close and goes too."""
        if self.alive:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self.close_stdin()


class Program(Child):
    """A Java program; ``Leash.java`` halts it when its stdin closes.

    Parameters
    ----------
    java
        What runs it.
    main
        The class to run, and its arguments.
    jars
        Its class path.
    log
        Where its output goes, behind what is there. Links to jars are made beside it.
    flags
        For the JVM.
    """

    def __init__(
        self,
        java: Java,
        *main: str,
        jars: Iterable[Path],
        log: Path,
        flags: Iterable[str] = (),
    ) -> None:
        links = Links(log.parent)
        paths = os.pathsep.join(links.entry(jar) for jar in (*jars, LEASH))
        command = [str(java.command), *flags, "-cp", paths, "arroyo_nb.Leash", *main]
        super().__init__(command, log)

    def stop(self, timeout_s: float) -> None:
        """End it in good order by SIGTERM, then by force."""
        self._process.terminate()
        self.wait(timeout_s)
        self.kill()


def tail(*logs: Path, lines: int = 15) -> str:
    """The last lines of each log."""
    kept: list[str] = []
    for path in logs:
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 20_000))
            text = file.read().decode("utf-8", "replace")
            kept += text.splitlines()[-lines:]
    return "\n".join(kept)
