"""Micro-batches of a long topic are small after each start, and then large."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from arroyo_nb.connectors import FIRST_BATCH_RECORDS
from arroyo_nb.run.sources import batch_size

RECORDS = 8 * FIRST_BATCH_RECORDS
QUERY = "SELECT n FROM t WHERE n % 1000 = 0;"


@pytest.fixture
def long_topic(new_topic):
    """Sends so many records to a topic, each time that it is called; gives it."""
    topic = new_topic(2)
    settings = {
        "bootstrap.servers": topic.broker.bootstrap_servers,
        "queue.buffering.max.messages": 2 * RECORDS,
        "log_level": 0,
    }
    producer = Producer(settings)

    def send():
        for n in range(RECORDS):
            producer.produce(topic.name, b'{"n": %d}' % n, partition=n % 2)
        assert producer.flush(60) == 0
        return topic

    return send


def sizes(run, engine):
    """How many records each batch of a run has read, in this process."""
    query = run.outputs[0]._query
    if query is None:
        return []
    told = engine.worker.call(lambda: [p.numInputRows for p in query.recentProgress])
    return [rows for rows in told if rows]


@pytest.mark.long("topics")
def test_batches_are_small_after_a_start_and_then_as_large_as_they_are_quick(
    long_topic, session, engine, eventually, monkeypatch, tmp_path
):
    # However busy the machine is: all are quick in the first run, slow in the other.
    monkeypatch.setattr(batch_size, "TARGET_S", 1e6)
    script = long_topic().declared("n BIGINT") + QUERY
    with session.run(script, name="job", state_dir=tmp_path) as run:
        eventually(
            lambda: (
                run.state.ended
                or max(sizes(run, engine), default=0) > FIRST_BATCH_RECORDS
            ),
            120,
        )
        first, *_ = sizes(run, engine)
        assert run.stop(mode="checkpoint").wait_quietly(60)
    assert run.error is None
    assert first <= FIRST_BATCH_RECORDS
    # Spark may have planned one more. It comes again, as large as it was.
    logs = (run.folder / "outputs/0/checkpoint" / log for log in ("offsets", "commits"))
    planned, done = (len(list(log.glob("[0-9]*"))) for log in logs)
    long_topic()
    monkeypatch.setattr(batch_size, "TARGET_S", 1e-6)
    with session.run(script, name="job", state_dir=tmp_path) as again:
        eventually(lambda: again.state.ended or len(sizes(again, engine)) >= 5, 120)
        first, *_, last = sizes(again, engine)[planned - done :]
    assert again.error is None
    assert last <= batch_size.LEAST_RECORDS < first <= FIRST_BATCH_RECORDS
