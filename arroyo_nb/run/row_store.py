"""What an output produced, as Arrow files in the run's folder: appended, read lazily.

::

    rows/000001.arrow   an IPC stream: a record batch or more for each micro-batch
    rows/base.arrow     of changes: the rows that the changes of removed files left

Nothing is read into memory that nobody looks at: files are memory-mapped. None is ever
shortened, as somebody may have it mapped: a micro-batch that comes again begins a new
file, and what earlier files have from its number on counts no more.

Above the budget the oldest files go. A disk that is nearly full ends the keeping: the
rows up to there stay, and the run goes on.
"""

from __future__ import annotations

import errno
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock

import pyarrow as pa

from arroyo_nb.file_errors import is_full

FILES_OF_BUDGET = 8
"""Into how many files a budget is cut: removing the oldest frees an eighth of it."""

MOST_FILE_BYTES = 64 * 2**20

RESERVE_BYTES, RESERVE_SHARE = 256 * 2**20, 20
"""What is left free on the disk: so many bytes, on a small one a twentieth of it. The
checkpoints of the run are usually on the same one."""

IN_MEMORY_BYTES = 16 * 2**20
"""Up to this size the rows of a folder that is removed are read into memory; larger
files stay mapped, each with a descriptor and its place on the disk."""

RECENT_BATCHES = 64
"""For how many of the newest micro-batches it is known where they begin."""

_NOTES = b"batch", b"first", b"count", b"result", b"rows"
_FIRST = b"first"
_BASE = "base.arrow"


@dataclass(frozen=True)
class Frame:
    """Results of one micro-batch.

    Parameters
    ----------
    batch_id
        Its number.
    first, count
        How many results came before it, and how many it has: rows, or of an updating
        output changes, as they are shown.
    result_rows
        Of an updating output: how many rows the result has after it.
    rows
        The record batches.
    """

    batch_id: int
    first: int
    count: int
    result_rows: int
    rows: pa.Table

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What the file says of it beside its rows."""
        values = self.batch_id, self.first, self.count, self.result_rows
        texts = (str(value).encode() for value in (*values, self.rows.num_rows))
        return dict(zip(_NOTES, texts, strict=True))


@dataclass(eq=False)
class _File:
    """One file of the folder.

    Parameters
    ----------
    path
        Where it is.
    first_batch, first
        The micro-batch that it begins with, and how many results came before that.
    record_batches
        How many of its record batches are whole.
    until_batch
        From this micro-batch on it counts no more; None: all counts.
    buffer
        Its bytes, once its folder is removed.
    """

    path: Path
    first_batch: int
    first: int
    record_batches: int = 0
    size_bytes: int = 0
    until_batch: int | None = None
    buffer: pa.Buffer | None = None

    def open(self) -> pa.NativeFile:
        """Its bytes; those that are mapped stay readable when it is removed."""
        if self.buffer is not None:
            return pa.BufferReader(self.buffer)
        return pa.memory_map(str(self.path))

    def frames(self) -> Iterator[Frame]:
        """Its micro-batches that count."""
        return self.read(self.open(), self.record_batches)

    def read(self, opened: pa.NativeFile, record_batches: int) -> Iterator[Frame]:
        """Those of the first so many record batches of the opened file."""
        with opened, pa.ipc.open_stream(opened) as reader:
            for frame in _frames(reader, record_batches):
                if self.until_batch is not None and frame.batch_id >= self.until_batch:
                    return
                yield frame


class RowStore:
    """The results of one output in a folder; written by one thread, read by any.

    Attributes
    ----------
    folder
        Where they are.
    budget_bytes
        What the files may take together, the newest micro-batch aside.
    problem
        Why no more results are kept; empty: they are.
    next
        How many results there have been, those that were let go among them.
    result_rows
        See :class:`Frame`.
    recent
        The newest micro-batches, how many results came before each, and how many rows
        the result then had.

    Parameters
    ----------
    schema
        Columns of the rows. Rows of other columns that are there are removed.
    compact
        The rows that changes leave, as changes: what is left of files that go. None:
        nothing is.
    """

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        budget_bytes: int,
        compact: Callable[[pa.Table], pa.Table] | None = None,
    ) -> None:
        self.folder = folder
        self.budget_bytes = budget_bytes
        self.problem = ""
        self.next = 0
        self.result_rows = 0
        self.recent: deque[tuple[int, int, int]] = deque(maxlen=RECENT_BATCHES)
        self._schema = schema
        self._compact = compact
        self._lock = Lock()
        self._files: list[_File] = []
        self._number = 0
        self._last_batch = -1
        self._sink: pa.NativeFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self._base: pa.Table | None = None
        self._base_is_lost = False
        with self._ending_at_a_problem():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_up()

    @property
    def first(self) -> int:
        """How many older results were let go."""
        files = self._files
        return files[0].first if files else self.next

    @property
    def kept(self) -> int:
        """How many results are here."""
        return self.next - self.first

    @property
    def size_bytes(self) -> int:
        """What the files take together."""
        return sum(file.size_bytes for file in self._files)

    @property
    def leaves_result(self) -> bool:
        """Whether what is here gives all rows of the result of an updating output."""
        return not self.problem and not self._base_is_lost

    def append(
        self, rows: pa.Table, batch_id: int, count: int, result_rows: int = 0
    ) -> None:
        """Add the results of a micro-batch; of one that came before they take the
        place, and nothing counts any more that came after. Raises nothing: where it
        cannot be done, :attr:`problem` says so."""
        if self.problem:
            return
        with self._lock, self._ending_at_a_problem():
            if batch_id <= self._last_batch:
                self._withdraw(batch_id)
            self._last_batch = batch_id
            self.recent.append((batch_id, self.next, self.result_rows))
            if rows.num_rows:
                frame = Frame(batch_id, self.next, count, result_rows, rows)
                self._write(frame)
            self.next += count
            self.result_rows = result_rows

    def frames(self) -> Iterator[Frame]:
        """What is here, oldest first, one micro-batch at a time. Files that go
        meanwhile are read to their end all the same."""
        with self._lock:
            parts = [f.read(f.open(), f.record_batches) for f in self._files]
        return chain.from_iterable(parts)

    def base(self) -> pa.Table | None:
        """Of changes: the rows that those which were let go left; None: none were."""
        return self._base

    def newest(self, count: int) -> list[Frame]:
        """The newest micro-batches that have so many rows together, or all."""
        found: deque[Frame] = deque()
        rows = 0
        for frame in self.frames():
            found.append(frame)
            rows += frame.rows.num_rows
            while found and rows - found[0].rows.num_rows >= count:
                rows -= found.popleft().rows.num_rows
        return list(found)

    def close(self) -> None:
        """Write no more to the newest file; harmless twice. What is here stays
        readable, and a later micro-batch begins another file."""
        with self._lock, suppress(OSError, pa.ArrowException):
            self._close_file()

    def detach(self) -> None:
        """Keep what is here readable after the folder is removed."""
        self.close()
        with self._lock, suppress(OSError, pa.ArrowException):
            small = self.size_bytes <= IN_MEMORY_BYTES
            for file in self._files:
                if file.buffer is None:
                    with file.open() as source:
                        mapped = source.read_buffer()
                        copied = pa.py_buffer(mapped.to_pybytes()) if small else mapped
                        file.buffer = copied

    def _write(self, frame: Frame) -> None:
        self._check_disk(frame.rows.nbytes)
        if self._writer is None:
            self._begin_file(frame)
        assert self._sink is not None
        assert self._writer is not None
        file = self._files[-1]
        batches = frame.rows.to_batches()
        for batch in batches:
            self._writer.write_batch(batch, custom_metadata=frame.metadata)
        self._sink.flush()
        file.record_batches += len(batches)
        file.size_bytes = self._sink.tell()
        if file.size_bytes >= min(
            self.budget_bytes // FILES_OF_BUDGET, MOST_FILE_BYTES
        ):
            self._close_file()
        self._respect_budget()

    def _begin_file(self, frame: Frame) -> None:
        self._number += 1
        path = self.folder / f"{self._number:06}.arrow"
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, self._schema)
        self._files.append(_File(path, frame.batch_id, frame.first))

    def _close_file(self) -> None:
        # An end that is not written is the same to who reads it.
        writer, sink = self._writer, self._sink
        self._writer = self._sink = None
        if writer is not None and sink is not None:
            try:
                writer.close()
            finally:
                sink.close()

    def _withdraw(self, batch_id: int) -> None:
        """Let nothing count from a micro-batch on: it comes again."""
        self._close_file()
        at = None
        while self.recent and self.recent[-1][0] >= batch_id:
            at = self.recent.pop()[1:]
        if at is None:  # it goes back further than is known here
            frames = chain.from_iterable(file.frames() for file in self._files)
            before = next((f for f in frames if f.batch_id >= batch_id), None)
            at = (self.next, 0) if before is None else (before.first, 0)
        self.next, self.result_rows = at
        for file in self._files:
            if file.until_batch is None or file.until_batch > batch_id:
                file.until_batch = batch_id

    def _respect_budget(self) -> None:
        while self.size_bytes > self.budget_bytes and len(self._files) > 1:
            oldest = self._files[0]
            if self._compact is not None:
                self._add_to_base(oldest)
            del self._files[0]
            oldest.path.unlink(missing_ok=True)

    def _add_to_base(self, oldest: _File) -> None:
        """Keep what the changes of a file left: without it the rows of the result
        could not be told any more."""
        if self._base_is_lost:
            return
        assert self._compact is not None
        parts = [frame.rows for frame in oldest.frames()]
        known = [] if self._base is None else [self._base]
        rows = self._compact(pa.concat_tables([*known, *parts]))
        if rows.nbytes > self.budget_bytes:
            self._base, self._base_is_lost = None, True
            (self.folder / _BASE).unlink(missing_ok=True)
            return
        self._check_disk(rows.nbytes)
        path = self.folder / _BASE
        draft = path.with_suffix(".tmp")
        note = {_FIRST: str(self._files[1].first).encode()}
        schema = rows.schema.with_metadata(note)
        with pa.OSFile(str(draft), "wb") as sink, pa.ipc.new_stream(sink, schema) as w:
            w.write_table(rows)
        draft.replace(path)
        self._base = _mapped(path)

    def _check_disk(self, more_bytes: int) -> None:
        disk = shutil.disk_usage(self.folder)
        reserve = min(RESERVE_BYTES, disk.total // RESERVE_SHARE)
        if disk.free - more_bytes < reserve:
            raise OSError(errno.ENOSPC, "the disk is nearly full")

    def _take_up(self) -> None:
        """Take up what an earlier process left: whole record batches, and no gap."""
        found = []
        for path in sorted(self.folder.glob("[0-9]*.arrow")):
            self._number = max(self._number, int(path.stem))
            if (read := _read_file(path, self._schema)) is None:
                path.unlink(missing_ok=True)
            else:
                found.append(read)
        for file, last in found:
            if file.first_batch <= self._last_batch:
                self._files.append(file)
                self._withdraw(file.first_batch)
            elif self._files and file.first != self.next:
                # What lies between is lost, as after a loss of power.
                self._remove(self._files)
                self._files = [file]
            else:
                self._files.append(file)
            file.until_batch = None
            for frame in file.frames():
                self.recent.append((frame.batch_id, frame.first, self.result_rows))
                self.result_rows = frame.result_rows
            self._last_batch, self.next = last.batch_id, last.first + last.count
        self._take_up_base()

    def _take_up_base(self) -> None:
        if self._compact is None or not self._files:
            return
        with suppress(OSError, pa.ArrowException):
            base = _mapped(self.folder / _BASE)
            at = int((base.schema.metadata or {}).get(_FIRST, b"-1"))
            if base.schema.remove_metadata() == self._schema.remove_metadata():
                # A file that is in it already goes, as it was to.
                gone = [file for file in self._files if file.first < at]
                self._remove(gone)
                self._files = [file for file in self._files if file not in gone]
                self._base = base
        self._base_is_lost = self._base is None and self.first > 0

    def _remove(self, files: Iterable[_File]) -> None:
        for file in files:
            file.path.unlink(missing_ok=True)

    @contextmanager
    def _ending_at_a_problem(self) -> Iterator[None]:
        """No more is kept once something could not be: what is here has no gap."""
        try:
            yield
        except (OSError, pa.ArrowException) as problem:
            said = "the disk is nearly full" if is_full(problem) else str(problem)
            self.problem = f"'{self.folder}' cannot be written: {said}"
            with suppress(OSError, pa.ArrowException):
                self._close_file()


def _frames(reader: pa.ipc.RecordBatchStreamReader, count: int) -> Iterator[Frame]:
    """The micro-batches of the first so many record batches."""
    batches: list[pa.RecordBatch] = []
    notes: dict[bytes, bytes] = {}
    for _ in range(count):
        found = reader.read_next_batch_with_custom_metadata()
        read = dict(found.custom_metadata)
        if batches and read != notes:
            yield _frame(notes, batches)
            batches = []
        notes = read
        batches.append(found.batch)
    if batches:
        yield _frame(notes, batches)


def _frame(notes: dict[bytes, bytes], batches: list[pa.RecordBatch]) -> Frame:
    batch_id, first, count, result_rows, _ = (int(notes[name]) for name in _NOTES)
    rows = pa.Table.from_batches(batches)
    return Frame(batch_id, first, count, result_rows, rows)


def _read_file(path: Path, schema: pa.Schema) -> tuple[_File, Frame] | None:
    """A file and its last micro-batch that is whole; None: it has none of these
    columns."""
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            found = list(_whole(reader)) if reader.schema.equals(schema) else []
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None
    if not found:
        return None
    (_, first), (record_batches, last) = found[0], found[-1]
    size = path.stat().st_size
    return _File(path, first.batch_id, first.first, record_batches, size), last


def _whole(reader: pa.ipc.RecordBatchStreamReader) -> Iterator[tuple[int, Frame]]:
    """The micro-batches of a file whose end may be torn, each with how many record
    batches there are up to its end."""
    record_batches, rows = 0, 0
    with suppress(StopIteration, OSError, pa.ArrowException):
        while True:
            found = reader.read_next_batch_with_custom_metadata()
            notes = dict(found.custom_metadata)
            record_batches, rows = record_batches + 1, rows + found.batch.num_rows
            if rows == int(notes[_NOTES[-1]]):
                yield record_batches, _frame(notes, [found.batch])
                rows = 0


def _mapped(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
        return reader.read_all()
