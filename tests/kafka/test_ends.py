"""A topic that is written all along is read to where it ended, and no further."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from itertools import count

import pytest
from confluent_kafka import Producer
from machine import allowed

from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.sources.stream import StreamReader

COLUMNS = """n INT, part INT METADATA FROM 'partition',
    at BIGINT METADATA FROM 'offset_id'"""
WITHIN_S = 60


@contextmanager
def written(topic, partitions):
    """Records come all the time, to some partitions."""
    settings = {"bootstrap.servers": topic.broker.bootstrap_servers, "linger.ms": 0}
    producer, ended, sent = Producer(settings), threading.Event(), threading.Event()

    def write():
        for n in count():
            payload = json.dumps({"n": n}).encode()
            producer.produce(
                topic.name, payload, partition=partitions[n % len(partitions)]
            )
            producer.poll(0)
            if n == 20:
                producer.flush(20)
                sent.set()
            if ended.wait(0.01):
                break
        producer.flush(20)

    thread = threading.Thread(target=write)
    thread.start()
    assert sent.wait(WITHIN_S)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def read_offsets(table):
    """Which offsets were read of each partition, in their order."""
    found = {}
    for row in table.to_pylist():
        found.setdefault(row["part"], []).append(row["at"])
    return {number: sorted(offsets) for number, offsets in found.items()}


def ended_at(run):
    (feed,) = run.sources._feeds
    return feed._ends


@pytest.fixture
def partition_added(monkeypatch):
    """Adds a partition to the topic of a run that has asked for the topic's partitions
    and has no query yet."""

    def add(topic, count):
        def start(feed):
            monkeypatch.undo()
            feed.start()
            topic.add_partitions(count)
            _wait_for_partitions(topic, count)

        monkeypatch.setattr(StreamReader, "start", start)

    return add


def _wait_for_partitions(topic, count):
    deadline = time.monotonic() + allowed(WITHIN_S)
    while (
        len(topic.admin.list_topics(topic.name, 20).topics[topic.name].partitions)
        < count
    ):
        assert time.monotonic() < deadline


def test_a_topic_that_is_written_ends_where_it_did(
    new_topic, session, tmp_path, partition_added
):
    topic = new_topic(3)
    script = topic.declared(COLUMNS) + "SELECT * FROM t; SELECT part, at FROM t"
    options = {"until": "end", "state_dir": tmp_path / "state", "keep": True}
    begin, partitions = {0: 0}, 3
    with written(topic, (0, 1)):
        for number in (4, 4, 5):
            if number > partitions:
                partition_added(topic, partitions := number)
            run = session.run(script, **options)
            assert run.wait(allowed(WITHIN_S))
            assert (run.state, run.error) == (RunState.FINISHED, None)
            end = ended_at(run)
            # A run that goes on has the rows of before too, each of them once.
            expected = {n: list(range(after)) for n, after in end.items() if after}
            for output in run.outputs:
                assert read_offsets(output.preview.table()) == expected
            assert end[0] > begin[0], "records came meanwhile"
            begin = dict(end)


@pytest.mark.parametrize("kind", ["rows", "two readers"])
def test_a_partition_that_is_added_meanwhile_is_behind_the_end(
    new_topic, session, tmp_path, partition_added, kind, eventually
):
    topic = new_topic(2)
    topic.send({"n": 0})
    query = "SELECT * FROM t;" + "SELECT part, at FROM t" * (kind == "two readers")
    script = topic.declared(COLUMNS) + query
    options = {"state_dir": tmp_path / "state", "keep": True}
    partition_added(topic, 3)
    run = session.run(script, until="end", **options)
    assert run.wait(allowed(WITHIN_S))
    assert read_offsets(run.table()) == {0: [0]}
    # The next run is told of it; so is one without an end, on the same checkpoint.
    topic.send({"n": 1}, {"n": 2}, partition=2)
    partition_added(topic, 4)
    run = session.run(script, until="end", **options)
    assert run.wait(allowed(WITHIN_S))
    assert read_offsets(run.table()) == {0: [0], 2: [0, 1]}
    topic.send({"n": 3}, partition=3)
    topic.send({"n": 4}, partition=0)
    run = session.run(script, **options)
    eventually(lambda: run.state.ended or len(run.table()) == 5, WITHIN_S)
    assert run.error is None
    topic.add_partitions(5)
    topic.send({"n": 5}, partition=4)
    eventually(lambda: run.state.ended or len(run.table()) == 6, WITHIN_S)
    run.stop().wait_quietly(30)
    # And back again, with partitions that came while Spark read all of them.
    topic.send({"n": 6}, partition=1)
    run = session.run(script, until="end", **options)
    assert run.wait(allowed(WITHIN_S))
    expected = {0: [0, 1], 1: [0], 2: [0, 1], 3: [0], 4: [0]}
    for output in run.outputs:
        assert read_offsets(output.preview.table()) == expected


@pytest.mark.parametrize("mode", ["micro-batches", "exactly once"])
def test_a_run_without_an_end_meets_a_partition_that_is_added(
    new_topic, session, eventually, partition_added, mode
):
    topic, made = new_topic(2), new_topic(1)
    topic.send({"n": 0})
    script = topic.declared(COLUMNS) + "SELECT * FROM t;SELECT n FROM t"
    if mode == "exactly once":
        sink = made.sink("", sink__commit_mode="exactly_once")
        script += f";{sink}INSERT INTO out SELECT n FROM t"
    partition_added(topic, 3)
    run = session.run(script)
    eventually(lambda: run.state.ended or run.state is RunState.RUNNING, WITHIN_S)
    topic.send({"n": 1}, partition=2)
    outputs = [output.preview for output in run.outputs if output.preview]
    eventually(
        lambda: run.state.ended or all(o.total_rows == 2 for o in outputs), WITHIN_S
    )
    assert run.error is None
    for output in outputs:
        assert sorted(output.table()["n"].to_pylist()) == [0, 1]
    if mode == "exactly once":
        eventually(lambda: run.state.ended or len(made.records()) == 2, WITHIN_S)
    run.stop().wait_quietly(30)
    assert run.error is None


def test_what_has_come_by_a_graceful_stop_is_read(new_topic, session, eventually):
    topic = new_topic(2)
    run = session.run(topic.declared(COLUMNS) + "SELECT * FROM t")
    with written(topic, (0, 1)):
        eventually(lambda: run.state.ended or run.rows_in >= 100, WITHIN_S)
        run.stop(mode="graceful")
        assert run.wait(allowed(WITHIN_S))
        assert (run.state, run.error) == (RunState.STOPPED, None)
    found, end = read_offsets(run.table()), ended_at(run)
    for number, offsets in found.items():
        assert offsets == list(range(len(offsets)))
        assert len(offsets) >= end[number]


def test_a_file_beside_a_topic_is_read_whole(new_topic, session, tmp_path):
    topic, path = new_topic(2), tmp_path / "rows"
    path.write_text("".join(f'{{"m": {m}}}\n' for m in range(500)))
    script = topic.declared("n INT") + (
        "CREATE TABLE f (m INT) WITH (connector = 'single_file', type = 'source', "
        f"path = '{path}', format = 'json');"
        "SELECT 'file' AS kind FROM f UNION ALL SELECT 'topic' AS kind FROM t"
    )
    with written(topic, (1,)):
        run = session.run(script, until="end")
        assert run.wait(allowed(WITHIN_S))
    kinds = run.table()["kind"].to_pylist()
    (end,) = (feed._ends for feed in run.sources._feeds if feed.table.name == "t")
    assert (kinds.count("file"), kinds.count("topic")) == (500, sum(end.values()))


def test_the_end_may_be_no_record(new_topic, session):
    topic = new_topic(2)
    settings = {"bootstrap.servers": topic.broker.bootstrap_servers}
    producer = Producer({**settings, "transactional.id": topic.name})
    producer.init_transactions(20)
    for number, end in enumerate(("commit", "abort", "commit", "open")):
        producer.begin_transaction()
        payload = json.dumps({"n": number}).encode()
        producer.produce(topic.name, payload, partition=0)
        producer.flush(20)
        if end == "commit":
            producer.commit_transaction(20)
        if end == "abort":
            producer.abort_transaction(20)
    expected = {"read_committed": [0, 2], "read_uncommitted": [0, 1, 2, 3]}
    declared = "".join(
        topic.declared("n INT", mode, source__read_mode=mode) for mode in expected
    )
    queries = "".join(f"SELECT n FROM {mode};\n" for mode in expected)
    run = session.run(declared + queries, until="end")
    assert run.wait(allowed(WITHIN_S))
    assert run.error is None
    for output, numbers in enumerate(expected.values()):
        assert run.table(output)["n"].to_pylist() == numbers
    producer.abort_transaction(20)
