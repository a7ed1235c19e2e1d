"""What steps change, one after the other: the same state as each step had."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.changelog.state_tables import Layout
from arroyo_nb.changelog.state_updates import StateUpdate, replayed
from arroyo_nb.errors import RunProblem

GROUPS = pa.schema({"k": pa.string(), "n": pa.int64()})
HUNG = pa.schema({"_slot": pa.int64(), "v": pa.float64()})
LAYOUT = Layout((("groups", GROUPS), ("hung", HUNG)))

Group = tuple[str | None, list[float | None]]
GROUP_LISTS = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abc"),
        st.lists(st.none() | st.integers(0, 9).map(float), max_size=3),
    ),
    max_size=5,
)


def state_of(groups: list[Group]):
    """Each group with the values that hang on it."""
    values = [(slot, v) for slot, (_, vs) in enumerate(groups) for v in vs]
    return {
        "groups": pa.table(
            {"k": [k for k, _ in groups], "n": range(len(groups))}, schema=GROUPS
        ),
        "hung": pa.table(
            {"_slot": [s for s, _ in values], "v": [v for _, v in values]}, schema=HUNG
        ),
    }


def groups_of(state) -> list[Group]:
    """As :func:`state_of` has them."""
    groups: list[Group] = [(k, []) for k in state["groups"]["k"].to_pylist()]
    for row in state["hung"].to_pylist():
        groups[row["_slot"]][1].append(row["v"])
    return groups


@given(GROUP_LISTS, st.lists(st.tuples(st.sets(st.integers(0, 8)), GROUP_LISTS)))
def test_updates_that_are_replayed_are_those_that_were_made(first, edits):
    groups, updates = first, []
    for gone, added in edits:
        stays = np.array([n not in gone for n in range(len(groups))], np.bool_)
        updates.append(StateUpdate.of(stays, state_of(added)))
        groups = [g for n, g in enumerate(groups) if n not in gone] + added
    read = [StateUpdate.from_bytes(u.to_bytes(LAYOUT), LAYOUT) for u in updates]
    state = replayed(state_of(first), read, LAYOUT)
    assert groups_of(state) == groups
    assert all(table["v"].num_chunks <= 1 for table in [state["hung"]])


def test_groups_that_were_not_seen_go():
    stays = np.array([True, False, True])
    update = StateUpdate.of(stays, LAYOUT.empty())
    seen = np.array([False, True, True, False, True])
    groups: list[Group] = [(k, []) for k in "abcde"]
    state = update.among(seen).applied_to(state_of(groups), LAYOUT)
    assert [k for k, _ in groups_of(state)] == ["b", "e"]


@pytest.mark.parametrize("blob", [b"", LAYOUT.to_bytes(LAYOUT.empty())[:40]])
def test_what_is_no_update_is_refused(blob):
    with pytest.raises(RunProblem, match="an update cannot be read"):
        StateUpdate.from_bytes(blob, LAYOUT)
