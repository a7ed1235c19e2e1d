"""A run on topics becomes a job and comes back while records come: who reads what is
committed sees each row once."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager

import pytest
from job_process import job_process

WITHIN_S = 180
KEYS, PARTITIONS, PAUSE_S, LOOK_S = 7, 2, 0.05, 0.2
COLUMNS = "k TEXT, n INT"


class Stream:
    """Records that come and come."""

    def __init__(self, topic):
        self._topic = topic
        self._over = threading.Event()
        self.sent = 0

    def run(self):
        while not self._over.wait(PAUSE_S):
            rows = [{"k": f"k{n % KEYS}", "n": n} for n in range(*self._next(20))]
            for part in range(PARTITIONS):
                mine = [row for row in rows if row["n"] % KEYS % PARTITIONS == part]
                self._topic.send(*mine, partition=part)

    def _next(self, count):
        first, self.sent = self.sent, self.sent + count
        return first, self.sent

    @contextmanager
    def coming(self):
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()


def rows_of(topic):
    return [json.loads(record.value()) for record in topic.records()]


def folded(topic):
    """What changes come to; each must find the row that it speaks of."""
    now = {}
    for change in rows_of(topic):
        before, after = change["before"], change["after"]
        if before is not None:
            assert now.pop(before["k"]) == before["n"]
        if after is not None:
            assert after["k"] not in now
            now[after["k"]] = after["n"]
    return now


@pytest.mark.long("topics")
@pytest.mark.parametrize("turns", [1, 20], ids=str)
def test_there_and_back_while_records_come(
    new_topic, session, tmp_path, eventually, turns
):
    source, plain, sums = new_topic(PARTITIONS), new_topic(2), new_topic(1)
    exactly = {"sink__commit_mode": "exactly_once"}
    script = (
        source.declared(COLUMNS)
        + plain.sink("", "plain", **exactly)
        + sums.sink("", "sums", format="debezium_json", **exactly)
        + "INSERT INTO plain SELECT n FROM t;\n"
        + "INSERT INTO sums SELECT k, count(*) AS n FROM t GROUP BY k;\n"
    )
    spec, stream = tmp_path / "job" / "job.yaml", Stream(source)

    def grown(least):
        """Whether both have come on; a rough look, with what ends transactions."""
        error = session.get("pass").error
        assert error is None, error
        return plain.end() > least[0] and sums.end() > least[1]

    def come_on(some=60):
        least = plain.end() + some, sums.end() + KEYS
        eventually(lambda: grown(least), WITHIN_S, LOOK_S)

    with stream.coming():
        run = session.run(script, name="pass", trigger="1s")
        for _ in range(turns):
            come_on()
            session.promote("pass", spec.parent, with_state=True)
            with job_process(spec) as job:
                job.event("running")
                come_on()
                run = session.attach(spec)
                assert job.process.wait(WITHIN_S) == 143
        come_on()
    eventually(lambda: sum(folded(sums).values()) == stream.sent, WITHIN_S, 1)
    eventually(lambda: len(rows_of(plain)) >= stream.sent, WITHIN_S, 1)
    run.stop().wait(WITHIN_S)
    assert run.resumed
    assert Counter(row["n"] for row in rows_of(plain)) == Counter(range(stream.sent))
    assert folded(sums) == Counter(f"k{n % KEYS}" for n in range(stream.sent))
