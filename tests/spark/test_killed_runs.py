"""A run that is killed again and again writes what an undisturbed one writes. Jobs of
every kind of source and sink are killed in :mod:`test_killed_jobs`."""

import json
import random
import subprocess
import sys
import time
from collections import Counter

import pytest

WINDOWS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE windowed WITH (
    connector = 'single_file', path = '{folder}/windowed.json', type = 'sink',
    format = 'json');
CREATE TABLE stateless WITH (
    connector = 'single_file', path = '{folder}/stateless.json', type = 'sink',
    format = 'json');
INSERT INTO windowed
SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin, count(*) AS n,
       avg(dep_delay) AS delay
FROM flights GROUP BY w, origin;
INSERT INTO stateless SELECT flight, dep_delay FROM flights WHERE dep_delay > 10;
"""

UPDATES = """
CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE airlines WITH (connector = 'sample', dataset = 'airlines');
CREATE TABLE top WITH (
    connector = 'single_file', path = '{folder}/top.json', type = 'sink',
    format = 'debezium_json');
INSERT INTO top
SELECT origin, carrier, name, n, place FROM (
    SELECT origin, carrier, name, n,
           row_number() OVER (PARTITION BY origin ORDER BY n DESC, carrier) AS place
    FROM (SELECT origin, carrier, count(*) AS n FROM flights
          GROUP BY origin, carrier) AS counts
    LEFT JOIN (SELECT carrier AS code, name FROM airlines) AS airlines
    ON carrier = code
) AS ranks
WHERE place <= 3;
"""

TOPS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE top WITH (
    connector = 'single_file', path = '{folder}/top.json', type = 'sink',
    format = 'json');
INSERT INTO top
SELECT w, origin, carrier, n, place, before, delays FROM (
    SELECT *,
        row_number() OVER (PARTITION BY w, origin ORDER BY n DESC) AS place,
        lag(carrier) OVER (PARTITION BY w, origin ORDER BY n DESC) AS before,
        sum(delay) OVER (PARTITION BY w ORDER BY n GROUPS 1 PRECEDING EXCLUDE TIES)
            AS delays
    FROM (SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin, carrier,
                 count(*) AS n, max(dep_delay) AS delay
          FROM flights GROUP BY w, origin, carrier)
) WHERE place <= 3;
"""

PAIRS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE pairs WITH (
    connector = 'single_file', path = '{folder}/pairs.json', type = 'sink',
    format = 'json');
CREATE TABLE middle WITH (
    connector = 'single_file', path = '{folder}/middle.json', type = 'sink',
    format = 'json');
INSERT INTO pairs
SELECT d.w, a.w AS aw, d.airport, a.airport AS other, d.n, a.n AS arrived
FROM (SELECT tumble(INTERVAL '1 hour') AS w, origin AS airport, count(*) AS n
      FROM flights GROUP BY w, origin) AS d
FULL JOIN
     (SELECT tumble(INTERVAL '1 hour') AS w, dest AS airport, count(*) AS n
      FROM flights GROUP BY w, dest) AS a
ON d.airport = a.airport AND d.n < a.n;
INSERT INTO middle
SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin,
       median(dep_delay) AS delay, array_agg(DISTINCT carrier) AS carriers,
       last_value(flight ORDER BY sched_dep) AS latest
FROM flights GROUP BY w, origin;
"""

LARGE = """
CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE counts WITH (
    connector = 'single_file', path = '{folder}/counts.json', type = 'sink',
    format = 'debezium_json');
INSERT INTO counts
SELECT f.flight, f.origin, f.n, length(f.widest) + length(o.widest) AS width
FROM (SELECT flight, origin, count(*) AS n, max(carrier || repeat('x', 3000)) AS widest
      FROM flights GROUP BY flight, origin) AS f
JOIN (SELECT origin, max(carrier || repeat('x', 200000)) AS widest
      FROM flights GROUP BY origin) AS o
ON f.origin = o.origin;
"""
"""States of some megabytes, which are kept as logs."""

CALLS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE asked WITH (
    connector = 'single_file', path = '{folder}/asked.json', type = 'sink',
    format = 'json');
CREATE TABLE spreads WITH (
    connector = 'single_file', path = '{folder}/spreads.json', type = 'sink',
    format = 'debezium_json');
INSERT INTO asked SELECT flight, answer(flight) AS answer FROM flights
WHERE dep_delay > 10;
INSERT INTO spreads
SELECT origin, middle(dep_delay) AS middle, total(distance) AS total, count(*) AS n
FROM flights GROUP BY origin;
"""

FUNCTIONS = """
import asyncio
from arroyo_nb import udaf, udf

@udf(allowed_in_flight=50)
async def answer(flight: int) -> str:
    await asyncio.sleep(0.001)
    return f"the answer to {flight}"

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

JOB = """
import sys
from arroyo_nb import Session
folder, speed, script, functions = sys.argv[1:]
with Session(state_dir=folder) as session:
    if functions:
        session.register_source(functions)
    session.run(script, name="job", speed=speed, wait=True)
"""
SPEED = "60_000"
"""10 s of play in 50 batches: at full speed it ends before it is killed ten times."""


def start(folder, script):
    functions = FUNCTIONS if script is CALLS else ""
    arguments = [str(folder), SPEED, script.format(folder=folder), functions]
    return subprocess.Popen(
        [sys.executable, "-c", JOB, *arguments], stderr=subprocess.PIPE, text=True
    )


def committed(folder):
    """How many batches; Spark keeps the files of the newest only."""
    files = folder.glob("job/outputs/0/checkpoint/commits/[0-9]*")
    return max((int(file.name) + 1 for file in files), default=0)


def wait_for(condition, process, within_s=240.0):
    deadline = time.monotonic() + within_s
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline, "the job made no progress"
        time.sleep(0.005)


def finish(folder, job, told):
    """Let a job end; returns what its sinks tell."""
    _, err = job.communicate(timeout=600)
    assert (job.returncode, err) == (0, "")
    return {
        path.stem: told(path.read_text().splitlines())
        for path in sorted(folder.glob("*.json"))
    }


def folded(lines):
    """The rows that changes leave. One that is lost or comes twice is one after which
    a row before is not there, or a row too many is."""
    rows = Counter()
    for change in map(json.loads, lines):
        before, after = (
            change[image] and tuple(change[image].values())
            for image in ("before", "after")
        )
        assert before != after
        if before:
            assert rows[before] == 1, change
            del rows[before]
        if after:
            rows[after] += 1
    return sorted(rows.elements())


def kill(folder, script, moments):
    """Kill the job after one or two more batches, at a random moment of the next."""
    goal = committed(folder) + moments.randint(1, 2)
    with start(folder, script) as job:
        wait_for(lambda: committed(folder) >= goal, job)
        time.sleep(moments.uniform(0, 0.12))
        assert job.poll() is None, f"it ended by itself: {job.stderr.read()}"
        job.kill()


def check(tmp_path, kills, seed, script=WINDOWS, told=sorted):
    """Compare what an undisturbed job tells, by default whatever the order in a batch,
    with what one does that is killed."""
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    moments = random.Random(seed)
    # It plays by the clock: there is time for others beside it.
    with start(undisturbed, script) as calm:
        for _ in range(kills):
            kill(killed, script, moments)
        with start(killed, script) as last:
            expected = finish(undisturbed, calm, told)
            assert finish(killed, last, told) == expected
            assert all(expected.values())


@pytest.mark.long("kills")
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=100 + seed)


@pytest.mark.long("kills")
@pytest.mark.parametrize("seed", range(3))
def test_changes_of_updating_queries_survive_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=200 + seed, script=UPDATES, told=folded)


@pytest.mark.long("kills")
@pytest.mark.parametrize("seed", range(3))
def test_the_top_of_each_window_survives_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=300 + seed, script=TOPS)


@pytest.mark.long("kills")
@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_windows_survive_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=400 + seed, script=PAIRS)


@pytest.mark.long("kills")
@pytest.mark.parametrize("seed", range(2))
def test_large_states_survive_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=500 + seed, script=LARGE, told=folded)


@pytest.mark.long("kills")
def test_udfs_survive_kills(tmp_path):
    """Changes of an aggregate and answers of async calls, in one job."""
    check(tmp_path, kills=10, seed=600, script=CALLS, told=changes_or_rows)


def changes_or_rows(lines):
    is_changes = lines and "before" in json.loads(lines[0])
    return folded(lines) if is_changes else sorted(lines)
