"""The newest event time of each topic of a query that reads several."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from arroyo_nb import load_trace

START = datetime(2024, 1, 1)
COLUMNS = "id INT, at TIMESTAMP(3) NOT NULL, WATERMARK FOR at"
UNION = """SELECT count(*) AS n, tumble(INTERVAL '1 minute') AS w
FROM (SELECT id, at FROM clicks UNION ALL SELECT id, at FROM views) GROUP BY w"""
JOIN = """SELECT a.id FROM clicks AS a JOIN views AS b
ON a.id = b.id"""


def record(number: int, minutes: int) -> dict[str, int]:
    at = START.replace(tzinfo=UTC) + timedelta(minutes=minutes)
    return {"id": number, "at": int(at.timestamp() * 1000)}


def known(run) -> dict[str, datetime | None]:
    return {s.name: s.max_event_time for s in run.snapshot().sources}


@pytest.mark.parametrize("query", [UNION, JOIN])
def test_each_topic_of_a_query_has_its_newest_event_time(
    new_topic, session, eventually, tmp_path, query
):
    clicks, views = new_topic(2), new_topic()
    declared = clicks.declared(COLUMNS, "clicks") + views.declared(COLUMNS, "views")
    run = session.run(declared + query)
    # Neither the last record nor that of the last partition is the newest.
    clicks.send(record(1, 10), record(1, 3))
    clicks.send(record(1, 7), partition=1)
    views.send(record(1, 2))
    expected = {
        "clicks": START + timedelta(minutes=10),
        "views": START + timedelta(minutes=2),
    }
    eventually(lambda: known(run) == expected)
    views.send(record(1, 25))
    later = {**expected, "views": START + timedelta(minutes=25)}
    eventually(lambda: known(run) == later)
    run.stop().wait_quietly(30)
    assert dict(run.snapshot().history[-1].sources) == later
    moments, newest = run.moments(), run.snapshot()
    trace = load_trace(run.save_trace(tmp_path / "a.parquet"))
    for replayed in (moments, trace.moments()):
        seen = [
            {s.name: s.max_event_time for s in at.sources}
            for at in (
                replayed.snapshot(newest, batch, 0) for batch, _ in replayed.times
            )
        ]
        assert expected in seen
        assert seen[-1] == later
