"""Runs that are killed again and again: committed readers see each row once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial

import pytest

COLUMNS = """k TEXT, n INT, at TIMESTAMP(3) NOT NULL, x DOUBLE,
    WATERMARK FOR at AS at - INTERVAL '1 minute'"""
QUERIES = {
    "stateless": "SELECT k, n FROM t WHERE n % 3 <> 1",
    "windowed": """SELECT tumble(INTERVAL '1 hour') AS w, k, count(*) AS n, avg(x) AS x
        FROM t GROUP BY w, k""",
    "updating": "SELECT k, count(*) AS n, sum(n) AS total FROM t GROUP BY k",
}
MINUTE, HOUR, FIRST = 60_000, 3_600_000, 1_700_000_000_000
KEYS, PARTITIONS, BATCH_ROWS = 17, 2, 400

JOB = """
import sys
from arroyo_nb import Session
from arroyo_nb.connectors import _kafka_stream
_kafka_stream.BATCH_RECORDS = int(sys.argv[3])
with Session(state_dir=sys.argv[1]) as session:
    session.run(sys.argv[2], name="job", wait=True)
"""


def row(n):
    return {"k": f"k{n % KEYS}", "n": n, "at": FIRST + n * MINUTE, "x": n / 7}


class Job:
    """A process that runs the queries, and what they write."""

    def __init__(self, source, sinks, folder):
        self._source, self._sinks, self._folder = source, sinks, folder
        self._script = source.declared(COLUMNS) + "".join(
            made.sink(
                "",
                name,
                format="debezium_json" if name == "updating" else "json",
                sink__commit_mode="exactly_once",
            )
            + f"INSERT INTO {name} {QUERIES[name]};\n"
            for name, made in sinks.items()
        )
        self.sent = 0

    @contextmanager
    def started(self):
        """A process that runs them; it is killed at the end."""
        arguments = [str(self._folder), self._script, str(BATCH_ROWS)]
        command = [sys.executable, "-c", JOB, *arguments]
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

    def send_more(self, count):
        """Write the next rows."""
        first, self.sent = self.sent, self.sent + count
        self.send(*map(row, range(first, self.sent)))

    @property
    def committed(self):
        """How many batches its slowest query has."""
        logs = sorted(self._folder.glob("job/outputs/*/checkpoint/commits"))
        if len(logs) < len(QUERIES):
            return 0
        newest = (max(map(int, names(log)), default=-1) for log in logs)
        return 1 + min(newest)

    def killed(self, moments):
        """Start it, and kill it at a random moment of a batch after some more."""
        goal = self.committed + moments.randint(1, 2)
        with self.started() as process:
            wait_for(lambda: self.committed >= goal, process)
            time.sleep(moments.uniform(0, 0.3))
            assert process.poll() is None, f"it ended: {process.stderr.read()}"


def names(log):
    return [file.name for file in log.glob("[0-9]*")]


def wait_for(condition, process, within_s=300.0, every_s=0.01):
    deadline = time.monotonic() + within_s
    while not condition():
        assert process.poll() is None, f"it ended: {process.stderr.read()}"
        assert time.monotonic() < deadline, "no progress"
        time.sleep(every_s)


def told(name, made):
    """The rows that a topic tells; each change must find the row that it speaks of."""
    found = Counter()
    for record in made.records():
        row = json.loads(record.value())
        if name == "stateless":
            found[row["k"], row["n"]] += 1
        elif name == "windowed":
            found[row["w"]["start"], row["k"], row["n"], round(row["x"], 6)] += 1
        else:
            before, after = (
                row[image] and tuple(row[image].values())
                for image in ("before", "after")
            )
            if before:
                assert found.pop(before, 0) == 1, row
            if after:
                found[after] += 1
    return found


def answer(name, rows):
    """The same of all rows at once, of which the last closes the others' windows."""
    if name == "stateless":
        return Counter((row["k"], row["n"]) for row in rows if row["n"] % 3 != 1)
    groups = {}
    for row in rows[:-1] if name == "windowed" else rows:
        start = row["at"] // HOUR if name == "windowed" else 0
        groups.setdefault((start, row["k"]), []).append(row)
    if name == "updating":
        return Counter(
            (k, len(g), sum(r["n"] for r in g)) for (_, k), g in groups.items()
        )
    return Counter(
        (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start * 3600)),
            *(k, len(g), round(sum(r["x"] for r in g) / len(g), 6)),
        )
        for (start, k), g in groups.items()
    )


def check(new_topic, folder, kills, seed):
    sinks = {name: new_topic(3) for name in QUERIES}
    job, moments = Job(new_topic(PARTITIONS), sinks, folder), random.Random(seed)
    for _ in range(kills):
        job.send_more(4 * BATCH_ROWS)
        job.killed(moments)
    job.send_more(2 * BATCH_ROWS)
    # On all partitions, or one of them would hold the watermark.
    last = row(job.sent)
    rows = [*map(row, range(job.sent)), {**last, "at": FIRST + 2 * job.sent * MINUTE}]
    job.send(rows[-1])
    with job.started() as process:
        for name, made in sinks.items():
            expected = answer(name, rows)
            is_told = partial(_tells, name, made, expected)
            wait_for(is_told, process, every_s=0.5)  # it reads the topic from its start
    # Nothing has come since, to any of them.
    for name, made in sinks.items():
        assert told(name, made) == answer(name, rows)


def _tells(name, made, expected):
    return told(name, made) == expected


def test_kills_lose_nothing_and_write_nothing_twice(new_topic, tmp_path):
    check(new_topic, tmp_path, kills=5, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_of_sinks(new_topic, tmp_path, seed):
    check(new_topic, tmp_path, kills=10, seed=100 + seed)
