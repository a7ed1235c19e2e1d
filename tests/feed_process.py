"""Records a feed onto a file until it is killed: ``python feed_process.py FILE TABLE``.

TABLE is JSON: the connector and its options. Each line of the file is a chunk: its
values of ``n``, and the position behind it. A line that was cut off is no chunk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from feed_tables import recorder


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
    """A process that records a feed, killed and started again.

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

    @property
    def values(self) -> list[int]:
        """What has been recorded so far."""
        return [value for chunk in read(self._path) for value in chunk["n"]]

    @contextmanager
    def running(self) -> Iterator[None]:
        """The process, while the block lasts; it is killed behind it."""
        command = [sys.executable, __file__, str(self._path), json.dumps(self._table)]
        process = subprocess.Popen(command)
        try:
            yield
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    record(Path(sys.argv[1]), json.loads(sys.argv[2]))
