"""``%arroyo kafka``, ``topics`` and ``peek`` in an IPython shell."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from machine import allowed
from shells import new_shell

from arroyo_nb import kafka_commands
from arroyo_nb.engine import Engine
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.magics import ArroyoMagics
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.session import Session
from arroyo_nb.tape.records import RecordTape

Produce = Callable[..., None]
INTERRUPT_S = 1.0


class Shell:
    """A shell with the magics: runs a line, and says what it showed."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self.shell = shell
        self.magics = ArroyoMagics(self.shell, session)
        self.shell.register_magics(self.magics)
        self.error: BaseException | None = None

    def run(self, line: str) -> str:
        with capture_output() as captured:
            done = self.shell.run_cell(f"%arroyo {line}")
        self.error = done.error_before_exec or done.error_in_exec
        shown = [output.data.get("text/plain", "") for output in captured.outputs]
        return "\n".join((captured.stdout, *shown)).strip()


@pytest.fixture
def shell(engine: Engine) -> Iterator[Shell]:
    with new_shell() as current:
        made = Shell(current, Session(engine=engine))
        yield made
        made.magics.close()


def test_a_broker_is_started_told_and_stopped(shell: Shell) -> None:
    assert "there is no local broker" in shell.run("kafka status")
    started = shell.run("kafka start").splitlines()[-1]
    assert started.startswith("Kafka is at 127.0.0.1:")
    status = shell.run("kafka status")
    assert started.startswith(status)
    assert shell.run("kafka start") == status
    assert shell.run("topics") == "no topic yet"
    assert shell.run("kafka stop") == "stopped the local broker"
    assert shell.run("kafka stop") == "there is none"


def test_a_broker_ends_with_the_extension(shell: Shell) -> None:
    broker = Mock(alive=True, bootstrap_servers="127.0.0.1:1")
    shell.magics.session.broker = broker
    assert "127.0.0.1:1" in shell.run("kafka status")
    shell.magics.close()
    broker.close.assert_called_once_with()


def test_topics_of_another_broker(shell: Shell, broker: LocalBroker) -> None:
    broker.create_topic("listed", partitions=3)
    lines = shell.run(f"topics {broker.bootstrap_servers}").splitlines()
    assert ["listed", "3", "0"] in [line.split() for line in lines]


def test_a_look_into_a_topic(
    shell: Shell, broker: LocalBroker, topic: str, produce: Produce
) -> None:
    servers = broker.bootstrap_servers
    produce(servers, topic, b'{"id": 1, "name": "a"}', b'{"id": 2, "name": null}')
    produce(servers, topic, None, key=b"gone")
    shown = shell.run(f"peek {topic} {servers}")
    assert '{"id": 2, "name": null}' in shown
    assert "it looks like json; as a table, in the next cell:" in shown
    assert "    id BIGINT NOT NULL,\n    name TEXT\n)" in shown


def test_a_topic_with_bad_records_has_a_table_that_runs(
    shell: Shell, broker: LocalBroker, topic: str, produce: Produce
) -> None:
    servers = broker.bootstrap_servers
    good = [b'{"id": %d, "ts": %d}' % (n, 1_700_000_000_000 + n) for n in range(98)]
    produce(servers, topic, *good[:50], b"{not json", b"\xff", *good[50:])
    shown = shell.run(f"peek {topic} {servers} -n 30")
    assert "2 of 100 records do not, the first is" in shown
    assert "as a table, in the next cell:" in shown
    assert 29 <= shown.count('"ts": 17000000000') <= 31
    offered = shell.shell.rl_next_input
    assert offered is not None
    magic, _, statement = offered.partition("\n")
    assert magic == "%%arroyo"
    assert "in the next cell" not in shell.run(f"peek {topic} {servers}")
    session = shell.magics.session
    session.run(statement)
    (table,) = session.catalog.tables
    listed = shell.run(f"head {table} -n 3")
    assert shell.error is None
    lines = [line.split() for line in listed.splitlines()]
    assert lines[0] == ["id", "ts", "event_time"]
    assert len(lines) == 4
    assert lines[1][2].startswith("2023-11-14")
    run = session.run(f"SELECT count(*) AS n FROM {table}", until="end", wait=True)
    assert run.table().to_pylist() == [{"n": 98}]
    assert run.snapshot().sources[0].dropped_rows == 2
    # Other records, another table: a second cell would only be in the way.
    produce(servers, topic, *[b'{"id": 1.5, "more": 1}'] * 300)
    assert "in the next cell" not in shell.run(f"peek {topic} {servers}")


def test_a_topic_that_is_not_there(shell: Shell, broker: LocalBroker) -> None:
    broker.create_topic("spelled")
    shell.run(f"peek speled {broker.bootstrap_servers}")
    assert str(shell.error) == (
        f"the topic 'speled' does not exist at {broker.bootstrap_servers}\n"
        "  hint: did you mean 'spelled'?"
    )


def test_without_a_broker_one_is_asked_for(shell: Shell) -> None:
    shell.run("topics")
    assert "there is no local broker to ask" in str(shell.error)


def test_a_broker_that_does_not_answer_is_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arroyo_nb.kafka.cluster.CHECK_S", 0.1)
    shell.run("topics 127.0.0.1:1")
    assert str(shell.error).startswith("cannot connect to the broker at 127.0.0.1:1\n")


def test_an_interrupt_ends_the_wait_for_an_answer(shell: Shell) -> None:
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    shell.run("topics 127.0.0.1:1")
    assert time.monotonic() - sent[0] < allowed(INTERRUPT_S)
    assert isinstance(shell.error, Interrupted)
    timer.join()


def test_an_interrupt_ends_a_start(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: LocalBroker, *, tell: object, check: Callable[[], None]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        check()

    monkeypatch.setattr(kafka_commands.LocalBroker, "start", start)
    shell.run("kafka start")
    assert isinstance(shell.error, Interrupted)
    monkeypatch.undo()
    assert "there is no local broker" in shell.run("kafka status")


def test_a_topic_is_recorded_and_its_tape_read(
    shell: Shell,
    broker: LocalBroker,
    topic: str,
    produce: Produce,
    tmp_path: Path,
) -> None:
    servers = broker.bootstrap_servers
    produce(servers, topic, *(b'{"id": %d, "who": "canary"}' % n for n in range(3)))
    tape = tmp_path / "a.tape"
    shown = shell.run(
        f"record {topic} {servers} --for 60s --max 3 --from earliest "
        f"--redact who,other -o {tape}"
    )
    assert shell.error is None
    assert shown.splitlines()[0].startswith(f"recording '{topic}': ")
    assert re.search(rf"3 records of [12] partitions? of '{topic}' in ", shown)
    assert "no record has a field 'other' to be redacted: if that is missp" in shown
    assert "as a table:" in shown
    assert not any(b"canary" in file.read_bytes() for file in tape.iterdir())
    statement = shown[shown.index("CREATE TABLE") :]
    name = topic.replace("-", "_")
    run = shell.magics.session.run(
        f"{statement} SELECT id, who FROM {name};", wait=True
    )
    assert run is not None
    rows = run.table().to_pylist()
    assert sorted(row["id"] for row in rows) == [0, 1, 2]
    assert len({row["who"] for row in rows}) == 1


def test_an_interrupt_ends_a_recording_and_what_came_is_kept(
    shell: Shell, broker: LocalBroker, topic: str, produce: Produce, tmp_path: Path
) -> None:
    produce(broker.bootstrap_servers, topic, b"one")
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.5, interrupt)
    timer.start()
    line = f"record {topic} {broker.bootstrap_servers} --from earliest -o {tmp_path}/a"
    shell.run(line)
    timer.join()
    assert time.monotonic() - sent[0] < allowed(INTERRUPT_S)
    assert isinstance(shell.error, Interrupted)
    assert "stopped by interrupt; recorded 1 record of 1 partition" in str(shell.error)
    assert len(list(RecordTape(tmp_path / "a", "a").chunks())) == 1
