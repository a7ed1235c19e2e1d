"""A process that runs out of descriptors: how a run ends then, and the one after it.

``python tests/spark/starving.py FOLDER SPARE...``: for each number of descriptors that
are left, a JSON line.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soaking import NUMBERS, QUERIES, SOFT_LIMIT, rows

from arroyo_nb import Session
from arroyo_nb.errors import ArroyoError


@contextmanager
def starved(spare: int) -> Iterator[None]:
    """All descriptors are in use, but for so many."""
    held: list[int] = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        for _ in range(spare):
            os.close(held.pop())
    try:
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


def main(folder: Path, spares: list[int]) -> None:
    """Starve as often, and tell."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_LIMIT, hard))
    source = folder / "rows.json"
    source.write_text("".join(rows()))
    script = NUMBERS.format(rows=source) + QUERIES[1]
    with Session() as session:
        session.run(script, name="starved", wait=True)
        for spare in spares:
            error = ""
            begun_s = time.monotonic()
            with starved(spare):
                try:
                    session.run(script, name="starved").wait(60)
                except ArroyoError as problem:
                    error = f"{problem.message} / {problem.hint}"
                seconds = time.monotonic() - begun_s
            again = session.run(script, name="starved", wait=True)
            told = {"spare": spare, "error": error, "seconds": seconds}
            assert again is not None
            print(json.dumps(told | {"rows": again.table().num_rows}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(map(int, sys.argv[2:])))
