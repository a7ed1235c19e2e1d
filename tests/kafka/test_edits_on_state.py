"""What an edit is said to do to a checkpoint is what it does, for each golden edit.

A job reads the first half of its input and stops. Then it is edited. What is compatible
goes on in its place, a fork from a copy: both read the second half only, and tell what
an undisturbed run of the new script tells of it. For that no row of the first half is
one that the edits treat otherwise: those of the second half are. What begins anew is
refused in its place and as a fork, and then tells what an undisturbed run tells of all.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from redis_server import running
from topics import Topic

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.jobs.promotion import earlier_tables
from arroyo_nb.jobs.resume import prepare
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.state.resume import OnIncompatible

GOLDEN = Path(__file__).parents[1] / "golden"
RULE = "\n" + "-" * 40 + "\n"
BEGIN, MINUTE, SECOND = datetime(2024, 3, 1), timedelta(minutes=1), timedelta(seconds=1)
WITHIN_S = 300
FEW = (
    ("window_comment", "window_delay", "window_key_more", "window_source_column_more"),
    ("updating_measure_of_kept", "updating_measure_more"),
)
"""Edits of each kind, for a short test."""
UNKNOWN = {"updating_measure_of_kept": "mean"}
"""A column that the old job did not write: what it wrote is taken back without it."""


class EditedFile(NamedTuple):
    """A golden file."""

    name: str
    old: str
    new: str
    outcome: str


def edits():
    """The golden edits, by the script that was edited."""
    found = {}
    for path in sorted((GOLDEN / "edits").glob("*.txt")):
        old, new, told = path.read_text("utf-8").split(RULE)
        edit = EditedFile(path.stem, old, new, told.split("\n")[0])
        found.setdefault(old, []).append(edit)
    return list(found.values())


GROUPS = edits()


def order(n, half):
    return {
        "id": n,
        "at": str(BEGIN + n * 7 * MINUTE),
        "seen": str(BEGIN + n * 7 * MINUTE + SECOND),
        "city": f"c{n % 3}",
        "price": [30.0, 45.5, -7.0, 5.0][n % (2 if half == 0 else 4)] + n / 64,
    }


def trip(n, half):
    return {
        "id": n,
        "at": str(BEGIN + n * SECOND),
        "name": f"n{n % 4}",
        "seats": n % 5,
        "fare": [20.0, 33.5, 0.5, 1.5][n % (2 if half == 0 else 4)] + n / 64,
        "ratio": 0.5,
        "userId": f"u{n % 2}",
    }


def click(n, _half):
    return {"id": n + 1, "at": str(BEGIN + n * SECOND)}


def person(n, half):
    """Each has come, and in the second half some move and one is gone."""
    row = {"id": n % 9, "town": f"t{n % 2}"}
    if half == 0:
        return {"before": None, "after": row, "op": "c"}
    moved = {**row, "town": "t9"}
    return {"before": None, "after": None if n % 9 == 4 else moved, "op": "u"}


MAKERS = {
    "orders": order,
    "orders_2": order,
    "trips": trip,
    "clicks": click,
    "people": person,
}
HALVES = (range(30), range(30, 70))


def rows(name, half):
    made = (MAKERS[name](n, half) for n in HALVES[half])
    if name != "people":
        return list(made)
    gone = {"op": "d", "before": {"id": 4, "town": "t0"}, "after": None}
    return [gone if row["after"] is None else row for row in made]


def address(redis):
    return f"redis://127.0.0.1:{redis.port}"


class World:
    """Topics, a redis and files for the jobs of one golden script."""

    def __init__(self, broker, redis, here):
        self.here = here
        self._topics = {name: Topic(broker, 1) for name in MAKERS}
        self._redis = address(redis)
        tables = self.placed((GOLDEN / "tables.sql").read_text("utf-8"))
        self._tables = plan_script(tables, Catalog()).catalog
        for n in range(4):
            user = {"name": f"user {n}", "age": n}
            redis.client.set(f"n{n}", json.dumps(user))

    def send(self, half):
        for name, topic in self._topics.items():
            topic.send(*rows(name, half))
        # It is also there as a file, for the edit that reads that.
        with (self.here / "orders.json").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows("orders", half))

    def placed(self, script, data="data"):
        """A script with the tables of this world, which writes to a folder of it."""
        (self.here / data).mkdir(exist_ok=True)
        for name in ("trips", "clicks"):
            script = script.replace(
                f"connector = 'single_file', path = '/data/{name}.json'",
                "connector = 'kafka', bootstrap_servers = '{{ BROKER }}', "
                f"topic = '{name}'",
            )
        for name in ("orders", "rows"):
            file = str(self.here / "orders.json")
            script = script.replace(f"/data/{name}.json", file)
        script = script.replace("'/data", f"'{self.here / data}")
        script = script.replace("redis://localhost:6379", self._redis)
        script = script.replace(
            "event_rate = 10", "event_rate = 1000, message_count = 20"
        )
        # One is there already, and no other place than where the state is.
        offset = "'source.offset' = 'earliest', "
        script = script.replace(offset, "'source.group_id' = 'g', ")
        for name, topic in self._topics.items():
            script = script.replace(
                f"topic = '{name}'", f"{offset}topic = '{topic.name}'"
            )
        return script

    def version(self, script, data="data"):
        plan = plan_script(self.placed(script, data), self._tables)
        tables = tuple(earlier_tables(plan))
        return JobVersion(JobSpec("job", plan.source.text, tables), plan)


class Told(NamedTuple):
    """What a run told: its rows, those that it took back counted off; or why it ended
    early. And how many it read, and whether it went on from state."""

    rows: Counter
    read: int
    resumed: bool
    error: str = ""


def run(engine, version, state):
    """Run a job on what there is; the rows of earlier runs are not kept."""
    with Session(engine=engine) as session:
        made = session.run(
            version.spec.script,
            name="job",
            state_dir=state,
            keep=True,
            until="end",
            budget=0,
        )
        made.wait_quietly(WITHIN_S)
        assert made.state.ended, made.snapshot(0)
        if made.error is not None:
            return Told(Counter(), 0, made.resumed, made.error.message)
        return Told(changes(made), made.rows_in, made.resumed)


def changes(made):
    """What its outputs come to."""
    net = Counter()
    for number in range(len(made.outputs)):
        for change in made.changelog(number).to_pylist():
            for side, weight in (("before", -1), ("after", 1)):
                if change[side] is not None:
                    net[number, json.dumps(change[side], default=str)] += weight
    return Counter({row: weight for row, weight in net.items() if weight})


class Place:
    """The state of the old job and what it wrote, which is put back for each edit."""

    def __init__(self, world):
        self.world, self.state = world, world.here / "state"
        self._kept = world.here / "kept"

    def keep(self):
        for name in ("state", "data"):
            shutil.copytree(self.world.here / name, self._kept / name)

    def restore(self):
        for name in ("state", "data"):
            shutil.rmtree(self.world.here / name)
            shutil.copytree(self._kept / name, self.world.here / name)

    def prepare(self, version, wish):
        return [*prepare(self.state / "job", version, wish, "run it").notes]


def goes_on(engine, place, edit, before):
    """An edit whose job goes on from the state: by itself, or as a fork."""
    new = place.world.version(edit.new)
    if edit.outcome == "needs fork":
        refused(engine, place, new)
        with pytest.raises(ArroyoError, match="--fork"):
            place.prepare(new, OnIncompatible.GO_ON)
        place.prepare(new, OnIncompatible.FORK)
    else:
        place.prepare(new, OnIncompatible.GO_ON)
    told = run(engine, new, place.state)
    wanted = run(engine, place.world.version(edit.new, edit.name), before)
    assert told.resumed
    assert wanted.resumed
    return told, wanted


def begins_anew(engine, place, edit, before):
    """An edit whose job does not."""
    new = place.world.version(edit.new)
    refused(engine, place, new)
    for wish in (OnIncompatible.GO_ON, OnIncompatible.FORK):
        with pytest.raises(ArroyoError) as told:
            place.prepare(new, wish)
        assert "--fork" not in str(told.value)
        assert "--fresh" in str(told.value)
    place.prepare(new, OnIncompatible.FRESH)
    told = run(engine, new, place.state)
    wanted = run(engine, place.world.version(edit.new, edit.name), before)
    assert not told.resumed
    return told, wanted


def refused(engine, place, new):
    """Also whoever asks nobody does not get the state."""
    with (
        Session(engine=engine) as session,
        pytest.raises(RunProblem, match="state of another query"),
    ):
        session.run(
            new.spec.script, name="job", state_dir=place.state, until="end", wait=True
        )


def judged_and_run(engine, broker, redis, here, group):
    """Each edit of a script, what it told and what it should have."""
    world = World(broker, redis, here)
    place = Place(world)
    world.send(0)
    assert run(engine, world.version(group[0].old), place.state).error == ""
    place.keep()
    going = [edit for edit in group if edit.outcome != "fresh"]
    for edit in going:
        run(engine, world.version(edit.new, edit.name), here / "refs" / edit.name)
    world.send(1)
    for edit in group:
        place.restore()
        act = goes_on if edit in going else begins_anew
        yield edit, *act(engine, place, edit, here / "refs" / edit.name)


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def variables(monkeypatch, broker, redis):
    monkeypatch.setenv("BROKER", broker.bootstrap_servers)
    port = broker.bootstrap_servers.rpartition(":")[2]
    monkeypatch.setenv("BROKERS", f"localhost:{port}")
    monkeypatch.setenv("REDIS", address(redis))


def check(engine, broker, redis, here, group):
    wrong = []
    for edit, told, wanted in judged_and_run(engine, broker, redis, here, group):
        if (column := UNKNOWN.get(edit.name)) is not None:
            wanted = wanted._replace(rows=taken_back_without(column, wanted.rows))
        if told._replace(resumed=wanted.resumed) != wanted:
            wrong.append((edit.name, edit.outcome, told, wanted))
    assert not wrong


def taken_back_without(column, rows):
    assert any(weight < 0 for weight in rows.values())
    made = Counter()
    for (number, text), weight in rows.items():
        row = json.loads(text)
        made[number, json.dumps(row if weight > 0 else {**row, column: None})] = weight
    return made


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("few", FEW, ids=lambda few: few[0])
def test_a_few_edits(engine, broker, redis, tmp_path, few):
    (group,) = (
        [edit for edit in group if edit.name in few]
        for group in GROUPS
        if few[0] in [edit.name for edit in group]
    )
    assert len(group) == len(few)
    check(engine, broker, redis, tmp_path, group)


@pytest.mark.long("edits")
@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].name)
def test_every_edit(engine, broker, redis, tmp_path, group):
    check(engine, broker, redis, tmp_path, group)
