"""A run that was saved by :meth:`arroyo_nb.run.run.Run.save_trace`, to be looked at
again: in another kernel, without Spark and without its sources."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.run.observe.late_table import sampled_late_rows, windows_of
from arroyo_nb.run.observe.moments import Moments
from arroyo_nb.run.observe.run_moments import numbered_output
from arroyo_nb.run.observe.snapshot import Moment, Snapshot
from arroyo_nb.run.observe.trace_file import TracedOutput
from arroyo_nb.run.observe.trace_reader import load
from arroyo_nb.run.results.run_results import RunResults, RunViews

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.results.preview import Preview

REPR_ROWS = 10
"""Rows that a trace shows of itself."""


class LoadedTrace(RunResults):
    """What a run did, micro-batch by micro-batch.

    Parameters
    ----------
    path
        The file.
    views
        How it is shown.

    Attributes
    ----------
    name
        The run's.
    sql
        Its script.
    handle
        What a user writes for it in a notebook.

    Raises
    ------
    DataProblem
        When the file is no trace.
    """

    def __init__(self, path: Path, views: RunViews) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="arroyo-nb-trace-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        with refusals("read", str(path)):
            self._run = load(path, self._folder)
        self._views: RunViews = views
        self._lock = Lock()
        self._ends: dict[int, Moments] = {}
        self.sql = self._run.sql
        self.name = self._run.outputs[0].newest.name
        self.handle = "trace"

    def __repr__(self) -> str:
        return self._views.text(self.snapshot(REPR_ROWS))

    def _repr_html_(self) -> str:
        return self._views.html(self.snapshot(REPR_ROWS))

    def explain(self) -> str:
        """The plan of the script."""
        return self._run.plan

    def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
        """The run as it was at its end, for views."""
        newest = self._output(output).newest
        # Its batches are counted once: a panel asks for it again and again.
        with self._lock:
            moments = self._ends.setdefault(output, self.moments(output))
            if moments.last < 0:
                return newest
            made = moments.snapshot(newest, moments.last, rows)
        return replace(
            made,
            state=newest.state,
            note=newest.note,
            error=newest.error,
            elapsed_s=newest.elapsed_s,
            sources=newest.sources,
            moment=Moment(moments.last, moments.first, moments.last),
        )

    def moments(self, output: int = 0) -> Moments:
        """Its micro-batches, each as a snapshot for views."""
        return Moments(self._output(output).trace)

    def windows(self, output: int = 0) -> pa.Table:
        """The windows at the end; see :meth:`arroyo_nb.run.run.Run.windows`."""
        return windows_of(self.snapshot(0, output).windows)

    def late(self, output: int = 0) -> pa.Table:
        """The late rows that the trace has: some of each micro-batch, of few rows all;
        a warning says how many others there were. Their key and first values are
        texts; the other columns are those of :meth:`arroyo_nb.run.run.Run.late`."""
        traced = self._output(output).trace.window
        return sampled_late_rows(traced, f"output {output} of '{self.name}'")

    def _output(self, output: int) -> TracedOutput:
        return numbered_output(self._run.outputs, output)

    def _kept_preview(self, output: int) -> Preview:
        preview = self._output(output).trace.preview
        if preview is None:
            raise RunProblem("the rows of this output were not kept when it ran")
        return preview
