from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from arroyo_nb.job.log import JsonLog, TextLog


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
    log.tell("job_started", pid=3)
    log.tell("restarting", error="it is away", after_s=0.5, failure=1, of=20)
    log.note("look there")
    assert out.getvalue().splitlines() == [
        "restarting in 0.5 s, failure 1 of 20: it is away",
        "note: look there",
    ]
