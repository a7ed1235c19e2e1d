"""The queries of Nexmark, planned, against Flink's own SQL in PyFlink.

Both engines read the same events from Parquet, in turn, and write to a sink that
discards the rows: Spark with a task for each core and a chunk a micro-batch, Flink in a
MiniCluster of the same parallelism and a file a task. The first run of each is not
measured: it writes the rows, which must be the same; those of an updating query, after
all changes. Where a query in ``benchmarks/flink`` is not as Nexmark publishes it, it
says so.

Some of this favours Flink: its time is that of the job, without planning and without
the start of the cluster, where ours is from the plan to the end; its state is on the
heap, without checkpoints, where Spark writes one for each micro-batch; its sink takes
no retracts, so Flink sends none. ``--queries 5 7`` measures some, ``--events N`` takes
fewer events. PyFlink is installed when it is missing, in an environment of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arroyo_nb.connectors.nexmark import CONNECTOR
from arroyo_nb.engine.config import cores
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.session import Session
from arroyo_nb.tape import END_CHUNKS
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import GROUP_ROWS, end_chunk, write_chunk
from benchmarks.flink_environment import FlinkEnvironment, flink_environment
from benchmarks.flink_rows import compare_rows
from benchmarks.nexmark_events import (
    CHUNKS,
    Events,
    Options,
    chosen,
    in_turn,
    make_chunks,
    planned_sink,
)
from benchmarks.report import Report, main

SQL = Path(__file__).parent / "flink"
LEFT_OUT = {
    6: "Flink's OVER reads no updating query, and orders by a time attribute only",
    13: "Flink has no connector that looks keys up in a file",
    23: "it gives 150 rows for each event: too many to write and compare",
}
"""The queries that are not compared, and why."""

COMPARED = {
    11: (
        "bidder",
        "bid_count",
        "date_trunc('milliseconds', window_start) AS began",
        "date_trunc('milliseconds', window_end) AS ended",
    ),
    18: ("auction", "bidder", "date_trunc('milliseconds', \"datetime\") AS at"),
}
"""What of a row is compared, in DuckDB's SQL, where Flink's milliseconds decide: a
session begins and ends with one, and of the last bids of one that a bidder made on an
auction, Flink keeps any."""

TARGETS: dict[int, float] = {}
"""The least ratio to Flink, of the queries that have one."""

READERS = cores()
"""Flink's parallelism: as many tasks as Spark runs at once."""

SETTINGS = {
    "parallelism.default": str(READERS),
    "taskmanager.numberOfTaskSlots": str(READERS),
    "taskmanager.memory.managed.size": "512m",
    "rest.port": "0",
    "table.local-time-zone": "UTC",
    # As Nexmark's authors set them: what updating queries send is merged.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
TURN_ROWS = 1_000
"""Events in a row that go to one reader before the next one has its turn."""


def end_stream(folder: Path) -> None:
    """Add what makes all windows of ours close, as Flink closes them at the end."""
    schema = CONNECTOR.columns({})
    for end in range(1, END_CHUNKS + 1):
        chunk = end_chunk(schema, {})
        write_chunk(folder, CHUNKS + end, chunk, Totals(), end=end)


def deal_out(chunks: Path, folder: Path) -> None:
    """Write the events to as many files as Flink has readers.

    Flink reads the files of a folder in any order: when it came to a chunk, the
    watermark could have passed its rows, and they would be late. Here each reader has
    one file, which goes from the first events to the last. Flink reads times within a
    struct as INT96 only.
    """
    for reader in range(READERS):
        rows = pa.concat_tables(_of_reader(chunks, reader))
        pq.write_table(
            rows,
            folder / f"{reader}.parquet",
            row_group_size=GROUP_ROWS,
            compression="none",
            use_dictionary=False,
            use_deprecated_int96_timestamps=True,
        )


def _of_reader(chunks: Path, reader: int) -> Iterator[pa.Table]:
    first = 0
    for path in sorted(chunks.glob("*.parquet")):
        rows = pq.read_table(path)
        turns = np.arange(first, first + len(rows)) // TURN_ROWS
        yield rows.filter(turns % READERS == reader)
        first += len(rows)


class Flink:
    """A process that runs queries in Flink.

    Parameters
    ----------
    process
        ``benchmarks/flink_worker.py``.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, number: int, folder: Path | None = None) -> float:
        """Seconds of a query, whose changes go to a folder, or are discarded.

        Raises
        ------
        EngineProblem
            When it fails.
        """
        query = (SQL / f"q{number}.sql").read_text(encoding="utf-8")
        where = folder.as_uri() if folder else None
        asked = {"query": query.rstrip().removesuffix(";"), "folder": where}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or "{}")
        if "seconds" not in answer:
            why = answer.get("error", "its process ended")
            raise EngineProblem(f"Flink failed at q{number}: {why}")
        return float(answer["seconds"])


@contextmanager
def started(environment: FlinkEnvironment, events: Path) -> Iterator[Flink]:
    """Flink with the tables of the events; it ends with the block."""
    tables = (SQL / "tables.sql").read_text(encoding="utf-8")
    parts = tables.replace("{folder}", events.as_uri()).split(";")
    statements = [part for part in parts if part.strip()]
    declared = json.dumps({"statements": statements, "settings": SETTINGS})
    worker = str(Path(__file__).with_name("flink_worker.py"))
    # Without -P the modules beside it would hide those that PyFlink imports.
    command = [str(environment.python), "-P", worker, declared]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment.variables(),
    ) as process:
        yield Flink(process)


def compare(
    report: Report, session: Session, chunks: Path, flink: Flink, options: Options
) -> None:
    """Compare the rows of each query, then measure both ways, in turn."""
    events = Events(session.engine.session, chunks)
    for number in options.queries:
        if number in LEFT_OUT:
            print(f"q{number} is left out: {LEFT_OUT[number]}", flush=True)
            continue
        sink = planned_sink(number, options.events)
        with tempfile.TemporaryDirectory() as name:
            ours, theirs = Path(name) / "ours", Path(name) / "theirs"
            events.write(sink, ours)
            flink.run(number, theirs)
            compare_rows(report, f"q{number}", ours, theirs, COMPARED.get(number))
        took_s = in_turn(
            {
                "planned": partial(events.planned, sink),
                "Flink": partial(flink.run, number),
            },
            options.rounds,
        )
        for way, least_s in took_s.items():
            report.add(f"q{number}: {way}", options.events / least_s, "events/s")
        ratio = took_s["Flink"] / took_s["planned"]
        report.add(
            f"q{number}: ratio", ratio, "x", target=TARGETS.get(number), at_most=False
        )


def measure(report: Report, options: Options) -> None:
    """Make the events, then compare and measure."""
    environment = flink_environment(partial(print, flush=True))
    with tempfile.TemporaryDirectory() as name, Session() as session:
        chunks, files = Path(name) / "chunks", Path(name) / "files"
        chunks.mkdir()
        files.mkdir()
        make_chunks(chunks, options.events)
        deal_out(chunks, files)
        end_stream(chunks)
        with started(environment, files) as flink:
            work = partial(compare, report, session, chunks, flink, options)
            session.engine.worker.call(work)


if __name__ == "__main__":
    options, others = chosen(sys.argv[1:])
    try:
        sys.exit(main(partial(measure, options=options), others))
    except EngineProblem as problem:
        hint = f"\nhint: {problem.hint}" if problem.hint else ""
        sys.exit(f"{problem.message}{hint}")
