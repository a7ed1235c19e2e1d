"""What the planner refuses of a literal's text is what Spark cannot read."""

from __future__ import annotations

import random

import pytest

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.literals import check_text
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    Decimal,
    Timestamp,
    spark_type,
)

TYPES = (
    *(BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, SMALLINT, TINYINT),
    *(Decimal(20, 3), Timestamp(), Timestamp(0)),
)
SEEDS = (
    *("2024-02-29", "2023-02-29", "2024-1-1", "2024", "2024-13-01", "-0044-03-15"),
    *("2024-01-31 12:30:59.123456789", "2024-01-31T12:30:59Z", "2024-01-31 24:00:00"),
    *("2024-01-31 1:2:3", "2024-01-31 12:30", "2024-01-31 12", "2024-01-31T"),
    *("2024-01-31 12:30:59 Europe/Paris", "2024-01-31 12:30:59+02:00", "T12:30:59"),
    *("2024-01-31 12:30:60", "2024-01-31 12:30:59 UTC+3", "2024-01-31 foo", "now"),
    *("12:30", "123456-01-01", "20240131", "2024-01-31 12:30:59.", "0000-02-29"),
    *("127", "128", "-128", "-129", "+7", "9223372036854775807", "9223372036854775808"),
    *("1.5", ".5", "5.", "1e3", "1e", "1d", "1.5f", "0x1p3", "0x", "nan", "-Infinity"),
    *("inf", "1_000", "1,5", "12345678901234567890123", "0" * 30 + "7", "-", "+", ""),
    *("true", "T", "yes", "on", "off", "0", "1", "  true\t", " 5 ", "5 5", "\x005"),
    *("\u0661", "\xa05", "2024\u20111-1", "epoch", "epoch UTC"),
)
ALPHABET = "0123456789-+:. TZefdx/\t"


def texts() -> list[str]:
    """The seeds, and each with a character put in, left out or replaced."""
    chance = random.Random(7)
    made = list(SEEDS)
    for seed in SEEDS * 40:
        at, width = chance.randint(0, len(seed)), chance.randint(0, 1)
        new = chance.choice(ALPHABET) * chance.randint(0, 1)
        made.append(seed[:at] + new + seed[at + width :])
    return list(dict.fromkeys(made))


def is_refused(text: str, type_) -> bool:
    try:
        check_text(text, type_, None)
    except CatalogProblem:
        return True
    return False


@pytest.fixture(scope="module")
def read(engine) -> dict[str, dict[str, bool]]:
    """Text -> type -> whether Spark reads it."""

    def work():
        rows = engine.session.createDataFrame(
            [(text,) for text in texts()], "text STRING"
        )
        casts = [
            f"TRY_CAST(text AS {spark_type(t)}) IS NOT NULL AS t{i}"
            for i, t in enumerate(TYPES)
        ]
        return [tuple(row) for row in rows.selectExpr("text", *casts).collect()]

    return {
        text: dict(zip(TYPES, found, strict=True))
        for text, *found in engine.worker.call(work)
    }


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_nothing_is_refused_that_spark_reads(read, type_):
    wrong = [t for t, found in read.items() if found[type_] and is_refused(t, type_)]
    assert wrong == []


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_most_of_what_spark_cannot_read_is_refused(read, type_):
    unread = [t for t, found in read.items() if not found[type_]]
    missed = [t for t in unread if not is_refused(t, type_)]
    assert len(missed) <= len(unread) / 10, missed
