from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from machine import allowed

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.owner import JobProcess
from arroyo_nb.jobs.runner.counts import Counts, noted_counts
from arroyo_nb.jobs.runner.log import JsonLog
from arroyo_nb.jobs.runner.service import SIGNALS, serve
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.run.options import RunOptions


class Run:
    """A run that a signal meets at its second look, and that ends when it is told."""

    error, running_s, state = None, 1.0, RunState.RUNNING
    outputs, options = (), RunOptions()

    def snapshot(self, rows):
        return Snapshot("job", self.state, rows_in=8, rows_out=3)

    def __init__(self, number, stubborn=False):
        self._number, self._stubborn, self.looks = number, stubborn, 0

    def stop(self, note, mode):
        self.note = note
        if not self._stubborn:
            self.state = RunState.STOPPED

    def wait_quietly(self, timeout=None):
        self.looks += 1
        if self.looks == 2:
            os.kill(os.getpid(), self._number)
        if self._stubborn and self.looks > 2:
            os.kill(os.getpid(), self._number)
            time.sleep(0)  # where the interpreter looks for signals
        return self.state.ended


@pytest.fixture
def out():
    return io.StringIO()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_stops_it_with_what_is_done_kept(out, number, tmp_path):
    before = [signal.getsignal(each) for each in SIGNALS]
    run = Run(number)
    log = JsonLog("job", out)
    ended = serve("job", lambda: run, log, folder=tmp_path, port=0)
    assert (ended.state, ended.error, ended.signal) == (JobState.STOPPED, None, number)
    assert run.note == signal.Signals(number).name
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    events = [event["event"] for event in told]
    assert events == ["serving", "job_started", "running", "stopping", "job_ended"]
    assert told[2]["where"] == "from the beginning"
    assert (told[-1]["state"], told[-1]["rows_out"]) == ("stopped", 3)
    assert noted_counts(tmp_path) == Counts(rows_in=8, rows_out=3)
    noted = JobProcess.of(tmp_path)
    assert (noted.state, noted.pid, noted.port) == (
        "stopped",
        os.getpid(),
        told[0]["port"],
    )
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_second_signal_does_not_wait(out, tmp_path):
    run = Run(signal.SIGTERM, stubborn=True)
    with pytest.raises(KeyboardInterrupt):
        serve("job", lambda: run, JsonLog("job", out), folder=tmp_path)


def test_why_it_failed_is_given(out, tmp_path):
    wrong = RunProblem("it is wrong")

    def begin():
        raise wrong

    ended = serve("job", begin, JsonLog("job", out), folder=tmp_path)
    assert ended == (JobState.FAILED, wrong, None, False)
    # It never had the folder, which may be that of another process.
    assert JobProcess.of(tmp_path) is None


HANGS = """
import sys, time
from pathlib import Path
from arroyo_nb.jobs.runner.log import JsonLog
from arroyo_nb.jobs.runner.service import serve
from arroyo_nb.jobs.runner.stop_limit import StopLimit
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.run.options import RunOptions

class Run:
    error, running_s, state, note = None, 1.0, RunState.RUNNING, ""
    outputs, options = (), RunOptions()

    def snapshot(self, rows):
        return Snapshot("job", self.state)

    def stop(self, note, mode):
        time.sleep(1000)  # as a disk that answers no more

    def wait_quietly(self, timeout=None):
        time.sleep(0.05)
        return False

log = JsonLog("job", sys.stderr)
serve("job", Run, log, folder=Path(sys.argv[1]), stop_limit=StopLimit(1.0))
"""


def test_a_stop_that_hangs_is_ended_at_its_limit(tmp_path):
    command = [sys.executable, "-c", HANGS, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            events = (json.loads(line) for line in process.stderr)
            next(event for event in events if event["event"] == "running")
            told_s = time.monotonic()
            process.send_signal(signal.SIGTERM)
            last = [event["event"] for event in events][-1]
            assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert last == "stop_forced"
    assert 1.0 <= time.monotonic() - told_s < allowed(5)
