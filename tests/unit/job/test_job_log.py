from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from arroyo_nb.job.log import Log


def test_an_event_is_a_line():
    out = io.StringIO()
    now = datetime(2013, 1, 2, 3, 4, 5, 678_901, UTC)
    log = Log("flights", out, lambda: now)
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
