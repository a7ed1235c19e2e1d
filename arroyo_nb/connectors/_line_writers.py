"""Sinks of lines: a file, written exactly once, and a text stream.

Rows are encoded inside Spark: what comes to Python is one Arrow column of text.

A file grows batch by batch, and where each batch began is noted in the state folder
*after* its bytes are on disk. A batch that comes again after a crash is cut off at
its beginning and written anew; bytes of a batch that was never noted are cut off too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import FORMATS
from arroyo_nb.options import OptionValue
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOTED_BATCHES = 16


class Lines:
    """Encodes micro-batches as lines of the table's format, JSON by default."""

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._format = FORMATS.get(str(options.get("format", "json")))
        self._schema = schema
        self._options = options

    def of(self, batch: DataFrame) -> Iterator[bytes]:
        """A batch's rows in large pieces, each row ended by a newline; one action."""
        import pyarrow.compute as pc

        column = self._format.encoded(self._schema, self._options)
        (lines,) = batch.select(column).toArrow().columns
        for piece in pc.binary_join_element_wise(lines, "", "\n").chunks:
            if len(piece):
                yield piece.buffers()[2].to_pybytes()


class FileWriter:
    """Writes one file, every row once.

    Raises
    ------
    RunProblem
        When the file cannot be written, or is not the one that was written before.
    """

    native: str | None = None

    def __init__(
        self,
        path: Path,
        schema: Schema,
        options: Mapping[str, OptionValue],
        state: Path,
    ) -> None:
        self._path = path
        self._lines = Lines(schema, options)
        self._notes = state / "batches.json"
        # begins: batch id -> byte where it begins; end: byte after the last of them.
        self._begins: dict[int, int] = {}
        self._end = 0
        try:
            state.mkdir(parents=True, exist_ok=True)
            self._begin()
        except OSError as problem:
            raise self._problem(problem) from problem

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one micro-batch, in the place of itself where it was there before."""
        begin = self._begins.get(batch_id, self._end)
        try:
            with self._path.open("r+b") as file:
                file.truncate(begin)
                file.seek(begin)
                for piece in self._lines.of(batch):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
                self._end = file.tell()
        except OSError as problem:
            raise self._problem(problem) from problem
        self._begins = {b: at for b, at in self._begins.items() if b < batch_id}
        self._begins[batch_id] = begin
        self._note()

    def close(self) -> None:
        """Nothing is held open between batches."""

    def _begin(self) -> None:
        if not self._notes.exists():
            self._path.write_bytes(b"")
            self._note()
            return
        found = json.loads(self._notes.read_text(encoding="utf-8"))
        self._begins = {int(batch): at for batch, at in found["begins"].items()}
        self._end = found["end"]
        size = self._path.stat().st_size if self._path.exists() else 0
        if size < self._end:
            raise RunProblem(
                f"'{self._path}' is shorter than what this run has written",
                hint="put the file back, or start with another state folder",
            )
        os.truncate(self._path, self._end)

    def _note(self) -> None:
        self._begins = kept = dict(sorted(self._begins.items())[-_NOTED_BATCHES:])
        torn = self._notes.with_name(f".{self._notes.name}.tmp")
        torn.write_text(
            json.dumps({"begins": kept, "end": self._end}), encoding="utf-8"
        )
        torn.replace(self._notes)

    def _problem(self, problem: OSError) -> RunProblem:
        return RunProblem(f"cannot write '{self._path}': {problem.strerror}")


class StreamWriter:
    """Writes lines to a text stream; after a crash a batch may come twice.

    Parameters
    ----------
    schema, options
        The rows and how they are encoded.
    stream
        Where to; None: whatever ``sys.stdout`` is when a batch is written.
    """

    native: str | None = None

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        stream: TextIO | None = None,
    ) -> None:
        self._lines = Lines(schema, options)
        self._stream = stream

    def write(self, batch: DataFrame, batch_id: int) -> None:  # noqa: ARG002
        """Write one micro-batch."""
        stream = self._stream or sys.stdout
        try:
            for piece in self._lines.of(batch):
                stream.write(piece.decode("utf-8"))
            stream.flush()
        except BrokenPipeError as problem:
            raise RunProblem("nobody reads the standard output any more") from problem

    def close(self) -> None:
        """The stream is not ours to close."""
