"""A job that is killed again and again writes what an undisturbed one writes."""

import random
import subprocess
import sys
import time

import pytest

SCRIPT = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE out WITH (
    connector = 'single_file', path = '{target}', type = 'sink', format = 'json');
INSERT INTO out {query};
"""
QUERIES = {
    "windowed": """
        SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin, count(*) AS n,
               avg(dep_delay) AS delay
        FROM flights GROUP BY w, origin""",
    "stateless": "SELECT flight, dep_delay FROM flights WHERE dep_delay > 10",
}


def start(folder, query):
    script = folder / "job.sql"
    script.write_text(SCRIPT.format(target=folder / "out.json", query=query))
    arguments = ["run", str(script), "--state-dir", str(folder), "--name", "job"]
    return subprocess.Popen(
        [sys.executable, "-m", "arroyo_nb.cli", *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )


def committed(folder):
    return len(list(folder.glob("job/outputs/0/checkpoint/commits/[0-9]*")))


def wait_for(condition, process, within_s=90.0):
    deadline = time.monotonic() + within_s
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline, "the job made no progress"
        time.sleep(0.005)


def kill_and_resume(folder, query, kills, moments):
    """Kill the job after a few more batches, at a random moment of the next one."""
    for _ in range(kills):
        goal = committed(folder) + moments.randint(1, 2)
        with start(folder, query) as job:
            wait_for(lambda goal=goal: committed(folder) >= goal, job)
            time.sleep(moments.uniform(0, 0.3))
            assert job.poll() is None, f"it ended before the kill: {job.stderr.read()}"
            job.kill()
    with start(folder, query) as job:
        _, err = job.communicate(timeout=180)
    assert (job.returncode, err) == (0, "")


def undisturbed(folder, query):
    folder.mkdir()
    with start(folder, query) as job:
        _, err = job.communicate(timeout=180)
    assert (job.returncode, err) == (0, "")
    return sorted((folder / "out.json").read_text().splitlines())


def check(tmp_path, kind, kills, seed):
    expected = undisturbed(tmp_path / "undisturbed", QUERIES[kind])
    folder = tmp_path / "killed"
    folder.mkdir()
    kill_and_resume(folder, QUERIES[kind], kills, random.Random(seed))
    assert sorted((folder / "out.json").read_text().splitlines()) == expected


@pytest.mark.parametrize(("kind", "kills"), [("windowed", 7), ("stateless", 3)])
def test_ten_kills_lose_nothing_and_write_nothing_twice(tmp_path, kind, kills):
    check(tmp_path, kind, kills, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", QUERIES)
def test_a_hundred_kills(tmp_path, kind, seed):
    check(tmp_path, kind, kills=10, seed=100 + seed)
