"""Executors on a cluster read topics and write them, each record once, also when a
worker is killed."""

import json
import signal
from collections import Counter

import pytest
from standalone import cluster

from arroyo_nb.jobs.folder import promote

WITHIN_S = 180.0
RECORDS = 4000

SCRIPT = """
CREATE TABLE orders (id BIGINT NOT NULL, town TEXT) WITH (
    connector = 'kafka', bootstrap_servers = '{{{{ BROKER }}}}', topic = '{read}',
    type = 'source', format = 'json', 'source.offset' = 'earliest');
CREATE TABLE copies (id BIGINT NOT NULL, town TEXT) WITH (
    connector = 'kafka', bootstrap_servers = '{{{{ BROKER }}}}', topic = '{written}',
    type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once');
INSERT INTO copies SELECT id, upper(town) FROM orders;
"""


@pytest.mark.long("cluster")
def test_a_worker_that_is_killed_loses_and_repeats_no_record(
    session, broker, new_topic, tmp_path, monkeypatch
):
    monkeypatch.setenv("BROKER", broker.bootstrap_servers)
    read, written = new_topic(2), new_topic(2)
    plan = session.plan(SCRIPT.format(read=read.name, written=written.name))
    folder = promote(plan, "copies", tmp_path / "job", target="spark-submit").folder
    ids = iter(range(RECORDS))

    def send(count):
        for _ in range(count // 100):
            some = [{"id": next(ids), "town": "graz"} for _ in range(100)]
            read.send(*some, partition=some[0]["id"] // 100 % 2)

    def is_written(count):
        return lambda: len(written.records()) >= count

    send(RECORDS // 4)
    with (
        cluster(tmp_path / "cluster") as own,
        own.submit(folder, STATE=str(tmp_path / "state")) as job,
    ):
        job.wait_for(is_written(RECORDS // 4), WITHIN_S)
        send(RECORDS // 4)
        own.workers[0].kill()
        send(RECORDS // 2)
        job.wait_for(is_written(RECORDS), WITHIN_S)
        job.process.send_signal(signal.SIGTERM)
        job.ended(WITHIN_S)
        assert "Lost executor" in job.logged
    found = Counter(json.loads(record.value())["id"] for record in written.records())
    assert found == Counter(range(RECORDS))
