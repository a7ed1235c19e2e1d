"""``arroyo-nb sql``, ``head``, ``topics`` and ``kafka``, as far as no JVM is needed."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from threading import Timer
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from arroyo_nb.cli import kafka_command, main, sql_prompt, terminal
from arroyo_nb.cli.sql_prompt import SqlPrompt, completions, reader_of, typed
from arroyo_nb.cli.terminal import RowPrinter
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.folders import process_start
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.local import shared
from arroyo_nb.kafka.local.shared import SharedBroker
from arroyo_nb.run.observe.snapshot import Change, RunState, Snapshot
from arroyo_nb.session import Session

TRIPS = """CREATE TABLE trips (id BIGINT, city TEXT) WITH (connector = 'single_file',
path = '{path}', type = 'source', format = 'json');"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def trips(tmp_path):
    rows = tmp_path / "rows.json"
    rows.write_text("".join(f'{{"id": {n}, "city": "Rome"}}\n' for n in range(4)))
    script = tmp_path / "trips.sql"
    script.write_text(TRIPS.format(path=rows))
    return script


@pytest.fixture
def session():
    with Session() as made:
        yield made


@pytest.fixture
def prompt(session):
    made = SqlPrompt(session)
    yield made
    made.close()


def test_a_text_is_cut_into_statements_and_commands():
    text = "SELECT ';'\n FROM t;\n%head t\n-- a; b\nSELECT 2; \n%ps\nSELECT 3"
    read = reader_of(io.StringIO(text))
    found = [read("").strip() for _ in range(5)]
    with pytest.raises(EOFError):
        read("")
    assert found == [
        "SELECT ';'\n FROM t;", "%head t", "-- a; b\nSELECT 2;", "%ps", "SELECT 3"
    ]  # fmt: skip


def test_what_is_typed_goes_on_until_its_semicolon_and_is_remembered(session, tmp_path):
    with create_pipe_input() as keys, create_app_session(keys, DummyOutput()):
        read = typed(session)
        keys.send_text("SELECT 1\rFROM t;\r")
        assert read("") == "SELECT 1\nFROM t;"
        keys.send_text("\x1b[A\r")  # the arrow up brings it back
        assert read("") == "SELECT 1\nFROM t;"
        keys.send_text("\r")
        assert read("%head t") == "%head t"  # as peek offers a table
        keys.send_text("\x04")
        with pytest.raises(EOFError):
            read("")
    assert "+FROM t;" in (tmp_path / "cache" / "sql_history").read_text()


def test_completion_is_that_of_a_cell_and_of_the_commands(session, trips):
    session.catalog = session.plan(trips.read_text()).catalog

    def found(text, at=None):
        made = completions(session, text, len(text) if at is None else at)
        return {item for item, _, _ in made}

    assert "city" in found("SELECT ci FROM trips", 9)
    assert "trips" in found("SELECT city\nFROM tr")
    assert found("%he") == {"head", "help"}
    assert "-n" in found("%head trips ")


def test_a_statement_declares_and_an_error_ends_nothing(prompt, session, trips, capfd):
    wrong = ["SELECT nope FROM trips;", "%promote x", "%nope"]
    lines = iter([trips.read_text(), *wrong, "quit"])
    prompt.run(lambda _offered: next(lines))
    out, err = capfd.readouterr()
    assert "defined trips" in out
    assert "column 'nope' not found" in err
    assert "'promote' is a command of notebooks" in err
    assert "there is no command 'nope'" in err
    assert prompt.status == 3
    assert "trips" in session.catalog


def test_a_script_that_is_piped_in_may_end_with_a_comment(prompt, trips, capfd):
    lines = f"{trips.read_text()}\n;\n-- the end; /* of it */\n"
    prompt.run(reader_of(io.StringIO(lines)))
    out, err = capfd.readouterr()
    assert "defined trips" in out
    assert (err, prompt.status) == ("", 0)


@pytest.mark.parametrize("words", ["strat", "create orders", "stop now"])
def test_a_word_of_kafka_that_the_prompt_has_not_is_refused(prompt, words, capfd):
    prompt.do(f"%kafka {words};")
    out, err = capfd.readouterr()
    assert out == ""
    assert f"'kafka {words}' is not a command here" in err
    assert prompt.status == 2


def test_the_first_rows_of_a_table_and_of_the_only_one(trips, capfd):
    assert main(["head", str(trips), "-n", "2"]) == 0
    out, _ = capfd.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["id", "city"], ["0", "Rome"], ["1", "Rome"]
    ]  # fmt: skip
    trips.write_text(trips.read_text() + trips.read_text().replace("trips", "more"))
    assert main(["head", str(trips)]) == 2
    assert "has 2 sources: say which" in capfd.readouterr().err
    assert main(["head", str(trips), "more", "-n", "0"]) != 0


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["orders"], "there is no file 'orders'", "arroyo-nb peek orders looks into"),
        (["jobs/none.sql"], "there is no file 'jobs/none.sql'", "a script or files"),
        (["rows.json", "trips"], "'rows.json' is no script", "head rows.json shows"),
        (["a.csv"], "'a.csv' is a table of text", "%%arroyo_rows a --from a.csv"),
    ],
)
def test_what_is_no_script_is_told_with_what_to_type(
    words, message, hint, trips, monkeypatch, capfd
):
    monkeypatch.chdir(trips.parent)
    (trips.parent / "a.csv").write_text("a,b\n1,2\n")
    assert main(["head", *words]) in (1, 2)
    err = capfd.readouterr().err
    assert message in err
    assert hint in err


@pytest.mark.parametrize(
    ("command", "path"),
    [("head", "rows.json"), ("head", "day"), ("peek", "rows.json"), ("peek", "./day")],
)
def test_the_first_rows_of_files_need_no_script(
    command, path, trips, monkeypatch, capfd
):
    monkeypatch.chdir(trips.parent)
    (trips.parent / "day").mkdir()
    shutil.copy("rows.json", "day")
    assert main([command, path, "-n", "2"]) == 0
    out = capfd.readouterr().out
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["id", "city"], ["0", "Rome"], ["1", "Rome"]
    ]  # fmt: skip


def test_without_a_broker_it_is_said_how_to_have_one(capfd):
    for words in (["topics"], ["peek", "orders"], ["kafka", "create", "orders"]):
        assert main(words) == 2
        assert "arroyo-nb kafka start" in capfd.readouterr().err
    assert main(["kafka", "status"]) == 0
    assert "there is no local broker" in capfd.readouterr().out


def test_a_broker_is_noted_as_long_as_its_process_lives(tmp_path):
    note = tmp_path / "cache" / "broker.json"
    note.parent.mkdir()
    mine = {"pid": os.getpid(), "bootstrap_servers": "127.0.0.1:1"}
    started = shared.process_start(os.getpid())
    note.write_text(json.dumps({**mine, "started": started}))
    found = shared.shared_broker()
    assert found is not None
    assert shared.start(pytest.fail) == found
    with pytest.raises(RunProblem, match="a broker runs already"):
        shared.serve(pytest.fail)
    note.write_text(json.dumps({**mine, "started": 1}))  # another has the number
    assert shared.shared_broker() is None
    assert not shared.stop()


def test_a_broker_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RunProblem, match="ended before it served"):
        shared.start(pytest.fail)


def test_a_broker_that_starts_says_how_far_it_is(monkeypatch, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho starting >&2; sleep 0.5; exit 1\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(shared, "TOLD_EVERY_S", 0)
    said = []
    with pytest.raises(RunProblem, match="ended before it served"):
        shared.start(said.append)
    assert "starting" in said
    assert "waiting for the broker, 0 s" in said


def test_what_serves_tells_its_steps_before_it_is_up():
    class Local:
        def start(self, *, tell):
            tell("starting the local broker")
            raise RunProblem("no Java")

        __enter__ = start

        def close(self):
            """It has nothing open."""

    said = []
    with pytest.raises(RunProblem, match="no Java"):
        shared._serve(Local(), said.append)
    assert said == ["starting the local broker"]


def test_of_two_brokers_that_start_at_once_there_is_one(monkeypatch, tmp_path):
    """The note of the other one would be lost, and nobody could stop it."""
    monkeypatch.setattr(sys, "executable", "/bin/false")  # ours gives way
    mine = SharedBroker(os.getpid(), process_start(os.getpid()) or 0, "127.0.0.1:1")
    with lock(tmp_path / "cache" / "broker.lock"):
        with pytest.raises(RunProblem, match="another process is starting a broker"):
            shared.serve(pytest.fail)
        other = Timer(0.3, shared._write, [mine])
        other.start()
        assert shared.start(pytest.fail) == mine
        other.join()


class Run:
    """A run whose outputs have had some changes by each look."""

    name, state = "r", RunState.FINISHED

    def __init__(self, updating: bool, *batches: int) -> None:
        self.outputs = [
            SimpleNamespace(preview=1, sink=SimpleNamespace(order=(), name="preview"))
        ]
        self._updating, self._batches, self.rows = updating, list(batches), 0

    def snapshot(self, rows: int, _output: int = 0) -> Snapshot:
        newest = [(n, "a" * n) for n in range(self.rows, 0, -1)][:rows]
        shown: dict[str, Any] = (
            {"changes": tuple(Change("c", 0, None, row) for row in newest)}
            if self._updating
            else {"rows": tuple(newest)}
        )
        return Snapshot(
            "r", self.state, columns=("n", "word"), updating=self._updating,
            output_rows=self.rows, rows_in=9, rows_out=self.rows, **shown,
        )  # fmt: skip

    def wait_quietly(self, _timeout: float) -> bool:
        self.rows += self._batches.pop(0) if self._batches else 0
        return not self._batches

    def wait(self) -> None:
        """It has ended."""


@pytest.mark.parametrize("updating", [False, True])
def test_rows_are_printed_once_in_their_order(updating):
    lines: list[str] = []
    printer = RowPrinter(Run(updating, 2, 0, 1), lines.append)  # type: ignore[arg-type]
    printer.print_until_end()
    words = [line.split() for line in lines if not set(line) <= {"-", " "}]
    op = ["c"] * updating
    head = ["op"] * updating + ["n", "word"]
    rows = [[*op, "1", "a"], [*op, "2", "aa"], [*op, "3", "aaa"]]
    assert words == [head, *rows]
    assert printer.summary(0.0).startswith("(finished: 9 rows in, 3 out; ")


def test_rows_that_come_between_two_looks_are_printed_too():
    class Busy(Run):
        def snapshot(self, rows: int, _output: int = 0) -> Snapshot:
            made = super().snapshot(rows, _output)
            self.rows += 2 * (rows == 0 and self.rows < 8)  # while one looks
            return made

    lines: list[str] = []
    RowPrinter(Busy(False, 2, 2), lines.append).print_until_end()  # type: ignore[arg-type]
    numbers = [int(line.split()[0]) for line in lines if line[:1].isdigit()]
    assert numbers == [*range(1, numbers[-1] + 1)]
    assert not any("not shown" in line for line in lines)


def test_a_sorted_query_that_is_interrupted_prints_what_it_has(
    prompt, session, monkeypatch, capfd
):
    class Sorted(Run):
        def __init__(self) -> None:
            super().__init__(False, 2)
            order = SimpleNamespace(order=("n",), name="preview")
            self.outputs = [SimpleNamespace(preview=1, sink=order)]
            self.plan = SimpleNamespace(hints=())

        def wait_quietly(self, timeout: float) -> bool:
            if timeout == terminal.POLL_S:
                raise KeyboardInterrupt
            return super().wait_quietly(timeout)

        def stop(self, _note: str) -> None:
            """It stops."""

        def table(self, _output: int) -> pa.Table:
            return pa.table({"n": range(1, self.rows + 1)})

    monkeypatch.setattr(session, "run_with", lambda *_, **__: Sorted())
    prompt.do("SELECT n FROM t ORDER BY n;")
    out, err = capfd.readouterr()
    assert out.split() == ["n", "-", "1", "2"]
    assert "2 out" in err


def test_rows_that_are_too_many_are_counted(monkeypatch):
    monkeypatch.setattr("arroyo_nb.cli.terminal.MOST_ROWS", 2)
    lines: list[str] = []
    RowPrinter(Run(False, 5), lines.append).print_until_end()  # type: ignore[arg-type]
    assert lines[0] == "... 3 rows not shown ..."
    assert [line.split()[0] for line in lines[3:]] == ["4", "5"]


def test_the_help_names_what_there_is(prompt, capfd):
    prompt.do("%help")
    out, _ = capfd.readouterr()
    assert sql_prompt.HELP in out


def test_a_broker_without_a_client_in_python_says_what_is_missing(monkeypatch, capfd):
    made = SharedBroker(os.getpid(), 0, "127.0.0.1:1")
    monkeypatch.setattr(shared, "start", lambda _tell: made)
    assert main(["kafka", "start"]) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(kafka_command, "find_spec", lambda _name: None)
    assert main(["kafka", "start"]) == 0
    out, err = capfd.readouterr()
    assert out == "Kafka is at 127.0.0.1:1\n"
    assert "pip install 'arroyo-nb[kafka]'" in err
