"""What an output produced, as Arrow files in the run's folder: appended, read lazily.

::

    rows/000001.arrow   an IPC stream: of changes the rows of the result before it, then
                        a record batch or more for each micro-batch
    rows/newest         the newest micro-batch, and how many results came up to it

Nothing is read into memory that nobody looks at: files are memory-mapped. None is ever
shortened, as somebody may have it mapped: a micro-batch that comes again begins a new
file, and what earlier files have from its number on counts no more.

Above the budget the oldest files go. A disk that is nearly full ends the keeping: the
rows up to there stay, and the run goes on. Each micro-batch says how many results came
before it, so that what is not here is counted, also by a later process.
"""

from __future__ import annotations

import errno
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import pyarrow as pa

from arroyo_nb.file_errors import is_full
from arroyo_nb.run.results.row_file import (
    BASE,
    SUM,
    Frame,
    NewestBatch,
    RowFile,
    check_sum,
    has_other_columns,
    read_file,
)

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

Result: TypeAlias = Callable[[], pa.Table | None]

_NO_BATCH, _NO_GAP = -1, -2


@dataclass(frozen=True)
class Changes:
    """The changes that make a result.

    Parameters
    ----------
    size_bytes
        How large their files are.
    parts
        The rows of the result at a moment, and the changes of each micro-batch since.
    """

    size_bytes: int
    parts: Iterator[pa.Table]


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
    last_batch
        The newest micro-batch, also where it had no results; -1 before the first.
    next
        How many results there have been, those that are not here among them.
    let_go
        How many of the oldest were let go, as the budget was exceeded.
    uncounted
        Whether there were others, of which nobody knows how many.
    result_rows
        See :class:`Frame`.
    recent
        The newest micro-batches, how many results came before each, and how many rows
        the result then had.

    Parameters
    ----------
    schema
        Columns of the rows. Rows of other columns that are there are removed.
    """

    def __init__(self, folder: Path, schema: pa.Schema, budget_bytes: int) -> None:
        self.folder = folder
        self.budget_bytes = budget_bytes
        self.problem = ""
        self.last_batch = _NO_BATCH
        self.next = 0
        self.let_go = 0
        self.uncounted = False
        self.result_rows = 0
        self.recent: deque[tuple[int, int, int]] = deque(maxlen=RECENT_BATCHES)
        self._schema = schema
        self._lock = Lock()
        self._files: list[RowFile] = []
        self._number = 0
        self._gap = _NO_GAP
        self._sink: pa.NativeFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        with self._ending_at_a_problem():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_up()

    @property
    def kept(self) -> int:
        """How many results are here."""
        return sum(file.next - file.first for file in tuple(self._files))

    @property
    def size_bytes(self) -> int:
        """What the files take together."""
        return sum(file.size_bytes for file in tuple(self._files))

    @property
    def gap(self) -> str:
        """Which results are missing that were not let go; empty: none are."""
        if self._gap == _NO_GAP:
            return ""
        which = "of the first" if self._gap < 0 else f"after micro-batch {self._gap}"
        return f"some {which} were not written to '{self.folder}', or are gone from it"

    @property
    def leaves_result(self) -> bool:
        """Whether what is here gives all rows of the result of an updating output."""
        with self._lock:
            return self._since_base() is not None

    def append(
        self,
        rows: pa.Table,
        batch_id: int,
        count: int,
        result_rows: int = 0,
        result: Result | None = None,
    ) -> None:
        """Add the results of a micro-batch; of one that came before they take the
        place, and nothing counts any more that came after. Raises nothing: where it
        cannot be done, :attr:`problem` says so.

        Parameters
        ----------
        rows, batch_id, count, result_rows
            See :class:`Frame`.
        result
            Of changes: gives the rows of the result before them, where these are known;
            asked for where a file begins.
        """
        with self._lock:
            with self._ending_at_a_problem():
                # Spark runs a batch again after a crash, with the same rows: the first
                # try must count no more before the second is written.
                if batch_id <= self.last_batch:
                    self._withdraw(batch_id)
                elif batch_id > self.last_batch + 1:
                    self._miss(self.last_batch)
                    self.uncounted = True
                    self._close_file()
            frame = Frame(batch_id, self.next, count, result_rows, rows)
            self.last_batch = batch_id
            self.recent.append((batch_id, self.next, self.result_rows))
            self.next += count
            self.result_rows = result_rows
            # Counted above all the same: what is not kept must be told.
            if rows.num_rows and not self.problem:
                with self._ending_at_a_problem():
                    self._write(frame, result)
            # Noted also where nothing was written: an empty batch moves the newest
            # number on.
            with suppress(OSError):
                self._note()

    def frames(self) -> Iterator[Frame]:
        """What is here, oldest first, one micro-batch at a time. Files that go
        meanwhile are read to their end all the same."""
        with self._lock:
            # Opened under the lock and read outside it: a mapped file stays readable
            # once it is removed, and a reader never holds up the batch.
            parts = [f.read(f.open(), f.record_batches) for f in self._files]
        return chain.from_iterable(parts)

    def changes(self, batch_id: int | None = None) -> Changes | None:
        """The changes that make the result, or what it was before a micro-batch; None:
        they are not all here."""
        with self._lock:
            files = self._since_base(batch_id)
            if files is None:
                return None
            # All are open before the next micro-batch may let any of them go.
            known = [files[0].base()] if files and files[0].knows_result else []
            parts = [file.read(file.open(), file.record_batches) for file in files]
        frames: Iterator[Frame] = chain.from_iterable(parts)
        if batch_id is not None:
            frames = takewhile(lambda frame: frame.batch_id < batch_id, frames)
        size_bytes = sum(file.size_bytes for file in files)
        return Changes(size_bytes, chain(known, (frame.rows for frame in frames)))

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

    def _write(self, frame: Frame, result: Result | None) -> None:
        self._check_disk(frame.rows.nbytes)
        if self._writer is None:
            self._begin_file(frame, None if result is None else result())
        assert self._sink is not None
        assert self._writer is not None
        file = self._files[-1]
        batches = frame.rows.to_batches()
        for batch in batches:
            notes = {**frame.metadata, SUM: check_sum(batch, frame.metadata)}
            self._writer.write_batch(batch, custom_metadata=notes)
        # So that who maps the file sees whole record batches, and a kill loses none
        # that was noted.
        self._sink.flush()
        file.record_batches += len(batches)
        file.next = frame.first + frame.count
        file.size_bytes = self._sink.tell()
        if file.size_bytes >= self._file_bytes:
            self._close_file()
        self._respect_budget()

    @property
    def _file_bytes(self) -> int:
        return min(self.budget_bytes // FILES_OF_BUDGET, MOST_FILE_BYTES)

    def _begin_file(self, frame: Frame, result: pa.Table | None) -> None:
        # Never an old number again: somebody may have that file mapped.
        self._number += 1
        path = self.folder / f"{self._number:06}.arrow"
        file = RowFile(path, frame.batch_id, frame.first, frame.first)
        # A larger result would leave less room for changes than it takes itself.
        if result is not None and result.nbytes > self._file_bytes // 2:
            result = None
        note = {} if result is None else {BASE: str(result.num_rows)}
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, self._schema.with_metadata(note))
        self._files.append(file)
        if result is not None:
            base = result.combine_chunks().to_batches() if result.num_rows else []
            for batch in base:
                self._writer.write_batch(batch, {SUM: check_sum(batch, {})})
            file.base_rows, file.record_batches = result.num_rows, len(base)

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
        if batch_id <= self._gap + 1:
            self._gap, self.uncounted = _NO_GAP, False
        at = None
        while self.recent and self.recent[-1][0] >= batch_id:
            at = self.recent.pop()[1:]
        if at is None:  # it goes back further than is known here, or was empty
            at = self._before(batch_id)
        self.next, self.result_rows = at
        for file in self._files:
            file.cut(batch_id, self.next)

    def _before(self, batch_id: int) -> tuple[int, int]:
        """How many results came before a micro-batch, and how many rows the result then
        had, as the files say."""
        last = None
        for frame in chain.from_iterable(file.frames() for file in self._files):
            if frame.batch_id >= batch_id:
                return frame.first, last.result_rows if last else 0
            last = frame
        return self.next, self.result_rows

    def _respect_budget(self) -> None:
        while self.size_bytes > self.budget_bytes and len(self._files) > 1:
            oldest, second = self._files[:2]
            # Noted before the file goes: killed in between, a file too much is there,
            # and no gap that nobody explains.
            self.let_go = max(self.let_go, second.first)
            self._note()
            del self._files[0]
            oldest.path.unlink(missing_ok=True)

    def _check_disk(self, more_bytes: int) -> None:
        disk = shutil.disk_usage(self.folder)
        reserve = min(RESERVE_BYTES, disk.total // RESERVE_SHARE)
        if disk.free - more_bytes < reserve:
            raise OSError(errno.ENOSPC, "the disk is nearly full")

    def _since_base(self, batch_id: int | None = None) -> list[RowFile] | None:
        """The newest file that says what the result was, before a micro-batch if one is
        given, and those behind it; None: there is none, or one is missing."""
        if self.uncounted:
            return None
        files: deque[RowFile] = deque()
        end = self.next
        for file in reversed(self._files):
            if file.next > file.first:
                if file.next != end:
                    return None
                end = file.first
            files.appendleft(file)
            is_before = batch_id is None or file.first_batch <= batch_id
            if file.knows_result and is_before:
                return list(files)
        # Before the first change the result had no rows.
        return None if end else list(files)

    def _take_up(self) -> None:
        """Take up what an earlier process left: whole record batches."""
        noted, found = NewestBatch.read(self.folder), []
        # In the order of their numbers, so that a later file takes back what a batch
        # that came again had in an earlier one.
        for path in sorted(self.folder.glob("[0-9]*.arrow")):
            self._number = max(self._number, int(path.stem))
            if (file := read_file(path, self._schema)) is not None:
                found.append(file)
                continue
            if has_other_columns(path, self._schema):
                noted = None
            path.unlink(missing_ok=True)
        if noted is not None:
            self.let_go = self.next = noted.let_go
            self.uncounted, self._gap = noted.gap != _NO_GAP, noted.gap
        for file in found:
            self._take_up_file(file)
        if noted is not None and noted.batch_id >= self.last_batch:
            # Where the one behind the last that is here began is known.
            self.recent.append((self.last_batch + 1, self.next, self.result_rows))
            if noted.next > self.next:
                self._miss(self.last_batch)
            elif noted.next < self.next:
                self._withdraw_from(noted.next)
            self.last_batch, self.next = noted.batch_id, noted.next

    def _take_up_file(self, file: RowFile) -> None:
        if file.first_batch <= self.last_batch:
            self._withdraw(file.first_batch)
        elif file.first < self.next:
            self._withdraw_from(file.first)
        elif file.first > self.next:
            self._miss(self.last_batch)
        self._files.append(file)
        for frame in file.frames():
            self.recent.append((frame.batch_id, frame.first, self.result_rows))
            self.result_rows = frame.result_rows
            self.last_batch = frame.batch_id
        self.next = file.next

    def _withdraw_from(self, first: int) -> None:
        """Let nothing count from a result on: its micro-batch came again."""
        frames = chain.from_iterable(file.frames() for file in self._files)
        if (at := next((f for f in frames if f.first >= first), None)) is not None:
            self._withdraw(at.batch_id)

    def _miss(self, batch_id: int) -> None:
        """Say that results are missing behind a micro-batch: of more gaps the first."""
        if self._gap == _NO_GAP:
            self._gap = batch_id

    def _note(self) -> None:
        gap = self._gap if self.uncounted else _NO_GAP
        NewestBatch(self.last_batch, self.next, self.let_go, gap).write(self.folder)

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
