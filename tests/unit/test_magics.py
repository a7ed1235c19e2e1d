"""The cell and the line in an IPython shell, with a session that only pretends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from shells import new_shell

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.extension import load, unload
from arroyo_nb.magic_options import COMMANDS, FLAGS, ROWS_FLAGS
from arroyo_nb.magics import ArroyoMagics
from arroyo_nb.plan.show_statements import StatementAnswer
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.run.observe.snapshot import (
    Change,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)
from arroyo_nb.run.options import RunOptions
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText
from arroyo_nb.views import live


def table(name: str, *fields: Field) -> ConnectorTable:
    spec = TableSpec(name, Schema(fields))
    columns = tuple(field.name for field in fields)
    return ConnectorTable(spec, "impulse", Direction.SOURCE, columns)


class FakeRun:
    """A run whose next states are given; the last one stays."""

    def __init__(self, name: str, *states: Snapshot) -> None:
        self.name = name
        self.states = list(states)
        self.notes: list[str] = []
        self.options = RunOptions()
        self.plan = SimpleNamespace(hints=[])
        self.error: ArroyoError | None = None
        self.on_wait: Callable[[], None] = lambda: None
        self.is_slow = False

    @property
    def state(self) -> RunState:
        return self.states[0].state

    @property
    def running_s(self) -> float:
        return 0.0 if self.state is RunState.STARTING else self.states[0].elapsed_s

    def pause(self) -> None:
        self.notes.append("paused")

    def resume(self) -> None:
        self.notes.append("resumed")

    def step(self, *, until: str | None = None) -> None:
        self.notes.append(f"stepped {until or ''}".strip())

    def snapshot(self, rows: int = 20) -> Snapshot:
        return replace(self.states[0], name=self.name)

    def wait(self, timeout: float | None = None) -> bool:
        self.on_wait()
        if len(self.states) > 1:
            self.states.pop(0)
        if self.state.ended and self.error is not None:
            raise self.error
        return self.state.ended

    def wait_quietly(self, timeout: float | None = None) -> bool:
        return self.state.ended

    def stop(self, note: str = "stopped", mode: str = "immediate") -> None:
        self.notes.append(note)
        if self.is_slow:
            return
        self.states = [replace(self.states[0], state=RunState.STOPPED, note=note)]

    def explain(self) -> str:
        return f"plan of {self.name}"

    def moments(self) -> FakeMoments:
        return FakeMoments()


class FakeMoments:
    """A run of which no micro-batch is recorded."""

    times = ()

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        return newest


RUNNING = Snapshot("q", RunState.RUNNING, rows_kept=1240, elapsed_s=5.0)
FINISHED = replace(RUNNING, state=RunState.FINISHED, note="the sources have ended")


class FakeSession:
    """Takes what it is given; the next run is the one that was put in."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self.warm_up = lambda: None
        self.runs: dict[str, FakeRun] = {}
        self.calls: list[tuple[str, RunOptions]] = []
        self.names: list[str] = []
        self.next: Callable[[str], FakeRun | None] = lambda name: FakeRun(
            name, RUNNING, FINISHED
        )
        self.defines: tuple[ConnectorTable, ...] = ()
        self.answers: tuple[StatementAnswer, ...] = ()
        self.background: list[tuple[str, str]] = []

    lookup = Session.lookup

    def _take_over(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def run_with(
        self, sql: ScriptText, options: RunOptions, *, name: str
    ) -> FakeRun | None:
        self.calls.append((sql.text, options))
        for made in self.defines:
            self.catalog = self.catalog.define(made)
        self.names.append(name)
        run = self.next(name)
        if run is not None:
            self.runs[run.name] = run
        return run

    def plan(self, sql: ScriptText, *, strict: bool) -> FakeRun:
        self.calls.append((sql.text, RunOptions(strict=strict)))
        return FakeRun("script")

    def get(self, name: str) -> FakeRun:
        if name not in self.runs:
            raise RunProblem(f"there is no run '{name}'")
        return self.runs[name]

    def resume(self, name: str) -> FakeRun:
        self.runs[name] = FakeRun(self.get(name).name, RUNNING, FINISHED)
        return self.runs[name]

    def users(self, table: ConnectorTable) -> list[str]:
        return list(self.runs)

    def clear(self, *, everything: bool) -> list[str]:
        gone = [r.name for r in self.runs.values() if everything or r.state.ended]
        self.runs = {n: run for n, run in self.runs.items() if n not in gone}
        return gone

    def close(self, reason: str = "") -> None:
        self.runs.clear()


class Cells:
    """A shell with the magics; runs a cell and says what it printed and showed."""

    def __init__(self, shell: InteractiveShell, session: FakeSession) -> None:
        self.shell, self.session = shell, session
        self.error: BaseException | None = None

    def run(self, code: str) -> str:
        with capture_output() as captured:
            done = self.shell.run_cell(code)
        self.error = done.error_before_exec or done.error_in_exec
        shown = [output.data.get("text/plain", "") for output in captured.outputs]
        return "\n".join((captured.stdout, *shown)).strip()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """A shell without a kernel: nobody looks at it."""
    monkeypatch.delenv("ARROYO_NB_HEADLESS", raising=False)
    with new_shell() as shell:
        session = FakeSession()
        load(shell, session)  # type: ignore[arg-type]
        yield Cells(shell, session)
        unload(shell)


def test_every_option_reaches_the_session(cells: Cells) -> None:
    cells.run(
        "%%arroyo d << --for 30s --until 2013-01-02 --speed 60 --trigger 250ms --step"
        " --ttl 90s --sinks --strict\n-- --rows 3\nSELECT 1"
    )
    sql, options = cells.session.calls[0]
    assert sql == "-- --rows 3\nSELECT 1\n"
    assert list(cells.session.runs) == ["d"]
    assert options == RunOptions(
        stop_after=timedelta(seconds=30),
        trigger=timedelta(milliseconds=250),
        ttl=timedelta(seconds=90),
        until=datetime(2013, 1, 2),
        speed=60.0,
        step=True,
        sinks=True,
        strict=True,
        keep=True,
    )
    assert cells.shell.user_ns["d"] is cells.session.runs["d"]


def test_headless_waits_and_leaves_the_picture(cells: Cells) -> None:
    text = cells.run("%%arroyo -n delays\nSELECT 1")
    assert cells.error is None
    assert "delays finished" in text
    assert "finished: the sources have ended" in text


def test_headless_raises_what_the_run_failed_with(cells: Cells) -> None:
    failed = replace(FINISHED, state=RunState.FAILED, error="bad row")

    def failing(name: str) -> FakeRun:
        run = FakeRun(name, RUNNING, failed)
        run.error = RunProblem("bad row")
        return run

    cells.session.next = failing
    text = cells.run("%%arroyo\nSELECT 1")
    assert isinstance(cells.error, RunProblem)
    assert "query_1 failed" in text
    assert text.count("bad row") == 1, "the error alone tells it"
    assert "Traceback" not in text


def test_headless_is_bounded_for_an_endless_source(cells: Cells) -> None:
    source = SourceProgress("ticks", 1, None, timedelta(seconds=1), bounded=False)
    run = FakeRun("q", replace(RUNNING, elapsed_s=61.0, sources=(source,)))
    cells.session.next = lambda name: run
    cells.run("%%arroyo\nSELECT 1")
    (note,) = run.notes
    assert note.startswith("stopped after 60 s, the limit of headless runs; %config")


@pytest.mark.parametrize(
    ("options", "paused"),
    [(RunOptions(step=True), True), (RunOptions(speed=1.0), False)],
)
def test_headless_is_bounded_for_what_waits(
    cells: Cells, options: RunOptions, paused: bool
) -> None:
    source = SourceProgress("ticks", 1, None, timedelta(seconds=1), bounded=True)
    state = replace(RUNNING, elapsed_s=61.0, sources=(source,), paused=paused)
    run = FakeRun("q", *[state] * 9, FINISHED)
    run.options = options
    cells.session.next = lambda name: run
    cells.run("%%arroyo\nSELECT 1")
    (note,) = run.notes
    assert note.startswith("stopped after 60 s, the limit of headless runs; %config")


def test_headless_bound_leaves_out_the_start_of_the_engine(cells: Cells) -> None:
    source = SourceProgress("ticks", 1, None, timedelta(seconds=1), bounded=False)
    begun = replace(RUNNING, elapsed_s=61.0, sources=(source,))
    run = FakeRun("q", *[replace(begun, state=RunState.STARTING)] * 9, FINISHED)
    cells.session.next = lambda name: run
    cells.run("%%arroyo\nSELECT 1")
    assert run.notes == []


def test_headless_waits_for_what_only_computes(cells: Cells) -> None:
    source = SourceProgress("ticks", 1, None, timedelta(seconds=1), bounded=True)
    run = FakeRun("q", replace(RUNNING, elapsed_s=61.0, sources=(source,)), FINISHED)
    cells.session.next = lambda name: run
    cells.run("%%arroyo\nSELECT 1")
    assert run.notes == []


def test_headless_draws_what_it_does_not_wait_for(cells: Cells) -> None:
    run = FakeRun("q", RUNNING)
    cells.session.next = lambda name: run
    text = cells.run("%%arroyo -n q --no-wait\nSELECT 1")
    assert "q running" in text
    assert run.notes == []


def test_a_stop_that_takes_longer_is_told_so(cells: Cells) -> None:
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    for name in ("a", "b", "c"):
        cells.run(f"%%arroyo -n {name} --no-wait\nSELECT 1")
    cells.session.runs["b"].is_slow = True
    said = cells.run("%arroyo stop --all")
    assert said == ("stopped a, c\nstopping b: still at a micro-batch, or starting")
    assert cells.run("%arroyo stop b").startswith("stopping b: ")


def test_interrupt_stops_and_keeps(cells: Cells) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    run = FakeRun("q", RUNNING)
    run.on_wait = interrupt
    cells.session.next = lambda name: run
    text = cells.run("%%arroyo -n q\nSELECT 1")
    assert run.notes == ["stopped by interrupt"]
    assert isinstance(cells.error, Interrupted)
    assert str(cells.error) == "stopped by interrupt; 1,240 rows kept"
    assert "Traceback" not in text


def test_interrupt_before_the_run_is_there(cells: Cells) -> None:
    def interrupt(name: str) -> FakeRun:
        raise KeyboardInterrupt

    cells.session.next = interrupt
    cells.run("%%arroyo\nSELECT 1")
    assert str(cells.error) == "interrupted before anything was started"


def test_a_cell_run_again_replaces_its_own_run_and_says_so(cells: Cells) -> None:
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    assert "replaced" not in cells.run("%%arroyo --no-wait\nSELECT 1")
    assert "replaced" not in cells.run("%%arroyo --no-wait\nSELECT 2")
    again = cells.run("%%arroyo --no-wait\nSELECT 1")
    assert "replaced query_1, which was still running" in again
    assert cells.session.names == [
        "query_1",
        "query_2",
        "query_1",
    ]


def test_cell_id_names_the_run_where_the_text_changes(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"metadata": {"cellId": "a1"}}
    monkeypatch.setattr(cells.shell, "get_parent", lambda: request, raising=False)
    cells.run("%%arroyo\nSELECT 1")
    cells.run("%%arroyo\nSELECT 2")
    assert set(cells.session.names) == {"query_1"}


def test_a_cell_that_changes_its_name_stops_its_old_run(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"metadata": {"cellId": "a1"}}
    monkeypatch.setattr(cells.shell, "get_parent", lambda: request, raising=False)
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    cells.run("%%arroyo --no-wait\nSELECT 1")
    text = cells.run("%%arroyo --no-wait -n delays\nSELECT 1")
    assert text.startswith("stopped query_1: this cell now runs delays\n")
    assert cells.session.runs["query_1"].notes == ["replaced: its cell now runs delays"]
    assert cells.session.runs["delays"].notes == []


@pytest.mark.parametrize(
    ("cell_id", "line"), [("a1", ""), ("a1", "-n q"), ("", "-n q")]
)
def test_a_cell_that_only_declares_now_stops_its_old_run(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, cell_id: str, line: str
) -> None:
    request = {"metadata": {"cellId": cell_id}}
    monkeypatch.setattr(cells.shell, "get_parent", lambda: request, raising=False)
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    cells.run(f"%%arroyo --no-wait {line}\nSELECT 1")
    (run,) = cells.session.runs.values()
    cells.session.next = lambda name: None
    text = cells.run(f"%%arroyo {line}\nCREATE VIEW")
    assert text.startswith(f"stopped {run.name}: this cell only declares now\n")
    assert run.notes == ["replaced: its cell only declares now"]
    assert "stopped" not in cells.run(f"%%arroyo {line}\nCREATE VIEW")


def test_declarations_of_another_cell_stop_nothing(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"metadata": {"cellId": "a1"}}
    monkeypatch.setattr(cells.shell, "get_parent", lambda: request, raising=False)
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    cells.run("%%arroyo --no-wait\nSELECT 1")
    request["metadata"]["cellId"] = "b2"
    cells.session.next = lambda name: None
    assert cells.run("%%arroyo\nCREATE VIEW") == "nothing has changed"
    assert cells.session.runs["query_1"].notes == []


def test_definitions_print_one_line_of_what_changed(cells: Cells) -> None:
    cells.session.next = lambda name: None
    a, b = Field("a", TEXT), Field("b", BIGINT)
    cells.session.defines = (table("flights", a),)
    assert cells.run("%%arroyo\nCREATE") == "defined flights (impulse source, 1 column)"
    assert cells.run("%%arroyo\nCREATE") == "nothing has changed"
    cells.session.defines = (table("flights", Field("a", BIGINT), b),)
    assert cells.run("%%arroyo\nCREATE") == (
        "redefined flights (+b BIGINT, a TEXT to BIGINT)"
    )


def test_parameters_come_from_the_notebook(cells: Cells) -> None:
    cells.run("carrier = 'UA'")
    cells.run("%%arroyo\nSELECT :carrier, '{carrier} {{ X }} $carrier'")
    assert cells.session.calls[0][0] == "SELECT 'UA', '{carrier} {{ X }} $carrier'\n"
    cells.run("%%arroyo\nSELECT :nobody")
    assert "parameter ':nobody' has no value" in str(cells.error)
    assert len(cells.session.calls) == 1


def test_wrong_line_starts_nothing(cells: Cells) -> None:
    for line in ("--vew all", "--for soon", "--speed"):
        cells.run(f"%%arroyo {line}\nSELECT 1")
        assert isinstance(cells.error, ArroyoError)
    assert cells.session.calls == []


def test_what_was_overlooked_is_told(cells: Cells) -> None:
    run = FakeRun("d", RUNNING, FINISHED)
    run.plan.hints.append("trips has no WATERMARK")
    cells.session.next = lambda name: run
    assert cells.run("%%arroyo -n d\nSELECT 1").startswith("trips has no WATERMARK\n")
    assert "WATERMARK" not in cells.run("%%arroyo -n d --explain\nSELECT 1")


def test_answers_are_shown_and_who_still_uses_what_was_dropped(cells: Cells) -> None:
    cells.session.next = lambda name: None
    cells.session.answers = (
        StatementAnswer(("table",), (("flights",),)),
        StatementAnswer(text="plan"),
    )
    assert cells.run("%%arroyo\nSHOW TABLES") == "table\nflights\nplan"
    cells.session.answers = ()
    cells.session.catalog = Catalog().define(table("flights", Field("a", TEXT)))
    cells.session.runs["d"] = FakeRun("d", RUNNING)

    def drop(name: str) -> None:
        cells.session.catalog = Catalog()

    cells.session.next = drop
    told = cells.run("%%arroyo\nDROP TABLE flights")
    assert told.splitlines() == [
        "dropped flights (impulse source)",
        "flights is still used by d, which goes on",
    ]
    assert cells.run("%arroyo clear") == "cleared nothing"
    assert cells.run("%arroyo clear --all") == "cleared d"
    cells.session.background = [("broker 127.0.0.1:9092", "running")]
    assert re.search(r"broker 127.0.0.1:9092 +running", cells.run("%arroyo ps"))


def test_help_and_plans(cells: Cells) -> None:
    assert "--until" in cells.run("%%arroyo --help")
    assert cells.run("%%arroyo --no-run --explain\nSELECT 1") == "plan of script"
    assert cells.session.runs == {}
    assert cells.run("%%arroyo --explain -n d\nSELECT 1").startswith("plan of d")
    for magic, options in (("arroyo", FLAGS), ("arroyo_rows", ROWS_FLAGS)):
        documented = cells.shell.find_cell_magic(magic).__doc__
        assert all(name in documented for flag in options for name in flag.names)


@pytest.mark.parametrize("option", ["ttl", "for", "trigger", "speed", "until"])
def test_options_of_what_is_not_run_are_looked_at(cells: Cells, option: str) -> None:
    cells.run(f"%%arroyo --no-run --{option} soon\nSELECT 1")
    assert str(cells.error).startswith(("'soon' is not", "speed 'soon' is not"))
    assert cells.session.calls == []


def test_the_plan_of_what_is_not_run_has_the_time_to_live_of_its_cell(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session()
    monkeypatch.setattr(cells.session, "plan", session.plan)
    script = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
    SELECT counter, count(*) FROM ticks GROUP BY counter"""
    line = "%%arroyo --no-run --explain"
    assert "idle for 86400s" in cells.run(f"{line}\n{script}")
    assert "idle for 420s" in cells.run(f"{line} --ttl 7m\n{script}")
    # Without the plan the notes come first, and then the columns.
    told = cells.run(f"%%arroyo --no-run\n{script}")
    assert told.startswith("Notes\n")
    places = [told.index(word) for word in ("idle for", "counter", "--explain")]
    assert places == sorted(places)
    assert "Plan after" not in told
    session.close()


def test_line_commands(cells: Cells) -> None:
    assert cells.run("%arroyo ps") == "no run yet"
    assert cells.run("%arroyo tables") == "no table yet"
    cells.session.next = lambda name: FakeRun(name, RUNNING)
    cells.run("%%arroyo -n delays --no-wait\nSELECT 1")
    listed = cells.run("%arroyo ps")
    number = cells.shell.execution_count
    assert re.search(rf"delays +\[{number}\] +● running", listed)
    assert "%arroyo stop delays" in listed
    assert cells.run("%arroyo explain delays") == "plan of delays"
    assert cells.run("%arroyo stop --all") == "stopped delays"
    assert cells.run("%arroyo stop delays") == ("'delays' has ended already: stopped")
    cells.session.catalog = Catalog().define(table("flights", Field("a", TEXT)))
    assert "flights  impulse source  a TEXT" in cells.run("%arroyo tables")
    for line, said in (
        ("doctor a b", "%arroyo doctor takes at most the name of one run"),
        (
            "late delays",
            "unknown command '%arroyo late'\n  hint: ask the run itself, in a cell of "
            "Python: delays.late()",
        ),
        (
            "to_pandas",
            "unknown command '%arroyo to_pandas'\n  hint: ask the run itself, in a "
            "cell of Python: NAME.to_pandas()",
        ),
        ("stpo delays", "unknown command '%arroyo stpo'\n  hint: did you mean 'stop'?"),
        (
            "SHOW TABLES",
            "'%arroyo SHOW' is not a command\n  hint: SQL takes a cell",
        ),
        (
            "select 1",
            "'%arroyo select' is not a command\n  hint: SQL takes a cell of its",
        ),
        ("stop nobody", "there is no run 'nobody'"),
        ("stop", "%arroyo stop takes the name of one run"),
        ("explain --all", "%arroyo explain takes the name of one run"),
        ("ps delays", "%arroyo ps takes nothing more"),
        ("lookup fares", "%arroyo lookup takes a variable and the columns of its key"),
        ("lookup fares id", "there is no variable 'fares'"),
    ):
        cells.run(f"%arroyo {line}")
        assert str(cells.error).startswith(said)


@pytest.mark.parametrize("name", ["opne", "exti", "qit", "nope", "Inn", "displya"])
def test_a_name_without_a_value_is_not_taken_for_one_of_pythons_or_ipythons(
    cells: Cells, name: str
) -> None:
    """IPython keeps ``open``, ``exit``, ``quit`` and its history among variables."""
    cells.run(f"%arroyo lookup {name} id")
    assert f"assign the DataFrame to {name} in a cell" in str(cells.error)
    cells.run(f"%%arroyo\nSELECT id FROM trips WHERE id = :{name}")
    assert f"assign the variable {name} in a cell" in str(cells.error)


def test_a_dataframe_of_nearly_that_name_is_offered(cells: Cells) -> None:
    cells.shell.user_ns["fares"] = pa.table({"id": [1]})
    cells.run("%arroyo lookup fare id")
    assert "did you mean 'fares'?" in str(cells.error)


def test_a_dataframe_of_the_notebook_becomes_a_lookup_table(cells: Cells) -> None:
    cells.shell.user_ns["fares"] = pa.table({"id": [1], "day": ["Mo"], "fare": [2.5]})
    text = cells.run("%arroyo lookup fares id day")
    assert text == "defined fares (frame lookup, 3 columns)"
    assert "fares  frame lookup  id BIGINT" in cells.run("%arroyo tables")
    cells.shell.user_ns["fares"] = [1]
    cells.run("%arroyo lookup fares id")
    assert str(cells.error).startswith("a list is not a DataFrame")


def test_a_resumed_run_is_shown_as_its_cell_was(cells: Cells) -> None:
    cells.run("%%arroyo -n delays -o d\nSELECT 1")
    before = cells.shell.user_ns["d"]
    text = cells.run("%arroyo resume delays")
    assert cells.error is None
    assert "finished: the sources have ended" in text  # waited for, as headless cells
    assert cells.shell.user_ns["d"] is cells.session.runs["delays"] is not before
    cells.run("%arroyo resume nobody")
    assert str(cells.error) == "there is no run 'nobody'"


def test_every_command_is_done_completed_and_explained(cells: Cells) -> None:
    help_ = cells.run("%arroyo --help")
    completed = cells.shell.Completer.completions("%arroyo ", len("%arroyo "))
    with provisionalcompleter():
        found = {completion.text for completion in completed}
    magics = cells.shell.magics_manager.registry["ArroyoMagics"]
    assert isinstance(magics, ArroyoMagics)
    assert set(magics._commands.by_word) == set(COMMANDS)
    for name in COMMANDS:
        assert f"%arroyo {name}" in help_
        assert name in found


def test_config_lists_the_defaults_and_they_hold(cells: Cells) -> None:
    assert "ArroyoMagics.headless_for" in cells.run("%config ArroyoMagics")
    cells.run("%config ArroyoMagics.speed = '60'")
    cells.run("%%arroyo\nSELECT 1")
    assert cells.session.calls[0][1].speed == 60.0


class FakeScreen:
    """Keeps the frames it was given."""

    beats = True

    def __init__(self, pressed: Callable[[str], None]) -> None:
        self.frames: list[str] = []
        self.pressed = pressed
        self.closed = False

    @property
    def frame(self) -> str:
        return self.frames[-1]

    @frame.setter
    def frame(self, frame: str) -> None:
        self.frames.append(frame)

    def view(self) -> live.Data:
        return {"application/vnd.jupyter.widget-view+json": {}}

    def say_alive(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class FakeStage:
    """Outputs as lists of what they showed."""

    def __init__(self) -> None:
        self.outputs: list[list[live.Data]] = []
        self.screens: list[FakeScreen] = []
        self.busy = False

    def show(self, data: live.Data) -> Any:
        shown = [data]
        self.outputs.append(shown)

        class Slot:
            def update(self, data: live.Data) -> None:
                shown.append(data)

        return Slot()

    def screen(self, marker: str, pressed: Callable[[str], None]) -> FakeScreen:
        self.screens.append(FakeScreen(pressed))
        return self.screens[-1]


def test_a_panel_steps_until_what_its_page_asks_for() -> None:
    stage, run = FakeStage(), FakeRun("flights", RUNNING)
    live.Panel(run, stage)
    for name in ("step", "step late", "step window", "step x", "step ", "late"):
        stage.screens[0].pressed(name)
    assert run.notes == ["stepped", "stepped late", "stepped window"]


def test_a_panel_says_why_a_button_did_nothing() -> None:
    class Unpausable(FakeRun):
        def step(self, *, until: str | None = None) -> None:
            raise RunProblem("'q' cannot be <stepped>", hint="stop it")

    stage = FakeStage()
    live.Panel(Unpausable("q", RUNNING), stage)
    (screen,) = stage.screens
    screen.pressed("step")
    assert "&#x27;q&#x27; cannot be &lt;stepped&gt;" in screen.frames[-1]
    screen.pressed("pause")
    screen.pressed("view table")
    assert "stepped" not in screen.frames[-1]


def test_panel_leaves_a_plain_snapshot_when_its_run_ends() -> None:
    stage, run = FakeStage(), FakeRun("q", RUNNING)
    panel = live.Panel(run, stage)
    assert panel.refresh()
    assert panel.refresh()
    assert len(stage.screens[0].frames) == 1  # nothing has changed: nothing is sent
    stage.screens[0].pressed("stop")
    assert run.notes == ["stopped with its Stop button"]
    assert not panel.refresh()
    assert stage.screens[0].closed
    in_place_of_widget, beside = (shown[-1] for shown in stage.outputs)
    assert set(in_place_of_widget) == {"text/html", "text/plain"}
    assert "stopped with its Stop button" in in_place_of_widget["text/html"]
    assert beside["text/plain"] == "live view: %arroyo show q"
    assert not panel.refresh()


def test_a_panel_stays_live_at_the_end_of_the_rows_while_somebody_looks() -> None:
    stage, run = FakeStage(), FakeRun("q", RUNNING)
    panel = live.Panel(run, stage)
    (screen,) = stage.screens
    run.states = [FINISHED]
    assert panel.refresh()
    frames = len(screen.frames)
    assert "finished" in screen.frames[-1]
    still = stage.outputs[1][-1]["text/html"]
    assert "the sources have ended" in still  # at once, and not five seconds later
    run.states = []  # it is not looked at again: nothing changes
    assert panel.refresh()
    assert len(screen.frames) == frames
    run.states = [FINISHED]
    screen.pressed("view plan")
    assert "plan of q" in screen.frames[-1]
    # Nobody looks any more.
    screen.pressed("view overview")
    panel._seen_s -= live.UNSEEN_S + 1
    assert not panel.refresh()
    assert screen.closed


def test_a_frame_that_is_drawn_while_a_press_is_heard_does_not_end_the_panel() -> None:
    class Slow(FakeRun):
        def explain(self) -> str:
            assert panel.refresh()  # the refresher comes round while the text is made
            return super().explain()

    stage = FakeStage()
    panel = live.Panel(Slow("q", FINISHED), stage)  # type: ignore[arg-type]
    assert panel.refresh()
    stage.screens[0].pressed("view plan")
    assert "plan of q" in stage.screens[0].frames[-1]
    panel.close()


def test_what_is_saved_has_the_figure_whichever_tab_is_open() -> None:
    bar = WindowBar(datetime(2013, 1, 1), datetime(2013, 1, 2), 3, 0, WindowState.OPEN)
    windowed = replace(
        RUNNING,
        windowed=True,
        windows=(bar,),
        columns=("n",),
        numeric=(True,),
        rows=((1,),),
    )
    stage = FakeStage()
    panel = live.Panel(FakeRun("q", windowed), stage)  # type: ignore[arg-type]
    assert "data:image/svg" in stage.outputs[1][-1]["text/html"]
    for tab in ("table", "plan"):
        stage.screens[0].pressed(f"view {tab}")
        panel._still_s -= live.STILL_S + 1
        panel.refresh()
        assert "data:image/svg" in stage.outputs[1][-1]["text/html"]
    assert "plan of q" in stage.outputs[1][-1]["text/html"]
    panel.close()
    shown = [data for output in stage.outputs for data in output]
    assert all(data.get("text/plain") != "" for data in shown)


def test_of_many_panels_that_have_ended_the_oldest_become_pictures(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    monkeypatch.setattr(live, "MOST_ENDED", 2)
    refresher, stage = live.Refresher(), FakeStage()
    for n in range(4):
        refresher.add(live.Panel(FakeRun(f"q{n}", FINISHED), stage))  # type: ignore[arg-type]
    eventually(lambda: sum(screen.closed for screen in stage.screens) == 2)
    assert [screen.closed for screen in stage.screens] == [True, True, False, False]
    refresher.close()
    assert all(screen.closed for screen in stage.screens)


def test_a_panel_that_cannot_be_closed_keeps_no_other_from_being_drawn(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    class Broken(live.Panel):
        def close(self) -> None:
            raise OSError

    monkeypatch.setattr(live, "MOST_ENDED", 0)
    refresher, stage = live.Refresher(), FakeStage()
    refresher.add(Broken(FakeRun("broken", FINISHED), stage))  # type: ignore[arg-type]
    eventually(lambda: refresher._thread is None)
    refresher.add(live.Panel(FakeRun("q", FINISHED), stage))  # type: ignore[arg-type]
    eventually(lambda: stage.screens[1].closed)


def test_panel_shows_the_side_of_the_result_that_is_wished_at_once() -> None:
    changed = Change("u", 1, (1,), (2,))
    of_changes = replace(
        RUNNING, updating=True, columns=("n",), rows=((2,),), changes=(changed,)
    )
    stage = FakeStage()
    panel = live.Panel(FakeRun("q", of_changes), stage)
    (screen,) = stage.screens
    assert "<s>1</s> 2" not in screen.frames[-1]
    screen.pressed("view changelog")
    assert "<s>1</s> 2" in screen.frames[-1]
    screen.pressed("view table")
    assert "<s>1</s> 2" not in screen.frames[-1]
    panel.close()


def test_panel_shows_the_view_of_the_tab_that_was_pressed() -> None:
    windowed = replace(RUNNING, windowed=True)
    stage = FakeStage()
    panel = live.Panel(FakeRun("q", windowed), stage)  # type: ignore[arg-type]
    (screen,) = stage.screens
    usual = screen.frames[-1]
    screen.pressed("view late")
    assert "No row was late" in screen.frames[-1]
    screen.pressed("view plan")  # its text is made when it is asked for
    assert "plan of q" in screen.frames[-1]
    for message in ("view nothing", "view", "late", "select window x"):
        screen.pressed(message)
        assert "plan of q" in screen.frames[-1]
    screen.pressed("view overview")
    assert screen.frames[-1] == usual
    panel.close()


def test_panel_sends_nothing_to_a_page_that_is_closed() -> None:
    stage, run = FakeStage(), FakeRun("q", RUNNING)
    panel = live.Panel(run, stage)
    screen = stage.screens[0]
    panel._seen_s -= live.UNSEEN_S + 1
    run.states = [replace(RUNNING, rows_in=5)]
    assert panel.refresh()
    assert len(screen.frames) == 1
    screen.pressed("alive")
    assert panel.refresh()
    assert len(screen.frames) == 2
    panel._seen_s -= live.UNSEEN_S + 1
    stage.busy = True  # a page cannot be heard while a cell is being executed
    run.states = [replace(RUNNING, rows_in=6)]
    panel.refresh()
    assert len(screen.frames) == 3


def test_one_thread_refreshes_all_panels(eventually: Callable[..., None]) -> None:
    refresher, stage = live.Refresher(), FakeStage()
    runs = [FakeRun(f"q{n}", RUNNING) for n in range(5)]
    for run in runs:
        refresher.add(live.Panel(run, stage))  # type: ignore[arg-type]
    for screen in stage.screens:
        screen.pressed("stop")
    eventually(lambda: all(screen.closed for screen in stage.screens))
    eventually(lambda: refresher._thread is None)


@pytest.mark.parametrize(("moving", "frame_s"), [(0, 0.25), (2, 0.25), (5, 0.5)])
def test_the_panels_that_move_share_ten_messages_a_second(
    monkeypatch: pytest.MonkeyPatch, moving: int, frame_s: float
) -> None:
    """The loop with a clock of its own, which stands still but for the sleeps."""
    refresher, stage = live.Refresher(), FakeStage()
    runs = [FakeRun(f"q{n}", RUNNING) for n in range(6)]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        for run in runs[:moving]:
            run.states = [replace(RUNNING, rows_in=len(slept))]
        if len(slept) == 4 * len(runs):
            refresher._panels.clear()

    clock = SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0)
    monkeypatch.setattr(live, "time", clock)
    refresher._panels += [live.Panel(run, stage) for run in runs]  # type: ignore[arg-type]
    refresher._loop()
    # One panel after the other, evenly. How often is known from the round before, and
    # the first panel has nothing new in the first one.
    assert slept[:6] == [pytest.approx(0.25 / 6)] * 6
    assert slept[12:] == [pytest.approx(frame_s / 6)] * 12


@pytest.mark.parametrize(
    ("failures", "outlived"),
    [(live.MOST_FAILURES - 1, True), (live.MOST_FAILURES, False)],
)
def test_a_panel_outlives_frames_that_fail_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., None],
    failures: int,
    outlived: bool,
) -> None:
    class Brittle(FakeRun):
        failures = 0

        def snapshot(self, rows: int = 20) -> Snapshot:
            if self.failures:
                self.failures -= 1
                raise OSError("the socket is busy")
            return super().snapshot(rows)

    monkeypatch.setattr(live, "FRAME_S", 0.001)
    refresher, stage, run = live.Refresher(), FakeStage(), Brittle("q", FINISHED)
    panel = live.Panel(run, stage)
    run.failures = failures
    refresher.add(panel)
    eventually(lambda: refresher._thread is None)
    assert stage.screens[0].closed == outlived
    assert run.failures == 0


def test_a_feed_is_looked_into_by_its_url(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    def peek(
        url: str,
        options: Mapping[str, str],
        rows: int,
        offer: Callable[[str, str], bool],
    ) -> None:
        print(url, *options.items(), rows, offer(url, "CREATE TABLE t"))

    monkeypatch.setattr("arroyo_nb.feed_commands.peek", peek)
    line = '%arroyo peek ws://h/x?a=b --headers "X-Key: {{ KEY }}" -n 2'
    shown = "ws://h/x?a=b ('headers', 'X-Key: {{ KEY }}') 2 True"
    assert cells.run(line) == shown
    # A statement is offered once.
    assert cells.run("%arroyo peek ws://h/x?a=b") == "ws://h/x?a=b 5 False"
    shown = "nats://{{ HOST }} ('stream', 'orders') 5 True"
    line = '%arroyo peek "nats://{{ HOST }}" --stream orders'
    assert cells.run(line) == shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("peek ws://h broker:9092", "%arroyo peek takes a URL alone"),
        ("peek orders --headers 'A: b'", "--headers is for a URL"),
        ("peek orders --stream a", "--stream is for a URL"),
        ("peek host:4222 --stream a", "a URL begins with what it is: nats://"),
        ("peek in/a.avro", "'in/a.avro' is no name of a topic"),
    ],
)
def test_what_a_topic_has_and_a_feed_has_not_is_told(
    cells: Cells, line: str, said: str
) -> None:
    cells.run(f"%arroyo {line}")
    assert isinstance(cells.error, RunProblem)
    assert said in str(cells.error)
