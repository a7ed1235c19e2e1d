"""A broker's process: its class path, the folder that it starts from, when it is up."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.class_data import Archive, archive_of
from arroyo_nb.engine.command import spark_home, write_logging
from arroyo_nb.engine.config import LOOPBACK
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.jar_coordinates import pinned
from arroyo_nb.engine.jars import BROKER, Check, Tell, resolve
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.program import LEASH, Program, slow_start, tail
from arroyo_nb.kafka.local.settings import Ports, server_properties
from arroyo_nb.kafka.local.storage import format_storage

FLAGS = (
    # What compiles more starts later, and is hardly faster for so few records.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xms256m",
    "-Xmx256m",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
)

# Kafka brings no SLF4J binding. PySpark's, with the API that it was made for, go first.
_LOGGING = ("slf4j-api", "log4j-slf4j2-impl")


class Kit(NamedTuple):
    """What runs a broker: a Java and a class path."""

    java: Java
    jars: tuple[Path, ...]

    @property
    def archive(self) -> Archive:
        """The class-data archive that fits them, whether it exists or not."""
        version = next(iter(pinned(BROKER.name))).version
        return archive_of("kafka", version, self.java, (*self.jars, LEASH), FLAGS)


def kit(java: Java, *, tell: Tell, check: Check) -> Kit:
    """The kit of a Java; Kafka is downloaded if need be."""
    ours = spark_home() / "jars"
    logging = [next(ours.glob(f"{name}-[0-9]*.jar")) for name in _LOGGING]
    return Kit(java, (*logging, *resolve(BROKER, tell=tell, check=check)))


class BrokerPlace(NamedTuple):
    """What stays of a broker while it is down: a private folder, and its ports."""

    work: Path
    ports: Ports

    @property
    def settings(self) -> Path:
        """Kafka's settings file."""
        return self.work / "server.properties"

    @property
    def log(self) -> Path:
        """What its process has printed."""
        return self.work / "broker.log"

    def fill(self, kit: Kit, users: Mapping[str, str], check: Check) -> None:
        """Write what it starts from."""
        data = self.work / "data"
        text = server_properties(data, self.ports, users)
        self.settings.write_text(text, encoding="utf-8")
        format_storage(data, self.settings, kit.java, kit.jars, check)

    def launch(self, kit: Kit, flags: Sequence[str]) -> Program:
        """Start its process; returns at once."""
        logging = write_logging(self.work, "server")
        return Program(
            kit.java,
            *("kafka.Kafka", str(self.settings)),
            jars=kit.jars,
            log=self.log,
            flags=(*FLAGS, *flags, f"-Dlog4j2.configurationFile={logging}"),
        )

    def wait_until_up(self, program: Program, check: Check) -> None:
        """Wait until it serves, while it works.

        Raises
        ------
        SlowStart
            When it does not work, or not serve.
        EngineProblem
            When it ends.
        """
        # It listens once it serves. Another program on its port would have ended it.
        why = program.works_until(self._listens, check)
        if why:
            raise slow_start("the local broker", why, self._log_hint)
        if not program.alive:
            raise self.problem("the local broker has ended")

    def problem(self, message: str) -> EngineProblem:
        """An error that carries the end of its log."""
        return EngineProblem(message, hint=self._log_hint)

    @property
    def _log_hint(self) -> str | None:
        log = tail(self.log, self.work / "server.log")
        return f"the end of its log:\n{log}" if log else None

    def _listens(self) -> bool:
        with suppress(OSError):
            socket.create_connection((LOOPBACK, self.ports.clients), 1).close()
            return True
        return False
