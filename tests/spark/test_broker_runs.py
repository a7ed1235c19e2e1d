"""Runs that read and write message brokers: from SQL to a real server, and back."""

from __future__ import annotations

import json
import time

import mosquitto_server as mqtt
import nats_server as nats
import pytest
from machine import allowed
from mosquitto_server import DURABLE, mosquitto, subscribed
from nats_server import nats_server
from redis_server import running
from server_process import free_port

from arroyo_nb.connectors.sample import FOLDER
from arroyo_nb.errors import Unreached
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.tape.format import Tape

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
ROOMS = """CREATE TABLE rooms (n BIGINT, topic TEXT METADATA FROM 'topic') WITH (
    connector = 'mqtt', url = 'mqtt://127.0.0.1:{port}', topic = 'rooms/+',
    qos = 'AtLeastOnce', type = 'source', format = 'json');
"""
EVENTS = """CREATE TABLE events (twice BIGINT, topic TEXT) WITH (connector = 'nats',
    servers = '127.0.0.1:{port}', subject = 'events.out', type = 'sink',
    format = 'json');
INSERT INTO events SELECT n * 2, topic FROM rooms;
"""
CARRIERS = """CREATE TABLE carriers (carrier TEXT NOT NULL, n BIGINT) WITH (
    connector = 'redis', address = '{address}', target = 'string',
    'target.key_prefix' = 'of.', 'target.key_column' = 'carrier', type = 'sink',
    format = 'json');
"""


def numbers(*values):
    return [json.dumps({"n": value}).encode() for value in values]


def test_messages_go_from_one_broker_to_another_over_two_runs(
    session, tmp_path, eventually
):
    with mosquitto(tmp_path, *DURABLE) as source, nats_server(tmp_path) as target:
        nats.add_stream(target.port, "events", "events.>")
        script = ROOMS.format(port=source.port) + EVENTS.format(port=target.port)

        def stored():
            return [row["twice"] for row in nats.stored(target.port, "events")]

        first = session.run(script, state_dir=tmp_path / "state")
        eventually(lambda: first.state is RunState.RUNNING)

        def begun():
            mqtt.publish(source.port, numbers(0), "rooms/a")
            return stored()

        eventually(begun, every_s=0.5)
        first.stop().wait(60)
        mqtt.publish(source.port, numbers(*range(1, 50)), "rooms/a")
        second = session.run(script, state_dir=tmp_path / "state")
        eventually(lambda: set(stored()) == set(range(0, 100, 2)) or second.error)
        assert second.error is None
        topics = {row["topic"] for row in nats.stored(target.port, "events")}
        second.stop().wait(60)
    assert topics == {"rooms/a"}


def test_rows_of_a_query_become_values_by_key(session, tmp_path):
    with running(tmp_path) as server:
        script = FLIGHTS + CARRIERS.format(address=server.address)
        insert = "INSERT INTO carriers SELECT carrier, flight FROM flights"
        run = session.run(f"{script} {insert}", wait=True)
        assert run.state is RunState.FINISHED
        flights = Tape.open(FOLDER / "flights").table()
        newest = {row["carrier"]: row["flight"] for row in flights.to_pylist()}
        keys = server.client.keys()
        found = {key.decode(): json.loads(server.client.get(key)) for key in keys}
    assert found == {
        f"of.{carrier}": {"carrier": carrier, "n": flight}
        for carrier, flight in newest.items()
    }


def test_changes_are_published_as_documents(session, tmp_path, eventually):
    with mosquitto(tmp_path, *DURABLE) as server:
        table = f"""CREATE TABLE counts (carrier TEXT, n BIGINT) WITH (
            connector = 'mqtt', url = 'mqtt://127.0.0.1:{server.port}',
            topic = 'counts', qos = 'AtLeastOnce', type = 'sink',
            format = 'debezium_json');"""
        query = "INSERT INTO counts SELECT carrier, count(*) FROM flights GROUP BY 1"
        with subscribed(server.port, "counts") as got:
            run = session.run(FLIGHTS + table + query, wait=True)
            assert run.state is RunState.FINISHED
            # A message more: what came before it is all there is.
            mqtt.publish(server.port, [b"end"], "counts")
            eventually(lambda: got[-1].payload == b"end")
        documents = [json.loads(one.payload) for one in got[:-1]]
    counts = {d["after"]["carrier"]: d["after"]["n"] for d in documents if d["after"]}
    assert sum(counts.values()) == Tape.open(FOLDER / "flights").table().num_rows


def test_a_server_that_is_away_is_told_before_the_run(session):
    script = FLIGHTS + CARRIERS.format(address=f"redis://127.0.0.1:{free_port()}")
    began_s = time.monotonic()
    insert = "INSERT INTO carriers SELECT carrier, flight FROM flights"
    with pytest.raises(Unreached, match="'carriers' cannot reach redis at"):
        session.run(f"{script} {insert}", wait=True)
    assert time.monotonic() - began_s < allowed(6)


def test_a_run_that_waits_for_a_server_is_stopped_soon(session, tmp_path, eventually):
    ticks = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '10');"""
    insert = "INSERT INTO carriers SELECT 'a' AS carrier, counter FROM ticks"
    with running(tmp_path) as server:
        script = ticks + CARRIERS.format(address=server.address) + insert
        run = session.run(script)
        eventually(lambda: server.client.get("of.a") or run.error)
    # Long enough for a batch to wait.
    time.sleep(1.5)
    assert run.error is None
    began_s = time.monotonic()
    run.stop().wait(60)
    assert time.monotonic() - began_s < allowed(4)
    assert run.state is RunState.STOPPED
