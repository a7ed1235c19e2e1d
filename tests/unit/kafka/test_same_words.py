"""One fault has the same words on every path that comes to it.

The paths: a table's source and sink, ``head``, ``topics``, ``peek``, ``record``,
``emit`` and the local broker. A closed port is a real one; what needs a broker is said
by a client in its place.
"""

from __future__ import annotations

import ast
import re
import socket
import sys
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

import arroyo_nb
from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka import cluster
from arroyo_nb.kafka.errors import (
    MESSAGES,
    ErrorSubject,
    create_topic_hint,
    named_problem,
    problem,
)
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.kafka.peek.topics import sample, topics
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session

SINK = {"type": "sink", "sink.commit_mode": "exactly_once"}
CODES = {  # the table names what the client may say, of this version and others
    "PRODUCER_FENCED",
    "_TIMED_OUT_QUEUE",
}


def nothing():
    pass


class Paths:
    """Every way to a topic ``t``, by name; a table is called ``x``."""

    def __init__(self, folder, servers, **options):
        self._folder, self._servers, self._options = folder, servers, options

    def _declared(self, **more):
        given = {
            "connector": "kafka",
            "bootstrap_servers": self._servers,
            "topic": "t",
            "type": "source",
            "format": "json",
            **self._options,
            **more,
        }
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        return f"CREATE TABLE x (n INT) WITH ({pairs});"

    def _table(self, **more):
        found = plan_script(self._declared(**more), Catalog()).catalog.get("x")
        return CONNECTORS.get("kafka"), found.spec.resolved()

    def _session(self):
        session = Session()
        session.run(self._declared())
        return session

    def source(self):
        connector, spec = self._table()
        stream = connector.stream(spec)
        stream.check(nothing)
        stream.begin()

    def sink(self):
        connector, spec = self._table(**SINK)
        connector.reach(spec, nothing)
        connector.writer(spec, self._folder / "sink")

    def head(self):
        self._session().head("x")

    def record_table(self):
        self._session().record("x", self._folder / "a.tape")

    def emit_to_table(self):
        self._session().emit("x", [{"n": 1}], wait=True)

    def topics(self):
        topics(self._servers, check=nothing)

    def peek(self):
        sample(self._servers, "t", check=nothing)

    def record(self):
        Session().record("t", self._folder / "a.tape", servers=self._servers)

    def emit(self):
        Session().emit("t", [{"n": 1}], servers=self._servers, wait=True)

    def create(self):
        broker = LocalBroker()
        broker._place = SimpleNamespace(ports=SimpleNamespace(clients=9))
        broker._must_run = nothing
        broker.create_topic("t")


OF_TABLES = ("source", "sink", "head", "record_table", "emit_to_table")
OF_TOPICS = (*OF_TABLES, "peek", "record", "emit")
REACHING = (*OF_TOPICS, "topics")
ALL = (*REACHING, "create")


def words(error):
    """A message without what it is about: that differs."""
    text = re.sub(r" (?:of|for) the table 'x'", "", str(error))
    for different, same in {
        r"the topic 't'|the topics": "<topic>",
        r"\b(?:read|write to|create|list) <topic>": "<do> <topic>",
        r"allow the user": "allow this user",
        r"grant the user (?:Read|Write|Create)": "grant the user <permission>",
        r"127\.0\.0\.1:9\b": "h:1",
    }.items():
        text = re.sub(different, same, text)
    return text


def told(paths, names):
    """What each path says."""
    said = {}
    for name in names:
        with pytest.raises(RunProblem) as caught:
            getattr(paths, name)()
        has_table = "the table 'x'" in str(caught.value)
        assert has_table == (name in OF_TABLES), f"{name}: {caught.value}"
        said[name] = words(caught.value)
    print(*said.values(), sep="\n")
    return said


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    for name in ("CHECK_S", "SLICE_S", "LONGEST_SLICE_S"):
        monkeypatch.setattr(cluster, name, 0.1)
    monkeypatch.setattr(cluster, "TOPIC_S", 1.0)


def test_how_to_create_a_topic_is_said_for_each_broker():
    hint = create_topic_hint("orders")
    assert "kafka-topics.sh --create --topic orders;" in hint
    assert "arroyo-nb kafka create orders," in hint
    assert "session.broker.create_topic('orders')" in hint


def test_no_broker_is_there(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
        said = told(Paths(tmp_path, servers), REACHING)
    assert set(said.values()) == {
        f"cannot connect to the broker at {servers}\n"
        "  hint: start the broker, or correct its address (bootstrap_servers)"
    }


def test_the_client_is_not_installed(tmp_path, monkeypatch):
    for module in ("confluent_kafka", "confluent_kafka.admin"):
        monkeypatch.setitem(sys.modules, module, None)
    for name in ALL:
        with pytest.raises(RunProblem, match="needs the package conf") as caught:
            getattr(Paths(tmp_path, "h:1"), name)()
        assert caught.value.hint == "pip install 'arroyo-nb[kafka]'"


def test_settings_are_refused(tmp_path):
    paths = Paths(tmp_path, "h:1", client_configs="socket.timeout.ms=canary")
    said = told(paths, OF_TABLES)
    (text,) = set(said.values())
    assert text.startswith("the client refuses its settings: socket.timeout.ms\n")
    assert "canary" not in text


class Client:
    """A client of librdkafka for brokers that are reached, and then refuse.

    Parameters
    ----------
    topics
        Their names; None: the brokers do not answer.
    heard
        What is reported beside a request.
    code
        What requests and records fail with.
    """

    topics, heard, code = ("t",), None, None

    def __init__(self, settings, **_):
        self._settings = settings

    def list_topics(self, *_, timeout):
        if self.topics is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(
            topics={n: SimpleNamespace(partitions={0: None}) for n in self.topics}
        )

    def poll(self, timeout_s):
        if self.heard is not None:
            self._settings["error_cb"](KafkaError(*self.heard))

    def _failing(self, asked, **_):
        future = Future()
        future.set_exception(KafkaException(KafkaError(self.code, "its own words")))
        keys = [getattr(each, "topic", each) for each in asked]
        return dict.fromkeys(asked if hasattr(asked, "keys") else keys, future)

    def describe_topics(self, asked, **_):
        return self._failing(["t"])

    list_offsets = create_topics = _failing

    def produce(self, *_, **__):
        raise KafkaException(KafkaError(self.code, "its own words"))

    def purge(self):
        pass

    def flush(self, timeout_s):
        return 0


@pytest.fixture
def client(monkeypatch):
    """Puts a client in the place of librdkafka's."""

    def use(**given):
        kind = type("Fake", (Client,), given)
        monkeypatch.setattr("confluent_kafka.admin.AdminClient", kind)
        monkeypatch.setattr("confluent_kafka.Producer", kind)

    return use


def test_there_is_no_such_topic(tmp_path, client):
    client(topics=("other", "__of_kafka"))
    said = told(Paths(tmp_path, "h:1"), OF_TOPICS)
    (only,) = set(said.values())
    told_first = (
        "<topic> does not exist at h:1\n  hint: known: other; or create it first"
    )
    assert only.startswith(told_first)


@pytest.mark.parametrize(
    ("heard", "text"),
    [
        ((KafkaError._AUTHENTICATION, "canary"), "refuses the login: wrong cred"),
        ((KafkaError._AUTHENTICATION, "handshake failed"), "does not expect the log"),
        ((KafkaError._SSL, "canary"), "cannot connect by TLS to the broker at h:1"),
        ((KafkaError._RESOLVE, "canary"), "the host name in h:1 is not known"),
    ],
)
def test_who_a_client_is(tmp_path, client, heard, text):
    client(topics=None, heard=heard)
    said = told(Paths(tmp_path, "h:1"), REACHING)
    (only,) = set(said.values())
    assert text in only
    assert "canary" not in only


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "allow this user to <do> <topic>"),
        (KafkaError._TIMED_OUT, "the broker at h:1 does not answer"),
        (KafkaError.SECURITY_DISABLED, "cannot <do> <topic>: SECURITY_DISABLED"),
    ],
)
def test_what_is_refused(tmp_path, client, code, text):
    client(code=code)
    (only,) = set(told(Paths(tmp_path, "h:1"), ALL).values())
    assert text in only
    assert "its own words" not in only


def test_each_error_of_the_client_has_one_message():
    named = [name for message in MESSAGES for name in message.errors]
    assert len(named) == len(set(named))
    of_ours = {name for name in named if " " in name}
    codes = {name: getattr(KafkaError, name, None) for name in named}
    known = {name for name, code in codes.items() if code is not None}
    assert all(KafkaError(codes[name]).name() == name for name in known)
    assert set(named) - known - of_ours <= CODES, "a slip: the client has no such name"
    subject = ErrorSubject("h:1", "t", "x")
    for name in named:
        told = named_problem(name, subject)
        assert "{" not in told.message
        assert told.hint


def test_an_error_that_passes_is_a_broker_that_does_not_answer():
    error = KafkaError(KafkaError.INVALID_RECORD, "its own words", retriable=True)
    text = str(problem(KafkaException(error), ErrorSubject("h:1", "t")))
    assert text.startswith("the broker at h:1 does not answer\n")


def test_only_one_module_imports_the_client():
    folder = Path(arroyo_nb.__file__).parent
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "confluent_kafka" in ast.unparse(node)
    }
    assert found == set()
    makers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(
            r"\)\.(?:AdminClient|Consumer|Producer)\b", path.read_text(encoding="utf-8")
        )
    }
    assert makers == {"kafka/client.py"}
