"""A state in segments against the same state in one piece."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.idle_keys import TOUCHED
from arroyo_nb.changelog.state_segments import Groups, Seen, bytes_of
from arroyo_nb.changelog.state_tables import Layout, State
from arroyo_nb.changelog.state_updates import StateUpdate, replayed
from arroyo_nb.spark.state_files import StateFiles

LAYOUT = Layout(
    (
        (
            "groups",
            pa.schema({"k": pa.string(), "f": pa.float64(), TOUCHED: pa.int64()}),
        ),
        ("rows", pa.schema({SLOT: pa.int64(), "v": pa.int64()})),
        ("more", pa.schema({SLOT: pa.int64(), "t": pa.string()})),
    )
)
KEYS = ("k", "f")
FLOATS = [0.0, 1.5, None, float("nan")]


def state_of(keys: list[tuple[str, float | None]], random: Random, at: int) -> State:
    """Groups with some rows each, in any order."""
    groups = pa.table(
        {
            "k": [k for k, _ in keys],
            "f": pa.array([f for _, f in keys], pa.float64()),
            TOUCHED: [at for _ in keys],
        },
        schema=LAYOUT.tables[0][1],
    )
    made = {"groups": groups}
    for name, schema in LAYOUT.tables[1:]:
        slots = [n for n in range(len(keys)) for _ in range(random.randrange(4))]
        random.shuffle(slots)
        values = pa.array([random.randrange(99) for _ in slots], pa.int64())
        column = schema.names[1]
        made[name] = pa.table(
            {SLOT: pa.array(slots, pa.int64()), column: values.cast(schema.types[1])}
        )
    return made


def listed(state: State) -> list[object]:
    """What each group has, in the order of the groups and of the rows of each."""
    main, *others = (state[name].to_pylist() for name, _ in LAYOUT.tables)
    found: list[list[object]] = [[str(group)] for group in main]
    for table in others:
        for row in table:
            found[row.pop(SLOT)].append(str(row))
    return [*found]


def gone(seen: Seen, keys: set[tuple[str, str]]) -> np.ndarray:
    groups = seen.state["groups"].to_pylist()
    return np.array(
        [n for n, g in enumerate(groups) if (g["k"], str(g["f"])) in keys], np.int64
    )


@pytest.fixture(params=["in memory", "in files"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Groups], Groups]:
    if request.param == "in memory":
        return lambda groups: groups
    files, versions = StateFiles(tmp_path), iter(range(10**6))

    def write_and_read(groups: Groups) -> Groups:
        version = next(versions).to_bytes(16, "big")
        files.write(b"l" * 16, version, groups)
        read = files.read(b"l" * 16, version, LAYOUT, KEYS)
        assert read is not None
        assert len([*tmp_path.iterdir()]) == 1 + len(read.segments)
        return read

    return write_and_read


@pytest.mark.parametrize("seed", range(12))
def test_updates_of_what_was_seen_are_updates_of_all(
    seed: int, kept: Callable[[Groups], Groups]
) -> None:
    random = Random(seed)
    every = [(k, f) for k in "abcdefghijklmnopqrstuvwxyz" for f in FLOATS]
    state: State = LAYOUT.empty()
    groups = Groups.of(state, LAYOUT, KEYS)
    sizes = set()
    for at in range(60):
        some = random.sample(every, random.choice([0, 1, 3, 9, 60]))
        idle = at - 30 if random.random() < 0.3 else None
        batch = state_of(some, random, at)
        seen = groups.touched([batch], idle)
        known = seen.state["groups"].to_pylist()
        names = [(g["k"], str(g["f"])) for g in state["groups"].to_pylist()]
        assert [names[place] for place in seen.places] == [
            (g["k"], str(g["f"])) for g in known
        ]
        wanted = {(k, str(f)) for k, f in some}
        first = StateUpdate(gone(seen, wanted), batch)
        between = Seen(first.applied_to(seen.state, LAYOUT), [], seen.places)
        touched = between.state["groups"][TOUCHED].to_numpy()
        old = np.flatnonzero(touched < (-1 if idle is None else idle))
        updates = [*filter(None, [first, StateUpdate(old, LAYOUT.empty())])]
        placed = [*groups.placed(seen, updates)]
        read = [StateUpdate.from_bytes(u.to_bytes(LAYOUT), LAYOUT) for u in placed]
        state = replayed(state, read, LAYOUT)
        groups = kept(groups.updated(seen, updates))
        assert listed(groups.state) == listed(state)
        assert len(groups) == len(state["groups"])
        if idle is not None:
            assert all(g[TOUCHED] >= idle for g in state["groups"].to_pylist())
        sizes.add(len(groups.segments))
    assert max(sizes) > 1, "the state was in several segments"
    assert max(sizes) < 8, "and never in many"


def test_a_state_of_which_most_is_gone_is_not_kept_as_it_was() -> None:
    random = Random(2)
    keys = [(f"{n}", 1.5) for n in range(400)]
    groups = Groups.of(state_of(keys, random, 1), LAYOUT, KEYS)
    whole = bytes_of(groups.state)
    for first in range(0, 360, 40):
        batch = state_of(keys[first : first + 40], random, 2)
        seen = groups.touched([batch], None)
        names = {(k, str(f)) for k, f in keys[first : first + 40]}
        update = StateUpdate(gone(seen, names), LAYOUT.empty())
        groups = groups.updated(seen, [update])
        assert sum(segment.nbytes for segment in groups.segments) <= max(
            2 * bytes_of(groups.state), whole // 10
        )
        assert groups.nbytes == pytest.approx(bytes_of(groups.state), rel=0.3, abs=500)
    assert len(groups) == 40


def test_a_batch_of_few_keys_sees_few_groups() -> None:
    random = Random(1)
    groups = Groups.of(LAYOUT.empty(), LAYOUT, KEYS)
    for first in range(0, 4_096, 64):
        batch = state_of([(f"{n}", 1.5) for n in range(first, first + 64)], random, 1)
        update = StateUpdate(np.empty(0, np.int64), batch)
        groups = groups.updated(groups.touched([batch], None), [update])
    assert len(groups) == 4_096
    assert len(groups.segments) < 8
    seen = groups.touched([state_of([("17", 1.5), ("x", 1.5)], random, 2)], None)
    assert seen.state["groups"]["k"].to_pylist() == ["17"]
    assert seen.places.tolist() == [17]
