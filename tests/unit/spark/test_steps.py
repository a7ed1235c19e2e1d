"""What a bucket keeps from batch to batch, with a state store that is two variables."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.join import JoinKernel
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.functions.aggregates import aggregate
from arroyo_nb.spark import bucket_state, state_files
from arroyo_nb.spark.processors import Step
from arroyo_nb.spark.stateful_operators import Chain, Partials

SCHEMA = pa.schema({"k": pa.string()})
COUNTS = AggregateKernel(
    SCHEMA,
    ("k",),
    (AggregateCall("n", "count", pa.int64(), kernel=aggregate("count").kernel),),
)


class Value:
    """Spark's value of one bucket."""

    kept: tuple[bytes] | None = None

    def get(self) -> tuple[bytes] | None:
        return self.kept

    def update(self, value: tuple[bytes]) -> None:
        self.kept = value

    def clear(self) -> None:
        self.kept = None


class Entries:
    """Spark's map of one bucket."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int], tuple[bytes]] = {}

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:  # noqa: N802
        return self.kept.get(key)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:  # noqa: N802
        self.kept[key] = value

    def clear(self) -> None:
        self.kept.clear()


class Kept:
    """Spark's state of one bucket."""

    def __init__(self) -> None:
        self._value, self._log = Value(), Entries()

    def getValueState(self, *_: object) -> Value:  # noqa: N802
        return self._value

    def getMapState(self, *_: object) -> Entries:  # noqa: N802
        return self._log

    @property
    def value(self) -> tuple[bytes] | None:
        return self._value.kept

    @property
    def log(self) -> list[tuple[bytes]]:
        return list(self._log.kept.values())

    def copied(self) -> Kept:
        """The same, as a store has it that was restored."""
        copy = Kept()
        copy.restore(self)
        return copy

    def restore(self, other: Kept) -> None:
        self._value.kept = other.value
        self._log.kept = dict(other._log.kept)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a worker keeps copies of large states."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    return tmp_path / "arroyo_nb-state"


@pytest.fixture(params=["whole", "log"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """In each of the two ways in which a state is kept, whatever its size."""
    if request.param == "log":
        monkeypatch.setattr(bucket_state, "SMALL_BYTES", 1)
    return Kept()


@pytest.fixture
def bucket(kept: Kept) -> Step:
    step = Step(COUNTS, ttl_us=10)
    step.init(kept)
    return step


def batch(now_us: int, **weights: int) -> list[Row]:
    """Rows of one micro-batch; without any, a beat."""
    part = None
    if weights:
        columns = {"k": list(weights), "_weight": list(weights.values())}
        part = COUNTS.partial_layout.to_bytes(COUNTS.partial(pa.table(columns)))
    return [Row(_bucket=0, part=part, _now_us=now_us)]


def sent(bucket: Step, rows: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (change["k"], change["n"], change["_weight"])
        for told in bucket.handleInputRows((0,), iter(rows), None)
        for change in pa.ipc.open_stream(told.changes).read_all().to_pylist()
    ]


def state_of(bucket: Step) -> list[dict[str, Any]]:
    """What it has kept."""
    kept = bucket._saved().read()
    return [] if kept is None else kept.groups.state["groups"].to_pylist()


def test_a_key_is_idle_by_the_time_of_its_batches(bucket: Step):
    assert sent(bucket, batch(100, a=1, b=1)) == [("a", 1, 1), ("b", 1, 1)]
    assert sent(bucket, batch(110, b=1)) == [("b", 1, -1), ("b", 2, 1)]
    assert sent(bucket, batch(111)) == [("a", 1, -1)]
    assert sent(bucket, batch(120)) == []
    assert sent(bucket, batch(121)) == [("b", 2, -1)]


def test_a_batch_that_is_run_again_says_the_same(bucket: Step, kept: Kept):
    sent(bucket, batch(100, a=1))
    before, rows = kept.copied(), batch(111, b=1)
    first, state = sent(bucket, rows), state_of(bucket)
    kept.restore(before)
    assert (sent(bucket, rows), state_of(bucket)) == (first, state)
    assert first == [("a", 1, -1), ("b", 1, 1)]


def test_an_empty_bucket_has_no_state(bucket: Step, kept: Kept):
    sent(bucket, batch(100, a=1))
    assert kept.value is not None
    assert sent(bucket, batch(101, a=-1)) == [("a", 1, -1)]
    assert kept.value is None
    sent(bucket, batch(102, a=1))
    assert sent(bucket, batch(200)) == [("a", 1, -1)]
    assert kept.value is None
    assert sent(bucket, batch(201)) == []
    assert sent(bucket, batch(202, a=-1)) == []
    assert kept.value is None


LEFT, RIGHT = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()})
PAIRS = JoinKernel(LEFT, RIGHT, ("a",), ("b",), "inner")


def joined(now_us: int, left: list[int], right: list[int]) -> list[Row]:
    """Rows of one micro-batch of a join; without any, a beat."""
    tables = pa.table([left], schema=LEFT), pa.table([right], schema=RIGHT)
    part = PAIRS.partial_layout.to_bytes(PAIRS.partial(*tables))
    return [Row(_bucket=0, part=part if left or right else None, _now_us=now_us)]


def test_a_row_without_a_match_is_forgotten_too(kept: Kept):
    step = Step(PAIRS, ttl_us=10)
    step.init(kept)
    assert list(step.handleInputRows((0,), iter(joined(100, [1], [])), None)) == []
    assert list(step.handleInputRows((0,), iter(joined(109, [2], [])), None)) == []
    both = kept.value
    assert list(step.handleInputRows((0,), iter(joined(115, [], [])), None)) == []
    assert kept.value != both
    # 1 is forgotten whether other keys of its bucket are, or not.
    (told,) = step.handleInputRows((0,), iter(joined(118, [], [1, 2])), None)
    pairs = pa.ipc.open_stream(told.changes).read_all().to_pylist()
    assert pairs == [{"a": 2, "b": 2, "_weight": 1}]
    after = kept.value
    assert list(step.handleInputRows((0,), iter(joined(119, [], [])), None)) == []
    assert kept.value is after, "a beat that finds nothing writes nothing"


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """In a log, whatever its size."""
    monkeypatch.setattr(bucket_state, "SMALL_BYTES", 1)
    return Kept()


@pytest.fixture
def step(logged: Kept) -> Step:
    """Counts of what never ages, in a log."""
    step = Step(COUNTS, ttl_us=None)
    step.init(logged)
    return step


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def states(folder: Path) -> int:
    """How many states there are copies of, each with the files that it needs."""
    found = [path for path in folder.iterdir() if "-" in path.name]
    for path in found:
        table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
        log, _, _ = path.name.partition("-")
        assert {n for n in names(folder) if n.startswith(f"{log}.")} == {
            *table["segment"].to_pylist()
        }
    return len(found)


def lose_copies(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def keys(number: int) -> dict[str, int]:
    return {f"key {n}": 1 for n in range(number)}


def test_a_log_gets_what_a_batch_has_changed(step: Step, logged: Kept, folder: Path):
    sent(step, batch(1, **keys(2_000)))
    sizes = []
    for n in range(5):
        sent(step, batch(2 + n, one=1))
        sizes.append([len(entry) for (entry,) in logged.log])
    assert [len(size) for size in sizes] == [2, 3, 4, 5, 6]
    whole, *updates = sizes[-1]
    assert all(5 * update < whole for update in updates)
    assert states(folder) == 1, "the copies of earlier states are gone"


def test_a_log_is_written_anew_before_it_is_long(step: Step, logged: Kept):
    lengths, n = [], 0
    for n in range(40):
        sent(step, batch(n, **{f"{n} {key}": 1 for key in range(50)}))
        whole, *updates = [len(entry) for (entry,) in logged.log]
        assert sum(updates) <= bucket_state.GROWTH * whole
        lengths.append(len(updates))
    assert lengths.count(0) < 10
    assert len(state_of(step)) == 40 * 50


def test_what_is_lost_is_the_copy_and_not_the_state(
    step: Step, logged: Kept, folder: Path
):
    for n in range(6):
        sent(step, batch(n, **keys(20 * n), always=1))
    state = state_of(step)
    lose_copies(folder)
    assert state_of(step) == state
    assert sent(step, batch(9, always=1)) == [("always", 6, -1), ("always", 7, 1)]
    assert states(folder) == 1


def test_a_machine_without_a_place_for_copies_goes_on(
    step: Step, logged: Kept, folder: Path
):
    folder.write_text("a file in its place")
    for n in range(3):
        sent(step, batch(n, a=1))
    assert [row["value n"] for row in state_of(step)] == [3]


def test_a_state_that_has_become_small_is_kept_whole(
    step: Step, logged: Kept, folder: Path, monkeypatch
):
    monkeypatch.setattr(bucket_state, "SMALL_BYTES", 10_000)
    sent(step, batch(1, **keys(1_000)))
    assert (len(logged.log), states(folder)) == (1, 1)
    sent(step, batch(2, **dict.fromkeys(keys(990), -1)))
    assert (logged.log, names(folder)) == ([], [])
    assert len(state_of(step)) == 10


def test_copies_of_queries_that_have_ended_are_removed(
    step: Step, logged: Kept, folder: Path
):
    folder.mkdir()
    for name, age_s in (("old", 2 * state_files.UNUSED_S), ("young", 1)):
        (folder / name).touch()
        os.utime(folder / name, (0, time.time() - age_s))
    sent(step, batch(1, a=1))
    assert states(folder) == 1
    assert "young" in names(folder)
    assert "old" not in names(folder)


def test_a_copy_may_go_while_others_are_looked_at(folder: Path):
    folder.mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")
    (folder / "old").touch()
    os.utime(folder / "old", (0, time.time() - 2 * state_files.UNUSED_S))
    state_files.StateFiles(folder).remove_unused()
    assert names(folder) == ["gone"]


def test_a_segment_is_used_as_long_as_its_state_is_written(
    step: Step, logged: Kept, folder: Path
):
    sent(step, batch(1, **keys(1_000)))
    for path in folder.iterdir():
        os.utime(path, (0, time.time() - 2 * state_files.UNUSED_S))
    sent(step, batch(2, a=1))
    assert len(names(folder)) == 3, "a state and two segments"
    state = names(folder)
    state_files.StateFiles(folder).remove_unused()
    assert names(folder) == state
    for path in folder.iterdir():
        os.utime(path, (0, time.time() - 2 * state_files.UNUSED_S))
    state_files.StateFiles(folder).remove_unused()
    assert names(folder) == []


def test_a_whole_state_may_take_several_entries(
    step: Step, logged: Kept, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_state, "PART_BYTES", 1_000)
    sent(step, batch(1, **keys(500)))
    parts = len(logged.log)
    assert parts > 2
    for n in range(3):
        sent(step, batch(2 + n, one=1))
    assert len(logged.log) == parts + 3
    state = state_of(step)
    lose_copies(folder)
    assert state_of(step) == state


def test_batches_that_fail_leave_one_copy(step: Step, logged: Kept, folder: Path):
    sent(step, batch(1, **keys(100)))
    for _ in range(5):
        before = logged.copied()
        first = sent(step, batch(2, a=1))
        logged.restore(before)
        assert sent(step, batch(2, a=1)) == first
        logged.restore(before)
        assert states(folder) == 1


def test_a_state_of_one_large_group_stays_in_its_log(
    logged: Kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bucket_state, "SMALL_BYTES", 30_000)
    rows = pa.schema({"a": pa.int64(), "v": pa.int64()})
    pairs = JoinKernel(rows, RIGHT, ("a",), ("b",), "inner")
    step = Step(pairs, ttl_us=10)
    step.init(logged)

    def take(now_us: int, left: list[tuple[int, int]]) -> None:
        columns = [[a for a, _ in left], [v for _, v in left]]
        sides = pa.table(columns, schema=rows), RIGHT.empty_table()
        part = pairs.partial_layout.to_bytes(pairs.partial(*sides))
        row = Row(_bucket=0, part=part if left else None, _now_us=now_us)
        assert list(step.handleInputRows((0,), iter([row]), None)) == []

    take(100, [*((0, v) for v in range(5_000)), *((a, 0) for a in range(1, 300))])
    take(109, [(0, 5_000)])
    take(111, [])
    kept = step._saved().read()
    assert kept is not None
    assert len(kept.groups) == 1, "the other keys were idle"
    assert len(kept.groups.state["left"]) == 5_001
    assert kept.head is not None, "one large group is no small state"


def test_a_copy_that_was_cut_is_none(step: Step, logged: Kept, folder: Path):
    for n in range(3):
        sent(step, batch(n, a=1, b=1))
    (state,) = (path for path in folder.iterdir() if "-" in path.name)
    whole = state.read_bytes()
    expected = state_of(step)
    for size in range(len(whole)):
        state.write_bytes(whole[:size])
        assert state_of(step) == expected


def test_without_a_place_for_copies_the_log_is_read(
    step: Step, logged: Kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    for n in range(3):
        sent(step, batch(n, a=1))
    assert [row["value n"] for row in state_of(step)] == [3]


HOW_OFTEN = AggregateKernel(
    pa.schema({"times": pa.int64()}),
    ("times",),
    (AggregateCall("keys", "count", pa.int64(), kernel=aggregate("count").kernel),),
    retracts=True,
)


def test_a_next_operator_reads_the_changes_where_they_are():
    columns = (("n", "times"), ("_weight", "_weight"))
    chain = Chain(Partials(HOW_OFTEN, buckets=4), columns, appends=False)
    step, plain = Step(COUNTS, None, chain), Step(COUNTS, None)
    state, folded = {}, []
    for one in (step, plain):
        one.init(Kept())
    for now_us, weights in enumerate(({"a": 2, "b": 2, "c": 1}, {"a": -1, "c": 4})):
        told = [*step.handleInputRows((0,), iter(batch(now_us, **weights)), None)]
        changes = sent(plain, batch(now_us, **weights))
        ours = pa.table(
            {"times": [n for _, n, _ in changes], "_weight": [w for *_, w in changes]}
        )
        sources = {
            "chained": [(row["_bucket"], bytes(row.part)) for row in told],
            "as rows": [
                (row["_bucket"], row["part"])
                for row in Partials(HOW_OFTEN, 4).of_rows(ours).to_pylist()
            ],
        }
        for way, parts in sources.items():
            for number, part in parts:
                key = way, number
                before = state.get(key, HOW_OFTEN.layout.empty())
                partial = HOW_OFTEN.partial_layout.from_bytes(part)
                update, out = HOW_OFTEN.step(before, [partial], now_us)
                state[key] = update.applied_to(before, HOW_OFTEN.layout)
                folded += [(way, *row.values()) for row in out.to_pylist()]
    ways = [sorted(row[1:] for row in folded if row[0] == way) for way in sources]
    assert ways[0] == ways[1]
    assert (5, 1, 1) in ways[0]


def test_rows_that_only_come_are_read_as_often_as_they_come():
    columns = (("n", "times"),)
    chain = Chain(Partials(HOW_OFTEN, buckets=1), columns, appends=True)
    changes = pa.table({"n": [7, 8], "_weight": [3, -1]})
    (part,) = chain(changes).to_pylist()
    partial = HOW_OFTEN.partial_layout.from_bytes(part["part"])
    _, out = HOW_OFTEN.step(HOW_OFTEN.layout.empty(), [partial], 0)
    assert out.to_pylist() == [{"times": 7, "keys": 3, "_weight": 1}]
