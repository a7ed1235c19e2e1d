"""A windowed sum of whole numbers wraps around at 64 bits, as an updating one does."""

from __future__ import annotations

from random import Random

import pyarrow as pa
from bound import col

from arroyo_nb.plan.nodes import Measure
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, INT
from arroyo_nb.spark.aggregates import measure_sql

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
