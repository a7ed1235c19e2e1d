"""Are the rows of a query the same in both engines, once all changes are added up?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from arroyo_nb.changelog import ROW_ID, WEIGHT
from benchmarks.report import Report

SHOWN = 6
"""How many of the rows that differ are printed."""


def compare_rows(
    report: Report,
    name: str,
    ours: Path,
    theirs: Path,
    compared: Sequence[str] | None = None,
) -> None:
    """Count the rows that only one of two folders has; prints some of them.

    Parameters
    ----------
    report
        Gets how many rows there are, and how many differ, which misses its target if
        any do.
    name
        Of the query.
    ours
        Parquet; the rows of an updating query with their weight.
    theirs
        Flink's Debezium JSON.
    compared
        What of a row is compared, as expressions of DuckDB; None: all columns.
    """
    # Beside two JVMs it may not take the rest of the memory, and five million rows are
    # more than that: it spills.
    spill = {"memory_limit": "3GB", "temp_directory": str(theirs.parent / "spill")}
    with duckdb.connect(config=spill) as database:
        database.execute("SET TimeZone = 'UTC'")
        mine = _our_changes(database, ours)
        others = _flink_changes(database, theirs, mine)
        taken_off = others.project("* EXCLUDE (weight), -weight")
        keys = ", ".join(compared or (f'"{c}"' for c in mine.columns[:-1]))
        both = mine.union(taken_off).project(f"{keys}, weight")
        added_up = both.aggregate("* EXCLUDE (weight), sum(weight) AS weight")
        differing = added_up.filter("weight <> 0").order("ALL").to_arrow_table()
        (total,) = mine.aggregate("sum(weight)").fetchall()[0]
    report.add(f"{name}: rows", total or 0, "rows")
    copies = int(pc.sum(pc.abs(differing["weight"]), min_count=0).as_py())
    report.add(f"{name}: rows that differ", copies, "rows", target=0)
    if copies:
        print("weight 1: only ours has it; -1: only Flink's")
        print(*differing.slice(0, SHOWN).to_pylist(), sep="\n")


def _our_changes(database: DuckDBPyConnection, folder: Path) -> DuckDBPyRelation:
    """The rows and their weight; a window is two columns, as it is in Flink."""
    rows = database.read_parquet(f"{folder}/*.parquet")
    items = [f'"{n}"' for n in rows.columns if n not in ("window", WEIGHT, ROW_ID)]
    if "window" in rows.columns:
        items += ['"window".start AS window_start', '"window"."end" AS window_end']
    weight = WEIGHT if WEIGHT in rows.columns else "1"
    return rows.project(f"{', '.join(items)}, {weight} AS weight")


def _flink_changes(
    database: DuckDBPyConnection, folder: Path, like: DuckDBPyRelation
) -> DuckDBPyRelation:
    """The rows and their weight, in the same columns and types."""
    # Of a query without rows there is no file, which DuckDB refuses.
    folder.mkdir(exist_ok=True)
    (folder / "part-none").touch()
    columns = list(zip(like.columns, like.types, strict=True))[:-1]
    fields = ", ".join(f'"{name}" {type_}' for name, type_ in columns)
    row = f"STRUCT({fields})"
    changes = database.read_json(
        f"{folder}/part-*",
        columns={"before": row, "after": row, "op": "VARCHAR"},
        format="newline_delimited",
    )
    sides = (("after", "c", 1), ("before", "d", -1))
    appended, retracted = (
        changes.filter(f"op = '{op}'").project(f"unnest({side}), {weight} AS weight")
        for side, op, weight in sides
    )
    return appended.union(retracted)
