"""Who runs a folder, and stopping a job from elsewhere."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from arroyo_nb.cli import main
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs import registry
from arroyo_nb.jobs.owner import (
    JobProcess,
    job_in,
    refuse_second,
    requested_mode,
    stop_job,
)
from arroyo_nb.jobs.status import status
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.lock import holder

JOB = """
import signal, sys
from dataclasses import replace
from pathlib import Path
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.jobs.owner import JobProcess, requested_mode
path = Path(sys.argv[1])
folder = StateFolder(path, identity="plan", name="job")
job = JobProcess("job", "running", port=8080)
if sys.argv[2] == "told":
    job.write(path)
def stop(*_):
    print(requested_mode(path).value, flush=True)
    folder.release()
    replace(job, state="stopped").write(path)
    sys.exit()
signal.signal(signal.SIGTERM, stop)
print("held", flush=True)
while True:
    signal.pause()
"""
STARTING = """
import signal, sys
from pathlib import Path
from arroyo_nb.jobs.registry import listed
folder = Path(sys.argv[1])
with listed(folder.parents[1] / "job.yaml", folder, "job"):
    print("held", flush=True)
    while True:
        signal.pause()
"""
SPEC = """version: 1
name: job
sql: |
  CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);
  SELECT counter FROM t;
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """The list of jobs of this test alone."""
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def started(tmp_path):
    """Starts a process that has the folder of a job."""
    processes = []

    def start(told="told", script=JOB):
        command = [sys.executable, "-c", script, str(tmp_path / "state" / "job"), told]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state" / "job"


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(SPEC)
    return path


def test_a_job_is_stopped_from_elsewhere_and_lets_go(started, folder, spec):
    process = started()
    assert holder(folder) == f"run 'job' of process {process.pid}"
    now = status(spec)
    assert (now.state, now.pid) == ("running", process.pid)
    assert now.address == "http://127.0.0.1:8080/healthz"
    assert stop_job(folder, mode=StopMode.GRACEFUL).pid == process.pid
    assert process.wait(20) == 0
    assert process.stdout.read() == "graceful\n"
    assert requested_mode(folder) is None
    assert holder(folder) is None
    assert status(spec).state == "stopped"
    assert stop_job(folder) is None
    StateFolder(folder, identity="plan", name="next").release()


def test_a_job_is_killed_where_no_mode_is_wanted(started, folder, spec):
    process = started()
    assert main(["stop", str(spec), "--mode", "force"]) == 0
    assert process.wait(20) == -signal.SIGKILL
    assert requested_mode(folder) is None
    assert main(["stop", str(spec)]) == 1


def test_what_is_no_job_is_not_stopped(started, folder, spec):
    process = started("silent")
    with pytest.raises(RunProblem, match="which is not a job that can be stopped"):
        stop_job(folder)
    assert process.poll() is None
    assert status(spec).state == f"in use by run 'job' of process {process.pid}"


def test_a_process_that_has_the_number_of_a_killed_job_is_left_alone(started, folder):
    """The notes of a job outlive it, and the system gives its number to others."""
    process = started()
    job = JobProcess.of(folder)
    replace(job, started=job.started - 1).write(folder)
    with pytest.raises(RunProblem, match="which is not a job"):
        stop_job(folder)
    assert process.poll() is None


def test_a_killed_job_is_called_so(started, folder, spec):
    assert status(spec).state == "not run yet"
    process = started()
    process.kill()
    process.wait(20)
    assert status(spec).state == "killed"
    assert stop_job(folder) is None


def test_notes_that_are_torn_tell_nothing(folder, spec):
    StateFolder(folder, identity="plan", name="job").release()
    (folder / "job.json").write_text("{")
    assert JobProcess.of(folder) is None
    assert status(spec).state == "stopped"


def test_who_only_looks_at_the_lock_refuses_no_run(folder, monkeypatch):
    StateFolder(folder, identity="plan", name="job").release()
    with (folder / "lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        # The look is over once the run has waited for it.
        monkeypatch.setattr("time.sleep", lambda _: looking.close())
        StateFolder(folder, identity="plan", name="next").release()
        assert looking.closed


def test_a_job_that_stops_is_not_asked_twice(started, folder, monkeypatch):
    """A second signal would cut off what is being written."""
    process = started()
    replace(JobProcess.of(folder), pid=process.pid, state="stopping").write(folder)
    heard = []

    def enough():
        raise TimeoutError

    with monkeypatch.context() as patch:
        # 0 only looks whether it lives.
        patch.setattr("os.kill", lambda *told: told[1] and heard.append(told))
        with pytest.raises(TimeoutError):
            stop_job(folder, enough)
        assert (heard, requested_mode(folder)) == ([], None)
        with pytest.raises(TimeoutError):
            stop_job(folder, enough, StopMode.IMMEDIATE)
    assert heard == [(process.pid, signal.SIGTERM)]


def test_a_job_may_end_before_the_signal_comes(started, folder, monkeypatch):
    process, kill = started(), os.kill

    def late(pid, number):
        if number:
            kill(process.pid, signal.SIGKILL)
            process.wait()
        kill(pid, number)

    monkeypatch.setattr("os.kill", late)
    stopped = stop_job(folder)
    assert stopped is not None
    assert stopped.pid == process.pid


@pytest.mark.parametrize("before", [False, True])
def test_a_job_that_starts_is_told_and_stopped(started, folder, spec, capsys, before):
    """Until it runs, its folder has no notes, or those of a process that is gone."""
    if before:
        killed = started()
        killed.kill()
        killed.wait(20)
    process = started(script=STARTING)
    assert (status(spec).state, status(spec).pid) == ("starting", process.pid)
    assert main(["status", str(spec)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"job: starting, process {process.pid}, since 20")
    assert "ready: no: the job is starting" in said
    assert main(["status", str(spec), "--live"]) == 0
    assert main(["status", str(spec), "--ready"]) == 1
    assert main(["stop", str(spec), "--mode", "graceful"]) == 0
    assert f"stopped 'job', process {process.pid}" in capsys.readouterr().err
    assert process.wait(20) == -signal.SIGTERM
    assert requested_mode(folder) is None
    assert status(spec).state == ("killed" if before else "not run yet")


@pytest.mark.parametrize(
    ("script", "state"), [(JOB, "is running"), (STARTING, "is starting")]
)
def test_a_job_that_runs_is_not_begun_again(
    started, folder, spec, capsys, monkeypatch, script, state
):
    """It is refused before anything is written into its log."""

    def begun(*arguments, **options):
        raise AssertionError("nothing is begun")

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", begun)
    process = started(script=script)
    for more in ((), ("--fresh",)):
        assert main(["run", str(spec), *more]) == 1
        said = capsys.readouterr().err
        assert f"'job' {state} already, in process {process.pid} since 20" in said
        assert "arroyo-nb stop" in said
    assert not list(folder.parent.glob("*.events*"))
    assert process.poll() is None


def test_a_job_that_has_ended_is_over_before_its_process_is(started, folder, spec):
    """It is stopped, and begun again, while the engine of before still shuts down."""
    process = started(script=STARTING)
    job = job_in(folder)
    assert (job.state, job.pid) == ("starting", process.pid)
    folder.mkdir(parents=True)
    replace(job, state="stopped").write(folder)
    assert job_in(folder).state == "stopped"
    refuse_second(folder)
    assert stop_job(folder) is None
    replace(job, state="stopped", started=job.started - 1).write(folder)
    assert job_in(folder).state == "starting"


def test_a_folder_that_a_notebook_runs_is_refused_before_its_log(
    started, folder, spec, capsys
):
    started("silent")
    assert main(["run", str(spec)]) == 1
    assert "is in use by run 'job' of process" in capsys.readouterr().err
    assert not list(folder.parent.glob("*.events*"))


def test_a_job_of_another_host_or_container_stays_and_is_not_listed(
    folder, tmp_path, monkeypatch
):
    with registry.listed(tmp_path / "job.yaml", folder, "job"):
        (entry,) = (tmp_path / "cache" / "jobs").glob("*.json")
        for change in (
            lambda: monkeypatch.setattr(socket, "gethostname", lambda: "far"),
            lambda: monkeypatch.setattr(registry, "pid_namespace", lambda: "7"),
        ):
            assert [job.name for job in registry.running()] == ["job"]
            change()
            # To whom it may be as dead as any process that is not there.
            monkeypatch.setattr(registry, "process_start", lambda _: None)
            assert registry.running() == []
            assert entry.exists()
            monkeypatch.undo()
            monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))
    assert not entry.exists()
