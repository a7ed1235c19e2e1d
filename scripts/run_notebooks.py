"""Run notebooks in fresh kernels, and show how far they are.

``run_notebooks.py NOTEBOOK ...`` writes the outputs into the notebooks themselves, for
readers without a kernel. Of what a run leaves behind only that is kept which the next
run leaves too: no times, no versions, no ids.

``--html FOLDER`` leaves the notebooks as they are and writes pages, with one of each
other notebook beside them as it is: the links between them lead somewhere.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

CELL_S = 900
"""A first cell starts Spark, which takes minutes where others want the machine too."""
TOLD_EVERY_S = 10.0
WHOLE = "--ArroyoMagics.headless_for=10m"
"""A run that is stopped by the limit of headless ones gives another result."""

QUIET = "--IPKernelApp.log_level=ERROR"
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
BROKER = re.compile(r"127\.0\.0\.1:\d+")
FOLDER = re.compile(re.escape(tempfile.gettempdir()) + r"/tmp\w+/")
TOOK = re.compile(r"took [\d.]+ s")
LINK = re.compile(r'href="(\w+)\.ipynb"')


def run(path: Path) -> Any:
    """The notebook with the outputs of a fresh kernel.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails that is not tagged ``raises-exception``.
    """
    notebook = nbformat.read(path, as_version=4)
    progress = Progress(sum(cell.cell_type == "code" for cell in notebook.cells))
    NotebookClient(
        notebook,
        timeout=CELL_S,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=[QUIET, WHOLE],
        on_cell_execute=progress.begin,
        on_cell_executed=progress.end,
    ).execute()
    return notebook


class Progress:
    """Prints one line a cell: its first line, its seconds as they pass, and how long it
    took."""

    def __init__(self, cells: int, every_s: float = TOLD_EVERY_S) -> None:
        self._cells, self._number, self._begun_s = cells, 0, 0.0
        self._every_s, self._ended = every_s, Event()

    def begin(self, cell: Any, **_: Any) -> None:
        """Tell which cell is run."""
        self._number, self._begun_s = self._number + 1, time.monotonic()
        first = next(iter(cell.source.splitlines()), "")
        print(f"  cell {self._number} of {self._cells}: {first}", end="", flush=True)
        self._ended = Event()
        Thread(target=self._tell, args=(self._ended,), daemon=True).start()

    def _tell(self, ended: Event) -> None:
        while not ended.wait(self._every_s):
            print(f"  {time.monotonic() - self._begun_s:.0f} s", end="", flush=True)

    def end(self, **_: Any) -> None:
        """Tell how long it took."""
        self._ended.set()
        print(f"  [{time.monotonic() - self._begun_s:.1f} s]", flush=True)


def lasting(notebook: Any) -> Any:
    """The notebook without what differs from run to run or place to place."""
    language = notebook.metadata.kernelspec.language
    notebook.metadata["language_info"] = {"name": language}
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = [o for o in cell.outputs if not _is_progress(o)]
        for output in cell.get("outputs", ()):
            for shown in (output, output.get("data", {})):
                for kind in ("text", "text/plain", "text/html"):
                    if kind in shown:
                        told = BROKER.sub("localhost:9092", shown[kind])
                        shown[kind] = FOLDER.sub("", told)
    return notebook


def _is_progress(output: Any) -> bool:
    """Whether an output says no more than how long something took."""
    return TOOK.fullmatch(output.get("data", {}).get("text/plain", "")) is not None


def page(notebook: Any, path: Path, folder: Path) -> None:
    """Write the notebook as a page without scripts, which asks nothing of any host."""
    from nbconvert import HTMLExporter

    resources = {"metadata": {"name": path.stem}}
    html, _ = HTMLExporter().from_notebook_node(notebook, resources)
    html = LINK.sub(r'href="\1.html"', SCRIPT.sub("", html))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{path.stem}.html").write_text(html, "utf-8")


def main() -> None:
    """Run all, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--html", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    for path in asked.notebooks:
        print(path, flush=True)
        try:
            notebook = lasting(run(path))
        except CellExecutionError as error:
            raise SystemExit(f"\n{error}") from None
        if asked.html is None:
            nbformat.write(notebook, path)
        else:
            page(notebook, path, asked.html)
    if asked.html is not None:
        around = {p for path in asked.notebooks for p in path.parent.glob("*.ipynb")}
        for path in sorted(around - set(asked.notebooks)):
            page(nbformat.read(path, as_version=4), path, asked.html)


if __name__ == "__main__":
    main()
