"""A named difference excuses the value that its sentence tells, and no other."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal as Exact

import pytest

from arroyo_nb.schema import BIGINT, DOUBLE, INT, TEXT
from oracle import theirs
from oracle.cases import Case, Column, Outcome
from oracle.comparison import compare
from oracle.differences import deliberate
from oracle.values import PAIR, WIDE

OVERFLOWS = "ArithmeticException: [DATETIME_OVERFLOW] Datetime operation overflow"
TOO_LARGE = "ArithmeticException: [NUMERIC_VALUE_OUT_OF_RANGE] The 39-digit value"
MONTHS = "an interval with months is not supported as a value of its own"


def call(name, *operands, columns=()):
    return Case(f"{name}({', '.join(operands)})", columns, name, operands=operands)


def operator(one, sign, other, kind, columns=()):
    text = f"{one} {sign} {other}"
    return Case(text, columns, kind, operands=(one, other))


def gives(value, type_):
    return Outcome(type=type_, value=value)


D, N = Column("d", DOUBLE, 1.5), Column("n", INT, None)
NO_NUMBER = Column("s", TEXT, "x")
CASES = {
    "nanoseconds": [
        (
            Case("CAST(CAST('7' AS BIGINT UNSIGNED) AS TIMESTAMP)"),
            gives(0, "TIMESTAMP"),
            [gives(1000, "TIMESTAMP"), gives(None, "TIMESTAMP"), gives(0, "BIGINT")],
        ),
        (
            Case("CAST(-1 AS TIMESTAMP(9)) - INTERVAL '1 nanosecond'"),
            gives(-1_000_001_000, "TIMESTAMP"),
            [gives(-1_000_000_000, "TIMESTAMP")],
        ),
    ],
    "years": [
        (
            call("to_timestamp_millis", "4611686018427387903"),
            Outcome(failure=OVERFLOWS),
            [Outcome(failure="some defect"), gives(0, "TIMESTAMP(3)")],
        ),
    ],
    "maps": [
        (
            Case("map(make_array('b'), make_array(8))"),
            gives([{"key": "b", "value": 8}], "STRUCT<key TEXT, value BIGINT>[]"),
            [
                gives([{"key": "b", "value": 9}], "STRUCT<key TEXT, value BIGINT>[]"),
                gives([{"key": "b", "value": 8}], "STRUCT<key TEXT, value INT>[]"),
            ],
        ),
    ],
    "months": [
        (
            Case("CAST('5' AS INTERVAL)"),
            Outcome(refusal=MONTHS),
            [
                Outcome(refusal="an interval is not supported"),
                gives((0, 5), "INTERVAL"),
            ],
        ),
    ],
    "make_date of NULL": [
        (
            call("make_date", "2024", "1", "n", columns=(N,)),
            gives(None, "DATE"),
            [gives(0, "DATE"), gives(None, "INT")],
        ),
    ],
    "seconds with a fraction": [
        (
            call("to_timestamp", "d", columns=(D,)),
            gives(1_500_000_000, "TIMESTAMP"),
            [gives(1_000_000_000, "TIMESTAMP"), Outcome(failure=OVERFLOWS)],
        ),
    ],
    "DECIMAL with UNSIGNED": [
        (
            operator(
                *("CAST('-0.50' AS DECIMAL(10, 2))", "+", "CAST('7' AS INT UNSIGNED)"),
                "DECIMAL + UNSIGNED",
            ),
            gives(Exact("6.50"), "DECIMAL(13, 2)"),
            [
                gives(Exact("6.51"), "DECIMAL(13, 2)"),
                gives(Exact("6.50"), "DECIMAL(14, 2)"),
                gives(6.5, "DOUBLE"),
            ],
        ),
    ],
    "trunc": [
        (
            call("trunc", "2.678", "2"),
            gives(2.67, "DOUBLE"),
            [gives(2.66, "DOUBLE"), gives(None, "DOUBLE"), gives(2.67, "FLOAT")],
        ),
    ],
    "nvl": [
        (
            call("nvl", "CAST('1.50' AS DECIMAL(10, 2))", "2"),
            gives(Exact("1.50"), "DECIMAL(22, 2)"),
            [gives(Exact("2.00"), "DECIMAL(22, 2)"), gives(1.5, "FLOAT")],
        ),
    ],
    "too many digits": [
        (
            operator(
                *("x", "+", "x", "DECIMAL + DECIMAL"),
                (Column("x", WIDE, Exact("6000000000000000000000000000")),),
            ),
            Outcome(failure=TOO_LARGE),
            [Outcome(failure="some defect"), gives(None, "DECIMAL(38, 10)")],
        ),
    ],
    "constant NULL": [
        (
            operator(
                "CAST(NULL AS DECIMAL(38, 10))",
                "%",
                "n",
                "DECIMAL % integer",
                (Column("n", INT, 3),),
            ),
            gives(None, "DECIMAL(20, 10)"),
            [gives(Exact(0), "DECIMAL(20, 10)"), gives(None, "BIGINT")],
        ),
    ],
    "negated constant": [
        (
            Case(
                "-((-9223372036854775807 - 1))",
                kind="- integer",
                operands=("(-9223372036854775807 - 1)",),
            ),
            gives(-(2**63), "BIGINT"),
            [gives(2**63 - 1, "BIGINT"), gives(-(2**63), "DOUBLE")],
        ),
    ],
    "internal failures": [
        (
            call("array_length", "make_array('a')", "CAST('1' AS INT UNSIGNED)"),
            gives(1, "BIGINT UNSIGNED"),
            [gives(2, "BIGINT UNSIGNED"), gives(None, "BIGINT UNSIGNED")],
        ),
    ],
    "parts without need": [
        (
            call("coalesce", "d", "s", columns=(D, Column("s", TEXT, "x"))),
            gives(1.5, "DOUBLE"),
            [gives(2.5, "DOUBLE"), gives(None, "DOUBLE"), gives("1.5", "TEXT")],
        ),
        (
            call("coalesce", "n", "s", columns=(Column("n", INT, 7), NO_NUMBER)),
            gives(7, "INT"),
            [gives(None, "INT")],
        ),
    ],
    "rows of a batch": [
        (
            call(
                *("array_has", "make_array(NULL, 5)", "i"),
                columns=(Column("i", BIGINT, -2),),
            ),
            gives(False, "BOOLEAN"),
            [gives(True, "BOOLEAN"), gives(False, "INT")],
        ),
    ],
    "fields of NULL": [
        (
            Case("(st)['a']", (Column("st", PAIR, None),), "struct[]", (), ("st",)),
            gives(None, "BIGINT"),
            [gives(1, "BIGINT"), gives(None, "INT")],
        ),
    ],
    "checked literals": [
        (
            operator("CAST(NULL AS TEXT)", "~", "'a{2'", "~"),
            Outcome(refusal="'a{2' is not a regular expression"),
            [gives(True, "BOOLEAN"), Outcome(failure="a defect")],
        ),
    ],
    "texts and numbers": [
        (
            operator(
                *("make_array('5')", "||", "7", "||"),
            ),
            Outcome(refusal="array_append() does not take (TEXT[], BIGINT)"),
            [gives(["5", "7"], "TEXT[]"), Outcome(failure="a defect")],
        ),
    ],
    "overlay": [
        (
            call("overlay", "'café'", "'X'", "9"),
            gives("caféX", "TEXT"),
            [gives("cafX", "TEXT"), gives(None, "TEXT")],
        ),
    ],
}
ALL = [(name, *row) for name, rows in CASES.items() for row in rows]


@pytest.mark.parametrize(("name", "case", "ours", "wrong"), ALL)
def test_it_excuses_what_it_tells_and_nothing_else(name, case, ours, wrong):
    other = theirs.evaluate(case)
    assert not compare(ours, other).agrees, other
    assert deliberate(case, ours, other) == name, other
    for one in wrong:
        assert deliberate(case, one, other) == "", one


def test_a_right_refusal_elsewhere_is_not_excused():
    # The pattern is none of those that fail on a text.
    case = operator("s", "~", "'a{2}'", "~", (Column("s", TEXT, None),))
    refused = Outcome(refusal="'a{2}' is not a regular expression")
    assert deliberate(case, refused, theirs.evaluate(case)) == ""
    texts = replace(case, columns=(Column("s", TEXT, "aa"),))
    assert deliberate(texts, refused, theirs.evaluate(texts)) == ""


def test_a_needed_part_that_fails_is_not_excused():
    columns = (Column("n", INT, None), NO_NUMBER)
    for case in (
        call("coalesce", "n", "s", columns=columns),
        operator("1.5", "=", "CAST(s AS DOUBLE)", "DOUBLE compare DOUBLE", columns),
    ):
        other = theirs.evaluate(case)
        assert other.failure
        for value in (gives(None, "INT"), gives(None, "BOOLEAN"), gives(0, "INT")):
            assert deliberate(case, value, other) == "", (case, value)
