"""What a job notes of itself."""

from dataclasses import replace

from arroyo_nb.jobs.owner import JobProcess, requested_mode
from arroyo_nb.jobs.runner.record import JobRecord


class Told(list):
    def __call__(self, event, **facts):
        self.append((event, facts))


def test_the_notes_of_another_process_are_left_alone(tmp_path):
    """While a job waits to begin again, another process may take its folder."""
    record = JobRecord("job", tmp_path, Told())
    record.tell("running")
    record.tell("restarting")
    assert JobProcess.of(tmp_path).state == "waiting"
    replace(JobProcess.of(tmp_path), pid=1, state="running").write(tmp_path)
    record.tell("job_ended", state="failed")
    assert (JobProcess.of(tmp_path).pid, JobProcess.of(tmp_path).state) == (
        1,
        "running",
    )
    record.tell("running")
    record.tell("stopping")


def test_a_request_of_before_is_not_this_jobs(tmp_path):
    (tmp_path / "stop").write_text("immediate")
    JobRecord("job", tmp_path, Told()).tell("running")
    assert requested_mode(tmp_path) is None


def test_a_full_disk_ends_no_job(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JobProcess, "write", full)
    told = Told()
    JobRecord("job", tmp_path, told).tell("running")
    assert [event for event, _ in told] == ["note", "running"]
    assert "No space left on device" in told[0][1]["text"]


def test_when_and_why_it_ended_is_noted(tmp_path):
    record = JobRecord("job", tmp_path, Told())
    record.tell("running")
    began = JobProcess.of(tmp_path)
    began = replace(began, since="2026-01-02T03:04:05+00:00")
    began.write(tmp_path)
    assert began.state_since == began.since
    record.tell("job_ended", state="failed", error="it is wrong")
    ended = JobProcess.of(tmp_path)
    assert (ended.state, ended.error) == ("failed", "it is wrong")
    assert ended.state_since == ended.ended > began.since
