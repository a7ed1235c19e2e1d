"""Whole numbers that leave their type by ``+ - *`` or ``sum()`` wrap around, as Arrow's
and numpy's do, wherever they stand."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bound import col, op
from sqlglot import exp

from arroyo_nb.plan.expressions.typing import typed
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    INT,
    INT_UNSIGNED,
    SMALLINT,
    TINYINT,
    Primitive,
    quoted,
    spark_type,
)
from arroyo_nb.spark.aggregates import measure_sql
from arroyo_nb.spark.expressions import spark_sql

GROUPS = 60
EDGES = (-(2**63), 2**63 - 1, -(2**32), 2**32, -1, 0, 1, 2**62)


def signed(total: int) -> int:
    return (total + 2**63) % 2**64 - 2**63


def values(random: Random) -> list[int | None]:
    choices = (
        lambda: random.choice(EDGES),
        lambda: random.randint(-(2**63), 2**63 - 1),
        lambda: random.randint(-9, 9),
        lambda: None,
    )
    return [random.choice(choices)() for _ in range(random.randint(1, 12))]


def test_sums_wrap_as_python_says(engine):
    random = Random(7)
    groups = [values(random) for _ in range(GROUPS)]
    rows = [(g, v) for g, group in enumerate(groups) for v in group]
    table = pa.table({"g": [g for g, _ in rows], "v": pa.array([v for _, v in rows])})

    def run():
        from pyspark.sql.functions import expr

        frame = engine.session.createDataFrame(table).selectExpr(*inputs)
        return frame.groupBy("g").agg(*map(expr, texts)).collect()

    inputs = (
        "g",
        "v",
        "CAST(v % 1000 AS INT) AS i",
        "CAST(pmod(v, 18446744073709551616BD) AS DECIMAL(20, 0)) AS u",
    )
    columns = (("v", BIGINT, BIGINT), ("i", INT, BIGINT))
    columns += (("u", BIGINT_UNSIGNED, BIGINT_UNSIGNED),)
    measures = [
        Measure(
            f"{name}_{distinct}", "sum", (col(name, type_),), result, True, distinct
        )
        for name, type_, result in columns
        for distinct in (False, True)
    ]
    texts = [f"{measure_sql(m, row_time='')} AS {m.name}" for m in measures]
    summed = engine.worker.call(run)
    assert len(summed) == GROUPS
    overflowed = 0
    for row in summed:
        known = [v for v in groups[row["g"]] if v is not None]
        small = [abs(v) % 1000 * (1 if v >= 0 else -1) for v in known]
        for name, given in (("v", known), ("i", small), ("u", known)):
            for distinct in (False, True):
                total = sum(set(given)) if distinct else sum(given)
                wrapped = total % 2**64 if name == "u" else signed(total)
                overflowed += name == "v" and wrapped != total
                found = row[f"{name}_{distinct}"]
                assert (None if found is None else int(found)) == (
                    wrapped if known else None
                )
    assert overflowed > GROUPS / 3


TYPES = {
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    Primitive("TINYINT UNSIGNED"): pa.uint8(),
    Primitive("SMALLINT UNSIGNED"): pa.uint16(),
    INT_UNSIGNED: pa.uint32(),
    BIGINT_UNSIGNED: pa.uint64(),
}
OPERATORS = {exp.Add: pc.add, exp.Sub: pc.subtract, exp.Mul: pc.multiply}
ROWS = 300


def numbers(type_: pa.DataType, random: Random) -> pa.Array:
    """Random values, many of them at the ends of the type."""
    range_ = np.iinfo(type_.to_pandas_dtype())
    edges = [range_.min, range_.max, 0, 1, 2, range_.max - 1, range_.min + 1, None]
    found = [
        random.choice(edges)
        if random.random() < 0.5
        else random.randint(int(range_.min), int(range_.max))
        for _ in range(ROWS)
    ]
    return pa.array([None if v is None else int(v) for v in found], type_)


def test_each_operator_wraps_as_arrow_does(engine):
    random = Random(11)
    given, texts, answers = {}, [], {}
    for type_, arrow in TYPES.items():
        name = str(type_)
        a, b = (numbers(arrow, random) for _ in range(2))
        left, right = col(f"{name} a", type_), col(f"{name} b", type_)
        given |= {left.name: a, right.name: b}
        made = {kind.key: op(kind, left, right, type_) for kind in OPERATORS}
        found = {kind.key: f(a, b) for kind, f in OPERATORS.items()}
        # What one operator gives is the operand of the next.
        made["nested"] = op(exp.Mul, made["add"], made["sub"], type_)
        found["nested"] = pc.multiply(found["add"], found["sub"])
        if pa.types.is_signed_integer(arrow):
            made["neg"] = typed(exp.Neg(this=left), type_)
            found["neg"] = pc.negate(a)
        texts += [
            f"{spark_sql(e, row_time='')} AS {quoted(f'{name} {key}')}"
            for key, e in made.items()
        ]
        answers |= {f"{name} {key}": values for key, values in found.items()}

    def run():
        # Spark has no unsigned types: the columns are as wide as its own for them.
        wide = pa.table({n: v.cast(_wider(v.type)) for n, v in given.items()})
        typed_ = [
            f"CAST({quoted(n)} AS {spark_type(_type_of(n))}) AS {quoted(n)}"
            for n in given
        ]
        frame = engine.session.createDataFrame(wide).selectExpr(*typed_)
        return frame.selectExpr(*texts).toArrow()

    result = engine.worker.call(run)
    for name, answer in answers.items():
        assert _ints(result[name]) == answer.to_pylist(), name


def _type_of(column):
    name = column.rpartition(" ")[0]
    return next(t for t in TYPES if str(t) == name)


def _wider(type_):
    return pa.decimal128(20, 0) if type_ == pa.uint64() else pa.int64()


def _ints(column):
    return [None if v is None else int(v) for v in column.to_pylist()]


M = 2**63 - 1
NUMBERS = [(M, M), (M, 1), (-M - 1, -1), (M, 2), (-M - 1, M), (5, 7), (2**40, 2**40)]
PLACES = {
    "select": "SELECT a + b AS x, a - b AS y, a * b AS z, -a AS n, "
    "CAST(a AS INT UNSIGNED) * CAST(b AS INT UNSIGNED) AS u FROM t WHERE a = 5",
    "every operator": "SELECT a + b AS x, a - b AS y, a * b AS z, -a AS n FROM t",
    "where": "SELECT a, b FROM t WHERE a + b < 0 AND a > 0",
    "case": "SELECT CASE WHEN -a < 0 THEN 'minus' ELSE 'plus' END AS s FROM t",
    "function": "SELECT CAST(a + b AS TEXT) AS s, coalesce(a * b, 0) AS c FROM t",
    "window": "SELECT g + 9223372036854775807 AS k, sum(a) AS s, sum(a + b) AS ab, "
    "sum(DISTINCT a) AS d FROM t GROUP BY tumble(interval '1 day'), "
    "g + 9223372036854775807 HAVING sum(a) + 1 < 100",
    "hop": "SELECT g, sum(a * b) AS s FROM t GROUP BY "
    "hop(interval '1 day', interval '1 day'), g",
    "session": "SELECT g, sum(a) AS s FROM t GROUP BY session(interval '1 day'), g",
    "updating": "SELECT g + 9223372036854775807 AS k, sum(a) AS s, sum(a + b) AS ab, "
    "sum(DISTINCT a) AS d FROM t GROUP BY g + 9223372036854775807 "
    "HAVING sum(a) + 1 < 100",
    "outer join": "SELECT one.a, other.b FROM t AS one LEFT JOIN t AS other "
    "ON one.g = other.g AND one.a + other.b < 0",
}


def _answers():
    rows = [(n, n % 2, a, b) for n, (a, b) in enumerate(NUMBERS)]
    groups = {
        g: (
            [a for _, of, a, _ in rows if of == g],
            [b for _, of, _, b in rows if of == g],
        )
        for g in (0, 1)
    }
    totals = [
        (
            signed(g + M),
            signed(sum(a)),
            signed(sum(a) + sum(b)),
            signed(sum(set(a))),
        )
        for g, (a, b) in groups.items()
        if signed(sum(a) + 1) < 100
    ]
    operators = [
        (signed(a + b), signed(a - b), signed(a * b), signed(-a)) for _, _, a, b in rows
    ]
    return {
        "select": [(12, -2, 35, -5, 35)],
        "every operator": operators,
        "where": [(a, b) for _, _, a, b in rows if signed(a + b) < 0 < a],
        "case": [("minus" if signed(-a) < 0 else "plus",) for _, _, a, _ in rows],
        "function": [(str(x), z) for x, _, z, _ in operators],
        "window": totals,
        "hop": [
            (g, signed(sum(x * y for x, y in zip(a, b, strict=True))))
            for g, (a, b) in groups.items()
        ],
        "session": [(g, signed(sum(a))) for g, (a, _) in groups.items()],
        "updating": totals,
        "outer join": [
            pair
            for _, g, a, _ in rows
            for pair in [
                (a, b) for _, of, _, b in rows if of == g and signed(a + b) < 0
            ]
            or [(a, None)]
        ],
    }


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "t.json"
    lines = [
        json.dumps({"g": n % 2, "a": a, "b": b, "at": f"2024-01-01T00:00:0{n}Z"})
        for n, (a, b) in enumerate(NUMBERS)
    ]
    path.write_text("\n".join(lines))
    return (
        "CREATE TABLE t (g BIGINT, a BIGINT, b BIGINT, at TIMESTAMP NOT NULL, "
        f"WATERMARK FOR at) WITH (connector = 'single_file', path = '{path}', "
        "type = 'source', format = 'json');"
    )


def test_an_expression_has_one_meaning_wherever_it_stands(session, rows):
    run = session.run(rows + ";".join(PLACES.values()), wait=True)
    answers = _answers()
    for place, name in enumerate(PLACES):
        found = [tuple(row.values()) for row in run.table(place).to_pylist()]
        assert sorted(found, key=str) == sorted(answers[name], key=str), name
