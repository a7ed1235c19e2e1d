"""``%arroyo peek nats://... --stream NAME``: the newest messages of a stream."""

from __future__ import annotations

import json
import shlex
import time

import nats_server as nats
import pytest
from feed_servers import silent
from machine import allowed
from nats.js.api import ConsumerConfig
from nats_server import nats_server

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds.connectors.nats import _peek
from arroyo_nb.feeds.peek import peek
from arroyo_nb.magic_options import COMMANDS
from arroyo_nb.plan.planner import plan_script

ENOUGH = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server


def payloads(*values):
    return [json.dumps({"n": value}).encode() for value in values]


def address(server):
    return f"nats://127.0.0.1:{server.port}"


def look(url, stream, check=lambda: None):
    return peek(url, {"stream": stream}, check=check, seconds=allowed(5))


def values(found):
    return [json.loads(message.payload)["n"] for message in found.messages]


def state(server, stream):
    """How many messages a stream has, and what its consumers have had and not had."""

    async def ask(client):
        asked = client.jetstream()
        consumers = await asked.consumers_info(stream)
        return (
            (await asked.stream_info(stream)).state.messages,
            [(c.name, c.num_pending, c.num_ack_pending) for c in consumers],
        )

    return nats.talk(server.port, ask)


@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_the_newest_messages_are_read_and_nothing_is_left_behind(server, retention):
    name = f"newest_{retention}"
    nats.add_stream(server.port, name, f"{name}.>", retention=retention)
    worker = ConsumerConfig(durable_name="worker", ack_policy="explicit")
    nats.talk(server.port, lambda c: c.jetstream().add_consumer(name, worker))
    began_us = time.time() * 1e6
    nats.publish(server.port, f"{name}.a", payloads(*range(500)))
    before = state(server, name)
    found = look(address(server), name)
    assert values(found) == list(range(300, 500))
    assert found.options == {
        "connector": "nats",
        "servers": address(server),
        "stream": name,
    }
    # When the stream stored it.
    assert began_us <= found.messages[0].arrived_us <= time.time() * 1e6
    assert before == state(server, name) == (500, [("worker", 500, 0)])


def test_messages_between_numbers_that_are_free_are_found(server):
    """A stream that keeps the newest message of each subject has most numbers free."""
    nats.add_stream(server.port, "newest_of", "newest_of.*", max_msgs_per_subject=1)
    for key in range(3):
        nats.publish(server.port, f"newest_of.{key}", payloads(key))
    nats.publish(server.port, "newest_of.many", payloads(*range(3_000)))
    nats.publish(server.port, "newest_of.last", payloads("last"))
    assert values(look(address(server), "newest_of")) == [0, 1, 2, 2_999, "last"]


def test_more_than_is_shown_between_free_numbers(server):
    nats.add_stream(server.port, "gaps", "gaps.a")
    nats.publish(server.port, "gaps.a", payloads(*range(600)))

    async def delete(client):
        for number in range(2, 600, 2):
            await client.jetstream().delete_msg("gaps", number)

    nats.talk(server.port, delete)
    found = values(look(address(server), "gaps"))
    # The message with the number n + 1 has the value n.
    left = [n for n in range(600) if n % 2 == 0 or n == 599]
    assert found == left[-ENOUGH:]


def test_large_messages_are_not_all_read(server, monkeypatch):
    monkeypatch.setattr(_peek, "MOST_BYTES", 300_000)
    nats.add_stream(server.port, "large", "large.a")
    nats.publish(server.port, "large.a", [b"x" * 100_000] * 39 + [b"newest"])
    found = look(address(server), "large").messages
    assert found[-1].payload == b"newest"
    assert len(found) == _peek.REQUESTS


def test_a_stream_without_messages(server):
    nats.add_stream(server.port, "empty", "empty.a")
    with pytest.raises(RunProblem, match="the stream 'empty' has no message"):
        look(address(server), "empty")


@pytest.mark.parametrize("name", ["ordres", "orders.new"])
def test_a_stream_that_is_not_there_is_told_with_those_that_are(tmp_path, name):
    with nats_server(tmp_path) as server:
        with pytest.raises(RunProblem) as none:
            look(address(server), name)
        for made in ("orders", "jobs"):
            nats.add_stream(server.port, made, f"{made}.>")
        with pytest.raises(RunProblem) as found:
            look(address(server), name)
    assert none.value.hint == "the server has no stream; read a 'subject'"
    assert f"the stream '{name}'" in found.value.message
    assert "there is no such stream" in found.value.message
    assert found.value.hint == "the streams of the server: 'jobs', 'orders'"


def test_a_server_without_jetstream(tmp_path):
    with (
        nats_server(tmp_path, streams=False) as server,
        pytest.raises(RunProblem, match="JetStream is not enabled"),
    ):
        look(address(server), "orders")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nats://one:4222/orders.new", "looks into a whole stream"),
        ("nats://ann:pw@one", "has a login in it"),
        ("mqtt://one/rooms", "the connector 'mqtt' has no option 'stream'"),
    ],
)
def test_what_no_stream_is_looked_into_with(url, said):
    with pytest.raises(RunProblem, match=said) as refused:
        look(url, "orders")
    assert "pw" not in str(refused.value)


def test_a_silent_subject_leads_to_its_stream(server, peeked, session):
    """By the very command that is shown, up to the rows of the table that it offers."""
    nats.add_stream(server.port, "shop", "shop.*.orders")
    nats.publish(server.port, "shop.a.orders", payloads(1, 2, 3))
    text, statement = peeked(f"{address(server)}/shop.a.>")
    command = f"%arroyo peek {address(server)} --stream shop"
    assert text == (
        "no message came in 0.4 s; the stream 'shop' keeps messages of 'shop.a.>', "
        f"to be read with {command}"
    )
    assert statement == ""
    (url,), options = COMMANDS["peek"].parsed(shlex.split(command)[2:])
    text, statement = peeked(url, **options)
    assert "record 3, as a whole" in text
    (table,) = plan_script(statement, Catalog()).catalog.tables.values()
    assert (table.name, table.spec.options["stream"]) == ("shop", "shop")
    assert "subject" not in table.spec.options
    run = session.run(f"{statement}\nSELECT n FROM shop LIMIT 3", wait=True)
    assert run.table()["n"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("streams", [True, False])
def test_a_silent_subject_that_nobody_keeps(tmp_path, peeked, streams):
    with nats_server(tmp_path, streams=streams) as server:
        text, _ = peeked(f"{address(server)}/nobody.keeps")
    assert text == "no message came in 0.4 s"


def test_the_command_names_each_stream_and_quotes_a_variable(
    server, peeked, monkeypatch
):
    monkeypatch.setenv("PEEK_NATS", f"127.0.0.1:{server.port}")
    for name in ("two_a", "two_b"):
        nats.add_stream(server.port, name, f"two.{name}")
    text, _ = peeked("nats://{{ PEEK_NATS }}/two.*")
    assert text.endswith(
        "the streams 'two_a' and 'two_b' keep messages of 'two.*', to be read with "
        '%arroyo peek "nats://{{ PEEK_NATS }}" --stream two_a or '
        '%arroyo peek "nats://{{ PEEK_NATS }}" --stream two_b'
    )


def test_a_look_into_a_stream_can_be_interrupted():
    began_s = time.monotonic()

    def interrupt():
        if time.monotonic() - began_s > 0.2:
            raise KeyboardInterrupt

    with silent() as port, pytest.raises(KeyboardInterrupt):
        look(f"nats://127.0.0.1:{port}", "orders", interrupt)
    assert time.monotonic() - began_s < allowed(1.5)
