"""A topic that is written all along is read to where it ended, and no further."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from itertools import count

import pytest
from confluent_kafka import Producer

from arroyo_nb.run.snapshot import RunState

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
    (feed,) = run.feeds._feeds
    return feed._ends


def test_a_topic_that_is_written_ends_where_it_did(new_topic, session, tmp_path):
    topic = new_topic(3)
    script = topic.declared(COLUMNS) + "SELECT * FROM t; SELECT part, at FROM t"
    options = {"until": "end", "state_dir": tmp_path / "state", "keep": True}
    begin = {0: 0, 1: 0, 2: 0}
    with written(topic, (0, 1)):
        for number in (4, 4, 5):
            run = session.run(script, **options)
            if number > len(begin):
                topic.add_partitions(number)
            assert run.wait(WITHIN_S)
            assert (run.state, run.error) == (RunState.FINISHED, None)
            end = ended_at(run)
            # A run that goes on has the rows of before too, each of them once.
            expected = {n: list(range(after)) for n, after in end.items() if after}
            for output in run.outputs:
                assert read_offsets(output.preview.table()) == expected
            assert end[0] > begin[0], "records came meanwhile"
            begin = dict(end)


def test_what_has_come_by_a_graceful_stop_is_read(new_topic, session, eventually):
    topic = new_topic(2)
    run = session.run(topic.declared(COLUMNS) + "SELECT * FROM t")
    with written(topic, (0, 1)):
        eventually(lambda: run.state.ended or run.rows_in >= 100, WITHIN_S)
        run.stop(mode="graceful")
        assert run.wait(WITHIN_S)
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
        assert run.wait(WITHIN_S)
    kinds = run.table()["kind"].to_pylist()
    (end,) = (feed._ends for feed in run.feeds._feeds if feed.table.name == "t")
    assert (kinds.count("file"), kinds.count("topic")) == (500, sum(end.values()))


@pytest.mark.parametrize("mode", ["read_committed", "read_uncommitted"])
def test_the_end_may_be_no_record(new_topic, session, mode):
    topic = new_topic(2)
    settings = {"bootstrap.servers": topic.broker.bootstrap_servers}
    producer = Producer({**settings, "transactional.id": f"{topic.name}-{mode}"})
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
    script = topic.declared("n INT", source__read_mode=mode) + "SELECT n FROM t"
    run = session.run(script, until="end")
    assert run.wait(WITHIN_S)
    assert run.error is None
    expected = {"read_committed": [0, 2], "read_uncommitted": [0, 1, 2, 3]}
    assert run.table()["n"].to_pylist() == expected[mode]
    producer.abort_transaction(20)
