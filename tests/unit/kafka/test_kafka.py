"""The parts of the kafka connectors that need no broker."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.kafka.cluster import Described
from arroyo_nb.kafka.config import (
    JAVA_NAMES,
    LIBRDKAFKA_ONLY,
    OWN_OPTIONS,
    Login,
    parse_configs,
    table_access,
)
from arroyo_nb.kafka.source import (
    KafkaStream,
    start_offsets,
    start_timestamp_ms,
)
from arroyo_nb.plan.planner import plan_script

SERVERS = {"bootstrap_servers": "h:1"}
LOGIN = Login("SCRAM-SHA-512", "SASL_SSL", "me", 'a"b\\c')


def table(connector="kafka", columns="n INT", **options):
    given = {
        "connector": connector,
        "bootstrap_servers": "h:1",
        "topic": "t",
        "type": "source",
        "format": "json",
        **options,
    }
    pairs = ", ".join(f"'{k.replace('__', '.')}' = '{v}'" for k, v in given.items())
    script = f"CREATE TABLE x ({columns}) WITH ({pairs})"
    return plan_script(script, Catalog()).catalog.get("x")


def stream(**given):
    found = table(**given)
    return CONNECTORS.get(found.connector).stream(found.spec.resolved())


def test_settings_are_translated_for_java():
    configs = parse_configs(
        "fetch.wait.max.ms=40,socket.timeout.ms=9,ssl.ca.location=/ca.pem,"
        "queued.min.messages=7,ssl.endpoint.identification.algorithm=none,client.id=me"
    )
    assert table_access(SERVERS, LOGIN, configs).for_spark() == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram."
        'ScramLoginModule required username="me" password="a\\"b\\\\c";',
        "kafka.fetch.max.wait.ms": "40",
        "kafka.request.timeout.ms": "9",
        "kafka.ssl.truststore.location": "/ca.pem",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.endpoint.identification.algorithm": "",
        "kafka.client.id": "me",
    }


def test_settings_are_as_they_are_for_librdkafka():
    configs = parse_configs("fetch.wait.max.ms=40,queued.min.messages=7")
    assert table_access(SERVERS, LOGIN, configs).for_librdkafka() == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": 'a"b\\c',
        "fetch.wait.max.ms": "40",
        "queued.min.messages": "7",
    }


def test_a_broker_answers_soon_where_nothing_else_is_asked_for():
    assert table_access(SERVERS, None, {}).for_spark() == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.fetch.max.wait.ms": "5",
    }


def test_a_login_may_be_told_by_client_configs():
    configs = parse_configs(
        "security.protocol=sasl_ssl,sasl.mechanisms=PLAIN,sasl.username=u,"
        "sasl.password=p"
    )
    reached = table_access(SERVERS, None, configs)
    assert reached.login == Login("PLAIN", "SASL_SSL", "u", "p")
    assert "sasl.mechanisms" not in reached.for_librdkafka()


def test_certificates_are_read_for_java(tmp_path):
    (tmp_path / "cert.pem").write_text("CERT")
    (tmp_path / "key.pem").write_text("KEY")
    configs = parse_configs(
        f"security.protocol=ssl,ssl.certificate.location={tmp_path}/cert.pem,"
        f"ssl.key.location={tmp_path}/key.pem"
    )
    made = table_access(SERVERS, None, configs).for_spark()
    assert made["kafka.ssl.keystore.certificate.chain"] == "CERT"
    assert made["kafka.ssl.keystore.key"] == "KEY"
    assert made["kafka.ssl.keystore.type"] == "PEM"
    (tmp_path / "key.pem").unlink()
    with pytest.raises(RunProblem, match=r"'ssl.key.location' cannot be read: No such"):
        table_access(SERVERS, None, configs).for_spark()


def test_no_setting_is_told_twice():
    assert not set(JAVA_NAMES) & LIBRDKAFKA_ONLY
    assert not (set(JAVA_NAMES) | LIBRDKAFKA_ONLY) & set(OWN_OPTIONS)


@pytest.mark.parametrize("name", sorted({*JAVA_NAMES, *LIBRDKAFKA_ONLY} - {"debug"}))
def test_librdkafka_knows_each_name(name):
    """Or a slip in the tables would let a script through that can never run."""
    from confluent_kafka import Consumer, KafkaException

    said = ""
    try:
        Consumer({"group.id": "g", name: "no-such-value"}).close()
    except KafkaException as problem:
        said = str(problem)
    assert "No such configuration" not in said


def test_secrets_are_in_no_picture():
    reached = table_access(SERVERS, LOGIN, {"sasl.password": "hush"})
    assert 'a"b' not in repr(reached)
    assert "hush" not in repr(reached)


def test_a_password_may_have_a_comma(monkeypatch):
    monkeypatch.setenv("WORD", "a,b=c")
    configs = "sasl.username=u,sasl.password={{ WORD }}"
    reached = stream(client_configs=configs).access
    assert reached.login is not None
    assert reached.login.password == "a,b=c"


def test_confluent_is_kafka_with_a_key_and_a_secret(monkeypatch):
    monkeypatch.setenv("SECRET", "hush")
    made = stream(connector="confluent", key="k", secret="{{ SECRET }}")
    assert made.access.login == Login("PLAIN", "SASL_SSL", "k", "hush")


def test_what_spark_is_told():
    made = stream(
        columns="n INT, h STRUCT<key TEXT, value BYTEA>[] METADATA FROM 'headers'",
        source__read_mode="read_committed",
        source__group_id="g",
    )
    options = made.options({0: 5, 1: 0})
    assert options["subscribe"] == "t"
    assert options["startingOffsets"] == '{"t": {"0": 5, "1": 0}}'
    assert options["kafka.isolation.level"] == "read_committed"
    assert options["kafka.group.id"] == "g"
    assert options["includeHeaders"] == "true"
    assert options["failOnDataLoss"] == "true"
    again = made.options_between({0: 5, 1: 0}, {0: 9})
    assert again["assign"] == '{"t": [0]}'
    assert again["startingOffsets"] == '{"t": {"0": 5}}'
    assert again["endingOffsets"] == '{"t": {"0": 9}}'
    assert "subscribe" not in again


class Answers:
    """A broker that knows three partitions."""

    def describe_topic(self):
        return Described("id", (0, 1, 2))

    def beginnings(self, partitions):
        return dict.fromkeys(partitions, 10)

    def ends(self, partitions):
        return dict.fromkeys(partitions, 90)

    def since(self, partitions, at_ms):
        return dict.fromkeys(partitions, at_ms)

    def committed(self, partitions, group):
        return dict.fromkeys(partitions, len(group))


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        ({}, [90, 90, 90]),
        ({"source__offset": "earliest"}, [10, 10, 10]),
        ({"source__offset": "group", "source__group_id": "twelve chars"}, [12] * 3),
        ({"source__start_timestamp": "1970-01-01T00:00:00.050Z"}, [50, 50, 50]),
        ({"source__start_offsets": "1:33"}, [90, 33, 90]),
        (
            {"source__start_offsets": "1:33", "source__offset": "earliest"},
            [10, 33, 10],
        ),
    ],
)
def test_where_a_run_begins(options, begin):
    spec = table(**options).spec
    made = KafkaStream(spec, table_access(SERVERS, None, {}), Answers())
    assert made.begin() == ("id", dict(enumerate(begin)))


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ("3:50", "names the partition 3, which the topic 't' of the table 'x'"),
        ("1:9", "has no offset 9 in its partition 1"),
        ("1:91", "has no offset 91 in its partition 1"),
    ],
)
def test_an_offset_that_is_not_there_is_told(offsets, message):
    spec = table(source__start_offsets=offsets).spec
    with pytest.raises(RunProblem, match=message):
        KafkaStream(spec, table_access(SERVERS, None, {}), Answers()).begin()


def test_what_a_group_has_not_read_may_be_lost():
    spec = table(source__offset="group", source__group_id="four").spec
    with pytest.raises(RunProblem, match=r"begins at 10, the group stands at 4"):
        KafkaStream(spec, table_access(SERVERS, None, {}), Answers()).begin()


@pytest.mark.parametrize("option", ["source.start_offsets", "source.start_timestamp"])
def test_the_value_of_a_variable_is_told_nobody(option):
    spec = table().spec
    declared = {**spec.options, option: "{{ START }}"}
    spec = replace(spec, options={**declared, option: "canary"}, declared=declared)
    made = KafkaStream(spec, table_access(SERVERS, None, {}), Answers())
    with pytest.raises(RunProblem, match=r"\{\{ START \}\}") as raised:
        made.begin()
    assert "canary" not in str(raised.value) + repr(made)


def test_starts_are_read():
    assert start_offsets(" 0:1 ,2 : 3") == {0: 1, 2: 3}
    assert start_timestamp_ms("1970-01-01T01:00:00+01:00") == 0
    for bad in ("", "0", "0:-1", "a:b"):
        with pytest.raises(CatalogProblem, match=r"source.start_offsets"):
            start_offsets(bad)


def test_the_client_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(RunProblem, match="needs the package confluent-kafka") as told:
        stream()
    assert told.value.hint == "pip install 'arroyo-nb[kafka]'"


def test_settings_that_the_client_refuses_are_told():
    with pytest.raises(
        RunProblem, match="the client of the table 'x' refuses its settings"
    ):
        stream(client_configs="fetch.min.bytes=many")


def test_columns_of_a_record_and_beside_it():
    found = table(columns="o BIGINT METADATA FROM 'offset_id', n INT")
    assert found.spec.physical.names == ("o", "n")
    assert found.spec.record.names == ("n",)
    assert found.spec.metadata == {"o": "offset_id"}
    assert found.schema.names == ("o", "n")
