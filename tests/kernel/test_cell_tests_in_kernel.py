"""``%%arroyo_test`` in a kernel, in headless notebooks, and exported to pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from kernels import LOAD, SESSION, Kernel
from machine import allowed

ROOT = Path(__file__).parents[2]
HOSTILE = "<img src=x onerror=alert(1)>"
TABLES = """%%arroyo
CREATE TABLE clicks (
    at TIMESTAMP NOT NULL, user TEXT, WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (connector = 'kafka', bootstrap_servers = 'localhost:9', topic = 'clicks',
        type = 'source', format = 'json');
CREATE VIEW named AS SELECT user, at FROM clicks WHERE user IS NOT NULL"""
TEST = f"""%%arroyo_test windows
GIVEN clicks
at       | user
10:00:00 | ann
10:00:20 | {HOSTILE}
09:59:30 | ann

WHEN
SELECT tumble(INTERVAL '10 seconds') AS w, max(user) AS u, count(*) AS n
FROM named WHERE user <> :nobody GROUP BY w

EXPECT TABLE
w.start  | u         | n
10:00:00 | ann       | 1
10:00:20 | {HOSTILE} | 1

EXPECT LATE
at
09:59:30
"""
WRONG = TEST.replace(f"{HOSTILE} | 1", f"{HOSTILE} | 2")
NEVER = """%%arroyo_test slow --timeout 10m
GIVEN t
at | n
{rows}
WHEN SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM t GROUP BY w
EXPECT TABLE EMPTY""".format(
    rows="\n".join(f"10:{n // 60:02}:{n % 60:02} | {n}" for n in range(900))
)


@pytest.fixture(scope="module")
def kernel(start: Callable[..., Kernel]) -> Kernel:
    kernel = start()
    kernel.run(LOAD)
    kernel.run(SESSION + "nobody = 'x'")
    kernel.run(TABLES)
    return kernel


def test_a_test_passes_and_changes_nothing(kernel: Kernel) -> None:
    tables = kernel.value("session.catalog.names")
    reply = kernel.run(TEST)
    assert re.fullmatch(r"✓ windows: passed, 2 expectations, [\d.]+ s\n", reply.printed)
    assert kernel.value("(session.catalog.names, [*session.runs])") == (tables, [])


def test_a_failure_is_an_error_with_the_difference(kernel: Kernel) -> None:
    reply = kernel.execute(WRONG)
    assert (reply.status, reply.error) == ("error", "TestFailure")
    assert "1 row with other values" in reply.traceback
    assert "| 2 → 1" in reply.traceback
    assert "Traceback" not in reply.traceback
    assert not reply.shown  # nobody looks at it


def test_where_somebody_looks_the_difference_is_a_page(kernel: Kernel) -> None:
    kernel.run("import os; os.environ['ARROYO_NB_HEADLESS'] = '0'")
    try:
        reply = kernel.execute(WRONG)
    finally:
        kernel.run("os.environ['ARROYO_NB_HEADLESS'] = '1'")
    (shown,) = reply.shown
    assert "<img" not in shown["text/html"]
    assert "&lt;img" in shown["text/html"]
    assert "| 2 → 1" in shown["text/plain"]
    assert reply.status == "error"
    assert reply.traceback.startswith("✗ windows: 1 of 2 expectations failed")
    assert "→" not in reply.traceback


def test_an_interrupt_ends_a_test(kernel: Kernel) -> None:
    request = kernel.send(NEVER)
    kernel.begun(request)
    runs = f"arroyo_nb-{kernel.pid}-*/test-*/outputs/0/checkpoint/commits/1"
    deadline = allowed(60)
    while not [*Path("/tmp").glob(runs)] and deadline > 0:
        kernel.client.is_alive()
        deadline -= _slept(0.05)
    reply = kernel.result(request, 60, since=kernel.interrupt())
    assert reply.status == "error"
    assert "the test 'slow' was interrupted" in reply.traceback
    assert reply.took_s < allowed(15)
    assert kernel.run(TEST).printed.startswith("✓ windows: passed")


def _slept(seconds: float) -> float:
    import time

    time.sleep(seconds)
    return seconds


def notebook(path: Path, *cells: str) -> Path:
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(made, path)
    return path


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_nbmake_runs_tests(tmp_path: Path) -> None:
    setup = ("%load_ext arroyo_nb", TABLES, "nobody = 'x'")
    path = notebook(tmp_path / "n.ipynb", *setup, TEST, WRONG)
    made = run("pytest", "-q", "-p", "no:cacheprovider", "--nbmake", path.name,
               cwd=tmp_path)  # fmt: skip
    # The cell that fails is the last one: the test before has passed.
    assert made.returncode == 1, made.stdout + made.stderr
    assert "| 2 → 1" in made.stdout


@pytest.mark.long("notebooks")
def test_exported_tests_run_without_jupyter(tmp_path: Path) -> None:
    write = "%%arroyo names_of <<\nINSERT INTO names SELECT user, at FROM named"
    table = (
        "%%arroyo\nCREATE TABLE names (user TEXT, at TIMESTAMP) WITH (connector = "
        "'filesystem', path = 'names', type = 'sink', format = 'json')"
    )
    of_run = (
        "%%arroyo_test names\nGIVEN clicks\nat | user\n10:00 | ann\n10:01 |\n"
        "WHEN RUN names_of\nEXPECT TABLE\nuser\nann\n"
    )
    path = notebook(
        tmp_path / "n.ipynb",
        *("%load_ext arroyo_nb", TABLES, table, write, "nobody = 'x'", TEST, of_run),
    )
    made = run("arroyo_nb.cli", "export-tests", path.name, cwd=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    made = run("arroyo_nb.cli", "promote", path.name, "--name", "names_of",
               cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    path.unlink()

    folder = tmp_path / "tests"
    job = tmp_path / "jobs" / "names_of"
    quiet = ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    made = run(*quiet, str(folder), str(job), cwd=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "7 passed" in made.stdout

    # Whatever is changed fails: an expectation, or the job that is tested.
    cell = folder / "n_cells" / "windows.test"
    cell.write_text(cell.read_text().replace("| 1", "| 3", 1))
    spec = job / "job.yaml"
    spec.write_text(
        spec.read_text().replace("user, at FROM named", "upper(user), at FROM named")
    )
    made = run(*quiet, str(folder), str(job), cwd=tmp_path)
    assert made.returncode == 1, made.stdout + made.stderr
    failed = set(re.findall(r"^FAILED \S+::(\w+)", made.stdout, re.MULTILINE))
    assert failed == {
        "test_windows",
        *("test_names", "test_its_plan_is_the_one_that_was_reviewed"),
    }
    assert "3 → 1" in made.stdout
    assert "− ann" in made.stdout
