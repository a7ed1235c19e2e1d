"""Ranks and top-N against DuckDB over the surviving rows, after every batch."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from histories import Folded, Relation, duck, histories, pieces, table
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.rank import UpdatingRank

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
}
TIES = "k NULLS LAST, v NULLS LAST, t NULLS LAST"
FUNCTIONS = st.sampled_from(["row_number", "rank", "dense_rank"])
LIMITS = st.none() | st.integers(1, 3)


def query(keys: tuple[str, ...], order: str, rank: UpdatingRank) -> str:
    ties = f", {TIES}" if rank.function == "row_number" else ""
    partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
    number = f"{rank.function}() OVER ({partition} ORDER BY {order}{ties})"
    columns = "k, v, t, n" if rank.name else "k, v, t"
    limit = f"WHERE n <= {rank.limit}" if rank.limit is not None else ""
    return f"SELECT {columns} FROM (SELECT *, {number} AS n FROM rows) {limit}"


@pytest.mark.parametrize("retracts", [True, False])
@settings(max_examples=50)
@given(
    histories(ROWS),
    st.sampled_from([("k",), ()]),
    st.sampled_from(list(ORDERS)),
    FUNCTIONS,
    LIMITS,
    st.sampled_from(["n", None]),
    st.integers(0, 4),
)
def test_ranks_follow_their_rows(
    retracts, history, keys, order, function, limit, name, cut
):
    operator = UpdatingRank(INPUT, keys, ORDERS[order], function, limit, name, retracts)
    state, relation, folded = operator.layout.empty(), Relation(INPUT), Folded()
    for now, batch in enumerate(history):
        seen = [(row, w) for row, w in batch if retracts or w > 0]
        relation.take_in(seen)
        parts = pieces(table(seen, INPUT), [cut])
        partials = [operator.partial(part) for part in parts]
        state, changes = operator.step(state, partials, now)
        assert changes.schema.names == [*operator.output.names, "_weight"]
        folded.fold(changes)
        folded.equals(duck(query(keys, order, operator), rows=relation.table()))
        state = operator.layout.from_bytes(operator.layout.to_bytes(state))
    state, changes = operator.expire(state, len(history))
    folded.fold(changes)
    assert not +folded.rows
    assert not any(len(rows) for rows in state.values())


def test_rows_below_the_limit_are_forgotten_where_nothing_is_retracted():
    schema = pa.schema({"v": pa.int64()})
    operator = UpdatingRank(schema, (), (Order("v"),), limit=2, retracts=False)
    rows = pa.table({"v": [5, 3, 9, 1]})
    state, _ = operator.step(operator.layout.empty(), [operator.partial(rows)], 0)
    assert sorted(state["rows"]["v"].to_pylist()) == [1, 3]
