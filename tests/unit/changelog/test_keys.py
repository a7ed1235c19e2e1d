"""Group numbers against Python's own idea of equal keys, for every type of column."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.changelog.keys import first_rows, group_ids, same, size, subgroup_ids

FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, 5e-324])
TEXTS = st.sampled_from(["", "a", "b", "a\0", "ab"])
COLUMNS = {
    pa.int64(): st.integers(-2, 2),
    pa.float64(): FLOATS,
    pa.float32(): FLOATS.filter(lambda x: x != 5e-324),
    pa.string(): TEXTS,
    pa.bool_(): st.booleans(),
    pa.binary(): TEXTS.map(str.encode),
    pa.date32(): st.sampled_from([date(1969, 12, 31), date(2024, 2, 29)]),
    pa.timestamp("us"): st.sampled_from([datetime(1, 1, 1), datetime(2024, 1, 1)]),
    pa.decimal128(6, 2): st.sampled_from([Decimal("0.10"), Decimal("-1.00")]),
    pa.null(): st.none(),
    pa.list_(pa.string()): st.lists(TEXTS | st.none(), max_size=3),
    pa.list_(pa.list_(pa.float64())): st.lists(
        st.none() | st.lists(FLOATS | st.none(), max_size=2), max_size=2
    ),
    pa.struct({"x": pa.float64(), "y": pa.list_(pa.int64())}): st.fixed_dictionaries(
        {
            "x": FLOATS | st.none(),
            "y": st.none() | st.lists(st.integers(0, 1), max_size=2),
        }
    ),
}


def plain(value: object) -> object:
    """A hashable value that is equal where GROUP BY says equal."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case list():
            return ("list", *map(plain, value))
        case dict():
            return ("struct", *map(plain, value.values()))
        case bool() | str() | bytes():
            return (type(value), value)
    return value


@st.composite
def relations(draw: st.DrawFn) -> list[pa.Array]:
    rows = draw(st.integers(0, 12))
    types = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=3))
    return [
        pa.array(
            draw(st.lists(st.none() | COLUMNS[t], min_size=rows, max_size=rows)), t
        )
        for t in types
    ] or [pa.nulls(rows)]


def expected(columns: list[pa.Array]) -> list[int]:
    seen: dict[object, int] = {}
    rows = zip(*(map(plain, c.to_pylist()) for c in columns), strict=True)
    return [seen.setdefault(row, len(seen)) for row in rows]


@given(relations(), st.integers(0, 12))
def test_equal_keys_have_equal_numbers_in_order_of_appearance(columns, cut):
    rows = len(columns[0])
    ids = group_ids(columns, rows)
    assert ids.tolist() == expected(columns)
    assert first_rows(ids).tolist() == [ids.tolist().index(g) for g in range(size(ids))]
    chunked = [pa.chunked_array([c[:cut], c[cut:]], c.type) for c in columns]
    assert group_ids(chunked, rows).tolist() == ids.tolist()


@given(relations())
def test_a_slice_of_a_column_is_its_own_column(columns):
    whole = [pa.concat_arrays([c, c])[len(c) :] for c in columns]
    assert group_ids(whole, len(columns[0])).tolist() == expected(columns)


@given(relations())
def test_rows_inside_numbered_groups(columns):
    groups = group_ids(columns[:1], len(columns[0]))
    inner = subgroup_ids(groups, columns[1:])
    assert inner.tolist() == expected(columns)


@given(relations())
def test_rows_are_compared_as_keys_are(columns):
    rows = list(zip(*(map(plain, c.to_pylist()) for c in columns), strict=True))
    backwards = [
        c.take(pa.array(range(len(c) - 1, -1, -1), pa.int64())) for c in columns
    ]
    assert same(columns, backwards, len(rows)).tolist() == [
        a == b for a, b in zip(rows, rows[::-1], strict=True)
    ]


def test_no_key_columns_are_one_group():
    assert group_ids([], 3).tolist() == [0, 0, 0]
