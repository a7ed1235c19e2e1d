"""A source that Spark reads itself is one file too: ``plug_ins/counter.py``, in a copy
of the package, with queries over it on Spark."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROGRAM = '''
import time

from arroyo_nb.engine import Engine
from arroyo_nb.errors import ArroyoError
from arroyo_nb.session import Session

TABLE = """CREATE TABLE numbers WITH (connector = 'counter', rows_per_batch = 1000,
format = 'json');"""


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


engine = Engine()
session = Session(engine=engine)
try:
    session.run(TABLE.replace("rows_per_batch", "row_per_batch"))
except ArroyoError as error:
    print(error)
even = session.run(TABLE + "SELECT value FROM numbers WHERE value % 2 = 0")
print(even.plan.explain())
until(lambda: even.snapshot().rows_in >= 5000)
even.stop()
values = even.table()["value"].to_pylist()
assert len(values) >= 2500, len(values)
assert values == list(range(0, 2 * len(values), 2))

by_second = session.run(TABLE + """SELECT tumble(INTERVAL '2 seconds') AS w,
count(*) AS n, min(value) AS first FROM numbers GROUP BY w""")
until(lambda: len(by_second.table()) >= 3)
by_second.stop()
rows = by_second.table().select(["n", "first"]).to_pylist()
assert [row["n"] for row in rows] == [2000] * len(rows), rows
assert [row["first"] for row in rows] == list(range(0, 2000 * len(rows), 2000)), rows
engine.close()
print("as expected")
'''


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    home = tmp_path_factory.mktemp("clone")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TESTS.parent / "arroyo_nb", home / "arroyo_nb", ignore=ignored)
    plug_in = TESTS / "plug_ins" / "counter.py"
    shutil.copy(plug_in, home / "arroyo_nb" / "connectors")
    return home


def test_one_file_is_a_source_that_spark_reads(clone):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "did you mean 'rows_per_batch'?" in done.stdout
    assert "readStream.rate-micro-batch" in done.stdout
    assert done.stdout.rstrip().endswith("as expected")
