"""Notebooks of the tutorials run from top to bottom, in one kernel. The quickstart does
in a browser, and all of them do in ``make long-notebooks``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from fresh_session import FRESH_SESSION
from kernels import Kernel

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.jars import BROKER, CONNECTOR, resolve

FOLDER = Path(__file__).parents[2] / "notebooks"
CELL_S = 300.0


@pytest.fixture(scope="module")
def kernel(start: Callable[..., Kernel]) -> Kernel:
    return start()


def run_all(kernel: Kernel, name: str) -> None:
    """Run each cell; one fails only where that is taught."""
    notebook = nbformat.read(FOLDER / name, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    for cell in cells:
        reply = kernel.execute(cell.source, CELL_S)
        fails = "raises-exception" in cell.metadata.get("tags", [])
        wanted = "error" if fails else "ok"
        assert reply.status == wanted, f"{cell.source}\n{reply.text}{reply.traceback}"
    # Or another one would run beside what this one has left.
    kernel.run(FRESH_SESSION)


def test_kafka(kernel: Kernel) -> None:
    try:
        resolve(BROKER)
        resolve(CONNECTOR)
    except EngineProblem as problem:
        pytest.skip(str(problem))
    run_all(kernel, "05_kafka.ipynb")


def test_windows(kernel: Kernel) -> None:
    run_all(kernel, "02_windows.ipynb")
