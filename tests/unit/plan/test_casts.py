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
    TEXT,
    Decimal,
    Field,
    ListOf,
    StructOf,
    Timestamp,
)
from arroyo_nb.session import Session

NUMBERS = (INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED, FLOAT, DOUBLE, Decimal(10, 2))
SCALARS = (*NUMBERS, BOOLEAN, TEXT, BYTEA, DATE, Timestamp())


def wanted(one, other):
    """Whether the crate `arrow` casts the one to the other."""
    pair = {one, other}
    if one == other or TEXT in pair:
        return True
    if pair <= {*NUMBERS, BOOLEAN}:
        return True
    if pair == {DATE, Timestamp()} or pair in ({DATE, INT}, {DATE, BIGINT}):
        return True
    return Timestamp() in pair and not pair.isdisjoint(NUMBERS)


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
    assert not castable(ListOf(INT), TEXT)


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
