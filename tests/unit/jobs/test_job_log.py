from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime

import pytest

from arroyo_nb.cli import job_status
from arroyo_nb.jobs.runner.log import (
    MOST_BYTES,
    FileLog,
    JsonLog,
    Logs,
    TextLog,
    log_path,
    older,
    read_events,
)


def test_an_event_is_a_line():
    out = io.StringIO()
    now = datetime(2013, 1, 2, 3, 4, 5, 678_901, UTC)
    log = JsonLog("flights", out, lambda: now)
    log.tell(
        "restarting", level="warn", error="zwei\nZeilen \ud800", after_s=0.5, of=None
    )
    (line,) = out.getvalue().splitlines()
    assert json.loads(line) == {
        "time": "2013-01-02T03:04:05.678Z",
        "level": "warn",
        "job": "flights",
        "event": "restarting",
        "error": "zwei\nZeilen ?",
        "after_s": 0.5,
    }


def test_a_person_is_told_sentences():
    out = io.StringIO()
    log = TextLog("flights", out)
    log.tell("job_started", pid=3, folder="state/flights")
    log.tell("running", where="after batch 41 (orders 0:512)", restarts=0)
    log.tell("no such event")
    log.tell("restarting", error="it is away", after_s=0.5, failure=1, of=20)
    log.note("look there")
    assert out.getvalue().splitlines() == [
        "started: process 3, state in state/flights",
        "running after batch 41 (orders 0:512)",
        "restarting in 0.5 s, failure 1 of 20: it is away",
        "note: look there",
    ]


def test_the_file_of_a_log_is_bounded_and_read_over_its_edge(tmp_path):
    folder = tmp_path / "state" / "flights"
    log = FileLog("flights", log_path(folder))
    log.tell("job_started", pid=1)
    text = "x" * (MOST_BYTES // 4)
    for _ in range(20):
        log.note(text)
    log.tell("job_ended", state="stopped")
    sizes = [path.stat().st_size for path in (tmp_path / "state").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < 1.5 * MOST_BYTES
    with older(log_path(folder)).open("a") as file:
        file.write('{"event": "cut off')
    events = [event["event"] for event in read_events(folder)]
    assert events[-1] == "job_ended"
    assert len(events) > 3


def test_a_log_that_cannot_be_written_ends_no_job(tmp_path):
    (tmp_path / "state").write_text("a file")
    FileLog("flights", log_path(tmp_path / "state" / "flights")).note("lost")


@pytest.mark.parametrize("kind", [TextLog, JsonLog])
def test_standard_error_that_cannot_be_written_loses_no_line_of_the_file(
    tmp_path, kind
):
    folder = tmp_path / "state" / "flights"
    with open(os.open("/dev/full", os.O_WRONLY), "w", closefd=False) as full:
        logs = Logs(kind("flights", full), FileLog("flights", log_path(folder)))
        logs.note("one")
        logs.tell("serving", port=1)
        with pytest.raises(OSError, match="No space left"):
            full.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
    assert [event["event"] for event in read_events(folder)] == ["note", "serving"]


def following(folder, log, monkeypatch, *texts):
    """What is told to who follows a log to which notes come one after the other."""
    monkeypatch.setattr(job_status, "LOOK_S", 0.001)
    left, told = iter(texts), []

    def say(line):
        told.append(line.split(" ", 1)[1])
        if (text := next(left, None)) is None:
            raise KeyboardInterrupt
        log.note(text)

    log.note("first")
    with pytest.raises(KeyboardInterrupt):
        job_status.logs(folder, lines=100, follow=True, as_json=False, say=say)
    return told


def test_who_follows_a_log_is_told_also_when_the_clock_goes_back(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    log = FileLog("flights", log_path(folder))
    hours = iter((12, 13, 11, 11, 12))
    log._now = lambda: datetime(2013, 1, 1, next(hours), tzinfo=UTC)
    told = following(folder, log, monkeypatch, "b", "back", "back", "e")
    assert told == ["note: first", "note: b", "note: back", "note: back", "note: e"]


def test_who_follows_a_log_is_told_when_its_oldest_part_goes(tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.jobs.runner.log.MOST_BYTES", 150)
    folder = tmp_path / "run"
    log = FileLog("flights", log_path(folder))
    numbers = [str(number) for number in range(20)]
    told = following(folder, log, monkeypatch, *numbers)
    assert told == [f"note: {text}" for text in ("first", *numbers)]
    assert len(list(read_events(folder))) < 10


def test_a_text_with_other_ends_of_lines_is_one_event(tmp_path):
    text = "a\u2028b\x85c\x0bd"
    FileLog("flights", log_path(tmp_path / "run")).note(text)
    (event,) = read_events(tmp_path / "run")
    assert event["text"] == text
