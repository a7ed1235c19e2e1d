"""What a new user does on a machine that has no time: a first cell that reads a topic,
steps, and asks for its late rows. Prints one JSON line.

``python tests/kafka/overloaded_start.py LOAD``
"""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from machine import overloaded
from topics import Topic

from arroyo_nb import Session
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.run import Run

FIRST = datetime(2026, 3, 1, 10)
QUERY = (
    "SELECT tumble(INTERVAL '1 minute') AS w, k % 2 AS odd, count(*) AS n "
    "FROM t GROUP BY w, odd;\nSELECT k % 3 AS k, count(*) AS n FROM t GROUP BY k % 3"
)
COLUMNS = "k INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at"


def row(k: int, minute: float) -> dict[str, object]:
    at = FIRST + timedelta(minutes=minute)
    return {"k": k, "at": at.isoformat()}


class Silence:
    """Steps, and measures for how long the run said nothing while it was waited for."""

    def __init__(self, run: Run) -> None:
        self.longest_s = 0.0
        self._run = run
        self._spoke_s = time.monotonic()

    def step_until(self, rows: int) -> None:
        """Step until both queries have read so many rows."""
        run = self._run
        while not run.state.ended and any(
            run.snapshot(0, output=n).rows_in < rows for n in range(2)
        ):
            if run.state is RunState.RUNNING and not run.is_stepping:
                run.step()
            if run.activity:
                self.longest_s = max(self.longest_s, time.monotonic() - self._spoke_s)
                self._spoke_s = time.monotonic()
            time.sleep(0.02)


def main(load: int) -> None:
    begun_s = time.monotonic()
    with overloaded(load), LocalBroker() as broker, Session() as session:
        topic = Topic(broker, 1)
        topic.send(*(row(k, k / 10) for k in range(300)))
        run = session.run(topic.declared(COLUMNS) + QUERY, step=True)
        silence = Silence(run)
        silence.step_until(300)
        topic.send(row(1000, 1), row(1001, 2), row(1002, 60))
        silence.step_until(303)
        topic.send(row(1003, 1))
        silence.step_until(304)
        late = run.late()
        said = {
            "state": run.state.value,
            "error": str(run.error or ""),
            "rows_in": run.rows_in,
            "late": late.num_rows,
            "changes": sum(run.table(1)["n"].to_pylist()),
            "silent_s": silence.longest_s,
            "took_s": time.monotonic() - begun_s,
        }
        print(json.dumps(said))


if __name__ == "__main__":
    main(int(sys.argv[1]))
