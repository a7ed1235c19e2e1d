"""The table of jobs, in HTML and as text."""

from datetime import UTC, datetime
from pathlib import Path

from arroyo_nb.views.jobs import Row, jobs

NOW = datetime(2024, 3, 1, 12, 0, 30, tzinfo=UTC)


def test_what_runs_is_told_with_where_it_is_asked():
    runs = Row(
        "hours",
        "running",
        Path("/work/jobs/hours"),
        4711,
        "2024-03-01T12:00:00+00:00",
        2,
        "http://127.0.0.1:8080/healthz",
    )
    rests = Row("days", "stopped", Path("/work/jobs/days"))
    head, first, second = jobs([runs, rests], NOW)["text/plain"].splitlines()
    assert head.split() == [
        "job",
        "state",
        "process",
        "running",
        "for",
        "restarts",
        "health",
        "folder",
    ]
    assert first.split() == [
        "hours", "running", "4711", "30", "s", "2",
        "http://127.0.0.1:8080/healthz", "/work/jobs/hours",
    ]  # fmt: skip
    assert second.split() == ["days", "stopped", "/work/jobs/days"]


def test_what_files_say_is_text():
    shown = jobs([Row("<b>", "unreadable: <script>", Path("/<i>"))], NOW)
    assert "<script>" not in shown["text/html"]
    assert "<i>" not in shown["text/html"]
    assert "&lt;script&gt;" in shown["text/html"]


def test_nothing_is_said_to_be_nothing():
    assert jobs([], NOW) == {"text/plain": "no job yet: %arroyo promote makes one"}
