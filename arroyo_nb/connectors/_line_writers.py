"""Sinks of lines: a file, written exactly once, and a text stream.

Rows are encoded inside Spark: what comes to Python is one Arrow column of text.

A file has one writer at a time: it is locked while a run writes it. It grows batch by
batch, and where each batch began is noted in the state folder *after* its bytes are on
disk. A batch that comes again after a crash is cut off at its beginning and written
anew; bytes of a batch that was never noted are cut off too.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.connectors import CollectingWriter, TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import IMAGE, change_format, line_format, usual_format
from arroyo_nb.schema import Schema
from arroyo_nb.sink_notes import Notes
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

_NOTED_BATCHES = 16
_NEWLINE = b"\n"
"""Ends each row, and is in none: JSON escapes it."""


class Lines:
    """Encodes micro-batches as lines of the table's format.

    Changes, which have a weight, are of a format of changes: the changes of one row in
    a batch are one.
    """

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._format = line_format(str(options.get("format", usual_format())))
        self._schema = schema
        self._options = options

    def columns(self, names: Sequence[str]) -> list[Column]:
        """What Spark computes of rows with columns of these names: the text of a row
        that is only appended, named ``value``, or the image of a change."""
        from pyspark.sql import functions as F  # noqa: N812

        if WEIGHT not in names:
            return [self._format.encoded(self._schema, self._options)]
        image = change_format(self._format.name).image(self._schema, self._options)
        return [F.expr(image).alias(IMAGE), F.col(WEIGHT), F.col(ROW_ID)]

    def texts(self, rows: pa.Table) -> pa.ChunkedArray:
        """A batch's rows as text, from its :meth:`columns`."""
        from arroyo_nb.changelog.debezium_changes import documents

        if WEIGHT not in rows.column_names:
            return rows["value"]
        return change_format(self._format.name).change_texts(documents(rows))

    def pieces(self, rows: pa.Table) -> Iterator[bytes]:
        """The same in large pieces, each row ended by a newline."""
        return joined(self.texts(rows))


def joined(lines: pa.ChunkedArray) -> Iterator[bytes]:
    """Lines in large pieces, each ended by a newline."""
    import pyarrow.compute as pc

    for piece in pc.binary_join_element_wise(lines, "", "\n").chunks:
        if len(piece):
            yield piece.buffers()[2].to_pybytes()


class FileWriter(CollectingWriter):
    """Writes one file, every row once; while it does, nobody else may.

    Parameters
    ----------
    spec
        The table; its option ``path`` is the file.
    state
        Folder for the notes.

    Raises
    ------
    RunProblem
        When the file cannot be written, is being written by another run, or is not
        the one that was written before.
    """

    def __init__(self, spec: TableSpec, state: Path) -> None:
        self._path = Path(str(spec.options["path"]))
        self._name = spec.shown("path")
        self._lines = Lines(spec.physical, spec.options)
        # begins: batch id -> byte where it begins; end: byte after the last of them.
        self._begins: dict[int, int] = {}
        self._end = 0
        with ExitStack() as undo, self._told():
            self._notes = Notes(state / "batches.json")
            found = self._notes.read()
            self._check_resume(spec, found)
            self._lock = undo.enter_context(self._opened(fresh=found is None))
            undo.callback(claim(self._lock.fileno(), self._name, spec.user))
            self._begin(found)
            self._undo = undo.pop_all()

    def columns(self, names: Sequence[str]) -> list[Column]:
        """The text of each row, or what it is made of."""
        return self._lines.columns(names)

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Write one micro-batch, in the place of itself where it was there before."""
        begin, count = self._begins.get(batch_id, self._end), 0
        with self._told(), self._path.open("r+b") as file:
            self._check(file, begin)
            if begin < self._end:  # until it is whole again the file ends before it
                self._end = begin
                self._note()
            file.truncate(begin)
            file.seek(begin)
            for piece in self._lines.pieces(rows):
                file.write(piece)
                count += piece.count(_NEWLINE)
            file.flush()
            os.fsync(file.fileno())
            self._end = file.tell()
        self._begins = {b: at for b, at in self._begins.items() if b < batch_id}
        self._begins[batch_id] = begin
        self._note()
        return count

    def close(self) -> None:
        """Let others write the file; harmless twice."""
        self._undo.close()

    def _opened(self, *, fresh: bool) -> BinaryIO:
        # A file that was written before is not made anew: that it is gone is told.
        made = os.O_CREAT if fresh else 0
        return os.fdopen(os.open(self._path, os.O_RDWR | made, 0o666), "r+b")

    def _check_resume(self, spec: TableSpec, found: Any | None) -> None:
        if spec.resume is None:
            return
        # A batch whose beginning is known is cut off and written anew.
        begins = [int(batch) for batch in found["begins"]] if found else []
        newest = max(begins, default=-1) if found else None
        spec.resume.check(self._notes.path, newest, begins)

    def _begin(self, found: Any | None) -> None:
        if found is not None:
            self._begins = {int(batch): at for batch, at in found["begins"].items()}
            self._end = found["end"]
            if os.fstat(self._lock.fileno()).st_size < self._end:
                raise RunProblem(
                    f"'{self._name}' is shorter than what this run has written",
                    hint="put the file back, or start with another state folder",
                )
            self._lock.truncate(self._end)
        else:
            self._lock.truncate(0)
            self._note()

    def _check(self, file: BinaryIO, begin: int) -> None:
        """Refuse a file that somebody else took in hand since the last batch."""
        if self._lock.closed:
            raise RunProblem(f"the run has released '{self._name}'")
        found = os.fstat(file.fileno())
        if not os.path.samestat(found, os.fstat(self._lock.fileno())):
            raise RunProblem(f"'{self._name}' was replaced while it was written")
        if found.st_size < begin:
            raise RunProblem(
                f"'{self._name}' was cut to {found.st_size} bytes while it was "
                f"written; {begin} were there",
                hint="leave the file alone until the run has ended",
            )

    def _note(self) -> None:
        self._begins = kept = dict(sorted(self._begins.items())[-_NOTED_BATCHES:])
        self._notes.write({"begins": kept, "end": self._end})

    def _told(self) -> AbstractContextManager[None]:
        return refusals("write", self._name)


_USERS: dict[tuple[int, int], str] = {}
"""Who writes which file in this process, by the file's device and inode."""


def claim(file: int, name: str, user: str) -> Callable[[], None]:
    """Keep an open file or folder for one writer; returns what lets go of it.

    The lock is the system's and on the file itself: it ends with this process however
    that dies, and leaves nothing behind.
    """
    status = os.fstat(file)
    key = (status.st_dev, status.st_ino)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunProblem(
            f"'{name}' is being written by {_USERS.get(key, 'another process')}",
            hint="stop that run first, or write to another file",
        ) from None
    _USERS[key] = user

    def let_go() -> None:
        _USERS.pop(key, None)
        # Not by closing alone: a child that was forked holds the file open too.
        fcntl.flock(file, fcntl.LOCK_UN)

    return let_go


class TextStreamWriter(CollectingWriter):
    """Writes lines to a text stream; after a crash a batch may come twice.

    Parameters
    ----------
    schema, options
        The rows and how they are encoded.
    stream
        Where to; None: whatever ``sys.stdout`` is when a batch is written.
    """

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        stream: TextIO | None = None,
    ) -> None:
        self._lines = Lines(schema, options)
        self._stream = stream

    def columns(self, names: Sequence[str]) -> list[Column]:
        """The text of each row, or what it is made of."""
        return self._lines.columns(names)

    def take(self, rows: pa.Table, batch_id: int) -> int:  # noqa: ARG002
        """Write one micro-batch."""
        stream, count = self._stream or sys.stdout, 0
        try:
            for piece in self._lines.pieces(rows):
                stream.write(piece.decode("utf-8"))
                count += piece.count(_NEWLINE)
            stream.flush()
        except BrokenPipeError as problem:
            unread = RunProblem("nothing reads the standard output any more")
            unread.lasting = True  # a job need not begin again
            raise unread from problem
        return count

    def close(self) -> None:
        """The stream is not ours to close."""
