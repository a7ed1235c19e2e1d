"""Rows that a notebook emits are the bytes that a sink would write of them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal as Exact

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from arroyo_nb.formats.json.encode import json_column
from arroyo_nb.formats.json.payload_writer import DeclaredPayloads
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    spark_schema,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]))
TIMES = st.datetimes(datetime(1600, 1, 1), datetime(9000, 1, 1))
# Java before 19 writes more digits of some numbers than tell them apart.
NUMBERS = st.sampled_from([float("nan"), float("inf"), -0.0, 1e7, 9999999.0, 1e-3]) | (
    st.builds(
        lambda digits, exponent: float(f"{digits}e{exponent}"),
        st.integers(-(10**9), 10**9),
        st.integers(-12, 8),
    )
)
VALUES = {
    BOOLEAN: st.booleans(),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: NUMBERS,
    FLOAT: st.integers(-(2**20), 2**20).map(lambda number: number / 64),
    TEXT: WORDS | st.text(st.characters(max_codepoint=127)),
    BYTEA: st.binary(),
    DATE: st.dates(date(1600, 1, 1), date(9000, 1, 1)),
    Timestamp(): TIMES,
    Decimal(38, 5): st.decimals(Exact("-1e30"), Exact("1e30"), places=5),
    ListOf(ListOf(DOUBLE)): st.lists(st.none() | st.lists(st.none() | NUMBERS)),
    StructOf((Field("a", TEXT), Field("at", Timestamp()))): st.fixed_dictionaries(
        {"a": st.none() | WORDS, "at": st.none() | TIMES}
    ),
}
ROWS = st.lists(
    st.tuples(*(st.none() | values for values in VALUES.values())), min_size=30
)


@pytest.mark.parametrize("decimals", ["number", "string", "bytes"])
@given(name=WORDS.filter(bool), rows=ROWS)
@settings(max_examples=2, phases=[Phase.generate])
def test_the_same_rows_are_the_same_bytes(engine, decimals, name, rows):
    schema = Schema(tuple(Field(f"{name}{n}", t) for n, t in enumerate(VALUES)))
    times = "unix_millis" if decimals == "string" else "RFC3339"
    options = {
        "format": "json",
        "json.decimal_encoding": decimals,
        "json.timestamp_format": times,
    }

    def written():
        frame = engine.session.createDataFrame(rows, spark_schema(schema))
        return frame.select(json_column(schema, options)).toArrow()["value"]

    emitted = DeclaredPayloads("t", schema, options, read=False)(
        [dict(zip(schema.names, row, strict=True)) for row in rows]
    )
    assert [bytes(text) for text in emitted] == [
        text.encode() for text in engine.worker.call(written).to_pylist()
    ]
