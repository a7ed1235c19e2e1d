"""Scalar functions on random rows, with corners, against what DuckDB says.

A family of functions is one query on each side. Where the engines differ, the pair
says on which rows and why: nothing else is let through.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from duckdb_functions import COLUMNS, LISTS, NUMBERS, TEXTS, TIMES, Pair, inputs
from seeds import of_the_day
from sqlglot import exp

from arroyo_nb import functions
from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Project
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import Schema, arrow_schema
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.user_functions import register_datafusion

FAMILIES = {"numbers": NUMBERS, "texts": TEXTS, "times": TIMES, "lists": LISTS}


def planned(pairs: Sequence[Pair]) -> tuple[list[exp.Expr], Schema]:
    """The bound expressions of the calls, and the table's schema."""
    listed = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    calls = ", ".join(
        f"CASE WHEN {pair.where} THEN {pair.here} END AS c{n}"
        for n, pair in enumerate(pairs)
    )
    script = (
        f"CREATE TABLE data ({listed}) WITH (connector = 'single_file', path = '/x', "
        f"format = 'json', type = 'source'); SELECT {calls} FROM data"
    )
    plan = plan_script(script, Catalog())
    (project,) = [n for n in walk(plan.sinks[0]) if isinstance(n, Project)]
    table = plan.catalog.tables["data"]
    return [c.expression for c in project.items], table.physical


def plain(value: object) -> object:
    """A value of either engine as one that is compared."""
    match value:
        case bool() | None:
            return value
        case Decimal():
            return int(value) if value == int(value) else float(value)
        case datetime():
            return value.replace(tzinfo=None)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {name: plain(item) for name, item in value.items()}
    return value


def same(one: object, other: object) -> bool:
    """Whether both engines gave one value; of floats, up to the last digits."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float | int):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300)
    return one == other and (isinstance(one, bool) == isinstance(other, bool))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", of_the_day([18, *range(10)], "queries"))
def test_functions_give_what_duckdb_gives(engine, family, seed):
    pairs = FAMILIES[family]
    expressions, schema = planned(pairs)
    rows = pa.table(inputs(seed), schema=arrow_schema(schema))
    zoned = pa.schema(
        pa.field(f.name, pa.timestamp("us", "UTC"))
        if pa.types.is_timestamp(f.type)
        else f
        for f in rows.schema
    )

    def run() -> pa.Table:
        frame = engine.session.createDataFrame(rows.cast(zoned))
        register_datafusion(engine.session, expressions)
        texts = [spark_sql(e, row_time="NULL") for e in expressions]
        named = [f"{text} AS c{n}" for n, text in enumerate(texts)]
        return frame.selectExpr(*named).toArrow()

    here = engine.worker.call(run)
    calls = ", ".join(
        f"CASE WHEN {pair.where} THEN {pair.there or pair.here} END AS c{n}"
        for n, pair in enumerate(pairs)
    )
    with duckdb.connect() as connection:
        connection.register("data", rows)
        there = connection.sql(f"SELECT {calls} FROM data").to_arrow_table()
    wrong = []
    for n, pair in enumerate(pairs):
        values = zip(
            map(plain, here[f"c{n}"].to_pylist()),
            map(plain, there[f"c{n}"].to_pylist()),
            strict=True,
        )
        differs = [(r, v) for r, v in enumerate(values) if not same(*v)]
        if differs:
            row, found = differs[0]
            used = set(re.findall(r"\b[a-z]\b", pair.here))
            given = rows.slice(row, 1).select(sorted(used & COLUMNS.keys()))
            said = f"{pair.here} in {len(differs)} rows, first {found}"
            wrong.append(f"{said} of {given.to_pylist()[0]}")
    assert not wrong, "\n".join(wrong)


def test_every_pair_is_of_a_function_and_says_why_rows_are_left_out():
    for pair in (pair for family in FAMILIES.values() for pair in family):
        assert functions.scalar(pair.name), pair.name
        assert (pair.where == "TRUE") == (not pair.why), pair.here
