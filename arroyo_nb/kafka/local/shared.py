"""A Kafka broker on this machine for all shells of a user, until somebody stops it.

The broker of a notebook ends with its kernel; this one is a process of its own, which
notes its address in the user's cache folder. Its data goes with it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.folders import process_start
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.cluster import do_nothing, local_cluster

if TYPE_CHECKING:
    from arroyo_nb.kafka.local import LocalBroker

POLL_S = 0.1
TOLD_EVERY_S = 5.0

STOP_S = 15.0
"""How long a broker may take to end before it is killed."""

COMMAND = ("-m", "arroyo_nb.cli", "kafka", "serve")
"""What Python runs in the background."""

_LOG_LINES = 10

_started: list[subprocess.Popen[bytes]] = []
"""Processes that this one has started: they go on when it ends, and nobody waits."""


@dataclass(frozen=True)
class SharedBroker:
    """The broker that is noted, as a session uses one (``LocalBroker`` has the same).

    Parameters
    ----------
    pid, started
        The process that holds it, and when that began: a number may come again.
    bootstrap_servers
        Where clients connect.
    """

    pid: int
    started: int
    bootstrap_servers: str

    @property
    def alive(self) -> bool:
        """Whether its process lives."""
        return process_start(self.pid) == self.started

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic, as ``LocalBroker.create_topic`` does."""
        cluster = local_cluster(self.bootstrap_servers, name)
        cluster.create_topic(partitions, settings or {}, do_nothing)

    def close(self) -> None:
        """Leave it alone: other shells use it."""


def shared_broker() -> SharedBroker | None:
    """The broker that ``arroyo-nb kafka start`` started; None: there is none."""
    with suppress(OSError, ValueError, TypeError):
        found = SharedBroker(**json.loads(_note().read_text("utf-8")))
        return found if found.alive else None
    return None


def start(tell: Callable[[str], None]) -> SharedBroker:
    """Start the broker in the background, unless there is one; returns once it serves.

    Parameters
    ----------
    tell
        Is told how far it is.

    Raises
    ------
    RunProblem
        When it ends instead.
    """
    if (there := shared_broker()) is not None:
        return there
    log = _note().with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [sys.executable, *COMMAND]
    with log.open("ab") as out:  # another shell may be starting one, too
        begin = told = len(_lines_of(log))
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=out,
            start_new_session=True,  # it outlives this shell
        )
    _started.append(process)
    try:
        # A machine that is busy takes its time: it is waited for as long as it lives,
        # or that of another shell, which was faster.
        begun_s = said_s = time.monotonic()
        while (made := shared_broker()) is None:
            lines = _lines_of(log)
            for line in lines[told:]:
                tell(line)
            if len(lines) > told:
                told, said_s = len(lines), time.monotonic()
            elif time.monotonic() - said_s >= TOLD_EVERY_S:
                said_s = time.monotonic()
                tell(f"waiting for the broker, {said_s - begun_s:.0f} s")
            has_ended = process.poll() is not None and not _is_starting()
            if has_ended and shared_broker() is None:
                end = "\n".join(lines[begin:][-_LOG_LINES:])
                raise RunProblem(
                    "the broker has ended before it served", hint=end or None
                )
            time.sleep(POLL_S)
    except BaseException:
        process.terminate()
        raise
    return made


def stop() -> bool:
    """End the broker, with its data; False: there was none."""
    broker = shared_broker()
    if broker is None:
        return False
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(broker.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while broker.alive and time.monotonic() < deadline:
            time.sleep(POLL_S)
        if broker.alive:
            os.kill(broker.pid, signal.SIGKILL)
    return True


def serve(tell: Callable[[str], None]) -> None:
    """Be the broker, until SIGTERM or SIGINT.

    Raises
    ------
    RunProblem
        When there is one already, or another process starts one.
    KeyboardInterrupt
        Once it was interrupted and has ended.
    """
    from arroyo_nb.kafka.local import LocalBroker

    if (there := shared_broker()) is not None:
        raise RunProblem(
            f"a broker runs already, at {there.bootstrap_servers}",
            hint="arroyo-nb kafka stop ends it",
        )
    # Of two that start at once the later note would hide the other broker for ever.
    with lock(_lock_path()) as is_mine:
        if not is_mine:
            raise RunProblem(
                "another process is starting a broker",
                hint="arroyo-nb kafka status says where it is, once it serves",
            )
        _serve(LocalBroker(), tell)


def _serve(local: LocalBroker, tell: Callable[[str], None]) -> None:
    with closing(local) as broker:
        broker.start(tell=tell)
        mine = SharedBroker(
            os.getpid(), process_start(os.getpid()) or 0, broker.bootstrap_servers
        )
        _write(mine)
        tell(f"Kafka is at {mine.bootstrap_servers}")
        try:
            while broker.alive:
                time.sleep(POLL_S)
            raise RunProblem("the broker has ended by itself")
        finally:
            if shared_broker() == mine:
                _note().unlink(missing_ok=True)


def _lines_of(log: Path) -> list[str]:
    return log.read_text("utf-8", errors="replace").splitlines()


def _is_starting() -> bool:
    """Whether some process starts a broker, or is one."""
    with lock(_lock_path()) as is_free:
        return not is_free


def _lock_path() -> Path:
    return _note().with_suffix(".lock")


def _note() -> Path:
    return cache_folder() / "broker.json"


def _write(broker: SharedBroker) -> None:
    note = _note()
    note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = note.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(broker)), "utf-8")
    draft.replace(note)
