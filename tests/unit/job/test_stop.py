"""Stopping the job of another process."""

import signal
import subprocess
import sys

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.job.stop import FORCE, asked_mode, stop
from arroyo_nb.run.folder import RunFolder, holder
from arroyo_nb.run.stopping import StopMode

HOLDS = """
import signal, sys
from pathlib import Path
from arroyo_nb.job.stop import asked_mode
from arroyo_nb.run.folder import RunFolder

held = RunFolder(Path(sys.argv[1]), plan_text="plan", name="a job")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(asked_mode(held.path).value))
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def process(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout.readline() == "held\n"
        yield started
        started.kill()


def test_a_job_is_told_how_to_stop(process, tmp_path):
    assert holder(tmp_path) == process.pid
    told = []
    stop(tmp_path, "graceful", tell=told.append)
    assert holder(tmp_path) is None
    assert process.communicate()[1] == "graceful\n"
    waiting = f"waiting for process {process.pid}, which runs the job, to stop"
    assert told == [f"{waiting} (graceful)"]
    assert asked_mode(tmp_path) is None


def test_a_job_is_killed(process, tmp_path):
    stop(tmp_path, FORCE)
    assert process.wait(10) == -signal.SIGKILL
    assert asked_mode(tmp_path) is None


def test_a_request_is_forgotten_once_it_was_heard(tmp_path):
    (tmp_path / "stop").write_text("immediate")
    assert asked_mode(tmp_path) is StopMode.IMMEDIATE
    assert asked_mode(tmp_path) is None


@pytest.mark.parametrize("there", [False, True])
def test_where_no_job_runs_none_is_stopped(tmp_path, there):
    if there:
        RunFolder(tmp_path, plan_text="plan", name="a job").release()
    with pytest.raises(RunProblem, match="no job runs in"):
        stop(tmp_path, "checkpoint")
    assert not list(tmp_path.glob("stop*"))


def test_a_process_that_is_gone_is_of_another_host(tmp_path, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setattr("arroyo_nb.job.stop.holder", lambda _: gone.pid)
    with pytest.raises(RunProblem, match="of another host") as told:
        stop(tmp_path, FORCE)
    assert told.value.hint == "stop it there"
