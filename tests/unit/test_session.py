"""A session that nobody closes leaves nothing behind."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.session import Session
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.decorators import udf

HELD = "session = Session(); print(session._runs.temporary_folder('r'))"
DROPPED = "print(Session()._runs.temporary_folder('r'))"
ENGINE_CLOSED = HELD + "; session.engine.close()"
CLOSED = HELD + "; session.close()"


@pytest.mark.parametrize("script", [HELD, DROPPED, ENGINE_CLOSED, CLOSED])
def test_the_temporary_folder_goes_with_the_process(script):
    code = f"from arroyo_nb.session import Session; {script}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    folder = Path(done.stdout.strip())
    assert folder.parent.name.startswith("arroyo_nb-")
    assert not folder.parent.exists()
    assert done.stderr == ""


RUNNING = """
from types import SimpleNamespace
from arroyo_nb.session import Session

run = SimpleNamespace(
    name="r",
    discard=lambda reason: print(reason),
    wait_quietly=lambda timeout: 0,
    detach=lambda: None,
)
{}._runs.add(run)
"""
NAMED = "session = Session(state_dir={!r}); session"


@pytest.mark.parametrize("made", ["Session(state_dir={!r})", NAMED])
def test_runs_with_a_state_folder_end_well_with_the_process(tmp_path, made):
    code = RUNNING.format(made.format(str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("its session was closed\n", "")


FORKED = """
import os, sys
from arroyo_nb.session import Session
session = Session()
folder = session._runs.temporary_folder("r")
child = os.fork()
if not child:
    sys.exit(0)
os.waitpid(child, 0)
print(folder.exists())
"""


def test_a_forked_child_leaves_its_parents_folder_alone():
    code = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("options", [{"begin": "ealiest"}, {"most": 0}])
def test_a_recording_is_refused_before_it_asks_anybody(options):
    (name,) = options
    with pytest.raises(RunProblem, match=f"^{name} "):
        Session().record("t", "a.tape", servers="127.0.0.1:1", **options)


ROWS = "CREATE TABLE n WITH (connector = 'impulse', event_rate = 10);"
BIG = "CREATE VIEW big AS SELECT counter FROM n WHERE counter > {};"


def test_runs_of_a_view_or_a_function_that_was_changed_are_stale():
    def half(n: int) -> int:
        return n // 2

    with Session() as session:
        session.register(half)
        session.run(ROWS + BIG.format(5))
        stale = {}
        for name, sql in (
            ("view", "SELECT counter FROM big"),
            ("function", "SELECT half(counter) FROM n"),
            ("neither", "SELECT counter FROM n"),
        ):
            marks = stale[name] = []
            run = SimpleNamespace(
                name=name, plan=session.plan(sql), mark_stale=marks.append
            )
            session._runs.add(run)
        session.run(BIG.format(5))
        session.register(half)
        assert stale == {"view": [], "function": [], "neither": []}

        def half(n: int) -> int:
            return n // 2 + 1

        session.register(half)
        session.run(BIG.format(6))
        assert stale == {"view": ["big"], "function": ["half()"], "neither": []}
        for name in stale:
            del session._runs._runs[name]


def test_a_function_of_the_process_marks_the_runs_of_each_session():
    def third(n: int) -> int:
        return n // 3

    with Session() as session:
        try:
            udf(third)
            session.run(ROWS)
            marks = []
            plan = session.plan("SELECT third(counter) FROM n")
            session._runs.add(
                SimpleNamespace(name="r", plan=plan, mark_stale=marks.append)
            )

            def third(n: int) -> int:
                return n // 3 + 1

            udf(third)
            assert marks == ["third()"]
            del session._runs._runs["r"]
        finally:
            registry.forget("third")


def test_a_test_in_a_file_that_is_not_utf_8_is_told(tmp_path):
    file = tmp_path / "sums.test"
    file.write_bytes(b"GIVEN caf\xe9s\n")
    with Session() as session, pytest.raises(RunProblem) as told:
        session.test(file)
    assert "is not text in UTF-8: byte 9" in told.value.message
