"""One file of a state folder is damaged: the run resumes exactly, or says which file it
is, what it is for and what helps. It never writes other rows.

A source with rows that come too late is played in slices, a batch each, and stopped
half-way. Each damage is done to a copy of that, in its place.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from damages import Damage, damages, put_back
from seeds import of_the_day, random_of_the_day

from arroyo_nb.errors import RESTORE, ArroyoError, StateProblem
from arroyo_nb.state.manifest import Manifest

SLICE_S, SLICES = 50, 12
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
        try:
            run = self.session.run(
                self.script, name="job", state_dir=self.folder / "live/state", **PLAYED
            )
            run.wait_quietly(60)
        except ArroyoError as error:
            return error
        return run.error

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


@pytest.mark.parametrize("case", of_the_day(CASES, "damages"))
def test_a_damaged_file_is_named_or_does_no_harm(bases, eventually, case):
    seed = random_of_the_day("damaged files").randrange(1_000_000)
    check(bases(case, eventually), 3, seed)


@pytest.mark.long("damages")
@pytest.mark.parametrize("case", CASES)
def test_each_of_many_damages_is_named_or_does_no_harm(bases, eventually, case):
    said = check(bases(case, eventually), 40, 2026)
    # Some are told, and others mended.
    assert any(error is None for error in said)
    assert any(error is not None for error in said)


NEWEST = STOPPED - 1


POWER_CUTS = [
    pytest.param(log, kind)
    for log in ("commits", "offsets")
    for kind in ("emptied", "garbage")
]


@pytest.mark.parametrize(("log", "kind"), of_the_day(POWER_CUTS, "damages"))
def test_a_power_cut_goes_back_one_batch(bases, eventually, log, kind):
    """The sink has batch 10 already, and writes it again."""
    base = bases("windows to a file", eventually)
    damage = Damage(f"outputs/0/checkpoint/{log}/{NEWEST}", kind, 1)
    assert base.damaged(damage) is None


_OFFSETS = "outputs/0/checkpoint/offsets"
LASTING = [
    # It has batch 10, and passes over what has that number.
    pytest.param(f"{_OFFSETS}/{NEWEST}", "emptied", "is gone, empty or"),
    pytest.param(f"{_OFFSETS}/{NEWEST - 1}", "deleted", "is gone"),
    pytest.param("outputs/0/sink/files.json", "deleted", "is gone"),
    pytest.param("outputs/0/sink/files.json", "older", "is an older copy"),
    pytest.param("run.json", "deleted", "is gone"),
    pytest.param("sources/0-rows/chunk-00000011.parquet", "deleted", "is gone"),
]


@pytest.mark.parametrize(("file", "kind", "fault"), of_the_day(LASTING, "damages", 2))
def test_what_cannot_be_mended_is_named(bases, eventually, file, kind, fault):
    base = bases("append to a folder", eventually)
    error = base.damaged(Damage(file, kind, 1))
    assert isinstance(error, StateProblem)
    assert f"{base.state / file}' {fault}" in error.message
    # It is left as it was: the file that is put back is gone on with.
    before = base.folder / "stopped" / "state" / "job" / file
    (base.state / file).write_bytes(before.read_bytes())
    assert base.resume() is None
    assert written(base.folder) == base.rows


def test_a_commit_is_not_slowed_by_the_manifest(bases, eventually):
    """It is written beside the batches; what there is to do after a batch is small."""
    base = bases("windows to a file", eventually)
    put_back(base.folder / "stopped", base.folder / "live")
    manifest = Manifest.read(base.state)
    behind = manifest.without(lambda name: f"/{STOPPED}." in name)
    assert len(behind.files) < len(manifest.files)
    times_s = []
    for _ in range(20):
        begun_s = time.perf_counter()
        assert behind.updated({0: NEWEST}).files == manifest.files
        times_s.append(time.perf_counter() - begun_s)
    assert min(times_s) < 0.02, times_s
