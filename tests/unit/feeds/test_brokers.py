"""The parts of the connectors of brokers that need no server."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pyarrow as pa
import pytest
from feed_tables import declared
from server_process import free_port

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, Direction, TableSpec
from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached
from arroyo_nb.feeds.connectors.mqtt import topic_problem
from arroyo_nb.feeds.connectors.mqtt._client import Broker, split_url
from arroyo_nb.feeds.connectors.mqtt._source import Unacknowledged
from arroyo_nb.feeds.connectors.nats._client import Servers, addresses
from arroyo_nb.feeds.connectors.nats._sink import identified, sink_id
from arroyo_nb.feeds.connectors.nats._stream import Consumer
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.kafka.peek.create_table import feed_table
from arroyo_nb.kafka.peek.guess import guess
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import TEXT, Field, Schema

SCHEMA = Schema((Field("n", TEXT),))


@dataclass
class Packet:
    """A message of MQTT."""

    mid: int
    payload: bytes
    dup: bool = False
    topic: str = "a"


def test_messages_are_acknowledged_in_order_once_they_are_on_disk():
    sent = Unacknowledged(0)
    sent.begin(has_session=False)
    assert [sent.add(Packet(mid, b"x")) for mid in (5, 6, 7)] == [1, 2, 3]
    assert sent.take() == []
    sent.store(2)
    assert sent.take() == [5, 6]
    assert sent.take() == []
    sent.store(3)
    assert sent.take() == [7]


def test_what_the_session_sends_again_is_known():
    sent = Unacknowledged(0)
    sent.begin(has_session=False)
    for mid in (5, 6, 7):
        sent.add(Packet(mid, b"%d" % mid))
    sent.begin(has_session=True)
    sent.store(1)
    # The first one is on disk, and is acknowledged where it comes again.
    assert sent.take() == []
    assert sent.add(Packet(5, b"5", dup=True)) is None
    assert sent.take() == [5]
    # The identifier is free then, and another message may have it.
    assert sent.add(Packet(5, b"other")) == 4
    assert sent.add(Packet(6, b"6", dup=True)) is None
    assert sent.take() == []


def test_without_a_session_nothing_is_known():
    sent = Unacknowledged(8)
    sent.begin(has_session=False)
    sent.add(Packet(5, b"5"))
    sent.begin(has_session=False)
    assert sent.add(Packet(5, b"5", dup=True)) == 10


@pytest.mark.parametrize("url", ["mqtt://h:99999", "mqtt://", "h:1883", "ws://h"])
def test_a_url_that_is_none_of_a_broker_is_refused(url):
    with pytest.raises(CatalogProblem, match="'url' is not"):
        split_url(url)


def test_a_login_in_a_url_is_refused_and_not_shown():
    with pytest.raises(CatalogProblem) as refused:
        split_url("mqtt://ann:rose@h")
    assert "rose" not in str(refused.value)
    with pytest.raises(CatalogProblem) as refused:
        addresses("ann:rose@h:4222")
    assert "rose" not in str(refused.value)


@pytest.mark.parametrize(
    ("topic", "direction", "right"),
    [
        ("a/+/b/#", Direction.SOURCE, True),
        ("$share/group/a", Direction.SOURCE, True),
        ("a#", Direction.SOURCE, False),
        ("a/#/b", Direction.SOURCE, False),
        ("a+/b", Direction.SOURCE, False),
        ("", Direction.SOURCE, False),
        ("a/+", Direction.SINK, False),
        ("a/b", Direction.SINK, True),
    ],
)
def test_topics(topic, direction, right):
    assert (topic_problem(topic, direction) is None) == right


def test_secrets_are_in_no_repr():
    broker = Broker("t", "mqtt://h", "h", 1883, False, "ann", "rose")
    servers = Servers("t", "h", ("nats://h",), "ann", "rose", "jwt-text", "seed-text")
    shown = repr(broker) + repr(servers)
    assert not any(s in shown for s in ("rose", "jwt-text", "seed-text"))


def test_the_options_of_a_consumer_are_those_of_the_server():
    options = {
        "stream": "s",
        "consumer.ack_wait": 30,
        "consumer.rate_limit": -1,
        "consumer.max_deliver": 4,
        "consumer.max_batch": 10,
        "consumer.max_expires": 2_000,
        "consumer.filter_subjects": "a, b",
        "consumer.sample_frequency": 25,
        "consumer.ack_policy": "All",
    }
    consumer = Consumer.of(options)
    assert consumer.settings == {
        "ack_policy": "all",
        "replay_policy": "instant",
        "ack_wait": 30 * 10**9,
        "max_deliver": 4,
        "max_batch": 10,
        "max_expires": 2 * 10**9,
        "max_ack_pending": -1,
        "filter_subjects": ["a", "b"],
        "sample_freq": "25%",
    }
    assert (consumer.pull_messages, consumer.pull_ns) == (10, 2 * 10**9)
    start = consumer.beginning(9, keeps_unread=False)
    assert (start["deliver_policy"], start["opt_start_seq"]) == (
        "by_start_sequence",
        10,
    )
    assert consumer.beginning(9, keeps_unread=True)["deliver_policy"] == "all"
    assert Consumer.of({"stream": "s"}).beginning(0, keeps_unread=False)[
        "deliver_policy"
    ] == ("all")


def test_identifiers_do_not_depend_on_the_order_of_rows(tmp_path):
    identify = identified(sink_id(tmp_path))
    assert sink_id(tmp_path) == sink_id(tmp_path)

    def ids(batch_id, *payloads):
        rows = pa.table({VALUE: pa.array(payloads, pa.binary())})
        return identify(rows, batch_id)["id"].to_pylist()

    assert sorted(ids(0, b"a", b"b", b"a")) == sorted(ids(0, b"b", b"a", b"a"))
    assert len(set(ids(0, b"a", b"a") + ids(1, b"a"))) == 3


@pytest.mark.parametrize(
    ("name", "module", "package", "options"),
    [
        ("mqtt", "paho.mqtt.client", "paho-mqtt", {"url": "mqtt://h", "topic": "a"}),
        ("nats", "nats", "nats-py", {"servers": "h", "subject": "a"}),
        ("redis", "redis", "redis", {"address": "redis://h", "target": "string"}),
    ],
)
def test_a_client_that_is_not_installed_is_told(
    name, module, package, options, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, module, None)
    given = {"format": "json", "qos": "AtMostOnce", "target.key_prefix": ""}
    spec = TableSpec("t", SCHEMA, {**given, **options})
    with pytest.raises(RunProblem, match=f"needs the package {package}") as told:
        CONNECTORS.get(name).writer(spec, tmp_path)
    assert told.value.hint.startswith("pip install 'arroyo-nb[")


@pytest.mark.parametrize(
    "options",
    [
        {"connector": "mqtt", "url": "mqtt://one", "topic": "a"},
        {"connector": "nats", "servers": "one", "subject": "a"},
        {"connector": "nats", "servers": "one", "stream": "a"},
        {"connector": "websocket", "endpoint": "ws://one"},
    ],
)
def test_the_table_that_a_look_offers_can_be_declared(options):
    statement = feed_table("a", options, guess([b'{"n": 1}']))
    (table,) = plan_script(statement, Catalog()).catalog.tables.values()
    assert table.direction is Direction.SOURCE
    declared = {"connector": table.connector, **table.spec.options}
    assert options.items() <= declared.items()


@pytest.mark.parametrize(
    ("connector", "options", "said"),
    [
        ("mqtt", {"url": "{{ ADDRESS }}", "topic": "a"}, "'url' is not the URL of an"),
        ("nats", {"servers": "{{ ADDRESS }}", "subject": "a"}, "is not one of NATS"),
    ],
)
def test_a_variable_that_is_no_address_is_an_error_of_the_run(
    connector, options, said, monkeypatch
):
    monkeypatch.setenv("ADDRESS", "ftp://one two")
    spec = declared(connector, "source", **options).spec.resolved()
    with pytest.raises(RunProblem, match="the table 't' cannot be used: ") as refused:
        CONNECTORS.get(connector).feed(spec)
    assert said in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("connector", "options", "said", "hint"),
    [
        ("mqtt", {"url": "mqtt://127.0.0.1:{}"}, "the MQTT broker", "the option 'url'"),
        ("nats", {"servers": "127.0.0.1:{}"}, "NATS", "the option 'servers'"),
        (
            "redis",
            {"address": "redis://127.0.0.1:{}"},
            "redis",
            "'address' or 'cluster.addresses'",
        ),
    ],
    ids=["mqtt", "nats", "redis"],
)
def test_a_server_that_is_away_is_called_by_its_address(connector, options, said, hint):
    (option, address), *_ = options.items()
    given = {"redis": {"target": "string", "target.key_prefix": ""}}
    target = {"mqtt": {"topic": "a"}, "nats": {"subject": "a"}, **given}[connector]
    address = address.format(free_port())
    spec = declared(connector, "sink", **{option: address}, **target).spec.resolved()
    with pytest.raises(Unreached) as away:
        CONNECTORS.get(connector).reach(spec, lambda: None)
    began = f"the table 't' cannot reach {said} at {address}: "
    assert away.value.message.startswith(began)
    assert away.value.hint == f"start it, or look at {hint}"
