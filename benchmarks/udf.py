"""Rows a second of functions of users against PySpark's own, in one run.

Each pair is the same function: planned from SQL here, and by hand as
``pyspark.sql.functions.udf`` (Arrow is its default) or ``arrow_udf``. All read the same
Parquet chunks in the same engine, in turn, and write to a sink that discards them. A
function in Rust is compared with the same in Python, alone and in a query, where there
is cargo to build it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import PYTHON, RUST, read_definitions
from benchmarks.report import Report, main
from benchmarks.streams import in_turn, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.udfs.definition import Udf

CHUNKS, CHUNK_ROWS = 10, 500_000
ALONE_ROWS, ALONE_ROUNDS = 1_000_000, 5
COLUMNS = "k BIGINT, v DOUBLE, s STRING, _timestamp TIMESTAMP"
CALLS_ASYNC, CALL_S, IN_FLIGHT, MOST_S = 1_000, 0.05, 100, 0.8

TABLE = """
CREATE TABLE events (k BIGINT, v DOUBLE, s TEXT) WITH (
    connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
IN_PYTHON = """
import asyncio
import pyarrow as pa
import pyarrow.compute as pc
from arroyo_nb import udf

@udf
def mixed(k: int, v: float) -> float:
    return k * 0.5 + v

@udf
def first_half(s: str) -> str:
    return s[: len(s) // 2]

@udf(input=[int, float], output=float)
def mixed_batch(k: pa.Array, v: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(pc.cast(k, pa.float64()), 0.5), v)

@udf(allowed_in_flight=100)
async def waited(k: int) -> int:
    await asyncio.sleep(0.05)
    return k
"""
IN_RUST = """
use arroyo_udf_plugin::udf;

#[udf]
fn mixed_rust(k: i64, v: f64) -> f64 {
    k as f64 * 0.5 + v
}
"""
LEAST, LEAST_RUST, LEAST_RUST_ALONE = 0.95, 1.8, 8.0


def mixed(k, v):  # type: ignore[no-untyped-def]
    """The same as in SQL."""
    return k * 0.5 + v


def first_half(s):  # type: ignore[no-untyped-def]
    """The same as in SQL."""
    return s[: len(s) // 2]


def mixed_batch(k: pa.Array, v: pa.Array) -> pa.Array:
    """The same as in SQL."""
    return pc.add(pc.multiply(pc.cast(k, pa.float64()), 0.5), v)


def itself(k: pa.Array, v: pa.Array) -> pa.Array:  # noqa: ARG001
    """What a batch costs that nothing is done with."""
    return v


def make_chunks(folder: Path) -> None:
    """Rows without NULLs."""
    random = np.random.default_rng(7)
    for number in range(CHUNKS):
        ts = pa.array(np.arange(CHUNK_ROWS)).cast(pa.timestamp("us", "UTC"))
        k = random.integers(0, 1_000_000, CHUNK_ROWS)
        table = pa.table(
            {
                "k": k,
                "v": random.random(CHUNK_ROWS),
                "s": pc.binary_join_element_wise(
                    "key-", pa.array(k).cast(pa.string()), ""
                ),
                "_timestamp": ts,
            }
        )
        write_chunk(folder, number, Chunk(table, {}), Totals())


def compare(report: Report, session: Session, folder: Path, udfs: list[Udf]) -> None:
    """Measure each function both ways, in turn."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.functions import arrow_udf

    spark = session.engine.session
    catalog = Catalog().with_functions(registry.rows({udf.name: udf for udf in udfs}))

    def rows() -> DataFrame:
        return read(spark, folder, COLUMNS)

    def planned(call: str) -> Callable[[], DataFrame]:
        script = TABLE.format(path=folder) + f"SELECT {call} AS y FROM events"
        sink = plan_script(script, catalog).sinks[0]
        return lambda: visible(lower(sink.input, lambda _: rows()), sink.input)

    def by_hand(
        function: Callable[..., object], *columns: str
    ) -> Callable[[], DataFrame]:
        return lambda: rows().select(function(*columns).alias("y"))  # type: ignore[attr-defined]

    scalar = by_hand(F.udf(mixed, "double"), "k", "v")
    text = by_hand(F.udf(first_half, "string"), "s")
    batch = by_hand(arrow_udf(mixed_batch, "double"), "k", "v")
    identity = by_hand(arrow_udf(itself, "double"), "k", "v")
    for name, call, other, least in (
        ("scalar, numbers, to PySpark's udf", "mixed(k, v)", scalar, LEAST),
        ("scalar, texts, to PySpark's udf", "first_half(s)", text, LEAST),
        ("batches, to arrow_udf", "mixed_batch(k, v)", batch, LEAST),
    ):
        ratio = in_turn(planned(call), other)
        report.add(name, ratio, "x", target=least, at_most=False)
    if any(udf.language == RUST for udf in udfs):
        rust, python = planned("mixed_rust(k, v)"), planned("mixed(k, v)")
        ratio = in_turn(rust, python)
        report.add("Rust, to Python", ratio, "x", target=LEAST_RUST, at_most=False)
        ratio = in_turn(rust, identity)
        report.add(
            "Rust, to an identity arrow_udf", ratio, "x", target=LEAST, at_most=False
        )


def alone(report: Report, udfs: list[Udf]) -> None:
    """The functions without Spark: rows a second of what a worker calls."""
    calls = {udf.name: udf.batch_call() for udf in udfs}
    k = pa.array(np.arange(ALONE_ROWS))
    v = pa.array(np.linspace(0, 1, ALONE_ROWS))
    best: dict[str, float] = {}
    for name in filter(calls.__contains__, ("mixed", "mixed_rust")):
        times = []
        for _ in range(ALONE_ROUNDS):
            begun = time.perf_counter()
            calls[name](k, v)
            times.append(time.perf_counter() - begun)
        best[name] = min(times)
        report.add(f"{name}: alone", ALONE_ROWS / best[name], "rows/s")
    if "mixed_rust" in best:
        ratio = best["mixed"] / best["mixed_rust"]
        report.add(
            "Rust alone, to Python", ratio, "x", target=LEAST_RUST_ALONE, at_most=False
        )
    begun = time.perf_counter()
    calls["waited"](k.slice(0, CALLS_ASYNC))
    report.add(
        f"{CALLS_ASYNC:,} async calls of {CALL_S * 1000:g} ms, {IN_FLIGHT} at a time",
        time.perf_counter() - begun,
        "s",
        target=MOST_S,
    )


def _rust() -> tuple[Udf, ...]:
    """The function in Rust; none where it cannot be built, and why is told."""
    from arroyo_nb.errors import ArroyoError

    try:
        found = read_definitions(ScriptText(IN_RUST), RUST)
        found[0].batch_call()
    except ArroyoError as problem:
        print(f"Rust is left out: {problem}", file=sys.stderr)
        return ()
    return found


def measure(report: Report) -> None:
    """Make the rows, then measure."""
    udfs = [*read_definitions(ScriptText(IN_PYTHON), PYTHON), *_rust()]
    alone(report, udfs)
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_chunks(folder)
        session.engine.worker.call(compare, report, session, folder, udfs)


if __name__ == "__main__":
    sys.exit(main(measure))
