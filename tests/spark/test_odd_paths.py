"""Folders of any name, as those of a run's state, of tables and of jobs.

The short form has all the names in one path; the long one each by itself.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from odd_names import NESTED, WITHOUT_COLON, any_name

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.jobs.spec import JobSpec

WITHIN_S = 120
ROWS = 40_000
"""Two chunks: one for each time that it is started."""
SCRIPT = """
CREATE TABLE numbers (n BIGINT NOT NULL) WITH (
    connector = 'single_file', path = '{source}', type = 'source', format = 'json');
CREATE TABLE files WITH (
    connector = 'filesystem', path = '{here}/files', type = 'sink',
    format = 'parquet');
CREATE TABLE sums WITH (
    connector = 'single_file', path = '{here}/sums.json', type = 'sink',
    format = 'debezium_json');
INSERT INTO files SELECT n FROM numbers;
INSERT INTO sums SELECT n % 3 AS rest, count(*) AS n FROM numbers GROUP BY 1;
"""
BACK = """
CREATE TABLE files (n BIGINT) WITH (
    connector = 'filesystem', path = '{here}/files', type = 'source',
    format = 'parquet');
SELECT count(*) AS n, sum(n) AS total FROM files;
"""


def quoted(path):
    return str(path).replace("'", "''")


def script(here):
    """Rows of a file into two tables, all of them in one folder."""
    source = here / "numbers.json"
    source.write_text("".join(f'{{"n": {n}}}\n' for n in range(ROWS)))
    return SCRIPT.format(source=quoted(source), here=quoted(here))


def check(here):
    """Every row once, in each table."""
    files = (here / "files").iterdir()
    found = sorted(n for f in files for n in pq.read_table(f)["n"].to_pylist())
    assert found == list(range(ROWS))
    changes = (here / "sums.json").read_text().splitlines()
    last = {c["rest"]: c["n"] for c in (json.loads(x)["after"] for x in changes) if c}
    assert last == {rest: len(range(rest, ROWS, 3)) for rest in range(3)}


def stop_and_go_on(session, here, eventually):
    """Run a part, and go on from the state, which lies where the tables do, where it
    has been moved to."""
    here.mkdir(parents=True)
    sql, state = script(here), here / "state"
    run = session.run(sql, name="job", state_dir=state, step=True, ttl="1 h")
    run.step()
    eventually(lambda: run.error or run.rows_in > 0, WITHIN_S)
    run.stop("stopped", "checkpoint").wait(WITHIN_S)
    assert not run.resumed
    moved = state.rename(here / "moved")
    run = session.run(sql, name="job", state_dir=moved, wait=True, ttl="1 h")
    assert run.resumed
    check(here)
    back = session.run(BACK.format(here=quoted(here)), wait=True).table().to_pylist()
    assert back[-1] == {"n": ROWS, "total": sum(range(ROWS))}


@any_name("paths")
def test_a_run_goes_on_in_a_folder_of_any_name(session, tmp_path, eventually, name):
    stop_and_go_on(session, tmp_path / name, eventually)


def beside(here):
    """The same, as its job names it: by paths from the folder that it runs in."""
    return script(here).replace(f"{quoted(here)}/", "")


@pytest.mark.long("paths")
@any_name("paths")
def test_a_job_runs_in_a_folder_and_a_home_of_any_name(tmp_path, name):
    here, home = tmp_path / name / "My Jobs", tmp_path / "home"
    # Java has no archive in a cache with a colon, and starts in twice the time.
    home /= WITHOUT_COLON if name == NESTED else name
    here.mkdir(parents=True)
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "arroyo_nb").symlink_to(cache_folder())
    (here / "job.yaml").write_text(JobSpec("sums", beside(here)).text)
    apart = {"ARROYO_NB_CACHE", "XDG_CACHE_HOME"}
    environ = {key: value for key, value in os.environ.items() if key not in apart}
    command = [sys.executable, "-m", "arroyo_nb.cli", "run", "job.yaml"]
    done = subprocess.run(
        [*command, "--state-dir", "~/My State"],
        cwd=here,
        env={**environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=WITHIN_S * 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check(here)
    assert Path(home / "My State" / "sums" / "run.json").is_file()
