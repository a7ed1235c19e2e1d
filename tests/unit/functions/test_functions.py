"""The tables of scalar functions: names, signatures, what is refused and how."""

from __future__ import annotations

import re

import pytest
from bound import call, col

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions import Argument, SignatureProblem, names, scalar
from arroyo_nb.functions.chrono_formats import java_pattern
from arroyo_nb.functions.examples import split_example
from arroyo_nb.functions.types import common_type
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    JSON,
    NULL,
    TEXT,
    TINYINT,
    Decimal,
    ListOf,
    Timestamp,
    quoted_text,
)
from arroyo_nb.spark.expressions import spark_sql

T = Timestamp()


def test_every_row_is_documented_and_its_name_is_its_own():
    rows = {id(scalar(name)): scalar(name) for name in names()}
    every = [name for row in rows.values() for name in (row.name, *row.aliases)]
    assert len(every) == len(set(every)) == len(names())
    assert all(name == name.lower() for name in every)
    for row in rows.values():
        assert row.doc
        assert "\n" not in row.doc
        assert not row.doc.endswith(".")


def test_every_row_has_an_example_that_calls_it():
    """Their results are computed by tests/spark/test_examples.py."""
    for row in map(scalar, names()):
        call, result = split_example(row.example)
        assert re.search(rf"\b{row.name}\(", call), row.name
        assert bool(result) != bool(row.volatile), row.name


def test_an_alias_is_the_function():
    assert scalar("pow") is scalar("power")
    assert scalar("nope") is None


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("abs", [INT], INT),
        ("abs", [Decimal(10, 2)], Decimal(10, 2)),
        ("sqrt", [INT], DOUBLE),
        ("power", [INT, BIGINT], BIGINT),
        ("power", [INT, DOUBLE], DOUBLE),
        ("coalesce", [NULL, INT, BIGINT], BIGINT),
        ("coalesce", [BIGINT, TEXT], BIGINT),
        ("nvl2", [TEXT, INT, DOUBLE], TEXT),
        ("nvl2", [INT, INT, DOUBLE], DOUBLE),
        ("nvl", [Decimal(10, 2), DOUBLE], Decimal(30, 15)),
        ("nvl", [DATE, TEXT], TEXT),
        ("sqrt", [FLOAT], FLOAT),
        ("atan2", [INT, FLOAT], FLOAT),
        ("round", [FLOAT, INT], DOUBLE),
        ("power", [BIGINT_UNSIGNED, INT], DOUBLE),
        ("concat", [TEXT, INT, T], TEXT),
        ("substr", [TEXT, BIGINT], TEXT),
        ("lower", [JSON], TEXT),
        ("date_trunc", [TEXT, TEXT], T),
        ("date_trunc", [TEXT, DATE], T),
        ("date_bin", [INTERVAL, T], T),
        ("to_timestamp_millis", [BIGINT], Timestamp(3)),
        ("date_part", [TEXT, T], INT),
        ("make_array", [INT, NULL, DOUBLE], ListOf(DOUBLE)),
        ("array_element", [ListOf(TEXT), BIGINT], TEXT),
        ("array_length", [ListOf(TEXT)], BIGINT_UNSIGNED),
        ("array_append", [ListOf(INT), BIGINT], ListOf(BIGINT)),
        ("array_append", [ListOf(BIGINT), INT], ListOf(BIGINT)),
        ("array_append", [ListOf(TEXT), NULL], ListOf(TEXT)),
        ("array_append", [NULL, TEXT], ListOf(TEXT)),
        ("array_has", [ListOf(ListOf(INT)), ListOf(BIGINT)], BOOLEAN),
        ("pi", [], DOUBLE),
    ],
)
def test_the_type_of_a_call(name, types, result):
    assert scalar(name).check(types) == result


def test_the_part_of_a_date_decides_the_type():
    part = scalar("date_part")
    assert part.check([TEXT, T], ["epoch", None]) == DOUBLE
    assert part.check([TEXT, T], ["year", None]) == INT


@pytest.mark.parametrize(
    ("name", "types", "message", "hint"),
    [
        ("sqrt", [TEXT], "sqrt() does not take (TEXT)", "write sqrt(DOUBLE)"),
        ("sqrt", [], "sqrt() does not take ()", "write sqrt(DOUBLE)"),
        (
            "round",
            [DOUBLE, INT, INT],
            "round() does not take (DOUBLE, INT, INT)",
            "write round(DOUBLE, [BIGINT])",
        ),
        (
            "coalesce",
            [DATE, TEXT],
            "coalesce() does not take (DATE, TEXT)",
            "write CAST(... AS TYPE), so that they have one type",
        ),
        (
            "log",
            [BOOLEAN],
            "log() does not take (BOOLEAN)",
            "write log(DOUBLE) or log(DOUBLE, DOUBLE)",
        ),
    ],
)
def test_a_wrong_call_is_refused(name, types, message, hint):
    with pytest.raises(SignatureProblem) as caught:
        scalar(name).check(types)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("name", "nullables", "nullable"),
    [
        ("lower", [True], True),
        ("lower", [False], False),
        ("coalesce", [True, False], False),
        ("coalesce", [True, True], True),
        ("nullif", [False, False], True),
        ("concat", [True], False),
    ],
)
def test_whether_a_result_may_be_null(name, nullables, nullable):
    assert scalar(name).nullable(nullables) is nullable


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ([TINYINT, INT], INT),
        ([INT, INT_UNSIGNED], BIGINT),
        ([TINYINT, INT_UNSIGNED], BIGINT),
        ([BIGINT, BIGINT_UNSIGNED], Decimal(20, 0)),
        ([INT_UNSIGNED, BIGINT_UNSIGNED], BIGINT_UNSIGNED),
        ([INT, FLOAT], FLOAT),
        ([Decimal(10, 2), FLOAT], Decimal(15, 7)),
        ([FLOAT, DOUBLE], DOUBLE),
        ([Decimal(10, 2), INT], Decimal(12, 2)),
        ([Decimal(10, 2), Decimal(10, 8)], Decimal(16, 8)),
        ([Decimal(10, 2), DOUBLE], Decimal(30, 15)),
        ([Timestamp(3), T, Timestamp(6)], Timestamp(3)),
        ([Timestamp(3), DATE], T),
        ([TEXT, DATE], DATE),
        ([TEXT, JSON], TEXT),
        ([ListOf(INT), ListOf(BIGINT)], ListOf(BIGINT)),
        ([NULL, NULL], NULL),
        ([TEXT, INT], None),
        ([BOOLEAN, INT], None),
        ([DATE, INTERVAL], None),
        ([TEXT, INTERVAL], None),
    ],
)
def test_the_common_type_does_not_depend_on_the_order(types, common):
    assert common_type(types) == common
    assert common_type(types[::-1]) == common


@pytest.mark.parametrize(
    "made",
    [
        lambda: call("date_part", "fortnight", "2020-01-01"),
        lambda: call("date_trunc", "fortnight", "2020-01-01"),
        lambda: call("to_char", "2020-01-01", "%Q"),
        lambda: call("regexp_like", "a", "a", "?"),
    ],
)
def test_what_must_be_a_known_literal(made):
    with pytest.raises((CatalogProblem, Unsupported)) as caught:
        spark_sql(made(), row_time="")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("chrono", "java"),
    [
        ("%Y-%m-%d", "yyyy-MM-dd"),
        ("%FT%T%.6f", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
        ("at %H o'clock", "'at 'HH' o''clock'"),
        ("%d%%%m", "dd%MM"),
        ("100%% sure", "'100% sure'"),
    ],
)
def test_time_patterns(chrono, java):
    assert java_pattern(chrono) == java


@pytest.mark.parametrize(
    ("by", "java"),
    [
        ("x1", "x1"),
        ("$2-${1}y", "$2-$1y"),
        # Not the same to both, so that DataFusion replaces.
        *((by, None) for by in ("$1y", "${1}0", "$$", "a$ b", r"\\1", "$name", "$3")),
    ],
)
def test_replacements_that_java_means_alike(by, java):
    made = spark_sql(
        call("regexp_replace", col("s", TEXT), "(a)(b)", by, "g"), row_time="t"
    )
    if java is None:
        assert made.startswith("`_df_")
    else:
        assert made == f"regexp_replace(`s`, '(a)(b)', {quoted_text(java)})"


def test_an_argument_is_cast_to_what_the_signature_names():
    text = scalar("sqrt").spark([Argument("`a`", INT)])
    assert text == "sqrt(CAST(`a` AS double))"


def test_what_is_another_value_each_time_is_computed_for_each_place():
    """DataFusion is given one column for what is written twice, but not for these."""
    both = spark_sql(call("regexp_like", call("uuid"), call("uuid")), row_time="t")
    assert both.endswith("(uuid(), uuid())")
    inner = [call("regexp_replace", call("uuid"), col("s", TEXT), "x") for _ in "ab"]
    nested = spark_sql(call("regexp_like", *inner), row_time="t")
    assert nested.endswith("(uuid(), `s`, uuid())")
    column = col("s", TEXT)
    once = spark_sql(call("regexp_like", column, column), row_time="t")
    assert once.endswith("(`s`)")
