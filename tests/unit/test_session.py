"""A session that nobody closes leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.session import Session

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


def test_a_test_in_a_file_that_is_not_utf_8_is_told(tmp_path):
    file = tmp_path / "sums.test"
    file.write_bytes(b"GIVEN caf\xe9s\n")
    with Session() as session, pytest.raises(RunProblem) as told:
        session.test(file)
    assert "is not text in UTF-8: byte 9" in told.value.message
