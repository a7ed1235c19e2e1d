"""What goes wrong: told at the start, outlived while running, never silent."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from machine import allowed
from seeds import of_the_day
from topics import PASSWORD, USER

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.peek.topics import sample

ALL = "SELECT id FROM t"
TOLD_S = 5


@pytest.fixture
def refused(session):
    """What a script is told at its start, within five seconds."""

    def tell(script):
        began_s = time.monotonic()
        with pytest.raises(RunProblem) as told:
            session.run(script, source="<cell>")
        took_s = time.monotonic() - began_s
        assert took_s < allowed(TOLD_S)
        text = str(told.value)
        print(f"{took_s:.1f} s: {text}")
        # Its place: the table, where the query names it.
        assert text.startswith("<cell>:2:")
        assert "the table 't'" in text
        return text

    return tell


@pytest.fixture
def little_patience(monkeypatch):
    """Of several brokers that do not answer, one is given as long as a user's."""
    monkeypatch.setattr("arroyo_nb.kafka.cluster.CHECK_S", 1.2)


def test_a_topic_that_is_not_there(new_topic, refused):
    made = new_topic()
    script = made.declared("id INT", topic=made.name + "x") + ALL
    text = refused(script)
    assert f"the topic '{made.name}x' of the table 't' does not exist at " in text
    assert "did you mean 'read-" in text


def test_a_broker_that_is_not_there(new_topic, refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    script = new_topic().declared("id INT", bootstrap_servers=f"127.0.0.1:{port}") + ALL
    assert f"cannot connect to the broker at 127.0.0.1:{port}" in refused(script)


@pytest.mark.usefixtures("little_patience")
def test_a_host_that_is_not_known(new_topic, refused):
    script = (
        new_topic().declared("id INT", bootstrap_servers="no.such.host.:9092") + ALL
    )
    assert (
        "the host name in no.such.host.:9092 of the table 't' is not known"
        in refused(script)
    )


@contextmanager
def silent():
    """The port of a server that lets everybody in and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.usefixtures("little_patience")
def test_a_port_that_says_nothing(new_topic, refused):
    with silent() as port:
        script = new_topic().declared("id INT", bootstrap_servers=f"127.0.0.1:{port}")
        assert "but no Kafka broker answers there" in refused(script + ALL)


def test_who_waits_for_a_broker_may_interrupt(new_topic, session):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        servers = f"127.0.0.1:{server.getsockname()[1]}"
        script = new_topic().declared("id INT", bootstrap_servers=servers) + ALL
        sent_s = []

        def interrupt():
            client, _ = server.accept()
            with client:
                sent_s.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
                held.wait(10)

        held = threading.Event()
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(script)
        took_s = time.monotonic() - sent_s[0]
        held.set()
        thread.join(10)
    assert took_s < allowed(1)


def login(made, password=PASSWORD, **options):
    return made.declared(
        "id INT",
        **{
            "bootstrap_servers": made.broker.sasl_servers,
            "auth__type": "sasl",
            "auth__mechanism": "PLAIN",
            "auth__protocol": "SASL_PLAINTEXT",
            "auth__username": USER,
            "auth__password": password,
            **options,
        },
    )


def test_wrong_credentials(new_topic, refused):
    text = refused(login(new_topic(), "canary-wrong") + ALL)
    assert "wrong credentials" in text.split("\n")[0]


@pytest.mark.usefixtures("little_patience")
def test_a_client_that_does_not_log_in(new_topic, refused):
    made = new_topic()
    servers = made.broker.sasl_servers
    text = refused(made.declared("id INT", bootstrap_servers=servers) + ALL)
    assert f"connected to {servers} for the table 't', but no Kafka" in text
    assert "auth.type" in text


def test_a_client_that_logs_in_where_nobody_asks(new_topic, refused):
    made = new_topic()
    script = login(made, bootstrap_servers=made.broker.bootstrap_servers) + ALL
    assert "does not expect the login of the table 't'" in refused(script)


@pytest.mark.parametrize(
    "mode", of_the_day([None, "at_least_once", "exactly_once"], "canaries")
)
def test_secrets_are_nowhere(
    new_topic, session, eventually, monkeypatch, tmp_path, engine, mode
):
    made, other = new_topic(), new_topic()
    made.send({"id": 1})
    monkeypatch.setenv("KAFKA_WORD", PASSWORD)
    monkeypatch.setenv("KAFKA_USER", USER)
    monkeypatch.setenv("KAFKA_AT", made.broker.sasl_servers)
    secrets = {
        "auth__username": "{{ KAFKA_USER }}",
        "bootstrap_servers": "{{ KAFKA_AT }}",
    }
    script = login(made, "{{ KAFKA_WORD }}", **secrets)
    if mode is not None:
        sink = {"name": "out", "type": "sink", "source__offset": None}
        sink |= {"topic": other.name, "sink__commit_mode": mode}
        script += login(other, "{{ KAFKA_WORD }}", **secrets, **sink)
        script += "INSERT INTO out "
    run = session.run(script + ALL, state_dir=tmp_path, keep=True)
    eventually(lambda: run.state.ended or run.table().num_rows == 1, 60)
    assert run.table()["id"].to_pylist() == [1]
    texts = [run.explain(), repr(run), repr(run.plan), str(run.snapshot())]
    run.stop().wait_quietly(30)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    files += (path for path in engine._work.rglob("*.log"))
    assert len(files) > 5
    texts += (path.read_bytes().decode("utf-8", "replace") for path in files)
    assert not [text for text in texts if PASSWORD in text]
    assert not [text for text in texts[:4] if made.broker.sasl_servers in text]


ROWS = "CREATE TABLE s WITH (connector = 'sample', dataset = 'airlines');\n"


@pytest.fixture
def told_by_each(session, tmp_path):
    """What each path to a table's topic says, by its first line without the place."""

    def tell(source, sink):
        session.run(source)
        tape = tmp_path / "a.tape"
        paths = (
            lambda: session.run(source + ALL),
            lambda: session.run(f"{ROWS}{sink}INSERT INTO t SELECT name FROM s"),
            lambda: session.head("t"),
            lambda: session.record("t", tape),
            lambda: session.emit("t", [{"id": 1}], wait=True),
        )
        said = []
        for path in paths:
            with pytest.raises(RunProblem) as told:
                path()
            said.append((told.value.message, told.value.hint))
        return said

    return tell


def test_a_missing_topic_has_the_same_words_on_every_path(
    new_topic, session, told_by_each, tmp_path
):
    made = new_topic()
    name, servers = made.name + "x", made.broker.bootstrap_servers
    sink = made.sink("", name="t", topic=name)
    said = told_by_each(made.declared("id INT", topic=name), sink)
    ((message, hint),) = set(said)
    assert message == f"the topic '{name}' of the table 't' does not exist at {servers}"
    assert "did you mean" in hint
    for path in (
        lambda: sample(servers, name, check=lambda: None),
        lambda: session.record(name, tmp_path / "b.tape", servers=servers),
        lambda: session.emit(name, [{"id": 1}], servers=servers),
    ):
        with pytest.raises(RunProblem) as told:
            path()
        of_no_table = message.replace(" of the table 't'", "")
        assert (told.value.message, told.value.hint) == (of_no_table, hint)


def test_wrong_credentials_have_the_same_words_on_every_path(new_topic, told_by_each):
    made = new_topic()
    sink = login(made, "canary-wrong", name="t", type="sink", source__offset=None)
    said = told_by_each(login(made, "canary-wrong"), sink.replace("(id INT) ", ""))
    ((message, hint),) = set(said)
    at = made.broker.sasl_servers
    refused = f"the broker at {at} refuses the login of the table 't'"
    assert message == f"{refused}: wrong credentials"
    assert hint == "check the user's name and the password"


@pytest.fixture
def sink_refused(session):
    """What a script is told of its sink at its start, within five seconds."""

    def tell(sink, **options):
        rows = "CREATE TABLE t WITH (connector = 'sample', dataset = 'airlines');"
        script = f"{rows}\n{sink}INSERT INTO out SELECT name FROM t"
        began_s = time.monotonic()
        with pytest.raises(RunProblem) as told:
            session.run(script, source="<cell>", **options)
        assert time.monotonic() - began_s < allowed(TOLD_S)
        text = str(told.value)
        assert text.startswith("<cell>:3:")
        assert "the table 'out'" in text
        return text

    return tell


def test_a_topic_to_write_that_is_not_there(new_topic, sink_refused):
    made = new_topic()
    text = sink_refused(made.sink("", topic=made.name + "x"))
    assert f"the topic '{made.name}x' of the table 'out' does not exist at " in text
    assert "did you mean 'read-" in text
    assert made.name + "x" not in made.admin.list_topics(timeout=20).topics


def test_wrong_credentials_to_write(new_topic, sink_refused):
    made = new_topic()
    sink = made.sink(
        "",
        bootstrap_servers=made.broker.sasl_servers,
        auth__type="sasl",
        auth__mechanism="PLAIN",
        auth__protocol="SASL_PLAINTEXT",
        auth__username=USER,
        auth__password="canary-wrong",
    )
    assert "wrong credentials" in sink_refused(sink).split("\n")[0]


@pytest.mark.usefixtures("little_patience")
def test_a_broker_to_write_to_that_is_not_there(new_topic, sink_refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    sink = new_topic().sink("", bootstrap_servers=f"127.0.0.1:{port}")
    assert f"cannot connect to the broker at 127.0.0.1:{port}" in sink_refused(sink)


def test_records_that_retention_took_are_told(new_topic, session, eventually, tmp_path):
    made = new_topic(2)
    made.send({"id": 1}, {"id": 2}, partition=1)
    script = made.declared("id INT") + ALL
    options = {"name": "r", "state_dir": tmp_path}
    run = session.run(script, **options)
    eventually(lambda: run.state.ended or run.rows_in == 2, 60)
    run.stop().wait_quietly(30)
    made.send(*({"id": n} for n in range(3, 9)), partition=1)
    made.delete_records(1, before=6)
    began_s = time.monotonic()
    run = session.run(script, **options)
    run.wait_quietly(60)
    print(f"{time.monotonic() - began_s:.1f} s: {run.error}")
    assert run.error is not None
    text = str(run.error)
    assert f"records of partition 1 of the topic '{made.name}' were deleted" in text
    assert "offsets from 2 up to 8" in text


def test_a_topic_that_is_deleted_ends_the_run(new_topic, session, eventually):
    made = new_topic()
    made.send({"id": 1})
    run = session.run(made.declared("id INT") + ALL)
    eventually(lambda: run.state.ended or run.rows_in == 1, 60)
    made.delete()
    began_s = time.monotonic()
    run.wait_quietly(30)
    print(f"{time.monotonic() - began_s:.1f} s: {run.error}")
    assert f"the topic '{made.name}' of the table 't' was deleted" in str(run.error)
    assert time.monotonic() - began_s < allowed(TOLD_S)


def test_a_topic_that_is_made_again_is_another(new_topic, session, eventually):
    made = new_topic()
    made.send({"id": 1})
    script = made.declared("id INT") + ALL
    run = session.run(script, name="again")
    eventually(lambda: run.state.ended or run.rows_in == 1, 60)
    run.stop().wait_quietly(30)
    made.delete()
    made.broker.create_topic(made.name, 1)
    run = session.resume("again")
    run.wait_quietly(30)
    assert f"the topic '{made.name}' of the table 't' was deleted" in str(run.error)
    assert "start afresh" in str(run.error)
