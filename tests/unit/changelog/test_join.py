"""Updating joins against DuckDB over the surviving rows, after every batch."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from histories import Folded, Relation, duck, expired, histories, pieces, stepped, table
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.changelog.join import How, JoinKernel
from arroyo_nb.changelog.state_tables import split

LEFT = pa.schema({"k": pa.string(), "g": pa.float64(), "v": pa.int64()})
RIGHT = pa.schema(
    {
        "l": pa.string(),
        "h": pa.float64(),
        "w": pa.list_(pa.int64()),
        "m": pa.string(),
    }
)
KEY = st.sampled_from(["a", "b", None])
FLOAT = st.sampled_from([0.0, -0.0, math.nan, None])
LEFT_ROWS = st.fixed_dictionaries(
    {"k": KEY, "g": FLOAT, "v": st.none() | st.integers(0, 3)}
)
RIGHT_ROWS = st.fixed_dictionaries(
    {
        "l": KEY,
        "h": FLOAT,
        "w": st.none() | st.lists(st.integers(0, 3), max_size=2),
        "m": KEY,
    }
)
KEYS = {("k",): ("l",), ("k", "g"): ("l", "h"), ("k", "k"): ("l", "m")}


def longer(pairs: pa.Table) -> pa.Array:
    """``v > len(w)``, NULL where one of them is."""
    return pc.greater(pairs["v"], pc.list_value_length(pairs["w"]))


CONDITIONS: dict[str, Callable[[pa.Table], pa.Array] | None] = {
    "true": None,
    "v > len(w)": longer,
}


def without_a_key(relation: Relation, keys: tuple[str, ...]) -> pa.Table:
    """The rows that are there and have a NULL in their key."""
    missing = " OR ".join(f"{key} IS NULL" for key in keys)
    return duck(f"SELECT * FROM rows WHERE {missing}", rows=relation.table())


@settings(max_examples=60)
@given(
    histories(LEFT_ROWS),
    histories(RIGHT_ROWS),
    st.sampled_from(["inner", "left", "right", "full"]),
    st.sampled_from(list(KEYS)),
    st.sampled_from(list(CONDITIONS)),
    st.integers(0, 4),
)
def test_a_join_follows_both_sides(lefts, rights, how, keys, condition, cut):
    operator = JoinKernel(LEFT, RIGHT, keys, KEYS[keys], how, CONDITIONS[condition])
    state, folded = operator.layout.empty(), Folded()
    left, right = Relation(LEFT), Relation(RIGHT)
    equal = " AND ".join(f"{a} = {b}" for a, b in zip(keys, KEYS[keys], strict=True))
    query = f"SELECT * FROM l {how} JOIN r ON {equal} AND {condition}"
    for n in range(max(len(lefts), len(rights))):
        ours, theirs = (h[n] if n < len(h) else [] for h in (lefts, rights))
        left.take_in(ours)
        right.take_in(theirs)
        parts = zip(
            pieces(table(ours, LEFT), [cut]),
            pieces(table(theirs, RIGHT), [cut]),
            strict=True,
        )
        partials = [operator.partial(*part) for part in parts]
        state, changes = stepped(operator, state, partials, n)
        folded.fold(changes)
        folded.equals(duck(query, l=left.table(), r=right.table()))
        state = operator.layout.from_bytes(operator.layout.to_bytes(state))
    state, changes = expired(operator, state, n + 1)
    folded.fold(changes)
    # Rows without a key are not kept: nothing is there to grow old.
    ours, theirs = without_a_key(left, keys), without_a_key(right, KEYS[keys])
    folded.equals(duck(query, l=ours, r=theirs))
    assert not any(len(rows) for rows in state.values())


@pytest.mark.parametrize("how", ["left", "full"])
def test_a_padded_row_gives_way_to_the_first_match_and_returns_after_the_last(how: How):
    ours, theirs = (pa.schema({name: pa.int64()}) for name in "ab")
    operator = JoinKernel(ours, theirs, ("a",), ("b",), how)
    none, match = theirs.empty_table(), pa.table({"b": [1]}, schema=theirs)
    state, sent = operator.layout.empty(), []
    for left, right in [
        (pa.table({"a": [1]}, schema=ours), none),
        (ours.empty_table(), match),
        (ours.empty_table(), match.append_column("_weight", pa.array([-1]))),
    ]:
        state, changes = stepped(operator, state, [operator.partial(left, right)], 0)
        sent.append([(r["b"], r["_weight"]) for r in changes.to_pylist()])
    assert sent == [[(None, 1)], [(None, -1), (1, 1)], [(1, -1), (None, 1)]]


def test_rows_of_nulls_are_alike_whichever_side_they_are_from():
    ours, theirs = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()})
    operator = JoinKernel(ours, theirs, ("a",), ("b",), "full")
    null = pa.table({"a": [None]}, schema=ours)
    state = operator.layout.empty()
    batch = [operator.partial(null, theirs.empty_table())]
    state, changes = stepped(operator, state, batch, 0)
    assert changes.to_pylist() == [{"a": None, "b": None, "_weight": 1}]
    leaves = null.append_column("_weight", pa.array([-1]))
    comes = pa.table({"b": [None]}, schema=theirs)
    state, changes = stepped(operator, state, [operator.partial(leaves, comes)], 0)
    assert len(changes) == 0


def nulls(*rows: tuple[int, int]) -> pa.Table:
    """Left rows without a key: value and weight."""
    values, weight = (list(column) for column in zip(*rows, strict=True))
    columns = {"k": pa.nulls(len(values), pa.string()), "g": [0.0] * len(values)}
    columns |= {"v": pa.array(values, pa.int64()), "_weight": weight}
    return pa.table(columns)


@pytest.mark.parametrize("keys", [("k",), ("g", "k")])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_row_without_a_key_is_sent_alone_and_not_kept(how: How, keys):
    operator = JoinKernel(LEFT, RIGHT, keys, ("h", "l")[-len(keys) :], how)
    state, sent = operator.layout.empty(), []
    batches = [nulls((1, 2), (2, 1)), nulls((1, -1)), nulls((2, -1), (2, 1), (1, -1))]
    for batch in batches:
        partial = operator.partial(batch, RIGHT.empty_table())
        assert how in ("left", "full") or not any(map(len, partial.values()))
        state, changes = stepped(operator, state, [partial], 0)
        sent.append([(c["v"], c["_weight"]) for c in changes.to_pylist()])
        assert not any(map(len, state.values()))
    outer = [[(1, 2), (2, 1)], [(1, -1)], [(1, -1)]]
    assert sent == (outer if how in ("left", "full") else [[], [], []])


def test_rows_without_a_key_go_to_the_bucket_of_theirs():
    operator = JoinKernel(LEFT, RIGHT, ("k",), ("l",), "inner")
    left = pa.table({"k": [None, "a", "b"], "g": [0.0] * 3, "v": [1, 2, 3]}, LEFT)
    right = pa.Table.from_pylist([{"l": "b"}, {"l": None}], RIGHT)
    partial = operator.partial(left, right)
    parts = split(partial, operator.buckets(partial, 8))
    found = {bucket: part["keys"]["key k = l"].to_pylist() for bucket, part in parts}
    assert found == {3: ["a"], 4: ["b"]}
    none = operator.partial(left.slice(0, 1), right.slice(1))
    assert list(split(none, operator.buckets(none, 8))) == []


def test_a_state_that_kept_rows_without_a_key_is_read_and_rid_of_them():
    operator = JoinKernel(LEFT, RIGHT, ("k",), ("l",), "left")
    row = pa.table({"k": ["a"], "g": [0.0], "v": [1]}, LEFT)
    partial = operator.partial(row, RIGHT.empty_table())
    state, _ = stepped(operator, operator.layout.empty(), [partial], 0)
    keys = pa.table({"key k = l": [None, "a"], "_touched_us": [0, 0]})
    slots = pa.array([0, 1])
    left = pa.concat_tables([state["left"]] * 2).set_column(0, "_slot", slots)
    old = {"keys": keys, "left": left, "right": state["right"]}
    state, changes = stepped(operator, old, [partial], 1)
    assert state["keys"]["key k = l"].to_pylist() == ["a"]
    assert len(changes) == 1
    state, changes = expired(operator, old, 1)
    assert [c["_weight"] for c in changes.to_pylist()] == [-1]
    assert not any(map(len, state.values()))


def test_idle_keys_are_forgotten_and_others_stay():
    schema, other = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()})
    operator = JoinKernel(schema, other, ("a",), ("b",))
    one, two = (pa.table({"a": [n]}) for n in (1, 2))
    both = pa.table({"b": [1, 2]})
    state, _ = stepped(
        operator, operator.layout.empty(), [operator.partial(one, both)], 1
    )
    state, _ = stepped(operator, state, [operator.partial(two, both.slice(0, 0))], 2)
    state, gone = expired(operator, state, 2)
    assert gone.to_pylist() == [{"a": 1, "b": 1, "_weight": -1}]
    assert state["keys"]["key a = b"].to_pylist() == [2]


def test_where_no_key_is_idle_nothing_is_computed(monkeypatch):
    schema, other = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()})
    operator = JoinKernel(schema, other, ("a",), ("b",), "full")
    partial = operator.partial(pa.table({"a": [1]}), other.empty_table())
    state, _ = stepped(operator, operator.layout.empty(), [partial], 1)
    monkeypatch.setattr(JoinKernel, "step", pytest.fail)
    kept, changes = expired(operator, state, 1)
    assert kept is state
    assert (changes.schema.names, len(changes)) == (["a", "b", "_weight"], 0)
