"""``%%arroyo_test`` in a kernel, in headless notebooks, and exported to pytest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from clicks_notebook import TABLES, TEST, WRONG, notebook, run
from kernels import Kernel
from machine import allowed

NEVER = """%%arroyo_test slow --timeout 10m
GIVEN t
at | n
{rows}
WHEN SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM t GROUP BY w
EXPECT TABLE EMPTY""".format(
    rows="\n".join(f"10:{n // 60:02}:{n % 60:02} | {n}" for n in range(900))
)


@pytest.fixture(scope="module")
def kernel(cells: Kernel) -> Kernel:
    cells.run("nobody = 'x'")
    cells.run(TABLES)
    return cells


def test_a_test_passes_and_changes_nothing(kernel: Kernel) -> None:
    known = "(session.catalog.names, [*session.runs])"
    before = kernel.value(known)
    reply = kernel.run(TEST)
    assert re.fullmatch(r"✓ windows: passed, 2 expectations, [\d.]+ s\n", reply.printed)
    assert kernel.value(known) == before


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
