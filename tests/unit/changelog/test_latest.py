"""The latest row of each key, against a dictionary."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from histories import expired, pieces, plain, stepped
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.changelog.latest import LatestRowKernel
from arroyo_nb.changelog.state_tables import split
from arroyo_nb.errors import RunProblem

INPUT = pa.schema(
    {
        "id": pa.int64(),
        "part": pa.list_(pa.string()),
        "v": pa.float64(),
    }
)
TOLD = INPUT.append(pa.field("_weight", pa.int64()))
TOLD = TOLD.append(pa.field("_sequence", pa.int64()))
KEYS = ("id", "part")

ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 3),
        "part": st.sampled_from([["a"], ["a", None], []]),
        "v": st.sampled_from([None, float("nan"), 0.0, 1.5]),
        "_weight": st.sampled_from([1, 1, -1]),
    }
)


def told(batches: list[list[dict[str, Any]]]) -> list[pa.Table]:
    """Each change with its place in the sequence."""
    tables, sequence = [], 0
    for batch in batches:
        rows = []
        for row in batch:
            sequence += 1
            rows.append(row | {"_sequence": sequence})
        tables.append(pa.Table.from_pylist(rows, TOLD))
    return tables


def values(row: dict[str, Any]) -> Any:
    return plain({k: v for k, v in row.items() if not k.startswith("_")})


@given(
    st.lists(st.lists(ROWS, max_size=8), max_size=5),
    st.integers(0, 8),
    st.randoms(),
    st.integers(1, 3),
)
def test_the_table_is_a_dictionary(batches, cut, random, buckets):
    operator = LatestRowKernel(INPUT, KEYS)
    states: dict[int, Any] = {}
    table: dict[Any, Any] = {}
    sent: Counter = Counter()
    for batch, rows in zip(batches, told(batches), strict=True):
        for row in batch:
            key = (row["id"], tuple(row["part"]))
            table.pop(key, None)
            if row["_weight"] > 0:
                table[key] = values(row)
        order = list(range(len(rows)))
        random.shuffle(order)  # Spark keeps no order between tasks
        rows = rows.take(pa.array(order, pa.int64()))
        parts: dict[int, list] = {}
        for piece in filter(len, pieces(rows, [cut])):
            partial = operator.partial(piece)
            for bucket, part in split(partial, operator.buckets(partial, buckets)):
                parts.setdefault(bucket, []).append(part)
        for bucket, found in parts.items():
            state = states.get(bucket, operator.layout.empty())
            state, changes = stepped(operator, state, found, 0)
            states[bucket] = operator.layout.from_bytes(operator.layout.to_bytes(state))
            assert changes.schema.names == [*operator.output.names, "_weight"]
            touched = Counter()
            for change in changes.to_pylist():
                touched[values(change)] += change["_weight"]
            assert 0 not in touched.values()
            sent.update(touched)
        assert +sent == Counter(table.values())
        assert min(sent.values(), default=0) >= 0


def test_an_update_is_a_retract_right_before_its_append():
    operator = LatestRowKernel(INPUT, KEYS)
    row = {"id": 1, "part": ["a"], "v": 1.0, "_weight": 1}
    other = row | {"id": 2}
    first, second = told([[row, other], [row | {"v": 2.0}, other | {"v": 3.0}]])
    state, _ = stepped(operator, operator.layout.empty(), [operator.partial(first)], 0)
    _, changes = stepped(operator, state, [operator.partial(second)], 0)
    assert [(c["id"], c["v"], c["_weight"]) for c in changes.to_pylist()] == [
        (1, 1.0, -1),
        (1, 2.0, 1),
        (2, 1.0, -1),
        (2, 3.0, 1),
    ]


def test_what_is_told_again_is_not_sent_and_what_is_unknown_is_not_retracted():
    operator = LatestRowKernel(INPUT, KEYS)
    row = {"id": 1, "part": ["a"], "v": 1.0, "_weight": 1}
    batches = told(
        [[row], [row | {"_weight": -1}, row], [row | {"id": 9, "_weight": -1}]]
    )
    state, changes = stepped(
        operator, operator.layout.empty(), [operator.partial(batches[0])], 0
    )
    assert len(changes) == 1
    for batch in batches[1:]:
        state, changes = stepped(operator, state, [operator.partial(batch)], 0)
        assert len(changes) == 0
    assert len(state["rows"]) == 1


def test_the_rows_of_a_table_do_not_age():
    operator = LatestRowKernel(INPUT, KEYS)
    (batch,) = told([[{"id": 1, "part": ["a"], "v": 1.0, "_weight": 1}]])
    state, _ = stepped(operator, operator.layout.empty(), [operator.partial(batch)], 0)
    kept, changes = expired(operator, state, 2**60)
    assert kept is state
    assert len(changes) == 0


def test_the_state_of_other_columns_is_refused():
    state = LatestRowKernel(INPUT, KEYS).layout
    fewer = LatestRowKernel(INPUT.remove(INPUT.get_field_index("v")), KEYS).layout
    with pytest.raises(RunProblem, match="does not belong to this query"):
        fewer.from_bytes(state.to_bytes(state.empty()))


def test_floats_are_keys_by_their_value():
    schema = pa.schema({"k": pa.float64(), "v": pa.int64()})
    operator = LatestRowKernel(schema, ("k",))
    rows = pa.table(
        {"k": [0.0, -0.0, None, None], "v": [1, 2, 3, 4], "_weight": [1] * 4}
        | {"_sequence": [1, 2, 3, 4]}
    )
    state, _ = stepped(operator, operator.layout.empty(), [operator.partial(rows)], 0)
    assert state["rows"]["v"].to_pylist() == [2, 4]
