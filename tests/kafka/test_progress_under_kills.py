"""A job that is killed again and again on a busy machine comes further each time: what
it commits first after a start is small, however much there is to read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from confluent_kafka import Producer
from machine import allowed, overloaded

from arroyo_nb.jobs.spec import JobSpec, TableDefinition

RECORDS, PARTITIONS = 3_000_000, 2
KILLS, BURNERS = 8, 2
KILLED_AFTER_S, STARTED_S = 10.0, 60.0
"""How long each start runs, once its queries do; and how long those may take."""

QUERIES = {
    "a file": "SELECT n, k FROM t WHERE n % 7 <> 3",
    "a topic, windowed": """SELECT k, count(*) AS c FROM t
        GROUP BY k, tumble(INTERVAL '1 minute')""",
}


def fill(topic):
    """Write millions of records, a second apart for each thousand."""
    producer = Producer(
        {"bootstrap.servers": topic.broker.bootstrap_servers, "linger.ms": 50}
    )
    for n in range(RECORDS):
        at_ms = 1_700_000_000_000 + n
        payload = b'{"n": %d, "k": %d, "at": %d}' % (n, n % 1000, at_ms)
        while True:
            try:
                producer.produce(topic.name, payload, partition=n % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


class Job:
    """A job that reads a topic from its beginning."""

    def __init__(self, source, sink, query, folder):
        self._state, self._path = folder / "state/job", folder / "job.yaml"
        columns = """n BIGINT, k BIGINT, at TIMESTAMP(3) NOT NULL,
            WATERMARK FOR at AS at - INTERVAL '1 second'"""
        table = TableDefinition("t", source.declared(columns).strip().rstrip(";"))
        spec = JobSpec("job", f"{sink}INSERT INTO out {query};\n", (table,))
        self._path.write_text(spec.text)

    @property
    def committed_rows(self):
        """How many records the batches have read that are committed."""
        log = self._state / "outputs/0/checkpoint"
        numbers = [int(file.name) for file in (log / "commits").glob("[0-9]*")]
        if not numbers:
            return 0
        *_, offsets = (log / "offsets" / str(max(numbers))).read_text().splitlines()
        (found,) = json.loads(offsets).values()
        return sum(found.values())

    @property
    def starts(self):
        """How often its queries have begun to run."""
        events = self._state.parent / "job.events.jsonl"
        return events.read_text().count('"running"') if events.exists() else 0

    def killed(self):
        """Start it, and kill it some time after its queries run. How long they took to
        start and to commit, in seconds, None where they did not, and how long they
        ran."""
        starts, rows, began_s = self.starts, self.committed_rows, time.monotonic()
        running_s = committed_s = None
        # However many processes beside take their turns.
        ran_s = KILLED_AFTER_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        command = [sys.executable, "-m", "arroyo_nb.cli", "run", str(self._path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                while running_s is None or _since(began_s) < running_s + ran_s:
                    assert process.poll() is None, process.stderr.read()
                    if running_s is None:
                        assert _since(began_s) < allowed(STARTED_S), "it does not start"
                        if self.starts > starts:
                            running_s = _since(began_s)
                    if committed_s is None and self.committed_rows > rows:
                        committed_s = _since(began_s)
                    time.sleep(0.02)
            finally:
                process.kill()
        return running_s, committed_s, ran_s


def _since(began_s):
    return time.monotonic() - began_s


@pytest.mark.long("jobs")
@pytest.mark.parametrize("kind", QUERIES)
def test_each_start_comes_further(new_topic, tmp_path, kind):
    source = new_topic(PARTITIONS)
    sink = new_topic(PARTITIONS).sink("", sink__commit_mode="exactly_once")
    if kind == "a file":
        sink = (
            "CREATE TABLE out WITH (connector = 'single_file', type = 'sink', "
            f"path = '{tmp_path / 'out.json'}', format = 'json');\n"
        )
    fill(source)
    job = Job(source, sink, QUERIES[kind], tmp_path)
    rows = [0]
    with overloaded(BURNERS):
        for number in range(KILLS):
            running_s, committed_s, ran_s = job.killed()
            rows.append(job.committed_rows)
            commit = "never" if committed_s is None else f"{committed_s:.1f} s"
            print(
                f"{kind}, kill {number}: running after {running_s:.1f} s and for "
                f"{ran_s:.0f} s; first commit after {commit}, "
                f"{rows[-1] - rows[-2]} rows more"
            )
            if rows[-1] == RECORDS:
                break
    gains = [after - before for before, after in pairwise(rows)]
    assert all(gains), rows
