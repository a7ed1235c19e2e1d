"""PyFlink in an environment of its own, made once and kept in the cache folder.

Flink reads Parquet with a jar that its package lacks, and with Hadoop's classes, which
lie among PySpark's jars.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arroyo_nb.engine import ivy
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.command import spark_home
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.jar_coordinates import Coordinates
from arroyo_nb.engine.jars import go_on
from arroyo_nb.engine.java import find_java

VERSION = "2.3.0"
PARQUET = Coordinates("org.apache.flink", "flink-sql-parquet", VERSION)
PARQUET_SHA256 = "f30617f4a5a6d437750f155ff72178ab34439aec91df64d96621c260559ba5fd"
PROGRESS_S = 15
"""How often a line says that pip is still at it."""


@dataclass(frozen=True)
class FlinkEnvironment:
    """An environment that has PyFlink.

    Attributes
    ----------
    folder
        Where it is.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that can import PyFlink."""
        return self.folder / "bin" / "python"

    @property
    def jar(self) -> Path:
        """What Flink reads Parquet with."""
        return self.folder / PARQUET.file

    def variables(self) -> dict[str, str]:
        """The environment variables of a process that starts Flink's JVM.

        Raises
        ------
        EngineProblem
            When there is no Java.
        """
        jars = (self.jar, *(spark_home() / "jars").glob("hadoop-client-*.jar"))
        return os.environ | {
            "JAVA_HOME": str(find_java().home),
            # PyFlink puts it behind its own class path.
            "HADOOP_CLASSPATH": os.pathsep.join(map(str, jars)),
            # Flink keeps its state on the heap, and the default is a quarter.
            "JVM_ARGS": "-XX:MaxRAMPercentage=40",
        }


def flink_environment(on_progress: Callable[[str], None]) -> FlinkEnvironment:
    """The environment, which is made if need be.

    Parameters
    ----------
    on_progress
        Is told how far it is, a line at a time.

    Raises
    ------
    EngineProblem
        When it cannot be had.
    """
    base = cache_folder()
    tag = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = FlinkEnvironment(base / f"flink-{VERSION}-python-{tag}")
    with lock(base / "flink.lock", wait=True):
        # The jar comes last: an environment that has it is whole.
        if not environment.jar.exists():
            shutil.rmtree(environment.folder, ignore_errors=True)
            _install(environment, on_progress)
            _add_jar(environment, on_progress)
    return environment


def _install(environment: FlinkEnvironment, on_progress: Callable[[str], None]) -> None:
    on_progress(f"PyFlink {VERSION}: installing 850 MB, once, in {environment.folder}")
    try:
        venv.create(environment.folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineProblem(
            f"no environment can be made for PyFlink: {error}"
        ) from error
    log = environment.folder / "pip.log"
    options = ("install", "--no-input", f"apache-flink=={VERSION}")
    command = [str(environment.python), "-m", "pip", *options]
    with log.open("wb") as file:
        pip = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        waited_s = 0
        while (status := _status(pip)) is None:
            waited_s += PROGRESS_S
            on_progress(f"PyFlink {VERSION}: installing, {waited_s} s")
    finally:
        pip.kill()
    if status:
        raise EngineProblem(
            f"PyFlink {VERSION} cannot be installed: {_last_error(log)}",
            hint=f"'{log}' has all that pip said",
        )


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """The exit status; None: it still runs after a while."""
    try:
        return process.wait(PROGRESS_S)
    except subprocess.TimeoutExpired:
        return None


def _last_error(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip said nothing"])[-1].removeprefix("ERROR: ")


def _add_jar(environment: FlinkEnvironment, on_progress: Callable[[str], None]) -> None:
    on_progress(f"{PARQUET}: asking the repository")
    with tempfile.TemporaryDirectory(dir=environment.folder) as work:
        found = ivy.retrieve(
            find_java(),
            [PARQUET],
            Path(work),
            without=None,
            check=go_on,
            arrived=lambda _: None,
        )
        for jar in found:
            if hashlib.sha256(jar.read_bytes()).hexdigest() != PARQUET_SHA256:
                raise EngineProblem(f"{PARQUET}: its checksum differs")
            jar.replace(environment.jar)
