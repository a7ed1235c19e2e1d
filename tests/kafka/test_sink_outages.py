"""A broker that goes away and comes back: nothing is lost, nothing is there twice; a
run tells for how long it is away, and can be stopped."""

from __future__ import annotations

import faulthandler
import json
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryFile

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec
from frozen import frozen
from machine import allowed
from seeds import of_the_day, random_of_the_day
from topics import Topic

from arroyo_nb.engine.program import tail
from arroyo_nb.errors import Unreached
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.run.observe.snapshot import RunState

MODES = ("exactly_once", "at_least_once")
RESUMED_S, DONE_S, STOPPED_S = 3, 60, 5
LONG_S = 12
"""An outage that is longer than any answer of the broker is waited for."""

FROZEN_STOP_S = 25
"""How long a stop may take on a busy machine; Spark's client waits for 60 s."""

TABLE = (
    "CREATE TABLE made (n INT) WITH (connector = 'kafka', type = 'sink', topic = "
    "'{topic}', bootstrap_servers = '{servers}', format = 'json');\n"
)


@pytest.fixture(scope="module")
def broker_of_module():
    with LocalBroker() as started:
        yield started


@pytest.fixture
def own(broker_of_module):
    """A broker that the test may end."""
    return broker_of_module.start()


@contextmanager
def load(source):
    """Sends numbers to a topic for as long as it is held; gives those that it sent."""
    sent, refused, over = [], [], threading.Event()
    settings = {
        "bootstrap.servers": source.broker.bootstrap_servers,
        "log_level": 0,
        # One that is idempotent may wait for ever for a number in a sequence that the
        # broker has not written down: what was sent twice is counted instead.
        "acks": "all",
        "reconnect.backoff.max.ms": 500,
    }
    producer = Producer(settings)

    def told(error, message):
        if error is not None:
            refused.append((message.value(), error))

    def send():
        while not over.wait(0.005):
            number, value = len(sent), b'{"n": %d}' % len(sent)
            producer.produce(source.name, value, partition=number % 2, on_delivery=told)
            producer.poll(0)
            sent.append(number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()
        assert producer.flush(allowed(60)) == 0
        assert refused == [], "the load's own producer"


def numbers(made):
    return Counter(json.loads(record.value())["n"] for record in made.records())


def check(session, eventually, broker, outages_s):
    source, *sinks = (Topic(broker, 2) for _ in range(3))
    script = source.declared("n INT") + "".join(
        f"{made.sink('', mode, sink__commit_mode=mode)}"
        f"INSERT INTO {mode} SELECT n FROM t;\n"
        for mode, made in zip(MODES, sinks, strict=True)
    )
    run = session.run(f"{script}SELECT n FROM t;")

    def away_s():
        (told,) = run.snapshot().sources
        return told.away_s

    with load(source) as sent:
        for seconds in outages_s:
            ends = [made.end() for made in sinks]
            eventually(lambda e=ends: all(map(_grew, sinks, e)) or run.state.ended, 60)
            stop_s = time.monotonic()
            broker.stop()
            print(f"{time.monotonic() - stop_s:.2f} s to stop the broker")
            threading.Event().wait(seconds)
            assert run.state.value == "running"
            assert away_s() > 2 or seconds < LONG_S
            broker.start()
            up_s, ends = time.monotonic(), [made.end() for made in sinks]
            for made, end in zip(sinks, ends, strict=True):
                _wait_until_done(partial(_at_end, made, end), made, run, source)
                print(f"{time.monotonic() - up_s:.2f} s after it was up")
            resumed_s = time.monotonic() - up_s
            assert resumed_s < allowed(RESUMED_S), _situation(run, source, sinks)
            eventually(lambda: away_s() == 0)
    there = numbers(source)
    wanted = set(there)
    assert wanted == set(sent)
    for made in sinks:
        _wait_until_done(partial(_lacking, made, wanted), made, run, source)
    assert run.error is None
    once, often = map(numbers, sinks)
    assert once == there
    assert set(often) == wanted
    eventually(lambda: Counter(run.table(2)["n"].to_pylist()) == there)
    run.stop().wait_quietly(30)


def _grew(made, end):
    return made.end() > end


def _at_end(made, end):
    return "" if _grew(made, end) else f"ends at {end}"


def _lacking(made, wanted):
    missing = sorted(wanted - set(numbers(made)))
    return f"lacks {len(missing)}: {missing[:10]}" if missing else ""


def _wait_until_done(left, made, run, source):
    """Wait until nothing is left to say of a sink."""
    deadline = time.monotonic() + allowed(DONE_S)
    while (said := left()) and not run.state.ended:
        if time.monotonic() > deadline:
            now = _situation(run, source, [made])
            pytest.fail(f"'{made.name}' {said} after {DONE_S} s: {now}")
        time.sleep(0.01)


def _situation(run, source, sinks):
    """What the run does, how far the topics go, what the broker keeps open and says."""
    place = source.broker._place
    vitals = [output.vitals() for output in run.outputs]
    ends = {made.name: made.end() for made in (source, *sinks)}
    return (
        f"{run!r}\nbatches: {vitals}\nends: {ends}\n"
        f"open transactions: {_open_since(source.admin)}\n"
        f"{tail(place.log, place.work / 'server.log', lines=50)}\n{_stacks()}"
    )


def _open_since(admin):
    """Where the partitions end for who reads what is committed, and for others, where
    that differs."""
    topics = admin.list_topics(timeout=20).topics
    places = [
        TopicPartition(name, number)
        for name, topic in topics.items()
        for number in topic.partitions
    ]
    asked = {place: OffsetSpec.latest() for place in places}
    first, last = (
        {
            (place.topic, place.partition): future.result(20).offset
            for place, future in admin.list_offsets(
                asked, isolation_level=level
            ).items()
        }
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    )
    return {place: (at, last[place]) for place, at in first.items() if at < last[place]}


def _stacks():
    """What the threads of this process do."""
    with TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read()


def test_a_broker_that_comes_back_is_read_and_written_on(session, eventually, own):
    seconds = random_of_the_day("sink outages").uniform(1, 7)
    print(f"{seconds:.1f} s away")
    check(session, eventually, own, [seconds, LONG_S])


@pytest.mark.parametrize("mode", of_the_day(MODES, "outages"))
def test_a_run_that_waits_for_a_broker_can_be_stopped(session, eventually, own, mode):
    source = "CREATE TABLE t WITH (connector = 'impulse', event_rate = '200');\n"
    made = Topic(own, 2)
    sink = made.sink("", sink__commit_mode=mode)
    run = session.run(f"{source}{sink}INSERT INTO out SELECT counter FROM t;")
    eventually(lambda: made.end() > 0 or run.state.ended, 60)
    own.stop()
    threading.Event().wait(2)
    assert run.state.value == "running"
    began_s = time.monotonic()
    assert run.stop().wait_quietly(allowed(STOPPED_S))
    print(f"{mode}: {time.monotonic() - began_s:.2f} s to stop")
    assert (run.state.value, run.error) == ("stopped", None)


@pytest.mark.long("outages")
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_outages(session, eventually, own, seed):
    check(session, eventually, own, [1 + (seed + n) % 7 for n in range(10)])


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
            assert run.wait(allowed(FROZEN_STOP_S))
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
