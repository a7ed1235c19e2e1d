"""A broker that goes away under load and comes back: nothing is lost, nothing twice."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from machine import allowed
from topics import Topic

from arroyo_nb.kafka import LocalBroker

MODES = ("exactly_once", "at_least_once")
RESUMED_S, STOPPED_S = 3, 5


@contextmanager
def load(source):
    """Sends numbers to a topic for as long as it is held; gives those that it sent."""
    sent, over = [], threading.Event()
    settings = {
        "bootstrap.servers": source.broker.bootstrap_servers,
        "log_level": 0,
        "enable.idempotence": True,
        "reconnect.backoff.max.ms": 500,
    }
    producer = Producer(settings)

    def send():
        while not over.wait(0.005):
            number = len(sent)
            producer.produce(source.name, b'{"n": %d}' % number, partition=number % 2)
            sent.append(number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()
        assert producer.flush(60) == 0


def numbers(made):
    return Counter(json.loads(record.value())["n"] for record in made.records())


def check(session, eventually, outages_s):
    with LocalBroker() as broker:
        source, *sinks = (Topic(broker, 2) for _ in range(3))
        script = source.declared("n INT") + "".join(
            f"{made.sink('', mode, sink__commit_mode=mode)}"
            f"INSERT INTO {mode} SELECT n FROM t;\n"
            for mode, made in zip(MODES, sinks, strict=True)
        )
        run = session.run(script)
        with load(source) as sent:
            for away_s in outages_s:
                ends = [made.end() for made in sinks]
                eventually(
                    lambda e=ends: all(map(_grew, sinks, e)) or run.state.ended, 60
                )
                broker.stop()
                threading.Event().wait(away_s)
                assert run.state.value == "running"
                broker.start()
                up_s, ends = time.monotonic(), [made.end() for made in sinks]
                for made, end in zip(sinks, ends, strict=True):
                    eventually(lambda m=made, e=end: _grew(m, e) or run.state.ended)
                    print(f"{time.monotonic() - up_s:.2f} s after it was up")
                assert time.monotonic() - up_s < allowed(RESUMED_S)
        wanted = set(sent)
        for made in sinks:
            eventually(lambda m=made: wanted <= set(numbers(m)) or run.state.ended, 60)
        assert run.error is None
        once, often = map(numbers, sinks)
        assert once == Counter(sent)
        assert set(often) == wanted
        run.stop().wait_quietly(30)


def _grew(made, end):
    return made.end() > end


def test_a_broker_that_comes_back_is_written_on(session, eventually):
    check(session, eventually, (2, 20, 4))


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_waits_for_a_broker_can_be_stopped(session, eventually, mode):
    source = "CREATE TABLE t WITH (connector = 'impulse', event_rate = '200');\n"
    with LocalBroker() as broker:
        made = Topic(broker, 2)
        sink = made.sink("", sink__commit_mode=mode)
        run = session.run(f"{source}{sink}INSERT INTO out SELECT counter FROM t;")
        eventually(lambda: made.end() > 0 or run.state.ended, 60)
        broker.stop()
        threading.Event().wait(2)
        assert run.state.value == "running"
        began_s = time.monotonic()
        assert run.stop().wait_quietly(allowed(STOPPED_S))
        print(f"{mode}: {time.monotonic() - began_s:.2f} s to stop")
        assert (run.state.value, run.error) == ("stopped", None)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_outages(session, eventually, seed):
    check(session, eventually, [1 + (seed + n) % 7 for n in range(10)])
