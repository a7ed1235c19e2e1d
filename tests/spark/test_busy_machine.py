"""What a machine that is too busy makes late, is begun again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from machine import allowed

from arroyo_nb.run.execution import MOST_RESTARTS
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.spark.failures import WORKER_SLOW

UPDATING = """
CREATE TABLE n WITH (
    connector = 'impulse', event_rate = '100', message_count = '{rows}'
);
SELECT counter % 3 AS k, count(*) AS n FROM n GROUP BY k
"""
SLOW = """#!/bin/sh
# Spark waits for 10 s for the process that it starts for a query with state.
case "$*" in *driver_worker*)
    n=$(cat {count}); echo $((n - 1)) > {count}
    if [ "$n" -gt 0 ]; then sleep 12; fi
esac
exec {python} "$@"
"""


@pytest.fixture
def slow_python(session, tmp_path: Path, monkeypatch):
    """Has that process start too late so many times."""

    def slow(times: int) -> None:
        count = tmp_path / "count"
        count.write_text(str(times))
        script = tmp_path / "python"
        script.write_text(SLOW.format(count=count, python=sys.executable))
        script.chmod(0o755)
        context = session.engine.worker.call(
            lambda: session.engine.session.sparkContext
        )
        monkeypatch.setattr(context, "pythonExec", str(script))

    return slow


def test_a_query_whose_python_starts_too_late_is_started_again(
    session, slow_python, eventually
):
    slow_python(1)
    run = session.run(UPDATING.format(rows=300), name="late")
    eventually(lambda: f"starting it again, 1 of {MOST_RESTARTS}" in run.note, 90)
    assert run.note.startswith(WORKER_SLOW)
    assert run.wait(allowed(120))
    assert (run.state, run.error) == (RunState.FINISHED, None)
    assert sorted(run.table()["n"].to_pylist()) == [100, 100, 100]
