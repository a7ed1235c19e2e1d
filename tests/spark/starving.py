"""A process that runs out of descriptors: how a run ends then, and the one after it.

``python tests/spark/starving.py FOLDER SPARE...``: for each number of descriptors that
are left, a JSON line; and one of a run that was running already, into a sink of
Spark's.
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
from arroyo_nb.state.lock import holder


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


RUNNING = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE gone (n BIGINT) WITH (connector = 'blackhole');
INSERT INTO gone
SELECT count(*) FROM ticks GROUP BY tumble(INTERVAL '1 second');
"""
"""A query whose batches Python has no part in."""

BEGUN_S, ENDED_S = 60, 30


def starve_running(session: Session) -> None:
    """Starve a run between its batches, and tell."""
    run = session.run(RUNNING, name="running")
    assert run is not None
    deadline_s = time.monotonic() + BEGUN_S
    while run.progress is None or run.progress.batch_id < 1:
        assert not run.state.ended, run.error
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    begun_s = time.monotonic()
    with starved(0):
        ended = run.wait_quietly(ENDED_S)
        seconds = time.monotonic() - begun_s
    problem = run.error
    error = problem and f"{problem.message} / {problem.hint}"
    told = {"ended": ended, "seconds": seconds, "error": error}
    print(json.dumps(told | {"held": holder(run.folder)}), flush=True)


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
        starve_running(session)


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(map(int, sys.argv[2:])))
