"""Start and end the JVM process; no py4j here.

When the kernel is gone, even by kill -9, the JVM's stdin closes and Spark's gateway
server exits.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from arroyo_nb.engine import command
from arroyo_nb.engine.config import LOOPBACK
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.paths import Links
from arroyo_nb.engine.program import Child, slow_start, tail

# Spark and PySpark read these; one left over from the user's shell changes the mode.
_FOREIGN = (
    "SPARK_HOME",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
)


class Jvm(Child):
    """A running JVM.

    Attributes
    ----------
    port
        Where its gateway listens on loopback; 0 until it is up.
    secret
        What the gateway asks for.
    """

    def __init__(self, arguments: list[str], work: Path, java: Java) -> None:
        self.port = 0
        self.secret = ""
        self._spark_log = work / "spark.log"
        self._answer = work / f"gateway-{time.monotonic_ns()}"
        environment = _environment(os.environ, self._answer, java, Links(work))
        super().__init__(arguments, work / "jvm.log", environment)

    def wait_until_up(self) -> None:
        """Wait for the gateway's port and secret, while the process works.

        Raises
        ------
        SlowStart
            When it does not work, or not come up; it is then killed.
        EngineProblem
            When it ends.
        """
        why = self.works_until(self._read_answer)
        if why:
            self.kill()
            raise slow_start("Java", why, self._log_hint)
        if not self.port:
            raise self.problem("java ended before Spark was up")

    def _read_answer(self) -> bool:
        # Spark writes another file and renames it, so what is here is complete.
        try:
            data = self._answer.read_bytes()
        except FileNotFoundError:
            return False
        self._answer.unlink()
        self.port, length = struct.unpack("!ii", data[:8])
        self.secret = data[8 : 8 + length].decode()
        return True

    def problem(self, message: str) -> EngineProblem:
        """An error that carries the end of the log."""
        status = self.status
        ended = "" if status is None else f" ({_how_it_ended(status)})"
        return EngineProblem(message + ended, hint=self._log_hint)

    @property
    def _log_hint(self) -> str | None:
        tail = self.tail()
        return f"the end of its log, {self.log}:\n{tail}" if tail else None

    def tail(self) -> str:
        """The last lines of what the JVM and Spark have logged."""
        return tail(self._spark_log, self.log)

    def close(self) -> None:
        """End it by closing its stdin, and let it write what it has to, however long it
        works."""
        self.close_stdin()
        self.works_until(lambda: not self.alive)
        self.kill()


def start(
    java: Java,
    work: Path,
    settings: dict[str, str],
    *,
    archive_flags: Iterable[str] = (),
    jars: Iterable[Path] = (),
) -> Jvm:
    """Start a JVM; returns at once, see :meth:`Jvm.wait_until_up`."""
    arguments = command.java_command(
        java, work, settings, archive_flags=archive_flags, jars=jars
    )
    return Jvm(arguments, work, java)


def _environment(
    environ: Mapping[str, str], answer: Path, java: Java, links: Links
) -> dict[str, str]:
    kept = {key: value for key, value in environ.items() if key not in _FOREIGN}
    if "PYSPARK_PYTHON" not in kept:
        # The workers run on the kernel's Python, so what it can import they can: the
        # folder of the notebook too, which is on no path of a fresh interpreter.
        kept["PYSPARK_PYTHON"] = sys.executable
        kept["PYTHONPATH"] = os.pathsep.join(
            links.entry(Path(path or Path.cwd())) for path in sys.path
        )
    else:
        # A Python of the user's may have no PySpark: it is given Spark's. That is a zip
        # file without compiled code, half a second for each process that loads it.
        kept["SPARK_HOME"] = str(command.spark_home())
    return kept | {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        "JAVA_HOME": str(java.home),
        "SPARK_CONNECT_MODE": "0",
        "SPARK_LOCAL_IP": LOOPBACK,
    }


OUT_OF_MEMORY = "out of memory"
"""How a JVM ended that had no heap left."""


def _how_it_ended(status: int) -> str:
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    # 3 is what ExitOnOutOfMemoryError gives.
    return OUT_OF_MEMORY if status == 3 else f"exit status {status}"
