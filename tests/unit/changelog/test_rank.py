"""Ranks and top-N against DuckDB over the surviving rows, after every batch."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from histories import Folded, Relation, duck, expired, histories, pieces, stepped, table
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.rank import NumberColumn, RankKernel, RankLimit

INPUT = pa.schema({"k": pa.string(), "v": pa.float64(), "t": pa.string()})
ROWS = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", None]),
        "v": st.sampled_from([None, math.nan, -1.5, 0.0, 2.0]),
        "t": st.sampled_from([None, "x", "y"]),
    }
)
ORDERS = {
    "v DESC NULLS FIRST": (Order("v", descending=True, nulls_first=True),),
    "t NULLS LAST, v DESC NULLS LAST": (Order("t"), Order("v", descending=True)),
    "": (),
}
TIES = "k NULLS LAST, v NULLS LAST, t NULLS LAST"
FUNCTIONS = st.sampled_from(["row_number", "rank", "dense_rank"])
LIMITS = st.none() | st.builds(RankLimit, FUNCTIONS, st.integers(1, 3))
NUMBERS = st.lists(FUNCTIONS, max_size=3, unique=True).map(
    lambda functions: tuple(NumberColumn(f"n_{f}", f) for f in functions)
)


def query(keys: tuple[str, ...], order: str, rank: RankKernel) -> str:
    def over(function: str) -> str:
        by = [order, TIES] if function == "row_number" else [order]
        given = f"ORDER BY {', '.join(filter(None, by))}" if any(by) else ""
        partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
        return f"{function}() OVER ({partition} {given})"

    numbers = [f"{over(n.function)} AS {n.name}" for n in rank.numbers]
    limit = ""
    if rank.limit is not None:
        limit = f"QUALIFY {over(rank.limit.function)} <= {rank.limit.last}"
    return f"SELECT {', '.join(['k, v, t', *numbers])} FROM rows {limit}"


@pytest.mark.parametrize("retracts", [True, False])
@settings(max_examples=50)
@given(
    histories(ROWS),
    st.sampled_from([("k",), ()]),
    st.sampled_from(list(ORDERS)),
    NUMBERS,
    LIMITS,
    st.integers(0, 4),
)
def test_ranks_follow_their_rows(retracts, history, keys, order, numbers, limit, cut):
    operator = RankKernel(INPUT, keys, ORDERS[order], numbers, limit, retracts)
    state, relation, folded = operator.layout.empty(), Relation(INPUT), Folded()
    for now, batch in enumerate(history):
        seen = [(row, w) for row, w in batch if retracts or w > 0]
        relation.take_in(seen)
        parts = pieces(table(seen, INPUT), [cut])
        partials = [operator.partial(part) for part in parts]
        state, changes = stepped(operator, state, partials, now)
        assert changes.schema.names == [*operator.output.names, "_weight"]
        folded.fold(changes)
        folded.equals(duck(query(keys, order, operator), rows=relation.table()))
        state = operator.layout.from_bytes(operator.layout.to_bytes(state))
    state, changes = expired(operator, state, len(history))
    folded.fold(changes)
    assert not +folded.rows
    assert not any(len(rows) for rows in state.values())


def test_rows_below_the_limit_are_forgotten_where_nothing_is_retracted():
    schema = pa.schema({"v": pa.int64()})
    limit = RankLimit("row_number", 2)
    operator = RankKernel(schema, (), (Order("v"),), limit=limit, retracts=False)
    rows = pa.table({"v": [5, 3, 9, 1]})
    partial = operator.partial(rows)
    assert sorted(partial["rows"]["v"].to_pylist()) == [1, 3]
    state, _ = stepped(operator, operator.layout.empty(), [partial], 0)
    assert sorted(state["rows"]["v"].to_pylist()) == [1, 3]


def test_where_no_key_is_idle_nothing_is_computed(monkeypatch):
    operator = RankKernel(INPUT, ("k",), (Order("v"),))
    rows = pa.table({"k": ["a"], "v": [1.0], "t": ["x"]}, schema=INPUT)
    partial = operator.partial(rows)
    state, _ = stepped(operator, operator.layout.empty(), [partial], 1)
    monkeypatch.setattr(RankKernel, "step", pytest.fail)
    kept, changes = expired(operator, state, 1)
    assert kept is state
    assert (changes.schema.names, len(changes)) == (["k", "v", "t", "_weight"], 0)


def test_a_key_that_is_never_null_is_ranked():
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    kernel = RankKernel(schema, ("k",), (), limit=RankLimit("row_number", 1))
    state = kernel.layout.empty()
    for value in (2, 3):
        rows = pa.table([[1], [value]], schema=schema)
        state, _ = stepped(kernel, state, [kernel.partial(rows)], 0)
    assert kernel.layout.from_bytes(kernel.layout.to_bytes(state)) == state
