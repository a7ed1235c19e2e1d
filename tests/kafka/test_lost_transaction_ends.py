"""A broker that is stopped can lose the end of a transaction, and keeps it open on the
group of a sink for ever. A transaction of another producer looks the same to the sink.
"""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from sink_tasks import send_batch

from arroyo_nb.durable_files import read_checked
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka import sink_task
from arroyo_nb.kafka.sink_task import Transaction


@contextmanager
def left_open(topic, groups):
    """A transaction is open on each group."""
    settings = {"bootstrap.servers": topic.broker.bootstrap_servers}
    producers = []
    for group in groups:
        producer = Producer({**settings, "transactional.id": f"left-open-{group}"})
        producer.init_transactions(20)
        producer.begin_transaction()
        member = Consumer({**settings, "group.id": group})
        producer.send_offsets_to_transaction(
            [TopicPartition(topic.name, 0, 1)], member.consumer_group_metadata(), 20
        )
        member.close()
        producers.append(producer)
    yield
    for producer in producers:
        producer.abort_transaction(20)


def test_batches_are_written_beside_a_transaction_that_is_left_open(
    new_topic, session, eventually, tmp_path
):
    source, topic = new_topic(1), new_topic(2)
    sink = topic.sink("", sink__commit_mode="exactly_once")
    script = f"{source.declared('n INT')}{sink}INSERT INTO out SELECT n FROM t;"
    numbers = itertools.count()

    def run_on(run):
        # All of it is written before the run is stopped: a batch that Spark had planned
        # by then would have to be verified, which nobody can beside that transaction.
        for _ in range(3):
            source.send({"n": next(numbers)}, {"n": next(numbers)})
            sent = source.end()
            eventually(lambda n=sent: len(topic.records()) == n or run.state.ended, 60)
            assert run.error is None

    run = session.run(script, state_dir=tmp_path)
    run_on(run)
    (notes,) = tmp_path.rglob("sink/topic.json")
    prefix = read_checked(notes, "notes")["prefix"]
    with left_open(topic, [f"{prefix}-{task}" for task in range(2)]):
        run_on(run)
        assert run.stop(mode="checkpoint").wait_quietly(30)
        run = session.run(script, state_dir=tmp_path)
        run_on(run)
        assert run.stop(mode="checkpoint").wait_quietly(30)
        assert run.error is None
    written = [json.loads(record.value())["n"] for record in topic.records()]
    assert sorted(written) == list(range(next(numbers)))


def test_of_a_batch_that_may_be_there_it_is_said(new_topic, task, monkeypatch):
    monkeypatch.setattr(sink_task, "ASK_S", 1.0)
    monkeypatch.setattr(sink_task, "OPEN_S", 0.5)
    topic = new_topic()

    def send(batch_id, *, is_new, may_rerun=False):
        transaction = Transaction(
            topic.name, batch_id, is_new=is_new, may_rerun=may_rerun
        )
        return send_batch(topic, transaction, b"a")

    assert send(0, is_new=True) == 1
    assert send(0, is_new=False) == 1
    with left_open(topic, [f"{topic.name}-0"]):
        with pytest.raises(RunProblem, match="the batch 0 of the table 'out' was"):
            send(0, is_new=False)
        # A task that Spark runs again may have written it.
        task.attemptNumber = lambda: 1
        with pytest.raises(RunProblem, match="has lost the end of a transaction"):
            send(1, is_new=True)
        task.attemptNumber = lambda: 0
        assert send(1, is_new=True) == 1
        # Nor does a task of a stage that Spark runs again, which is a first attempt.
        assert send(2, is_new=True, may_rerun=True) == 1
        with pytest.raises(RunProblem, match="has lost the end of a transaction"):
            send(2, is_new=True, may_rerun=True)
    assert send(2, is_new=True, may_rerun=True) == 1
    assert send(3, is_new=True, may_rerun=True) == 1
    assert len(topic.records()) == 4
