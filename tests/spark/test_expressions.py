"""Operators, literals and casts, evaluated by Spark, against what Arroyo gives."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Exact

import pytest
from bound import call, cast, col, lit, op, ts
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.expressions.typing import typed
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    TEXT,
    TINYINT,
    WINDOW_STRUCT,
    Decimal,
    Timestamp,
    quoted_text,
)
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.failures import run_problem
from arroyo_nb.spark.user_functions import register_datafusion

MOMENT = ts("2023-05-07T13:14:15.123456")
NULL_TEXT = cast(lit(None), TEXT)
NULL_DOUBLE = cast(lit(None), DOUBLE)
NAN = pytest.approx(math.nan, nan_ok=True)
MONEY = Decimal(10, 2)
WIDE = Decimal(38, 10)


def two(kind, left, right, type_):
    left, right = (x if isinstance(x, exp.Expr) else lit(x) for x in (left, right))
    return op(kind, left, right, type_)


def small(value, type_):
    return cast(lit(value), type_)


def wide(text):
    return cast(lit(text), WIDE)


def field(value, name, type_):
    return typed(exp.Dot(this=value, expression=exp.Identifier(this=name)), type_)


def case(*arms, default=None):
    ifs = [exp.If(this=lit(when), true=lit(then)) for when, then in arms]
    default = None if default is None else lit(default)
    return typed(exp.Case(ifs=ifs, default=default), TEXT)


CASES = [
    # whole numbers truncate toward zero
    (two(exp.Div, 7, 2, BIGINT), 3),
    (two(exp.Div, -7, 2, BIGINT), -3),
    (two(exp.Div, small(-7, INT), small(2, INT), INT), -3),
    (
        two(
            exp.Div,
            small(7, BIGINT_UNSIGNED),
            small(2, BIGINT_UNSIGNED),
            BIGINT_UNSIGNED,
        ),
        3,
    ),
    (two(exp.Mod, -7, 3, BIGINT), -1),
    # a number is days since 1970 to a date
    (cast(small(19_000, INT), DATE), date(2022, 1, 8)),
    (cast(lit(-1), DATE), date(1969, 12, 31)),
    (cast(cast(lit("2022-01-08"), DATE), BIGINT), 19_000),
    (cast(cast(lit("1969-12-31"), DATE), INT), -1),
    # a DOUBLE follows IEEE 754
    (two(exp.Div, 7.0, 2.0, DOUBLE), 3.5),
    (two(exp.Div, 1.0, small(0.0, DOUBLE), DOUBLE), math.inf),
    (two(exp.Div, -1.0, 0.0, DOUBLE), -math.inf),
    (two(exp.Div, 0.0, 0.0, DOUBLE), NAN),
    (two(exp.Div, 1.0, NULL_DOUBLE, DOUBLE), None),
    (two(exp.Mod, 5.5, 2.0, DOUBLE), 1.5),
    (two(exp.Mod, 5.5, 0.0, DOUBLE), NAN),
    (two(exp.Add, small(100, TINYINT), small(27, TINYINT), TINYINT), 127),
    (two(exp.Mul, small(3.5, MONEY), small(2, MONEY), MONEY), Exact("7.00")),
    (two(exp.Div, small(7, MONEY), small(2, MONEY), Decimal(14, 6)), Exact("3.500000")),
    (typed(exp.Neg(this=small(7, MONEY)), MONEY), Exact("-7.00")),
    # a DECIMAL keeps its digits; a quotient is cut off
    (
        two(exp.Add, wide("9" * 9), wide("0.0000000001"), WIDE),
        Exact("999999999.0000000001"),
    ),
    (two(exp.Sub, wide("0.0000000003"), wide("0.0000000001"), WIDE), Exact("2e-10")),
    (
        two(exp.Mul, wide("0.0000000012"), small(2, Decimal(20, 0)), WIDE),
        Exact("24e-10"),
    ),
    (
        two(exp.Mul, wide("0.0000000003"), wide("0.0000000007"), Decimal(38, 20)),
        Exact("21e-20"),
    ),
    (two(exp.Mod, wide("0.0000000007"), wide("0.0000000004"), WIDE), Exact("3e-10")),
    (two(exp.Div, wide("2"), wide("3"), Decimal(38, 14)), Exact("0." + "6" * 14)),
    (two(exp.Div, small(2, MONEY), small(3, MONEY), Decimal(14, 6)), Exact("0.666666")),
    (
        two(exp.Div, small(-2, MONEY), small(3, MONEY), Decimal(14, 6)),
        Exact("-0.666666"),
    ),
    (two(exp.Div, small(None, MONEY), small(3, MONEY), Decimal(14, 6)), None),
    # bits
    (two(exp.BitwiseXor, 6, 3, BIGINT), 5),
    (two(exp.BitwiseAnd, 6, 3, BIGINT), 2),
    (two(exp.BitwiseOr, 6, 3, BIGINT), 7),
    (two(exp.BitwiseLeftShift, 1, 40, BIGINT), 2**40),
    (two(exp.BitwiseRightShift, -8, 1, BIGINT), -4),
    # comparison and logic
    (two(exp.EQ, "a", NULL_TEXT, BOOLEAN), None),
    (two(exp.NullSafeEQ, NULL_TEXT, NULL_TEXT, BOOLEAN), True),
    (two(exp.NullSafeNEQ, "a", NULL_TEXT, BOOLEAN), True),
    (two(exp.NEQ, 1, 2, BOOLEAN), True),
    (two(exp.LT, 1, 2, BOOLEAN), True),
    (two(exp.Is, NULL_TEXT, None, BOOLEAN), True),
    (two(exp.Is, two(exp.LT, 2, 1, BOOLEAN), False, BOOLEAN), True),
    (two(exp.And, False, small(None, BOOLEAN), BOOLEAN), False),
    (two(exp.Or, False, small(None, BOOLEAN), BOOLEAN), None),
    (typed(exp.Not(this=lit(True)), BOOLEAN), False),
    (typed(exp.In(this=lit(2), expressions=[lit(1), lit(2)]), BOOLEAN), True),
    (typed(exp.Between(this=lit(2), low=lit(2), high=lit(3)), BOOLEAN), True),
    (case((False, "a"), (True, "b")), "b"),
    (case((False, "a")), None),
    (case((False, "a"), default="c"), "c"),
    # text
    (two(exp.DPipe, "a", "b", TEXT), "ab"),
    (two(exp.DPipe, "a", NULL_TEXT, TEXT), None),
    (two(exp.Like, "100%", r"1__\%", BOOLEAN), True),
    (two(exp.ILike, "ABC", "a%", BOOLEAN), True),
    (two(exp.RegexpLike, "a.c", r"^a\.c$", BOOLEAN), True),
    (two(exp.RegexpILike, "ABC", "^b|c$", BOOLEAN), True),
    # time
    (
        two(exp.Add, MOMENT, timedelta(days=-1, microseconds=1), Timestamp()),
        datetime(2023, 5, 6, 13, 14, 15, 123457, UTC),
    ),
    (two(exp.Sub, MOMENT, MOMENT, INTERVAL), timedelta()),
    (
        lit(timedelta(days=40, seconds=5, microseconds=6)),
        timedelta(days=40, seconds=5, microseconds=6),
    ),
    (lit(timedelta(microseconds=-1)), timedelta(microseconds=-1)),
    # lists and structs
    (
        typed(exp.Bracket(this=call("make_array", 1, 2), expressions=[lit(2)]), BIGINT),
        2,
    ),
    (
        typed(exp.Bracket(this=call("make_array", 1), expressions=[lit(2)]), BIGINT),
        None,
    ),
    # one group of a match, as it is an element of the list of all
    *(
        (typed(exp.Bracket(this=match, expressions=[lit(place)]), TEXT), group)
        for match, place, group in [
            (call("regexp_match", "ab12cd3", r"([a-z]+)(\d+)"), 2, "12"),
            (call("regexp_match", "ab12cd3", r"([a-z]+)(\d+)"), -1, "12"),
            (call("regexp_match", "ab12cd3", r"([a-z]+)(\d+)"), 3, None),
            (call("regexp_match", "ab12cd3", r"([a-z]+)(\d+)"), 0, None),
            (call("regexp_match", "x=&y=1", "(x|y)=([^&]*)"), 2, ""),
            (call("regexp_match", "a\nb", "b|a"), 1, "a"),
            (call("regexp_match", "ab", "A", "i"), 1, "a"),
            (call("regexp_match", "ab", "(a) # first", "x"), 1, "a"),
            (call("regexp_match", "ab", "(c)"), 1, None),
            (call("regexp_match", NULL_TEXT, "(a)"), 1, None),
        ]
    ),
    (
        field(col("w", WINDOW_STRUCT), "end", Timestamp()),
        datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
    ),
    # casts
    (cast(lit(2.9), BIGINT), 2),
    (cast(lit(-2.9), INT), -2),
    (cast(lit("12"), INT), 12),
    (cast(lit("x"), INT, tries=True), None),
    (cast(lit(-1), INT_UNSIGNED, tries=True), None),
    (cast(lit(None), INT_UNSIGNED), None),
    (cast(lit(2**32 - 1), INT_UNSIGNED), 2**32 - 1),
    # a BIGINT UNSIGNED is a DECIMAL to Spark, and cut off all the same
    (cast(lit(1.9), BIGINT_UNSIGNED), 1),
    (cast(lit(-0.9), BIGINT_UNSIGNED), 0),
    (cast(cast(lit(1.5), FLOAT), BIGINT_UNSIGNED), 1),
    (cast(lit(2.0**63), BIGINT_UNSIGNED), 2**63),
    (cast(lit(2.0**64 - 2048), BIGINT_UNSIGNED), 2**64 - 2048),
    (cast(lit(2.0**64), BIGINT_UNSIGNED, tries=True), None),
    (cast(cast(lit("NaN"), DOUBLE), BIGINT_UNSIGNED, tries=True), None),
    (cast(lit(-1.0), BIGINT_UNSIGNED, tries=True), None),
    (cast(small("1.99", MONEY), BIGINT_UNSIGNED), 1),
    (cast(small("-0.99", MONEY), BIGINT_UNSIGNED), 0),
    (cast(lit("18446744073709551615"), BIGINT_UNSIGNED), 2**64 - 1),
    (cast(lit("+7"), BIGINT_UNSIGNED), 7),
    (cast(lit("1.9"), BIGINT_UNSIGNED, tries=True), None),
    (cast(lit("18446744073709551616"), BIGINT_UNSIGNED, tries=True), None),
    (cast(lit("-1"), BIGINT_UNSIGNED, tries=True), None),
    (cast(NULL_TEXT, BIGINT_UNSIGNED), None),
    (cast(NULL_DOUBLE, BIGINT_UNSIGNED), None),
    (cast(ts("1970-01-01T00:00:01"), BIGINT_UNSIGNED), 10**9),
    (cast(lit(1), BOOLEAN), True),
    (cast(lit(True), TEXT), "true"),
    (cast(lit(1.0), TEXT), "1.0"),
    (cast(MOMENT, TEXT), "2023-05-07T13:14:15.123456"),
    (cast(ts("2023-05-07T13:14:15.5"), TEXT), "2023-05-07T13:14:15.500"),
    (cast(ts("2023-05-07"), TEXT), "2023-05-07T00:00:00"),
    (cast(MOMENT, DATE), date(2023, 5, 7)),
    (cast(MOMENT, Timestamp(3)), datetime(2023, 5, 7, 13, 14, 15, 123000, UTC)),
    (cast(lit(1_000_001_999), Timestamp()), datetime(1970, 1, 1, 0, 0, 1, 1, UTC)),
    (cast(lit(1_500), Timestamp(3)), datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)),
    (cast(ts("1970-01-01T00:00:01"), BIGINT), 1_000_000_000),
    (cast(cast(lit(1_500), Timestamp(3)), BIGINT), 1_500),
    (cast(lit("é"), BYTEA), "é".encode()),
    (cast(lit(1.1), FLOAT), pytest.approx(1.1)),
    (cast(lit("1.005"), MONEY), Exact("1.01")),
    (
        typed(exp.Anonymous(this="row_time"), Timestamp()),
        datetime(1970, 1, 1, tzinfo=UTC),
    ),
]


def evaluate(engine, expressions):
    expressions = [*expressions]
    engine.worker.call(lambda: register_datafusion(engine.session, expressions))
    texts = [spark_sql(e, row_time="timestamp_seconds(0)") for e in expressions]
    return evaluate_texts(engine, texts)


def evaluate_texts(engine, texts):
    window = "named_struct('start', timestamp_seconds(0), 'end', timestamp_seconds(5))"
    named = [f"{text} AS `{i}`" for i, text in enumerate(texts)]

    def run():
        rows = engine.session.range(1).selectExpr(f"{window} AS w")
        return rows.selectExpr(*named).toArrow().to_pylist()[0]

    return list(engine.worker.call(run).values())


def test_operators_give_what_arroyo_gives(engine):
    got = evaluate(engine, [expression for expression, _ in CASES])
    wrong = [
        (expression.sql(), value, wanted)
        for (expression, wanted), value in zip(CASES, got, strict=True)
        if value != wanted
    ]
    assert wrong == []


@given(texts=st.lists(st.text(), min_size=50, max_size=200))
@settings(max_examples=5)
def test_a_text_literal_is_itself(engine, texts):
    nasty = ["", "'", "\\", "\\'", '"', "`", "${x}", "$", "\n\r\t\0", "%_", "\\u0041"]
    nasty += ["🙂", "--", "/*", ":p", "?", "{x}", "\x1a", "\\%", "e\u0301"]
    assert evaluate_texts(engine, map(quoted_text, nasty + texts)) == nasty + texts


@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False),
            st.integers(-(2**63) + 1, 2**63 - 1),
            st.timedeltas(timedelta(days=-90_000), timedelta(days=90_000)),
        ),
        min_size=50,
        max_size=200,
    )
)
@settings(max_examples=5)
def test_a_literal_is_itself(engine, values):
    assert evaluate(engine, map(lit, values)) == values


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (two(exp.Div, 1, 0, BIGINT), "an integer was divided by zero"),
        (two(exp.Mod, 1, 0, BIGINT), "an integer was divided by zero"),
        (cast(lit("12x"), INT), "the value '12x' is not a valid INT"),
        (cast(lit("nope"), Timestamp()), "the value 'nope' is not a valid TIMESTAMP"),
        (cast(lit(2**40), INT), "the value 1099511627776 is out of the range of INT"),
        (
            cast(lit(-1), INT_UNSIGNED),
            "the value -1 is out of the range of INT UNSIGNED",
        ),
        (cast(lit("1.9"), BIGINT_UNSIGNED), "the value '1.9' is not a valid BIGINT"),
        (
            cast(lit(2.0**64), BIGINT_UNSIGNED),
            "the value 1.8446744073709552E19 is out of the range of BIGINT",
        ),
        (cast(lit(12345.0), Decimal(3, 1)), "does not fit into Decimal(3, 1)"),
        (
            two(exp.Div, two(exp.Sub, -(2**63) + 1, 1, BIGINT), -1, BIGINT),
            "a number became too large for its type",
        ),
        (call("power", 2, 63), "a number became too large for its type"),
        (call("power", -3, 10**9), "a number became too large for its type"),
        (call("power", 2, small(-1, BIGINT)), "negative exponents: -1 in integer"),
        (call("to_date", "x", "%Y"), "the value 'x' is unreadable"),
        (
            call("regexp_like", "a", call("lower", "(")),
            "a text is not a regular expression: unclosed group",
        ),
    ],
)
def test_a_failure_is_told_in_one_sentence(engine, expression, said):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's own class
        evaluate(engine, [expression])
    problem = run_problem(caught.value)
    assert isinstance(problem, RunProblem)
    assert said in problem.message
    assert "\n" not in problem.message
    assert problem.__cause__ is caught.value
