"""Texts are read as DataFusion reads them: in a column as numbers and truth values by
Spark, and as literals by the planner."""

from __future__ import annotations

import math
import random
from decimal import Decimal as Exact

import pyarrow as pa
import pytest

from arroyo_nb.functions.casts import cast, datafusion_cast
from arroyo_nb.functions.literals import is_readable, text_constant
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    SMALLINT,
    TEXT,
    TIME,
    TINYINT,
    Decimal,
    Timestamp,
)
from arroyo_nb.spark.datafusion_batches import from_datafusion

IN_SPARK = (
    *(BIGINT, BIGINT_UNSIGNED, BOOLEAN, DOUBLE, FLOAT, INT, INT_UNSIGNED, SMALLINT),
    *(TINYINT, Decimal(10, 2), Decimal(20, 3), Decimal(38, 10), Decimal(38, 0)),
)
TIMES = (DATE, TIME, Timestamp(), Timestamp(0), Timestamp(6))
SEEDS = (
    *("2024-02-29", "2023-02-29", "2024-1-1", "2024", "2024-13-01", "-0044-03-15"),
    *("2024-01-31 12:30:59.123456789", "2024-01-31T12:30:59Z", "2024-01-31 24:00:00"),
    *("2024-01-31 1:2:3", "2024-01-31 12:30", "2024-01-31 12", "2024-01-31T"),
    *("2024-01-31 12:30:59+02:00", "T12:30:59", "2024-01-31t12:30:59 -0500"),
    *("2024-01-31 12:30:60", "2024-01-31 12:30:59 UTC+3", "2024-01-31 foo", "now"),
    *("1969-12-31 23:59:59.9", "1600-01-01", "9999-12-31", "2262-04-11 23:47:16.8"),
    *("12:30", "12:30:59.5", "9:30 PM", "12:00:00 am", "23:59:60", "123045"),
    *("123456-01-01", "20240131", "2024-01-31 12:30:59.", "0000-02-29", "2024-2-9"),
    *("127", "128", "-128", "-129", "+7", "9223372036854775807", "9223372036854775808"),
    *("18446744073709551615", "18446744073709551616", "-0", "4294967296", "255"),
    *("1.5", ".5", "5.", "1e3", "1e", "1d", "1.5f", "0x1p3", "0x", "nan", "-Infinity"),
    *("+NaN", "iNF", "5e-324", "1e400", "3.4028236e38", "1.e5", "9007199254740993"),
    *("inf", "1_000", "1,5", "12345678901234567890123", "0" * 30 + "7", "-", "+", ""),
    *("99999999.995", "1.005", "-1.005", "-0.004", "7" * 40, "0." + "3" * 60, "1.5.5"),
    *("true", "T", "yes", "on", "off", "0", "1", "  true\t", " 5 ", "5 5", "\x005"),
    *("\u0661", "\xa05", "2024\u20111-1", "epoch", "trU", "\u2003no\u3000", "5\x1f"),
)
ALPHABET = "0123456789-+:. TZefdx/\t_aniIyNm\u2009\u0663"


def texts() -> list[str]:
    """The seeds, and each with a character put in, left out or replaced."""
    chance = random.Random(7)
    made = list(SEEDS)
    for seed in SEEDS * 60:
        at, width = chance.randint(0, len(seed)), chance.randint(0, 1)
        new = chance.choice(ALPHABET) * chance.randint(0, 1)
        made.append(seed[:at] + new + seed[at + width :])
    signs = "0123456789.+-eE fn"
    made += [
        "".join(chance.choices(signs, k=chance.randint(1, 7))) for _ in range(3000)
    ]
    return list(dict.fromkeys(made))


def same(one: object, other: object) -> bool:
    match one, other:
        case float(), float():
            return str(one) == str(other) or (math.isnan(one) and math.isnan(other))
        case (int() | Exact(), int() | Exact()):
            return one == other
    return one == other


def numbers(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """Plain values; Python has no days of far years."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


@pytest.fixture(scope="module")
def by_datafusion() -> dict[object, list[object]]:
    """Type -> the value of each text, as Spark holds it."""
    from datafusion import SessionContext

    context = SessionContext()
    table = pa.record_batch([pa.array(texts())], names=["t"])
    context.register_record_batches("texts", [[table]])

    def values(type_):
        (part,) = context.sql(f"SELECT TRY_CAST(t AS {type_}) FROM texts").collect()
        return numbers(from_datafusion(part.column(0), type_))

    return {type_: values(type_) for type_ in (*IN_SPARK, *TIMES)}


def test_a_column_of_texts_has_datafusions_values(engine, by_datafusion) -> None:
    def work():
        rows = engine.session.createDataFrame([(t,) for t in texts()], "t STRING")
        columns = [
            f"{cast('t', TEXT, type_, tries=True)} AS c{n}"
            for n, type_ in enumerate(IN_SPARK)
        ]
        return rows.selectExpr(*columns).toArrow()

    assert not any(datafusion_cast(TEXT, type_) for type_ in IN_SPARK)
    found = engine.worker.call(work)
    wrong = [
        (text, str(type_), one, other)
        for n, type_ in enumerate(IN_SPARK)
        for text, one, other in zip(
            texts(), found[f"c{n}"].to_pylist(), by_datafusion[type_], strict=True
        )
        if not same(one, other)
    ]
    assert wrong == [], "\n".join(map(str, wrong[:60]))


def test_the_planner_refuses_the_literals_that_datafusion_refuses(
    by_datafusion,
) -> None:
    wrong = [
        (text, str(type_), value)
        for type_, values in by_datafusion.items()
        for text, value in zip(texts(), values, strict=True)
        if value is not None and not is_readable(text, type_)
    ]
    assert wrong == [], "\n".join(map(str, wrong[:60]))


def test_most_texts_that_no_run_can_read_are_told_at_planning(by_datafusion) -> None:
    missed = {
        (text, str(type_))
        for type_, values in by_datafusion.items()
        for text, value in zip(texts(), values, strict=True)
        if value is None and is_readable(text, type_)
    }
    # Names of zones, days of far years, and what stands behind a day.
    wrong = [
        (text, type_)
        for text, type_ in missed
        if not any(map(str.isalpha, text)) and text[0] not in "+-" and text.isascii()
    ]
    assert wrong == [], "\n".join(map(str, wrong[:60]))


def test_a_constant_of_spark_has_datafusions_value(engine, by_datafusion) -> None:
    constants = [
        (text, type_, constant, value)
        for type_, values in by_datafusion.items()
        for text, value in zip(texts(), values, strict=True)
        if (constant := text_constant(text, type_))
    ]

    def work(part):
        columns = [f"{constant} AS c{n}" for n, (_, _, constant, _) in enumerate(part)]
        row = engine.session.range(1).selectExpr(*columns).toArrow()
        return [numbers(column)[0] for column in row.columns]

    wrong = []
    for first in range(0, len(constants), 500):
        part = constants[first : first + 500]
        found = engine.worker.call(lambda part=part: work(part))
        wrong += [
            (text, str(type_), one, value)
            for (text, type_, _, value), one in zip(part, found, strict=True)
            if not same(one, value)
        ]
    assert len(constants) > 100
    assert wrong == [], "\n".join(map(str, wrong[:60]))


def test_a_floating_number_becomes_the_decimal_that_datafusion_rounds_it_to(
    engine,
) -> None:
    from datafusion import SessionContext

    chance = random.Random(3)
    given = [
        *(1.005, 2.675, -0.005, 0.5, 1e15, 2.0**53, 2.0**63, -(2.0**63), 1e22, 9.5e27),
        *(1e-300, 0.0, -0.0, 123456789.125, 2.0**64, -(2.0**70), 12345678901234567.0),
        *(chance.uniform(-1e8, 1e8) for _ in range(500)),
        *(chance.uniform(-1, 1) * 10 ** chance.randint(-12, 27) for _ in range(2000)),
        *(math.nan, math.inf, 1e300, 1e38, -1e29),
    ]
    types = [Decimal(10, 2), Decimal(18, 17), Decimal(30, 15), Decimal(38, 10)]
    types += [Decimal(38, 0), Decimal(15, 7), Decimal(5, 0)]
    context = SessionContext()
    table = pa.record_batch(
        [pa.array(given), pa.array(given).cast(pa.float32())], names=["d", "f"]
    )
    context.register_record_batches("numbers", [[table]])

    def work():
        rows = engine.session.createDataFrame(pa.Table.from_batches([table]))
        columns = [
            f"{cast(name, source, type_, tries=True)} AS {name}{n}"
            for n, type_ in enumerate(types)
            for name, source in (("d", DOUBLE), ("f", FLOAT))
        ]
        return rows.selectExpr(*columns).toArrow()

    found = engine.worker.call(work)
    wrong = []
    for n, type_ in enumerate(types):
        for name in ("d", "f"):
            query = f"SELECT TRY_CAST({name} AS {type_}) FROM numbers"
            (part,) = context.sql(query).collect()
            pairs = zip(
                given,
                found[f"{name}{n}"].to_pylist(),
                part.column(0).to_pylist(),
                strict=True,
            )
            wrong += [(name, str(type_), v, one, o) for v, one, o in pairs if one != o]
    assert wrong == [], "\n".join(map(str, wrong[:60]))
