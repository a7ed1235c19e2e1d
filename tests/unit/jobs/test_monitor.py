"""A job is looked at all along, whatever fails meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.cli import job_status
from arroyo_nb.jobs.owner import JobProcess
from arroyo_nb.jobs.runner import monitor as monitors
from arroyo_nb.jobs.runner.counts import PROGRESS, noted_counts, read_progress
from arroyo_nb.jobs.runner.log import sentence
from arroyo_nb.jobs.runner.monitor import Monitor
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import RunState, Snapshot, SourceProgress
from arroyo_nb.run.options import RunOptions

FULL = OSError(28, "No space left on device")


class Run:
    """A run as a monitor sees it."""

    options = RunOptions()

    def __init__(self, running_s: float = 5.0, rows_in: int = 0, *outputs: Any) -> None:
        self.running_s, self.rows_in, self.outputs = running_s, rows_in, outputs
        self.note, self.batch_id = "", 1

    def snapshot(self, _: int) -> Snapshot:
        return Snapshot(
            "job",
            RunState.RUNNING,
            rows_in=self.rows_in,
            note=self.note,
            batch_id=self.batch_id,
        )


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOK_S", "TELL_S", "ASK_S"):
        monkeypatch.setattr(monitors, name, 0.01)


def wait_for(happened: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def noted_anew(folder: Path) -> bool:
    """Whether the job notes something after now."""
    (folder / PROGRESS).unlink(missing_ok=True)
    wait_for((folder / PROGRESS).exists)
    return True


def test_a_slow_start_tells_its_step_and_a_micro_batch_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitors, "FIRST_STEP_S", 0.02)
    steps: list[str | None] = []

    def tell(event: str, **facts: Any) -> None:
        if event == "step":
            steps.append(sentence(event, facts))

    run: Any = Run()
    run.note, run.batch_id = "starting Spark, 8 s", None
    job: Any = SimpleNamespace(run=run, state=JobState.STARTING)
    with Monitor(job, tmp_path, tell).looking():
        wait_for(lambda: len(steps) == 2)
        assert read_progress(tmp_path)["activity"] == "starting Spark, 8 s"
        run.batch_id = 0
        time.sleep(0.1)
        told = len(steps)
        time.sleep(0.1)
    assert steps[0] == "starting Spark, 8 s"
    assert len(steps) == told


def test_it_goes_on_where_nothing_can_be_told(tmp_path: Path) -> None:
    told: list[str] = []

    def tell(event: str, **_: object) -> None:
        told.append(event)
        raise FULL

    job: Any = SimpleNamespace(run=Run(), state=JobState.RUNNING)
    with Monitor(job, tmp_path, tell).looking():
        wait_for(lambda: len(told) > 3)
        assert noted_anew(tmp_path)
    assert told.count("note") == 1


def test_what_asking_a_server_raises_does_not_end_the_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    told: list[tuple[str, object]] = []

    def check(give_up: object) -> None:
        asked.append(give_up)
        raise FULL

    output = SimpleNamespace(
        is_reaching=True, check=check, sink=SimpleNamespace(name="users")
    )
    job: Any = SimpleNamespace(run=Run(5.0, 0, output), state=JobState.RUNNING)
    monitor = Monitor(job, tmp_path, lambda e, **f: told.append((e, f.get("text"))))
    monkeypatch.setattr(monitor, "look", lambda: monitors.Sight(JobState.RUNNING))
    with monitor.looking():
        wait_for(lambda: len(asked) > 2)
    text = f"the job could not be looked at: OSError: {FULL}"
    assert [each for each in told if each[0] == "note"] == [("note", text)]


def test_a_job_that_waits_or_starts_again_is_live(tmp_path: Path) -> None:
    JobProcess("job", "running").write(tmp_path)
    job: Any = SimpleNamespace(run=Run(rows_in=3), state=JobState.RUNNING)
    with Monitor(job, tmp_path, lambda *_, **__: None).looking():
        assert noted_anew(tmp_path)
        job.run, job.state = Run(running_s=0.0), JobState.WAITING
        JobProcess("job", "waiting").write(tmp_path)
        assert noted_anew(tmp_path)
        wait_for(lambda: json.loads((tmp_path / PROGRESS).read_text())["reasons"])
        said: list[str] = []
        assert (
            job_status.status(tmp_path, probe="live", as_json=True, say=said.append)
            == job_status.GOOD
        )
    status = json.loads(said[0])
    assert (status["live"], status["ready"]) == (True, False)
    assert status["reasons"] == ["the job is waiting"]
    assert status["counts"]["rows_in"] == 3


def test_nothing_is_noted_before_a_run_has_the_folder(tmp_path: Path) -> None:
    looks: list[None] = []

    class Refused(Run):
        def snapshot(self, _: int) -> Snapshot:
            looks.append(None)
            return super().snapshot(0)

    job: Any = SimpleNamespace(run=Refused(running_s=0.0), state=JobState.STARTING)
    with Monitor(job, tmp_path, lambda *_, **__: None).looking():
        wait_for(lambda: len(looks) > 3)
    assert not (tmp_path / PROGRESS).exists()


def test_records_with_unknown_fields_are_counted_over_all_runs(tmp_path: Path) -> None:
    JobProcess("job", "running").write(tmp_path)
    told: list[dict[str, Any]] = []

    class Newer(Run):
        def snapshot(self, _: int) -> Snapshot:
            source = SourceProgress(
                "t", 9, None, timedelta(), bounded=False, unknown_records=self.rows_in
            )
            return Snapshot("job", RunState.RUNNING, sources=(source,))

    def tell(event: str, **facts: Any) -> None:
        if event == "unknown_fields":
            facts.pop("level")
            told.append(facts)

    def wait_for_note(number: int, in_all: int) -> None:
        job.run = Newer(5.0, number)
        wait_for(lambda: noted_counts(tmp_path).unknown_records == in_all)
        wait_for(lambda: told and told[-1]["unknown_records"] == in_all)

    job: Any = SimpleNamespace(run=Newer(5.0, 0), state=JobState.RUNNING)
    with Monitor(job, tmp_path, tell).looking():
        wait_for_note(3, 3)
        wait_for_note(2, 5)  # the run was restarted, and read other records
    with Monitor(job, tmp_path, tell).looking():  # another process of the job
        wait_for_note(4, 9)
    numbers = [(one["new_unknown_records"], one["unknown_records"]) for one in told]
    assert numbers == [(3, 3), (2, 5), (4, 9)]
    assert sentence("unknown_fields", told[-1]) == (
        "4 records in the last minute have fields that the schema of their table "
        "lacks; in all 9"
    )
    said: list[str] = []
    job_status.status(tmp_path, probe="", as_json=False, say=said.append)
    assert "records with fields that their table lacks: 9" in said[0].splitlines()


@pytest.mark.parametrize("state", ["running", "starting"])
def test_a_status_says_what_its_own_process_does(tmp_path: Path, state: str) -> None:
    JobProcess("job", state).write(tmp_path)
    run: Any = Run()
    run.note = "preparing the first micro-batch, 8 s"
    job: Any = SimpleNamespace(run=run, state=JobState.RUNNING)
    said: list[str] = []
    with Monitor(job, tmp_path, lambda *_, **__: None).looking():
        assert noted_anew(tmp_path)
        job_status.status(tmp_path, probe="", as_json=False, say=said.append)
    now = [line for line in said[0].splitlines() if line.startswith("now: ")]
    # While it starts, the folder has what the process before has noted.
    assert now == [f"now: {run.note}"] * (state == "running")
