"""Bound expressions as Spark SQL text; what they evaluate to is tests/spark's."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bound import call, cast, col, lit, measure, op
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from arroyo_nb.plan.expressions.typing import typed
from arroyo_nb.schema import BIGINT, DOUBLE, INT, TEXT, Timestamp, quoted_text
from arroyo_nb.spark.aggregates import measure_sql
from arroyo_nb.spark.expressions import spark_sql

A = col("a", BIGINT)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (col("a`b", TEXT), "`a``b`"),
        (op(exp.Add, A, lit(1), BIGINT), "wrapping_add(`a`, 1L)"),
        (op(exp.Div, A, lit(2), BIGINT), "(`a` div 2L)"),
        (op(exp.Div, A, lit(2), INT), "CAST((`a` div 2L) AS int)"),
        (op(exp.Div, lit(1.5), lit(2.0), DOUBLE), "(CAST(1.5D AS double) / "),
        (
            lit(timedelta(days=-1, hours=-2)),
            "INTERVAL '-1 02:00:00.000000' DAY TO SECOND",
        ),
        (cast(A, INT), "CAST(`a` AS int)"),
        (cast(A, INT, tries=True), "TRY_CAST(`a` AS int)"),
        (cast(A, BIGINT), "`a`"),
        (typed(exp.Anonymous(this="row_time"), Timestamp()), "THE TIME"),
        (call("lower", "A"), "lower('A')"),
    ],
)
def test_texts(expression, text):
    assert spark_sql(expression, row_time="THE TIME").startswith(text)


def test_a_class_that_the_planner_never_makes_is_a_bug():
    with pytest.raises(TypeError, match="no Spark text for Pow"):
        spark_sql(op(exp.Pow, A, A, BIGINT), row_time="")


def test_a_function_that_the_planner_never_lets_through_is_a_bug():
    unknown = typed(exp.Anonymous(this="nope", expressions=[]), BIGINT)
    with pytest.raises(TypeError, match="the function nope"):
        spark_sql(unknown, row_time="")


@given(st.text())
def test_a_quoted_text_ends_where_it_should(value):
    quoted = quoted_text(value)
    assert quoted[0] == quoted[-1] == "'"
    inside = quoted[1:-1]
    # No quote is left that no backslash takes, and nothing that Spark substitutes.
    assert "'" not in inside.replace("\\\\", "").replace("\\'", "")
    assert "${" not in quoted


def test_measures():
    total = measure("sum", col("a", INT), BIGINT, where=op(exp.GT, A, lit(1), BIGINT))
    assert (
        measure_sql(total, row_time="")
        == "CAST(wrapping_sum(`a`) FILTER (WHERE (`a` > 1L)) AS bigint)"
    )
    spread = measure("var", A, DOUBLE)
    assert measure_sql(spread, row_time="") == "CAST(var_samp(`a`) AS double)"
    every = measure("bit_and", A, BIGINT, distinct=True)
    assert measure_sql(every, row_time="") == "CAST(bit_and(`a`) AS bigint)"
    values = measure("count", A, BIGINT, distinct=True)
    assert measure_sql(values, row_time="") == "CAST(size(collect_set(`a`)) AS bigint)"
