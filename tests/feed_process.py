"""Records a feed onto a file until it is killed: ``python feed_process.py FILE TABLE``
forks a process that does for each line that it reads, and kills it at the next line.

TABLE is JSON: the connector and its options. Each line of the file is a chunk: its
values of ``n``, and the position behind it. A line that was cut off is no chunk.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from feed_tables import recorder

LIBRARIES = ("nats", "paho.mqtt.client", "pyarrow.compute")
"""What recorders import."""


def read(path: Path) -> list[dict[str, Any]]:
    """The chunks of a file, without what was cut off."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def record(path: Path, table: dict[str, Any]) -> None:
    """Go on behind the last chunk of the file."""
    chunks = read(path)
    # It is killed at any time, also here.
    whole = path.with_suffix(".whole")
    whole.write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks))
    whole.replace(path)
    after = chunks[-1]["position"] if chunks else None
    source = recorder(**table)
    with path.open("a") as file, closing(source.chunks(after)) as found:
        for chunk in found:
            if chunk.empty:
                continue
            values = chunk.rows["n"].to_pylist()
            file.write(json.dumps({"n": values, "position": chunk.position}) + "\n")
            file.flush()
            os.fsync(file.fileno())


class KilledFeed:
    """Processes that record a feed, one after the other, each killed; a context
    manager. They are forks of one that has done nothing but its imports, which take
    longer than all else.

    Parameters
    ----------
    path
        Where the chunks are.
    table
        What is recorded.
    """

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self._path = path
        self._table = table

    def __enter__(self) -> KilledFeed:
        self._parent = subprocess.Popen(
            [sys.executable, __file__, str(self._path), json.dumps(self._table)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        with self._parent:  # it ends with its input
            pass

    @property
    def values(self) -> list[int]:
        """What has been recorded so far."""
        return [value for chunk in read(self._path) for value in chunk["n"]]

    @contextmanager
    def running(self) -> Iterator[None]:
        """A process, while the block lasts; it is killed behind it."""
        self._told_next()
        try:
            yield
        finally:
            self._told_next()

    def _told_next(self) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write("\n")
        self._parent.stdin.flush()
        assert self._parent.stdout.readline() == "done\n"


def fork_and_kill(path: Path, table: dict[str, Any]) -> None:
    """Have it recorded from one line to the next."""
    recorder(**table)
    for module in LIBRARIES:
        importlib.import_module(module)
    child = 0
    for _ in sys.stdin:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            child = 0
        else:
            child = os.fork()
            if not child:
                record(path, table)
        print("done", flush=True)


if __name__ == "__main__":
    fork_and_kill(Path(sys.argv[1]), json.loads(sys.argv[2]))
