"""Jobs that are killed again and again, with tapes and topics as sources and files and
topics as sinks: each row is there once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import pytest
from machine import allowed, overloaded
from topic_queries import COLUMNS, FIRST, MINUTE, QUERIES, answer, told

from arroyo_nb.jobs.spec import JobSpec, TableDefinition
from arroyo_nb.run.options import RunOptions

FLIGHTS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights')
"""
DELAYS = """
CREATE TABLE {name} WITH (connector = 'single_file', path = '{path}', type = 'sink',
format = 'json');
INSERT INTO {name}
SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin, count(*) AS n,
       avg(dep_delay) AS delay
FROM flights GROUP BY w, origin;
"""
KEYS, PARTITIONS = 17, 2
TOGETHER, EVERY_S = 100, 0.2
"""How many rows come together, and how often: some for each batch."""

TRIGGER = timedelta(milliseconds=300)
START_S = 8.0
"""Some kills come so early that the job may not run yet."""


def row(n):
    return {"k": f"k{n % KEYS}", "n": n, "at": FIRST + n * MINUTE, "x": n / 7}


class Job:
    """A job, what it reads, and what it writes."""

    def __init__(self, source, sinks, folder):
        self._source, self._folder = source, folder
        self.delays = folder / "delays.json"
        script = DELAYS.format(name="delays", path=self.delays) + "".join(
            made.sink(
                "",
                name,
                format="debezium_json" if name == "updating" else "json",
                sink__commit_mode="exactly_once",
            )
            + f"INSERT INTO {name} {QUERIES[name]};\n"
            for name, made in sinks.items()
        )
        declared = source.declared(COLUMNS).strip().rstrip(";")
        tables = (
            TableDefinition("flights", FLIGHTS.strip()),
            TableDefinition("t", declared),
        )
        options = RunOptions(trigger=TRIGGER)
        spec = JobSpec("job", script, tables, options=options)
        self._path = folder / "job.yaml"
        self._path.write_text(spec.text)
        self.sent = 0

    @contextmanager
    def started(self):
        """A process that runs it; it is killed at the end."""
        command = [sys.executable, "-m", "arroyo_nb.cli", "run", str(self._path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def send(self, *rows):
        """Write rows to the topic, and those of one key to one partition."""
        for part in range(PARTITIONS):
            mine = (row for row in rows if row["n"] % KEYS % PARTITIONS == part)
            self._source.send(*mine, partition=part)

    @contextmanager
    def fed(self):
        """Rows come all the time, until the end."""
        over = threading.Event()
        feeder = threading.Thread(target=self._feed, args=(over,))
        feeder.start()
        try:
            yield
        finally:
            over.set()
            feeder.join()

    def _feed(self, over):
        while not over.wait(EVERY_S):
            first, self.sent = self.sent, self.sent + TOGETHER
            self.send(*map(row, range(first, self.sent)))

    @property
    def committed(self):
        """How many batches the slowest of its queries of the topic has."""
        state = self._folder / "state/job/outputs"
        logs = [state / str(n) / "checkpoint/commits" for n in range(1, 4)]
        newest = (max(map(int, names(log)), default=-1) for log in logs)
        return 1 + min(newest)

    def killed(self, moments):
        """Start it, and kill it at a random moment: while it starts, or in a batch."""
        goal = self.committed + moments.randint(1, 2)
        with self.started() as process:
            if moments.random() < 0.2:
                time.sleep(moments.uniform(0, START_S))
            else:
                wait_for(lambda: self.committed >= goal, process)
                time.sleep(moments.uniform(0, 0.3))
            assert process.poll() is None, f"it ended: {process.stderr.read()}"


def names(log):
    return [file.name for file in log.glob("[0-9]*")]


def wait_for(condition, process, within_s=300.0, every_s=0.01):
    deadline = time.monotonic() + allowed(within_s)
    while not condition():
        assert process.poll() is None, f"it ended: {process.stderr.read()}"
        assert time.monotonic() < deadline, "no progress"
        time.sleep(every_s)


def check(session, new_topic, folder, kills, seed):
    sinks = {name: new_topic(3) for name in QUERIES}
    job, moments = Job(new_topic(PARTITIONS), sinks, folder), random.Random(seed)
    with job.fed():
        for _ in range(kills):
            job.killed(moments)
    # On all partitions, or one of them would hold the watermark.
    last = row(job.sent)
    rows = [*map(row, range(job.sent)), {**last, "at": FIRST + 2 * job.sent * MINUTE}]
    job.send(rows[-1])
    calm = folder / "calm.json"
    session.run(f"{FLIGHTS};{DELAYS.format(name='calm', path=calm)}", wait=True)
    with job.started() as process:
        wait_for(lambda: lines(job.delays) == lines(calm), process, every_s=0.5)
        for name, made in sinks.items():
            expected = answer(name, rows)
            is_told = partial(_tells, name, made, expected)
            wait_for(is_told, process, every_s=0.5)  # it reads the topic from its start
    # Nothing has come since, to any of them.
    assert lines(job.delays) == lines(calm)
    for name, made in sinks.items():
        assert told(name, made) == answer(name, rows)


def lines(path):
    """What a file tells, whatever the order in a batch."""
    return sorted(path.read_text().splitlines())


def _tells(name, made, expected):
    return told(name, made) == expected


@pytest.mark.long("jobs")
def test_kills_lose_nothing_and_write_nothing_twice(session, new_topic, tmp_path):
    check(session, new_topic, tmp_path, kills=1, seed=5)


@pytest.mark.long("jobs")
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_kills_of_a_job(session, new_topic, tmp_path, seed):
    check(session, new_topic, tmp_path, kills=25, seed=100 + seed)


@pytest.mark.long("jobs")
def test_five_kills_on_a_machine_that_is_overloaded(session, new_topic, tmp_path):
    with overloaded(20):
        check(session, new_topic, tmp_path, kills=5, seed=22)
