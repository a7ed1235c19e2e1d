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
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from arroyo_nb.engine.errors import SlowStart
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.paths import Links

LEASH = Path(__file__).with_name("leash.jar")

IDLE_S = 60.0
"""How long a process that is waited for may hardly work."""

MOST_S = 600.0
"""How long it may take, however busy the machine is."""

WORK_S = 0.3
"""Processor time that is work: a Java that does nothing takes less in ``IDLE_S``."""

LOOK_S = 0.005
"""How often who waits looks."""

MEASURE_S = 1.0
"""How often it is asked how much a process has worked."""


def go_on() -> None:
    """Nobody gives up."""


class Effort:
    """How much a process works while it is waited for."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begun_s = self._measured_s = self._worked_s = time.monotonic()
        self._cpu_s = 0.0

    def fault(self) -> str:
        """Why nobody should wait any longer, in words; empty: it works. Cheap, so it
        may be asked often."""
        now_s = time.monotonic()
        if now_s - self._measured_s < MEASURE_S:
            return ""
        self._measured_s = now_s
        with suppress(psutil.Error):  # it has ended, which who waits sees
            cpu_s = _processor_s(psutil.Process(self._pid))
            if cpu_s - self._cpu_s >= WORK_S:
                self._cpu_s, self._worked_s = cpu_s, now_s
        if now_s - self._worked_s > IDLE_S:
            return f"it has done nothing for {IDLE_S:g} s"
        if now_s - self._begun_s > MOST_S:
            return f"it was not done after {MOST_S / 60:g} minutes"
        return ""


def _processor_s(process: psutil.Process) -> float:
    """What a process and those that it started have taken, in seconds."""
    own = sum(process.cpu_times()[:4])  # with children that have ended
    children_s = 0.0
    for child in process.children(recursive=True):
        with suppress(psutil.Error):
            children_s += sum(child.cpu_times()[:2])
    return own + children_s


def slow_start(what: str, why: str, log: str | None) -> SlowStart:
    """The error of what is not up, with how busy the machine is, and its log.

    >>> print(slow_start("java", "it has done nothing", None).hint)
    ... # doctest: +ELLIPSIS
    this machine: load ... on ... processors, ... GB of memory free
    """
    free_gb = psutil.virtual_memory().available / 1e9
    load = psutil.getloadavg()[0]
    machine = (
        f"this machine: load {load:.1f} on {os.cpu_count()} processors, "
        f"{free_gb:.1f} GB of memory free"
    )
    hint = "\n".join(filter(None, (machine, log)))
    return SlowStart(f"{what} is not up: {why}", hint=hint)


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

    def works_until(
        self, is_done: Callable[[], bool], check: Callable[[], None] = go_on
    ) -> str:
        """Wait while it works on something, for as long as a busy machine needs.

        Parameters
        ----------
        is_done
            Whether it is done.
        check
            Is called again and again; what it raises ends the waiting.

        Returns
        -------
        str
            Why it was not waited for any longer; empty: it is done, or has ended.
        """
        effort = Effort(self.pid)
        while not is_done() and self.alive:
            check()
            if why := effort.fault():
                return why
            time.sleep(LOOK_S)
        return ""

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

    def close(self) -> None:
        """End it by SIGTERM, and let it write what it has to, however long it works."""
        self._process.terminate()
        self.works_until(lambda: not self.alive)
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
