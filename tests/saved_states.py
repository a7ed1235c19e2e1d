"""States that an earlier version made, kept in the repository: ``tests/states``.

Each is the state folder of a run that was stopped half-way, with its script, its
identity and the rows that the whole run gives. A test resumes from each, so a change
that would refuse, or misread, what users have on their disks fails.

``python tests/saved_states.py NAME...`` makes those that are not there yet; one that is
there is never made anew: it is what a released version wrote.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.state.identity import plan_identity

STATES = Path(__file__).parent / "states"
HERE = "SAVED_STATE"
"""The environment variable that names where a script's files are."""

SLICES, STOPPED_AFTER, ROWS_IN_SLICE = 6, 3, 25
PLAYED = {"speed": 2500, "trigger": "10ms"}
"""A slice is a second of event time times the speed, in ticks of 10 ms."""

TABLES = """
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
"""

_APPENDED = (
    "SELECT a.k, a.v, b.v AS other, b.t FROM rows a JOIN rows b "
    "ON a.k = b.k AND a.v % 8 = b.v % 8 WHERE a.v < b.v"
)

_LARGE = (
    "SELECT v, count(*) AS n, length(max(k || repeat('x', 50000))) AS width "
    "FROM rows GROUP BY v"
)

_SELF_JOINED = (
    "WITH counts AS (SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n "
    "FROM rows WHERE v % 5 > 0 GROUP BY w, k) SELECT a.w, a.k, a.n, b.most "
    "FROM counts a JOIN (SELECT w, max(n) AS most FROM counts GROUP BY w) b "
    "ON a.w = b.w AND a.n = b.most"
)

_RANKED = (
    "SELECT k, v, other FROM (SELECT a.k AS k, a.v AS v, b.v AS other, row_number() "
    "OVER (PARTITION BY a.k ORDER BY b.v, a.v DESC) AS place "
    "FROM rows a JOIN rows b ON a.v % 10 = b.v % 10 WHERE b.v > a.v) WHERE place <= 3"
)

_EXTREMES = (
    "SELECT tumble(INTERVAL '10 seconds') AS w, k, "
    "max(named_struct('v', v % 7, 'k', k)) AS most, count(*) AS n FROM rows "
    "GROUP BY w, k"
)

CASES = {
    "rows": "SELECT upper(k) AS k, v * 2 AS twice, t FROM rows WHERE v % 7 <> 3",
    "tumble": (
        "SELECT tumble(INTERVAL '10 seconds') AS w, upper(k) AS k, count(*) AS n, "
        "sum(v) AS total, avg(v) AS mean, max(length(k)) AS longest "
        "FROM rows GROUP BY w, upper(k)"
    ),
    "hop": (
        "SELECT hop(INTERVAL '5 seconds', INTERVAL '20 seconds') AS w, k, "
        "count(DISTINCT v % 5) AS n FROM rows GROUP BY w, k"
    ),
    "session": (
        "SELECT session(INTERVAL '3 seconds') AS w, k, count(*) AS n, min(v) AS least "
        "FROM rows WHERE v % 11 < 7 GROUP BY w, k"
    ),
    "aggregate": (
        "SELECT upper(k) AS k, count(*) AS n, sum(v) AS total, min(v % 10) AS least, "
        "stddev(v) AS spread, count(DISTINCT v % 5) AS kinds, "
        "array_agg(v % 3) FILTER (WHERE v % 6 = 0) AS some FROM rows GROUP BY upper(k)"
    ),
    "join": (
        "SELECT a.k, a.n, b.total "
        "FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) a LEFT JOIN "
        "(SELECT k, sum(v) AS total FROM rows WHERE v % 2 = 0 GROUP BY k) b "
        "ON a.k = b.k AND a.n * 2 < b.total"
    ),
    # By a version whose joins were all its own.
    "join_in_buckets": _APPENDED,
    "append_join": _APPENDED,
    # By a version whose queries had Spark's own join beside other operators.
    "append_join_beside": (
        f"SELECT k, count(*) AS n, max(other) AS most FROM ({_APPENDED}) GROUP BY k"
    ),
    # By a version that kept each state whole.
    "large_whole": _LARGE,
    "large_log": _LARGE,
    "rank": (
        "SELECT k, v, n FROM (SELECT k, v, row_number() OVER (PARTITION BY upper(k) "
        "ORDER BY v % 10 DESC, v) AS n FROM rows) WHERE n <= 2"
    ),
    # By a version whose ranks had all columns of their input.
    "rank_wide": _RANKED,
    "rank_narrow": _RANKED,
    "over": (
        "SELECT w, k, n, place, before, total FROM (SELECT *, "
        "row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place, "
        "lag(n, 1, 0) OVER (PARTITION BY w ORDER BY n DESC) AS before, "
        "sum(n) OVER (PARTITION BY w ORDER BY n RANGE 2.5 PRECEDING) AS total FROM ("
        "SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n "
        "FROM rows GROUP BY w, k)) WHERE place <= 2"
    ),
    "window_join": (
        "SELECT a.w, b.w AS bw, a.k, b.k AS other, a.n, b.total FROM ("
        "SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n "
        "FROM rows WHERE v % 5 > 0 GROUP BY w, k) a FULL JOIN ("
        "SELECT tumble(INTERVAL '10 seconds') AS w, k, sum(v) AS total "
        "FROM rows WHERE v % 3 = 0 GROUP BY w, k) b "
        "ON upper(a.k) = upper(b.k) AND a.n * 20 < b.total"
    ),
    # By a version that read the rows twice.
    "self_join_twice": _SELF_JOINED,
    "self_join": _SELF_JOINED,
    "collected": (
        "SELECT session(INTERVAL '3 seconds') AS w, k, median(v) AS middle, "
        "array_agg(DISTINCT v % 5) FILTER (WHERE v % 2 = 0) AS some, "
        "last_value(v ORDER BY t) AS latest, corr(v, length(k) + v % 7) AS r "
        "FROM rows WHERE v % 11 < 7 GROUP BY w, k"
    ),
    # By a version in which Spark computed the extremes of structs.
    "extremes_by_spark": _EXTREMES,
    "extremes_of_parts": _EXTREMES,
    "changes": (
        "SELECT town, count(*) AS n, max(age) AS oldest FROM people GROUP BY town"
    ),
    "union": (
        "SELECT k, count(*) AS n FROM rows WHERE v % 2 = 0 GROUP BY k UNION ALL "
        "SELECT k, count(*) AS n FROM rows WHERE v % 2 = 1 GROUP BY k"
    ),
    "sink": (
        "INSERT INTO written SELECT k, count(*) AS n FROM rows "
        "GROUP BY k, tumble(INTERVAL '10 seconds')"
    ),
}


@dataclass(frozen=True)
class SavedState:
    """One of the folders in ``tests/states``."""

    name: str

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return STATES / self.name

    @property
    def script(self) -> str:
        """The script that it was made by."""
        return (self.folder / "script.sql").read_text("utf-8")

    @property
    def identity(self) -> str:
        """The identity of its plan, as the version that made it had it."""
        return (self.folder / "identity.json").read_text("utf-8").strip()

    @property
    def rows(self) -> list[str]:
        """What the whole run gives, as JSON lines, sorted."""
        return (self.folder / "rows.jsonl").read_text("utf-8").splitlines()

    def unpack(self, here: Path) -> None:
        """Put its files, and what its script reads, into a folder."""
        write_sources(here)
        with tarfile.open(self.folder / "state.tar.xz") as archive:
            archive.extractall(here, filter="data")


def saved_states() -> list[SavedState]:
    """All that are kept."""
    return [SavedState(path.name) for path in sorted(STATES.iterdir())]


def write_sources(here: Path) -> None:
    """The files that the scripts read: a row a second, every tenth ten seconds late;
    and changes of twenty people."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with (here / "rows.jsonl").open("w") as file:
        for number in range(SLICES * ROWS_IN_SLICE):
            late_s = 10 if number % 10 == 9 else 0
            at = start + timedelta(seconds=number - late_s)
            row = {"k": "abc"[number % 3], "v": number * 37 % 101}
            row["t"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
            file.write(json.dumps(row) + "\n")
    with (here / "people.jsonl").open("w") as file:
        # Without an event time a step reads 128 KiB at first.
        for number in range(20_000):
            row = {"id": number % 20, "town": f"t{number % 7 % 3}", "age": number}
            gone = number % 20 == 13 and number > 40
            change = {"before": None, "after": None if gone else row, "op": "u"}
            if gone:
                change = {"before": {"id": 13}, "after": None, "op": "d"}
            file.write(json.dumps(change) + "\n")


def lines_of(run, here: Path) -> list[str]:
    """What a run gave, in its result or its sink, as sorted JSON lines."""
    written = here / "live" / "written.jsonl"
    if written.exists():
        return sorted(written.read_text("utf-8").splitlines())
    rows = run.table().to_pylist()
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


def _make(name: str, session) -> None:
    """Run a script half-way, keep its state, and run it to its end."""
    here = Path(tempfile.mkdtemp())
    os.environ[HERE] = str(here)
    write_sources(here)
    script, state = TABLES + CASES[name] + ";\n", here / "live"
    run = session.run(script, name="job", state_dir=state, step=True, **PLAYED)
    commits = state / "job/outputs/0/checkpoint/commits"
    for batch in range(STOPPED_AFTER):
        run.step()
        while not (commits / str(batch)).exists():
            assert run.error is None, run.error
            time.sleep(0.01)
    run.stop().wait_quietly(30)
    folder = STATES / name
    folder.mkdir()
    with tarfile.open(folder / "state.tar.xz", "w:xz") as archive:
        archive.add(state, "live")
    run = session.run(script, name="job", state_dir=state, **PLAYED)
    run.wait()
    lines = lines_of(run, here)
    if "INSERT" not in script:
        whole = session.run(script, name="whole", **PLAYED)
        whole.wait()
        assert lines_of(whole, here) == lines, "resumed otherwise than undisturbed"
    plan = plan_script(script, Catalog())
    (folder / "script.sql").write_text(script, "utf-8")
    (folder / "identity.json").write_text(plan_identity(plan) + "\n", "utf-8")
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    with Session() as session:
        for case in sys.argv[1:] or CASES:
            if not (STATES / case).exists():
                _make(case, session)
