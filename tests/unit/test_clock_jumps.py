"""The system's time of day may be set, by an hour either way, while things run.

Whatever waits or ages does it by a clock that nobody sets. Who reads the time of day is
listed here, with why a jump does no harm.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pyarrow.compute as pc
import pytest

import arroyo_nb
from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.connectors._folder_state import PartFile, Rolling
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.tape import ARRIVAL, TIMESTAMP
from arroyo_nb.tape.clock import EvenClock

HOUR_S = 3600.0
PACKAGE = Path(arroyo_nb.__file__).parent

READERS = {
    "connectors/_file_names.py": "the number in a file's name, which is random besides",
    "connectors/_folder_writer.py": "a file is closed when the clock went back",
    "kafka/sink.py": "compared with a day",
    "connectors/impulse.py": "once, at the start",
    "engine/class_data.py": "compared with a day, and a month",
    "doctor/examine.py": "once, and compared with event times",
    "feeds/http_errors.py": "an hour at most, by the date that a server names",
    "jobs/runner/endpoint.py": "compared with event time, and shown",
    "jobs/runner/log.py": "shown",
    "jobs/runner/monitor.py": "shown",
    "jobs/runner/record.py": "shown",
    "cli/job_status.py": "the age of a file that is written anew each second",
    "connectors/nexmark/__init__.py": "once, when the events begin",
    "kafka/recording.py": "once, at the start",
    "plan/expressions/clock.py": "once, when a script is planned",
    "run/emission.py": "once, at the start",
    "jobs/registry.py": "shown",
    "spark/state_files.py": "the age of a copy, without which the state is read",
    "jobs/owner.py": "shown",
    "tape/clock.py": "once, at the start",
    "formats/protobuf/compile.py": "the age of a file: compiled anew if need be",
    "views/jobs.py": "shown",
}

LINES = """
CREATE TABLE t (n BIGINT NOT NULL)
WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'source');
"""


CLOCKS = ("time", "time_ns", "now", "utcnow", "today")


def reads_time_of_day(path: Path) -> bool:
    """Whether a module asks the system what time it is."""
    return any(
        ast.unparse(node) in ("time.time", "time.time_ns")
        or ast.unparse(node).endswith(("datetime.now", "utcnow", "date.today"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS
    )


def test_no_timer_reads_the_time_of_day() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if reads_time_of_day(path)
    }
    assert found == set(READERS)


def jumping(jump_s: float) -> Iterator[float]:
    """A time of day that is set once it has been read."""
    yield 10 * HOUR_S
    yield from count(10 * HOUR_S + jump_s)


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S])
def test_rows_that_arrive_later_are_not_older(tmp_path: Path, jump_s: float) -> None:
    path = tmp_path / "rows.json"
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in range(40_000)))
    (table,) = plan_script(LINES.format(path=path), Catalog()).catalog.tables.values()
    recorder = CONNECTORS.get(table.connector).recorder(table.spec)
    times, elapsed = jumping(jump_s), count()
    recorder._clock = EvenClock(lambda: next(times), lambda: float(next(elapsed)))
    first, *others = recorder.chunks(None)
    assert others
    newest = first
    for later in others:
        for column in (ARRIVAL, TIMESTAMP):
            oldest, before = pc.min(later.rows[column]), pc.max(newest.rows[column])
            assert pc.subtract(oldest, before).as_py() == timedelta(seconds=1)
        newest = later


def test_a_growing_file_of_a_folder_is_closed_when_the_clock_went_back() -> None:
    rolling = Rolling(size_bytes=10**9, age_s=600, idle_s=60)
    file = PartFile(1, "a", size_bytes=10, first_s=5 * HOUR_S, last_s=5 * HOUR_S + 10)
    assert not rolling.is_whole(file, 5 * HOUR_S + 20)
    assert rolling.is_whole(file, 4 * HOUR_S + 20)
    assert rolling.is_whole(file, 6 * HOUR_S + 20)
