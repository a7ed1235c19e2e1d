"""The committed notebooks carry their outputs, and nothing of the machine that ran
them: they are read where there is no kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MOST_BYTES = 1_000_000
SHOWN = {"text/html", "text/plain", "image/png"}
LINK = re.compile(r"\]\(([^)]+\.ipynb)\)")
OF_A_MACHINE = re.compile(r"(?<![\w.])/(home|root|tmp|Users|opt|usr|var)/|127\.0\.0\.1")
OF_A_KERNEL = re.compile(r"widget-view|arroyo-still|Traceback|Warning")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def cells(path: Path) -> list[Any]:
    """The code cells."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_were_run_from_top_to_bottom(cells: list[Any]) -> None:
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(cells) + 1)), "run: make notebooks"


def test_fail_only_where_that_is_taught(cells: list[Any]) -> None:
    for cell in cells:
        failed = any(output.output_type == "error" for output in cell.outputs)
        assert failed == ("raises-exception" in cell.metadata.get("tags", []))


def test_show_results_without_a_kernel(cells: list[Any]) -> None:
    kinds: set[str] = set()
    for cell in cells:
        for output in cell.outputs:
            assert output.get("name") != "stderr"
            kinds |= set(output.get("data", {}))
        if "<<" in cell.source.partition("\n")[0]:
            pages = (output.get("data", {}).get("text/html") for output in cell.outputs)
            (snapshot,) = filter(None, pages)
            assert "snapshot at" in snapshot
    assert kinds == SHOWN


def test_say_nothing_of_the_machine(path: Path, cells: list[Any]) -> None:
    assert path.stat().st_size < MOST_BYTES
    written = json.loads(path.read_text("utf-8"))
    assert written["metadata"]["language_info"] == {"name": "python"}
    assert "widgets" not in written["metadata"]
    assert not any("execution" in cell.metadata for cell in cells)
    text = "".join(map(_text, cells))
    assert not OF_A_MACHINE.findall(text)
    assert not OF_A_KERNEL.findall(text)


def test_link_to_notebooks_that_are_there(path: Path) -> None:
    for link in LINK.findall(path.read_text("utf-8")):
        assert (path.parent / link).is_file(), link


def _text(cell: Any) -> str:
    """The outputs of a cell without its pictures, whose letters are any."""
    outputs = json.loads(json.dumps(cell.outputs))
    for output in outputs:
        output.get("data", {}).pop("image/png", None)
    return re.sub(r"base64,[\w+/=]+", "", json.dumps(outputs))
