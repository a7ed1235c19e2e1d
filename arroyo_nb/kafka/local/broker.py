"""A real Kafka broker of one process, for notebooks and tests, without Docker.

It listens on loopback only, where any user of this machine can reach it, as they can
anything there. Its data lies in a private folder that goes with the process; the
process ends with this one, also by kill -9.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from arroyo_nb.engine.class_data import start_builder
from arroyo_nb.engine.config import LOOPBACK
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import make_work_folder
from arroyo_nb.engine.jars import Check, Tell, say_nothing
from arroyo_nb.engine.java import find_java
from arroyo_nb.engine.program import Program, go_on
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.cluster import local_cluster
from arroyo_nb.kafka.local.process import BrokerPlace, Kit, kit
from arroyo_nb.kafka.local.settings import free_ports

STOP_S = 10.0
"""How long a broker may take to end in good order."""

TRIES = 3
"""Another program may take a port between the look and the start."""

BUILD_AFTER_S = 10.0
"""Making an archive takes cores: not in the first moments, when a cell may wait."""


class LocalBroker:
    """A broker on this machine; a context manager.

    Parameters
    ----------
    users
        Passwords by name. With some there is a second port, for SASL/PLAIN.

    Examples
    --------
    ::

        with LocalBroker() as broker:
            broker.create_topic("flights", partitions=2)
            print(broker.bootstrap_servers)
    """

    def __init__(self, users: Mapping[str, str] | None = None) -> None:
        self._users = dict(users or {})
        self._place: BrokerPlace | None = None
        self._program: Program | None = None
        self._builder = _Builder()
        self._pid = os.getpid()

    def __enter__(self) -> LocalBroker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect, also after a stop and a start; empty before one."""
        return f"{LOOPBACK}:{self._place.ports.clients}" if self._place else ""

    @property
    def sasl_servers(self) -> str:
        """Where clients connect that log in; empty where nobody can."""
        if self._place is None or not self._users:
            return ""
        return f"{LOOPBACK}:{self._place.ports.sasl}"

    @property
    def alive(self) -> bool:
        """Does its process run?"""
        return self._program is not None and self._program.alive

    @property
    def pid(self) -> int | None:
        """Its process id, once it has been started."""
        return self._program.pid if self._program is not None else None

    def start(self, *, tell: Tell = say_nothing, check: Check = go_on) -> LocalBroker:
        """Start it, and wait until it serves; harmless when it does. With the data and
        on the port that it had.

        Parameters
        ----------
        tell
            Is told how far it is, where that takes long: one line at a time.
        check
            Is called again and again; what it raises ends the attempt.

        Raises
        ------
        EngineProblem
            When there is no Java, when its jars cannot be had, or when it ends.
        """
        if self.alive:
            return self
        parts = kit(find_java(), tell=tell, check=check)
        tell("starting the local broker")
        if self._place is None:
            self._begin(parts, check)
        else:
            self._launch(self._place, parts, check)
        self._builder.start_soon(parts)
        return self

    def stop(self) -> None:
        """End it in good order; its data stays."""
        if self._program is not None:
            self._program.stop(STOP_S)

    def kill(self) -> None:
        """End it as kill -9 does; its data stays."""
        if self._program is not None:
            self._program.kill()

    def close(self) -> None:
        """End it and delete its data. May be called again."""
        if self._pid != os.getpid():
            return  # a forked child must not end its parent's when it exits
        atexit.unregister(self.close)
        self._builder.stop()
        self.kill()
        place, self._place = self._place, None
        if place is not None:
            shutil.rmtree(place.work, ignore_errors=True)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic.

        Parameters
        ----------
        settings
            Kafka's, such as ``{"retention.ms": "1000"}``.

        Raises
        ------
        RunProblem
            When there is one of that name, when the broker does not run or ends
            meanwhile, or when the client is not installed.
        """
        self._must_run()
        cluster = local_cluster(self.bootstrap_servers, name)
        cluster.create_topic(partitions, settings or {}, self._must_run)

    def _must_run(self) -> None:
        if not self.alive:
            raise RunProblem("the local broker does not run")

    def _begin(self, parts: Kit, check: Check) -> None:
        """The first start: in a new folder, on ports that are free."""
        for left in reversed(range(TRIES)):
            try:
                # Ports are looked for and bound later, by another process: between the
                # two anybody may take one.
                self._place = BrokerPlace(make_work_folder(), free_ports())
                # Before anything is started: whatever fails from here on is cleaned up.
                atexit.register(self.close)
                self._place.fill(parts, self._users, check)
                self._launch(self._place, parts, check)
                return
            except BaseException as error:
                self.close()
                if not left or not _is_port_taken(error):
                    raise

    def _launch(self, place: BrokerPlace, parts: Kit, check: Check) -> None:
        archive = parts.archive
        try:
            self._try(place, parts, archive.use(), check)
        except EngineProblem:
            if not archive.exists:
                raise
            # An archive is never needed. Where it starts without, that was to blame.
            self._try(place, parts, [], check)
            archive.discard()

    def _try(
        self, place: BrokerPlace, parts: Kit, flags: list[str], check: Check
    ) -> None:
        self._program = place.launch(parts, flags)
        try:
            place.wait_until_up(self._program, check)
        except BaseException:
            self.kill()
            raise


class _Builder:
    """Has the class-data archive made in the background, once, some time later."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start_soon(self, parts: Kit) -> None:
        """Have the class-data archive made in a while, unless it exists or is not
        wanted."""
        off = os.environ.get("ARROYO_NB_ARCHIVE", "on") == "off"
        if off or self._timer is not None or not parts.archive.is_wanted:
            return
        self._timer = threading.Timer(BUILD_AFTER_S, self._start)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Give it up; it ends by itself when its stdin closes."""
        if self._timer is not None:
            self._timer.cancel()
            # The timer may be at its work: what it starts must be known here to be
            # stopped.
            self._timer.join()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2)

    def _start(self) -> None:
        self._process = start_builder("arroyo_nb.kafka.local.archive")


def _is_port_taken(error: BaseException) -> bool:
    return isinstance(error, EngineProblem) and "already in use" in (error.hint or "")
