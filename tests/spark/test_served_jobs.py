"""A job that goes on by itself: its engine dies, it is stopped, it is begun again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from arroyo_nb.cli import main
from arroyo_nb.cli.exit_codes import STOPPED as BY_SIGNAL
from arroyo_nb.jobs.spec import JobSpec, TableDefinition

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '200')"
SPEC = JobSpec(
    "counting",
    "CREATE TABLE answers WITH (connector = 'single_file', path = '{{ ANSWERS }}', "
    "type = 'sink', format = 'json');\n"
    "INSERT INTO answers SELECT counter FROM ticks;\n",
    (TableDefinition("ticks", TICKS),),
)
WITHIN_S = 120
STOPPED = BY_SIGNAL + signal.SIGTERM


class Job:
    """A process that is a job."""

    def __init__(self, process):
        self.process = process
        self.events = []

    def event(self, name):
        """Wait for the next event of that name."""
        for line in self.process.stderr:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no {name} in {self.events}")

    def asked(self, path, port):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.read().decode()


@contextmanager
def started(folder):
    path = folder / "job.yaml"
    path.write_text(SPEC.text)
    command = [sys.executable, "-m", "arroyo_nb.cli", "run", str(path)]
    with subprocess.Popen(
        [*command, "--port", "0", "--log", "json"],
        env=os.environ | {"ANSWERS": str(folder / "answers.json")},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Job(process)
        finally:
            process.kill()


def until(condition):
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def counters(folder):
    path = folder / "answers.json"
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0].splitlines()
    return [json.loads(line)["counter"] for line in whole]


def engine(pid):
    """The process of a job's Spark."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = ""
    for thread in threads:
        with suppress(FileNotFoundError):  # one that has ended meanwhile
            children += (thread / "children").read_text()
    (java,) = (
        int(child)
        for child in children.split()
        if b"java" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    return java


def test_a_job_survives_its_engine_and_goes_on_after_a_stop(tmp_path, capsys):
    with started(tmp_path) as job:
        port = job.event("serving")["port"]
        until(lambda: counters(tmp_path))
        assert json.loads(job.asked("/healthz", port))["state"] == "running"
        os.kill(engine(job.process.pid), signal.SIGKILL)
        assert "the engine died" in job.event("restarting")["error"]
        before = len(counters(tmp_path))
        until(lambda: len(counters(tmp_path)) > before)
        told = job.asked("/metrics", port)
        assert 'arroyo_nb_restarts_total{job="counting"} 1.0' in told
        assert json.loads(job.asked("/readyz", port))["ready"]
        assert main(["status", str(tmp_path / "job.yaml"), "--ready"]) == 0
        assert main(["jobs", str(tmp_path)]) == 0
        assert re.search(
            rf"counting +running +{job.process.pid}", capsys.readouterr()[0]
        )
        job.process.send_signal(signal.SIGTERM)
        ended = job.event("job_ended")
        assert (ended["state"], ended["rows_out"]) == (
            "stopped",
            len(counters(tmp_path)),
        )
        assert job.process.wait(WITHIN_S) == STOPPED
    before = len(counters(tmp_path))
    with started(tmp_path) as job:
        until(lambda: len(counters(tmp_path)) > before)
        asked = ["stop", str(tmp_path / "job.yaml"), "--mode", "graceful"]
        assert main(asked) == 0
        assert job.event("stopping")["mode"] == "graceful"
        assert job.event("job_ended")["state"] == "stopped"
        assert job.process.wait(WITHIN_S) == STOPPED
        resumed = next(e for e in job.events if e["event"] == "running")
        assert resumed["where"].startswith("after batch ")
        # Of both processes, and of both engines of the first.
        assert job.events[-1]["rows_out"] == len(counters(tmp_path))
    found = counters(tmp_path)
    assert found == list(range(len(found)))
    spec = str(tmp_path / "job.yaml")
    assert main(["status", spec, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["rows_out"] == len(found)
    assert main(["status", spec, "--live"]) == 1
    capsys.readouterr()
    assert main(["logs", spec]) == 0
    said = capsys.readouterr().out
    assert "restarting in 0.5 s" in said
    assert said.count("ended: stopped") == 2
