"""Rows a second in which a value is found in a document of JSON, on two cores.

Documents of a hundred bytes are read from Parquet, and what is found in them goes to a
sink that discards it. Each query is planned as a cell would be; reading the documents
alone is measured beside them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks.report import Report, main

CHUNKS, CHUNK_ROWS = 4, 500_000
WARM_UP, ROUNDS = 2, 5
TARGET = 1.0
START_US = 1_700_000_000_000_000

TABLE = """
CREATE TABLE events (value JSON) WITH (
    connector = 'single_file', path = '{path}', type = 'source', format = 'json',
    'json.unstructured' = true
);
"""
QUERIES = {
    "length(value), no path": ("length(value)", None),
    "value ->> 'kind'": ("value ->> 'kind'", TARGET),
    "(value -> 'id')::BIGINT": ("(value -> 'id')::BIGINT", TARGET),
    "(value -> 'amount')::DOUBLE": ("(value -> 'amount')::DOUBLE", TARGET),
    "(value -> 'kind')::TEXT": ("(value -> 'kind')::TEXT", TARGET),
    "value ? 'ok'": ("value ? 'ok'", TARGET),
    "value ->> 'amount'": ("value ->> 'amount'", None),
    "value -> 'user' ->> 'name'": ("value -> 'user' ->> 'name'", None),
    "value -> 'tags'": ("value -> 'tags'", None),
    "value -> 'tags' ->> 0": ("value -> 'tags' ->> 0", None),
}
"""What is computed, and the million rows a second that it should reach."""


def documents(first: int) -> pa.Array:
    """The documents of a chunk."""
    return pa.array(
        f'{{"id":{n},"user":{{"name":"u{n % 1000}","city":"Aarhus"}},'
        f'"amount":{n % 977 * 0.5},"kind":"click","tags":["a","b"],"ok":true}}'
        for n in range(first, first + CHUNK_ROWS)
    )


def make_chunks(folder: Path) -> None:
    """Events of as many microseconds."""
    for number in range(CHUNKS):
        first = number * CHUNK_ROWS
        times = pa.array(range(START_US + first, START_US + first + CHUNK_ROWS))
        table = pa.table(
            {
                "value": documents(first),
                "_timestamp": times.cast(pa.timestamp("us", "UTC")),
            }
        )
        write_chunk(folder, number, Chunk(table, {}), Totals())


def rows_a_second(session: Session, folder: Path, expression: str) -> float:
    """The best of some turns; all chunks at once, so that no core waits."""
    script = TABLE.format(path=folder) + f"SELECT {expression} AS x FROM events"
    sink = plan_script(script, Catalog()).sinks[0]
    documents = session.engine.session.read.parquet(folder.as_uri())
    rows = visible(lower(sink.input, lambda _: documents), sink.input)

    def seconds() -> float:
        began = time.perf_counter()
        rows.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - began

    times = [seconds() for _ in range(WARM_UP + ROUNDS)]
    return CHUNKS * CHUNK_ROWS / min(times[WARM_UP:])


def compare(report: Report, session: Session, folder: Path) -> None:
    """Measure each query."""
    for name, (expression, target) in QUERIES.items():
        found = rows_a_second(session, folder, expression) / 1e6
        report.add(name, found, "M rows/s", target=target, at_most=False)


def measure(report: Report) -> None:
    """Values of a document by names and indices."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_chunks(folder)
        session.engine.worker.call(compare, report, session, folder)


if __name__ == "__main__":
    sys.exit(main(measure))
