"""One Kafka broker for all workers of a test run, in a process of its own: who wants it
first starts it, and it ends with the last process that has joined it.

``python shared_broker.py FOLDER`` is that process.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from topics import PASSWORD, USER

from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.folders import process_start
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.kafka.local.shared import SharedBroker

POLL_S = 0.05

_started_here: list[subprocess.Popen[bytes]] = []
"""It goes on when this process ends, and nobody waits for it."""


@dataclass(frozen=True)
class BrokerOfTests(SharedBroker):
    """The broker, as a worker has it.

    Attributes
    ----------
    sasl_servers
        Where clients connect that log in.
    """

    sasl_servers: str


@contextmanager
def joined(folder: Path) -> Iterator[BrokerOfTests]:
    """The broker of a folder, which lives for as long as the block lasts.

    Parameters
    ----------
    folder
        One that all workers of a test run have.
    """
    with (folder / "broker.users").open("w") as users:
        # Where the broker is about to end, this waits until it has.
        fcntl.flock(users, fcntl.LOCK_SH)
        with lock(folder / "broker.start", wait=True):
            broker = _noted(folder) or _started(folder)
        yield broker  # closing the file lets go, and so does the end of the process


def _noted(folder: Path) -> BrokerOfTests | None:
    """The broker that runs; None: there is none."""
    with suppress(FileNotFoundError):
        broker = BrokerOfTests(**json.loads(_note(folder).read_text()))
        return broker if broker.alive else None
    return None


def _started(folder: Path) -> BrokerOfTests:
    log = folder / "broker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,  # it outlives this worker, and its Ctrl-C
        )
    _started_here.append(process)
    while (broker := _noted(folder)) is None:
        assert process.poll() is None, log.read_text()
        time.sleep(POLL_S)
    return broker


def _note(folder: Path) -> Path:
    return folder / "broker.json"


def serve(folder: Path) -> None:
    """Be the broker until nobody has joined it any more."""
    with (
        (folder / "broker.users").open("w") as users,
        LocalBroker({USER: PASSWORD}) as broker,
    ):
        mine = BrokerOfTests(
            os.getpid(),
            process_start(os.getpid()) or 0,
            broker.bootstrap_servers,
            broker.sasl_servers,
        )
        draft = _note(folder).with_suffix(".draft")
        draft.write_text(json.dumps(asdict(mine)))
        draft.replace(_note(folder))
        fcntl.flock(users, fcntl.LOCK_EX)
        _note(folder).unlink(missing_ok=True)
        broker.close()  # before the next one may join


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
