"""A job that is killed again and again writes what an undisturbed one writes."""

import random
import subprocess
import sys
import time

import pytest

SCRIPT = """
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


def start(folder):
    script = folder / "job.sql"
    script.write_text(SCRIPT.format(folder=folder))
    arguments = ["run", str(script), "--state-dir", str(folder), "--name", "job"]
    return subprocess.Popen(
        [sys.executable, "-m", "arroyo_nb.cli", *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )


def committed(folder):
    return len(list(folder.glob("job/outputs/0/checkpoint/commits/[0-9]*")))


def wait_for(condition, process, within_s=240.0):
    deadline = time.monotonic() + within_s
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline, "the job made no progress"
        time.sleep(0.005)


def finish(folder):
    """Let the job end; returns what its sinks hold, whatever the order in a batch."""
    with start(folder) as job:
        _, err = job.communicate(timeout=180)
    assert (job.returncode, err) == (0, "")
    return {
        sink: sorted((folder / f"{sink}.json").read_text().splitlines())
        for sink in ("windowed", "stateless")
    }


def kill(folder, moments):
    """Kill the job after one or two more batches, at a random moment of the next.

    Returns whether it lived to be killed: a fast one can be at its end by then.
    """
    goal = committed(folder) + moments.randint(1, 2)
    with start(folder) as job:
        wait_for(lambda: committed(folder) >= goal, job)
        time.sleep(moments.uniform(0, 0.3))
        ended = job.poll()
        assert ended in (None, 0), job.stderr.read()
        job.kill()
    return ended is None


def check(tmp_path, kills, seed):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    moments = random.Random(seed)
    killed_alive = sum(kill(killed, moments) for _ in range(kills))
    assert killed_alive >= kills // 2, "most of the kills came too late"
    assert finish(killed) == finish(undisturbed)


def test_ten_kills_lose_nothing_and_write_nothing_twice(tmp_path):
    check(tmp_path, kills=10, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills(tmp_path, seed):
    check(tmp_path, kills=10, seed=100 + seed)
