"""Milliseconds a micro-batch of small and of large ones, in the first run of a process
and in those after it, beside plain PySpark with all its defaults.

Each kind of query and size of batches has a process of ours and one of PySpark, which
take turns over the same Parquet chunks, one a batch (:mod:`benchmarks.batches_worker`).
Ours is a cell with its panel: rows are kept and windows are traced.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks import batches_worker
from benchmarks.report import Report, main

SIZES = {100: 16, 10_000: 10, 1_000_000: 5}
"""Rows of a batch, each with how many batches there are."""

SMALL = 100
RATIOS = {"stateless": 0.15, "windowed": 0.3, "updating": 0.4, "joined": None}
"""The most that a small batch of ours may take of PySpark's; None: PySpark's join of
windows is left out, which commits 200 partitions of state four times a batch."""

PLAIN_BATCHES = 6
"""Of PySpark's: with state one takes 5 s."""

FIRST = 1.2
"""The most that a small batch of the first run may take of a later one."""

CHUNK_S, KEYS = 10, 10


def make_chunks(folder: Path, rows: int, chunks: int) -> None:
    """Rows of ten seconds each, in the order of their times."""
    random = np.random.default_rng(rows)
    folder.mkdir()
    for number in range(chunks):
        offset_us = np.arange(rows) * CHUNK_S * 1_000_000 // rows
        ts = pa.array(number * CHUNK_S * 1_000_000 + offset_us)
        columns = {name: random.integers(0, KEYS, rows) for name in "kv"}
        stamped = {**columns, "_timestamp": ts.cast(pa.timestamp("us", "UTC"))}
        write_chunk(folder, number, Chunk(pa.table(stamped), {}), Totals())


def took_ms(engine: str, kind: str, folder: Path, batches: int) -> list[float]:
    """What a batch takes in each run of a process."""
    arguments = [engine, kind, str(folder), str(batches)]
    command = [sys.executable, "-m", batches_worker.__name__, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def reported(
    report: Report, what: str, engine: str, kind: str, folder: Path, batches: int
) -> tuple[float, float]:
    """Report what a batch takes in the first run of a process, and in later ones."""
    first, *later = took_ms(engine, kind, folder, batches)
    warm = statistics.median(later)
    report.add(f"{what}: {engine}, warm", warm, "ms")
    report.add(f"{what}: {engine}, first run", first, "ms")
    return first, warm


def measure(report: Report) -> None:
    """Measure each kind with each size."""
    with tempfile.TemporaryDirectory() as name:
        for rows, batches in SIZES.items():
            folder = Path(name) / str(rows)
            make_chunks(folder, rows, batches)
            for kind, most in RATIOS.items():
                what, is_small = f"{kind}, {rows:,} rows", rows == SMALL
                first, ours = reported(report, what, "ours", kind, folder, batches)
                target = FIRST if is_small else None
                report.add(f"{what}: first to warm", first / ours, "x", target=target)
                if most is None:
                    continue
                read = min(batches, PLAIN_BATCHES)
                _, plain = reported(report, what, "plain", kind, folder, read)
                target = most if is_small else None
                report.add(f"{what}: ours to plain", ours / plain, "x", target=target)


if __name__ == "__main__":
    sys.exit(main(measure))
