"""A run that reads a topic is stopped once it has read what has come, and within
seconds where its broker is away."""

from __future__ import annotations

from functools import partial

import pytest
from frozen import frozen
from machine import allowed
from topics import Topic

from arroyo_nb.errors import Unreached
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.run.observe.snapshot import RunState

STOP_S = 25
"""How long a stop may take on a busy machine; Spark's client waits for 60 s."""

TABLE = (
    "CREATE TABLE made (n INT) WITH (connector = 'kafka', type = 'sink', topic = "
    "'{topic}', bootstrap_servers = '{servers}', format = 'json');\n"
)


def test_what_a_topic_has_by_now_is_read(session, new_topic, eventually, tmp_path):
    topic = new_topic(partitions=2)
    topic.send(*({"n": n} for n in range(50)))
    script = topic.declared("n INT") + "SELECT n FROM t"
    run = session.run(script, name="stopped", state_dir=tmp_path)
    eventually(lambda: run.table().num_rows == 50)
    topic.send(*({"n": n} for n in range(50, 500)))
    run.stop(mode="graceful")
    assert run.wait(60)
    assert (run.state, run.error) == (RunState.STOPPED, None)
    assert sorted(run.table()["n"].to_pylist()) == list(range(500))
    last = run.snapshot()

    # Of a topic that is idle from now on nothing is still to be read.
    again = session.run(script, name="stopped", state_dir=tmp_path)
    eventually(lambda: again.state is RunState.RUNNING, 60)
    resumed = again.snapshot()
    assert resumed.batch_id == last.batch_id
    (source,) = resumed.sources
    assert (source.lag, sum(part.offset for part in source.partitions)) == (0, 500)
    again.stop()
    assert again.wait(60)


@pytest.fixture
def own():
    with LocalBroker() as started:
        yield started


def test_a_stop_takes_seconds_while_the_broker_is_away(
    session, own, eventually, tmp_path
):
    topic, made = Topic(own, 1), Topic(own, 1)
    table = topic.declared("n INT")
    sink = TABLE.format(topic=made.name, servers=own.bootstrap_servers)
    scripts = {
        "checkpoint": f"{table}{sink}INSERT INTO made SELECT n FROM t",
        "immediate": f"{table}SELECT n FROM t",
    }
    topic.send(*({"n": n} for n in range(50)))
    runs = {
        mode: session.run(script, name=mode, state_dir=tmp_path)
        for mode, script in scripts.items()
    }
    eventually(lambda: all(run.rows_in == 50 for run in runs.values()), 90)
    with frozen(own.pid):
        # Each has asked for the end of its topic, and waits for the answer.
        eventually(lambda: all(map(is_away, runs.values())), 30)
        for mode, run in runs.items():
            run.stop(mode=mode)
        for run in runs.values():
            assert run.wait(allowed(STOP_S))
            assert run.state is RunState.STOPPED
        assert own.bootstrap_servers in runs["checkpoint"].note
    topic.send(*({"n": n} for n in range(50, 60)))
    # A broker that has just been let go may be silent for a while: one tries again.
    for _ in range(5):
        again = session.run(
            scripts["checkpoint"], name="checkpoint", state_dir=tmp_path
        )
        eventually(partial(has_read_or_ended, again, 60), 60)
        if not isinstance(again.error, Unreached):
            break
    assert again.error is None, f"{again.error} / {again.error.hint}"
    assert again.state is RunState.RUNNING
    again.stop()
    assert again.wait(60)


def has_read_or_ended(run, rows):
    return run.state.ended or sum(offsets(run)) == rows


def is_away(run):
    return any(source.away_s > 2 for source in run.snapshot().sources)


def offsets(run):
    return [p.offset for source in run.snapshot().sources for p in source.partitions]
