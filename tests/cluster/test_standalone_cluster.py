"""A job is its spec: the same rows from a cell, from ``arroyo-nb run``, and from
executors that are other processes of a cluster, also when some are killed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from golden_set import (
    JOB,
    NO_ROWS,
    NOT_COMPARED,
    Golden,
    fill_redis,
    golden,
    names,
    write_data,
)
from machine import allowed
from redis_server import running
from standalone import Cluster, cluster, environment

from arroyo_nb.cli import main
from arroyo_nb.engine import Engine
from arroyo_nb.jobs.folder import promote
from arroyo_nb.session import Session

GROUP = Path(__file__).with_name("group.py")
ARROYO_NB = (sys.executable, "-m", "arroyo_nb.cli")
JOB_S = 60.0
START_S = 60.0

SLICE = ("join_then_aggregate",)
"""State of our own; each query is run three times."""

Make = Callable[[str], Golden]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Promotes a golden query over data, and a redis, that are there."""
    folder = tmp_path_factory.mktemp("golden")
    write_data(folder)
    with running(folder) as redis:
        fill_redis(redis.client)
        yield lambda name: golden(name, folder, redis=redis.address)


def run_as_cells(engine: Engine, queries: list[Golden], out: Path) -> None:
    """As a notebook runs them: with counts of rows, and a preview beside the sinks."""
    for query in queries:
        folder = out / query.name
        folder.mkdir(parents=True)
        with (
            pytest.MonkeyPatch.context() as environ,
            Session(engine=engine, strict=query.plan.strict) as session,
        ):
            environ.setenv("OUT", str(folder))
            declared, script = query.cells
            session.run(declared)
            session.run(script, keep=True, wait=True)


def run_by_themselves(engine: Engine, queries: list[Golden], out: Path) -> None:
    """As ``arroyo-nb run`` runs them; on the Spark that is there already."""
    engine.worker.call(lambda: engine.session)
    for query in queries:
        folder, state = out / query.name, out / f".{query.name}"
        folder.mkdir(parents=True)
        with pytest.MonkeyPatch.context() as environ:
            environ.setenv("OUT", str(folder))
            assert main(["run", str(query.spec), "--state-dir", str(state)]) == 0


def submit_all(cluster: Cluster, queries: list[Golden], out: Path) -> None:
    """As a cluster runs them: by one submission, with the first job's own command."""
    jobs, folder = out.with_suffix(".jobs"), out.with_suffix(".submitted")
    pairs = ([str(query.spec), str(out / query.name)] for query in queries)
    jobs.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    shutil.copytree(queries[0].folder, folder)
    shutil.copy(GROUP, folder / "spark-submit" / "main.py")
    state = str(out.with_suffix(".state"))
    with cluster.submit(folder, str(jobs), STATE=state) as job:
        status = job.ended(START_S + JOB_S * len(queries))
        assert status == 0, job.said + job.logged[-4000:]
        assert json.loads(jobs.with_suffix(".failed").read_text()) == [], job.said


def compare(
    queries: list[Golden], engine: Engine, cluster: Cluster, folder: Path
) -> set[str]:
    """Run queries in the three ways, and compare what their sinks tell; returns those
    that tell nothing."""
    cells, alone, submitted = (folder / way for way in ("cells", "alone", "submitted"))
    run_as_cells(engine, queries, cells)
    run_by_themselves(engine, queries, alone)
    submit_all(cluster, queries, submitted)
    silent = set()
    for query in queries:
        expected = query.told(cells / query.name)
        assert query.told(alone / query.name) == expected, query.name
        assert query.told(submitted / query.name) == expected, query.name
        if not any(expected.values()):
            silent.add(query.name)
    return silent


@pytest.mark.long("cluster")
def test_some_golden_queries_tell_the_same_everywhere(
    make: Make, engine: Engine, spark_cluster: Cluster, tmp_path: Path
) -> None:
    queries = [make(name) for name in SLICE]
    assert compare(queries, engine, spark_cluster, tmp_path) == set()


@pytest.mark.long("cluster")
def test_all_golden_queries_tell_the_same_everywhere(
    make: Make, engine: Engine, spark_cluster: Cluster, tmp_path: Path
) -> None:
    assert set(NOT_COMPARED) < set(names())
    queries = [make(name) for name in names() if name not in NOT_COMPARED]
    assert len(queries) >= 120
    assert compare(queries, engine, spark_cluster, tmp_path) == NO_ROWS


@pytest.mark.long("cluster")
@pytest.mark.parametrize("name", ["hop", "updating_of_updating", "lookup_under_window"])
def test_a_job_is_submitted_as_its_promotion_says(
    name: str,
    make: Make,
    engine: Engine,
    spark_cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = make(name)
    run_as_cells(engine, [query], tmp_path)
    alone, out = tmp_path / "alone", tmp_path / "submitted"
    alone.mkdir()
    state = str(tmp_path / "state")
    subprocess.run(
        [*ARROYO_NB, "run", str(query.spec)],
        env={**environment(), "OUT": str(alone)},
        timeout=allowed(START_S + JOB_S),
        check=True,
    )
    assert query.told(alone) == query.told(tmp_path / name)
    out.mkdir()
    monkeypatch.setenv("OUT", str(out))
    for resumed in (False, True):
        with spark_cluster.submit(query.folder, STATE=state) as job:
            assert job.ended(START_S + JOB_S) == 0, job.logged[-4000:]
            assert (f"'{JOB}' went on from its checkpoint" in job.said) == resumed
        assert query.told(out) == query.told(tmp_path / name)


ENDLESS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 200);
CREATE TABLE answers WITH (connector = 'single_file', path = '{{ OUT }}/answers.json',
    type = 'sink', format = 'json');
INSERT INTO answers SELECT counter FROM ticks WHERE counter % 2 = 0;
"""

FLIGHTS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE hours WITH (connector = 'single_file', path = '{{ OUT }}/hours.json',
    type = 'sink', format = 'json');
CREATE TABLE top WITH (connector = 'single_file', path = '{{ OUT }}/top.json',
    type = 'sink', format = 'debezium_json');
INSERT INTO hours SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS hour, origin,
    count(*) AS flights, avg(distance) AS far FROM flights GROUP BY hour, origin;
INSERT INTO top SELECT * FROM (SELECT origin, carrier, count(*) AS n,
    row_number() OVER (PARTITION BY origin ORDER BY count(*) DESC, carrier) AS place
    FROM flights GROUP BY origin, carrier) WHERE place <= 3;
"""


def promoted(engine: Engine, sql: str, folder: Path) -> Path:
    """The folder of a job."""
    plan = Session(engine=engine).plan(sql)
    return promote(plan, JOB, folder / "job", target="spark-submit").folder


def lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines()) if path.exists() else []


def test_who_ends_spark_has_the_job_stopped_first(
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OUT", str(tmp_path))
    folder, answers = promoted(engine, ENDLESS, tmp_path), tmp_path / "answers.json"
    state = str(tmp_path / "state")
    with (
        cluster(tmp_path / "cluster", workers=1) as own,
        own.submit(folder, "--log", "json", STATE=state) as job,
    ):
        job.wait_for(lambda: len(lines(answers)) > 100, START_S + JOB_S)
        job.process.send_signal(signal.SIGTERM)
        assert job.ended(JOB_S) == 128 + signal.SIGTERM  # as Java has it
        told = job.said.splitlines()
    events = [json.loads(line) for line in told if line.startswith("{")]
    assert ("stopping", "SIGTERM") in [(e["event"], e.get("reason")) for e in events]
    assert [e["state"] for e in events if e["event"] == "job_ended"] == ["stopped"]
    # What is there is whole, and noted.
    counted = [json.loads(line)["counter"] for line in answers.read_text().splitlines()]
    assert counted == [*range(0, counted[-1] + 1, 2)]
    notes = tmp_path / "state" / JOB / "outputs" / "0" / "sink" / "batches.json"
    assert json.loads(notes.read_text())["end"] == answers.stat().st_size


@pytest.mark.long("cluster")
def test_a_worker_that_is_killed_changes_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    for out in (calm, disturbed):
        out.mkdir()
    monkeypatch.setenv("OUT", str(calm))
    with Session(engine=engine) as session:
        session.run(FLIGHTS, wait=True)
    monkeypatch.setenv("OUT", str(disturbed))
    folder, state = promoted(engine, FLIGHTS, tmp_path), tmp_path / "state"
    commits = state / JOB / "outputs" / "0" / "checkpoint" / "commits"
    with (
        cluster(tmp_path / "cluster") as own,
        own.submit(folder, STATE=str(state)) as job,
    ):
        job.wait_for(lambda: (commits / "5").exists(), START_S + JOB_S)
        own.workers[0].kill()
        assert job.ended(4 * JOB_S) == 0, job.said + job.logged[-4000:]
        assert "Lost executor" in job.logged
    for name in ("hours.json", "top.json"):
        assert lines(disturbed / name) == lines(calm / name) != []


UDFS = """
from collections.abc import Sequence
import asyncio
import pyarrow as pa
import pyarrow.compute as pc
from arroyo_nb import udaf, udf

GRADES = ("early", "late")

def grade_of(minutes):
    return GRADES[minutes > 0]

@udf
def grade(minutes: float) -> str:
    return grade_of(minutes)

@udf(input=[int], output=int)
def doubled(values: pa.Array) -> pa.Array:
    return pc.multiply(values, 2)

@udf(allowed_in_flight=20)
async def answer(flight: int) -> str:
    await asyncio.sleep(0.001)
    return f"flight {flight}"

@udf
def middle(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None

@udaf
class Total:
    def __init__(self):
        self.sum = 0
    def accumulate(self, x: int):
        self.sum += x
    def retract(self, x: int):
        self.sum -= x
    def merge(self, other):
        self.sum += other.sum
    def finish(self) -> int:
        return self.sum
"""
CALLS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE hours WITH (connector = 'single_file', path = '{{ OUT }}/hours.json',
    type = 'sink', format = 'json');
CREATE TABLE rows_ WITH (connector = 'single_file', path = '{{ OUT }}/rows.json',
    type = 'sink', format = 'json');
CREATE TABLE totals WITH (connector = 'single_file', path = '{{ OUT }}/totals.json',
    type = 'sink', format = 'debezium_json');
INSERT INTO hours SELECT tumble(INTERVAL '1 day') AS day, origin,
    middle(dep_delay) AS middle, total(distance) AS far FROM flights
    GROUP BY day, origin;
INSERT INTO rows_ SELECT grade(dep_delay) AS grade, doubled(distance) AS twice,
    answer(flight) AS answer FROM flights WHERE carrier = 'VX';
INSERT INTO totals SELECT origin, middle(dep_delay) AS middle, total(distance) AS far
    FROM flights GROUP BY origin;
"""


def last_images(path: Path) -> dict[str, str]:
    """The newest row of each origin: how changes are spread over batches differs."""
    rows = (json.loads(line)["after"] for line in path.read_text().splitlines())
    return {row["origin"]: json.dumps(row) for row in rows if row}


RUST = """
use arroyo_udf_plugin::udf;

#[udf]
fn thrice(x: i64) -> i64 {
    3 * x
}
"""


@pytest.mark.long("cluster")
@pytest.mark.parametrize("language", ["python", "rust"])
def test_udfs_run_on_executors_that_have_none(
    language: str,
    engine: Engine,
    spark_cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their source is in the job's spec, a compiled one beside it, and nothing of them
    on the cluster, which has no compiler."""
    calls = CALLS
    if language == "rust":
        if shutil.which("cargo") is None:
            pytest.skip("there is no cargo here")
        calls = CALLS.replace("doubled(distance)", "thrice(distance)")
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    session = Session(engine=engine)
    session.register_source(UDFS)
    if language == "rust":
        session.register_source(RUST, "rust")
    plan = session.plan(calls)
    folder = promote(plan, JOB, tmp_path / "job", target="spark-submit").folder
    monkeypatch.setenv("OUT", str(here))
    session.run(calls, wait=True)
    monkeypatch.setenv("OUT", str(there))
    # Where nothing was ever compiled.
    bare = {"ARROYO_NB_CACHE": str(tmp_path / "cache"), "CARGO_HOME": "/nowhere"}
    state = str(tmp_path / "state")
    with spark_cluster.submit(folder, STATE=state, PATH="/usr/bin:/bin", **bare) as job:
        assert job.ended(START_S + JOB_S) == 0, job.said + job.logged[-4000:]
    for name in ("hours", "rows"):
        told = lines(here / f"{name}.json")
        assert told
        assert lines(there / f"{name}.json") == told
    assert last_images(there / "totals.json") == last_images(here / "totals.json")
