"""Rows that two tables do not share, against counting them one by one."""

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.whatif.differences import WEIGHT, difference

rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 3)),
        st.one_of(st.none(), st.sampled_from(["a", "b"])),
        st.one_of(st.none(), st.lists(st.integers(0, 1), max_size=2)),
    ),
    max_size=12,
)
SCHEMA = pa.schema(
    [
        ("w", pa.struct([("start", pa.int64()), ("end", pa.int64())])),
        ("k", pa.string()),
        ("l", pa.list_(pa.int64())),
    ]
)


def table(found):
    return pa.table(
        {
            "w": [
                None if n is None else {"start": n, "end": n + 1} for n, _, _ in found
            ],
            "k": [k for _, k, _ in found],
            "l": [items for _, _, items in found],
        },
        schema=SCHEMA,
    )


def counted(found):
    return Counter((n, k, None if x is None else tuple(x)) for n, k, x in found)


@given(rows, rows)
def test_what_only_one_has_is_counted(first, second):
    found = difference(table(first), table(second))
    assert found.only_first == (counted(first) - counted(second)).total()
    assert found.only_second == (counted(second) - counted(first)).total()
    weights = found.rows[WEIGHT].to_pylist()
    assert sum(w for w in weights if w > 0) == found.only_first
    assert found.is_empty == (counted(first) == counted(second))


def test_the_last_bits_of_a_sum_are_no_difference():
    tenth = pa.table({"s": [0.1 + 0.2, None, float("nan"), -0.0]})
    other = pa.table({"s": [float("nan"), 0.0, 0.3, None]})
    assert difference(tenth, other).is_empty
    assert difference(pa.table({"s": [1.0]}), pa.table({"s": [1.000001]})).only_first


def test_tables_of_other_columns_share_no_row():
    found = difference(pa.table({"a": [1]}), pa.table({"b": [1, 2]}))
    assert (found.only_first, found.only_second) == (1, 2)


def test_a_column_may_have_the_name_of_the_weight_or_of_another():
    first = pa.table([pa.array([1]), pa.array([2])], names=["weight", "weight"])
    second = pa.table([pa.array([2]), pa.array([1])], names=["weight", "weight"])
    assert difference(first, first).is_empty
    assert difference(first, second).only_first == 1
