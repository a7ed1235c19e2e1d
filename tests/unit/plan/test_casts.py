"""Which types CAST makes of which, as Arrow's own casts do."""

from __future__ import annotations

from itertools import product

import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.functions.types import castable
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
    TIME,
    TINYINT,
    Decimal,
    Field,
    ListOf,
    StructOf,
    Timestamp,
)
from arroyo_nb.session import Session

WHOLE = (TINYINT, INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED)
NUMBERS = (*WHOLE, FLOAT, DOUBLE, Decimal(10, 2))
SCALARS = (*NUMBERS, BOOLEAN, TEXT, BYTEA, DATE, TIME, INTERVAL, Timestamp())
TO = {
    BOOLEAN: (*WHOLE, FLOAT, DOUBLE, TEXT),
    **dict.fromkeys(WHOLE, (*NUMBERS, BOOLEAN, TEXT, BYTEA, Timestamp())),
    **dict.fromkeys((FLOAT, DOUBLE), (*NUMBERS, BOOLEAN, TEXT, Timestamp())),
    Decimal(10, 2): (*NUMBERS, TEXT, Timestamp()),
    TEXT: SCALARS,
    BYTEA: (TEXT,),
    DATE: (INT, BIGINT, TEXT, Timestamp()),
    TIME: (BIGINT, TEXT),
    INTERVAL: (TEXT,),
    Timestamp(): (*NUMBERS, TEXT, DATE, TIME),
}


def wanted(one, other):
    """Whether the crate `arrow` casts the one to the other."""
    days = (INT, BIGINT) if other == DATE else (BIGINT,) if other == TIME else ()
    return one == other or other in TO[one] or one in days


def test_scalars_are_cast_as_arrow_casts_them() -> None:
    found = {pair: castable(*pair) for pair in product(SCALARS, SCALARS)}
    assert found == {pair: wanted(*pair) for pair in product(SCALARS, SCALARS)}


def test_nested_types_are_cast_element_by_element_and_field_by_field() -> None:
    point = StructOf((Field("x", INT), Field("y", TEXT)))
    other = StructOf((Field("a", TEXT), Field("b", DATE)))
    assert castable(point, other)
    assert castable(ListOf(point), ListOf(other))
    assert not castable(point, StructOf((Field("x", INT),)))
    assert not castable(ListOf(DATE), ListOf(BOOLEAN))
    assert not castable(ListOf(INT), INT)
    assert not castable(point, TEXT)
    assert not castable(ListOf(point), TEXT)


def test_a_list_has_a_text_and_a_value_is_a_list_of_one() -> None:
    assert castable(ListOf(ListOf(INT)), TEXT)
    assert castable(INT, ListOf(ListOf(TEXT)))
    assert not castable(BOOLEAN, ListOf(DATE))


def test_an_insert_casts_to_the_types_of_the_sink() -> None:
    session = Session()
    tables = """CREATE TABLE s (d TEXT, n BIGINT, p STRUCT<x INT, y TEXT>[]) WITH (
        connector = 'single_file', path = '/s', type = 'source', format = 'json');
        CREATE TABLE o (n TEXT, d INT, p STRUCT<a TEXT, b BIGINT>[]) WITH (
        connector = 'stdout', format = 'json');"""
    (sink,) = session.plan(tables + "INSERT INTO o SELECT n, d, p FROM s").sinks
    assert str(sink.input.schema) == "n TEXT, d INT, p STRUCT<a TEXT, b BIGINT>[]"
    with pytest.raises(ArroyoError, match="column 'p': Unsupported CAST from BIGINT"):
        session.plan(tables + "INSERT INTO o SELECT d, n, n + 1 FROM s")
