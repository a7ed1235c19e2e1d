"""One file of a state folder is damaged: the run resumes exactly, or says which file it
is, what it is for and what helps. It never writes other rows.

A source with rows that come too late is played in slices, a batch each, and stopped
half-way. Each damage is done to a copy of that, in its place.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from damages import Damage, damages, put_back

from arroyo_nb.errors import RESTORE, ArroyoError

SLICE_S, SLICES = 50, 14
STOPPED, OLDER = 11, 6
"""Batches before the stop, and before the older copy is made: past ten Spark compacts
its log of files."""

PLAYED = {"speed": 5000, "trigger": "10ms"}

SOURCE = """
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{folder}/rows.jsonl', type = 'source',
      format = 'json');
CREATE TABLE out WITH (connector = '{connector}', path = '{folder}/live/out',
                       type = 'sink', format = '{format}');
INSERT INTO out
"""
APPEND = "SELECT k, v FROM rows WHERE v <> 3"
WINDOWED = (
    "SELECT k, count(*) AS n, sum(v) AS total FROM rows "
    "GROUP BY k, tumble(INTERVAL '20 seconds')"
)
UPDATING = "SELECT k, count(*) AS n, sum(v) AS total FROM rows GROUP BY k"
CASES = {
    "append to a file": (APPEND, "single_file", "json"),
    "append to a folder": (APPEND, "filesystem", "json"),
    "windows to a file": (WINDOWED, "single_file", "json"),
    "windows to a folder": (WINDOWED, "filesystem", "json"),
    "changes to a file": (UPDATING, "single_file", "debezium_json"),
}


def write_rows(path):
    """Three rows a second; every twentieth comes ten seconds late."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with path.open("w") as file:
        for number in range(SLICES * SLICE_S):
            late_s = 10 if number % 20 == 19 else 0
            time = start + timedelta(seconds=number - late_s)
            for key in "abc":
                row = {"k": key, "v": number, "t": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
                file.write(json.dumps(row) + "\n")


def written(folder):
    """How often each line is in a sink."""
    out = folder / "live" / "out"
    whole = [out] if out.is_file() else list(out.rglob("*.json"))
    return Counter(line for path in whole for line in path.read_text().splitlines())


@dataclass(frozen=True)
class Base:
    """A run that was stopped half-way.

    Parameters
    ----------
    session
        Runs it.
    folder
        Has what it reads, ``live/`` with its state and its sink, and copies of that.
    script
        What it runs.
    rows
        What it writes when nothing is damaged.
    """

    session: object
    folder: Path
    script: str
    rows: Counter

    @property
    def state(self):
        return self.folder / "live" / "state" / "job"

    def resume(self):
        """Resume it to its end; what it says where it does not."""
        put_back_error = None
        try:
            run = self.session.run(
                self.script, name="job", state_dir=self.folder / "live/state", **PLAYED
            )
            run.wait_quietly(60)
            put_back_error = run.error
        except ArroyoError as error:
            put_back_error = error
        return put_back_error

    def damaged(self, damage: Damage):
        """What becomes of a run with a damage: None where it resumed exactly; else what
        it says."""
        put_back(self.folder / "stopped", self.folder / "live")
        if not damage.apply(self.state, self.folder / "older" / "state" / "job"):
            return None
        error = self.resume()
        if error is None:
            assert written(self.folder) == self.rows, f"other rows after: {damage}"
        else:
            assert str(self.state) in error.message, (str(damage), str(error))
            assert error.hint == RESTORE, (str(damage), str(error))
            assert error.lasting, (str(damage), str(error))
        return error


@pytest.fixture(scope="module")
def bases(engine, tmp_path_factory):
    """Makes each base once."""
    from arroyo_nb.session import Session

    session, found = Session(engine=engine), {}

    def base(case, eventually):
        if case not in found:
            folder = tmp_path_factory.mktemp("damaged")
            found[case] = make_base(session, folder, case, eventually)
        return found[case]

    yield base
    for run in session.runs.values():
        run.discard()
    engine.worker.call(lambda: None)


def make_base(session, folder, case, eventually):
    query, connector, format_ = CASES[case]
    write_rows(folder / "rows.jsonl")
    source = SOURCE.format(folder=folder, connector=connector, format=format_)
    base = Base(session, folder, source + query, Counter())
    (folder / "live").mkdir()
    run = session.run(
        base.script, name="job", state_dir=folder / "live/state", step=True, **PLAYED
    )
    commits = base.state / "outputs/0/checkpoint/commits"
    for batch in range(STOPPED):
        run.step()
        eventually(lambda: run.state.ended or (commits / str(batch)).exists())  # noqa: B023
        assert run.error is None
        if batch + 1 == OLDER:
            put_back(folder / "live", folder / "older")
    run.stop().wait_quietly(30)
    put_back(folder / "live", folder / "stopped")
    assert base.resume() is None
    base.rows.update(written(folder))
    assert base.rows
    return base


def check(base, count, seed):
    """Try damages; returns what was said of those that a run did not survive."""
    wrong, said = [], []
    for damage in damages(base.folder / "stopped" / "state" / "job", count, seed):
        try:
            error = base.damaged(damage)
        except AssertionError as problem:
            wrong.append(f"{damage}: {problem}")
        else:
            said.append(error)
    assert not wrong, "\n".join(wrong)
    return said


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_file_is_named_or_does_no_harm(bases, eventually, case):
    check(bases(case, eventually), int(os.environ.get("DAMAGES", "4")), len(case))
