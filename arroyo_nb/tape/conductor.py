"""The conductor moves one source's chunks into the folder that Spark watches.

One thread per source. It never runs further ahead of Spark than the look-ahead, in
chunks and in bytes, so a source may be far larger than memory and disk; it is the
only writer of its folder; and all it needs to go on after a kill is in that folder.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.file_errors import full_disk, is_full
from arroyo_nb.schema import EPOCH, MICROSECOND, Schema
from arroyo_nb.tape import END_CHUNKS, KEPT_BAD_ROWS, BadRow, Recorder
from arroyo_nb.tape.format import (
    Header,
    Mark,
    check_chunks,
    chunk_numbers,
    read_mark,
)
from arroyo_nb.tape.read_chunks import found_path, put_aside
from arroyo_nb.tape.speed import MAX, Pace, Schedule, merged, released
from arroyo_nb.tape.writer import TapeWriter


@dataclass(frozen=True)
class ConductorLimits:
    """What the conductor may hold.

    Of the chunks that Spark has read the newest stay, for the trace: as many as both
    of the last two limits allow, and the last file of all in any case, for its footer
    says where to go on after a kill.

    Parameters
    ----------
    lookahead_chunks
        Chunks written and not yet consumed.
    lookahead_bytes
        Their size; one chunk may always be there.
    keep_rows
        Rows of consumed chunks that stay; None: as many as there are.
    keep_chunks
        How many consumed chunks stay: even those of a slow source must not fill a disk
        with small files.
    """

    lookahead_chunks: int = 8
    lookahead_bytes: int = 256 * 2**20
    keep_rows: int | None = 1_000_000
    keep_chunks: int = 2_000


LISTED_CHUNKS = 20
"""How many of the consumed chunks stay where Spark lists them. After a loss of power
Spark's checkpoint may be older than the progress that it reported, and Spark reads some
of them again."""

SHARED_S = 0.2
"""Least time between two chunks of a live source, for each other one that plays.

A micro-batch costs the same for few rows as for many: five sources whose chunks come
ten times a second keep two cores busy, and a cell beside them waits. Panels share what
they may send in the same way.
"""


@dataclass(frozen=True)
class Playing:
    """Where a source stands; ``bad`` is a bounded sample of its unreadable records. Of
    the ``dropped_rows`` a run that was resumed found ``dropped_before`` in its folder.
    """

    chunks: int = 0
    consumed_chunks: int = 0
    rows: int = 0
    dropped_rows: int = 0
    dropped_before: int = 0
    bad: tuple[BadRow, ...] = ()
    max_event_time: datetime | None = None
    end_chunks: int = 0
    paused: bool = False
    error: ArroyoError | None = None

    @property
    def ended(self) -> bool:
        """Whether everything was released, the end of the stream included."""
        return self.end_chunks == END_CHUNKS


class Conductor:
    """Plays one source into a folder.

    Parameters
    ----------
    recorder
        Makes the chunks.
    folder
        Where chunk files go; made if need be. Chunks that are there already are
        those of the run that is resumed.
    schema
        The source's columns.
    source
        Its name, for the header and for errors.
    pace
        How fast rows are released.
    limits
        What may be held.
    paused
        Start paused: nothing is released until :meth:`resume` or :meth:`step`.
    read, logged
        Of a run that is resumed, the newest chunk whose rows all queries have written,
        and the newest that any of them has read; 0 before the first. None: unknown.
    on_change
        Called without arguments, from any thread, after the state has changed.
    """

    _live: ClassVar[set[Conductor]] = set()
    """Those of this process that play a live source."""

    def __init__(
        self,
        recorder: Recorder,
        folder: Path,
        *,
        schema: Schema,
        source: str,
        pace: Pace = MAX,
        limits: ConductorLimits | None = None,
        paused: bool = False,
        read: int | None = None,
        logged: int = 0,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self._resumed = read, logged
        self._recorder = recorder
        self._folder = folder
        self._schema = schema
        self._source = source
        self._pace = pace
        # A live or paced source shows the present: far ahead means far behind.
        live = pace.clock is not None or recorder.live
        self._limits = limits or ConductorLimits(lookahead_chunks=2 if live else 8)
        self._on_change = on_change or (lambda: None)
        self._schedule = Schedule(pace)
        self._repaced = False
        # When what it waits with is due, on the monotonic clock; None: it does not wait
        # for a time.
        self._due_s: float | None = None
        self._written_s = -math.inf
        # Taken by itself, not through the condition: the main thread takes it too, and
        # an interrupt in Python code that has just taken it would leave it locked.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._playing = Playing(paused=paused)
        # The files that are there, in order: read by Spark, and ahead of it.
        self._read: deque[Mark] = deque()
        self._read_rows = 0
        self._ahead: deque[Mark] = deque()
        # The newest one whose file is gone: its totals say what all before it had.
        self._gone: tuple[Mark, ...] = ()
        self._found_chunks = 0
        # The newest that was put aside, and so all before it.
        self._aside = 0
        self._steps = 0
        self._stopping = False
        self._thread: threading.Thread | None = None

    @property
    def bounded(self) -> bool:
        """Whether the stream ends by itself."""
        return self._recorder.bounded

    @property
    def state(self) -> Playing:
        """Where the source stands now."""
        return self._playing

    def max_event_time(self, chunks: int) -> datetime | None:
        """The newest event time of the first so many chunks; None without rows, or
        where that is no longer known."""
        with self._lock:
            known = chain(reversed(self._ahead), reversed(self._read), self._gone)
            newest = next((mark for mark in known if mark.number <= chunks), None)
        return _instant(newest.totals.max_event_time_us) if newest else None

    @property
    def due_s(self) -> float:
        """In how many seconds the next rows are due; 0: they are, or it does not wait
        for a time."""
        due_s = self._due_s
        return 0.0 if due_s is None else max(0.0, due_s - time.monotonic())

    @property
    def error(self) -> ArroyoError | None:
        """What ended the source early."""
        return self.state.error

    def start(self) -> None:
        """Start the thread; what a killed run left is taken up first.

        Raises
        ------
        RunProblem
            When the folder cannot be made or written, or misses what is still needed.
        """
        read, logged = self._resumed
        if read is not None:
            check_chunks(self._folder, self._source, read, logged)
        header = Header(str(self._schema), self._source, self._recorder.bounded)
        try:
            writer = TapeWriter(self._folder, header)
        except OSError as problem:
            raise self._problem(problem) from problem
        found = chunk_numbers(self._folder)
        self._aside = min(found, default=1) - 1
        for number in found:
            try:
                mark = read_mark(self._folder, number)
            except RunProblem:
                if read is None or number >= read:
                    raise
                continue  # its rows are written: only the trace would read them again
            self._dropped(mark.bad, mark.totals.dropped_rows, before=True)
            self._written(mark)
        self._found_chunks = writer.last.number if writer.last else 0
        thread = threading.Thread(
            target=self._run, args=(writer,), name=f"tape {self._source}", daemon=True
        )
        thread.start()
        # After its start: who stops the source meanwhile cannot join it before.
        self._thread = thread

    def set_pace(self, pace: Pace) -> None:
        """Release what follows at another pace, from the next slice on."""
        with self._lock:
            self._pace, self._schedule, self._repaced = pace, Schedule(pace), True
            self._changed.notify_all()

    def _paced(self) -> Pace:
        return self._pace

    def _may_merge(self) -> bool:
        # Who steps sees each chunk by itself; what is live comes when it comes; and who
        # stops does not wait for more.
        merge = self._pace.merge and self._pace.clock is None
        at_once = self._playing.paused or self._recorder.live or self._stopping
        return merge and not at_once

    def stop(self) -> None:
        """Stop releasing rows; waits for nobody, see :meth:`join`."""
        with self._lock:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is written any more; True when so, or none runs."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`."""
        self._change(paused=True)

    def resume(self) -> None:
        """Release rows again; the time of the pause is not caught up."""
        with self._lock:
            self._schedule.restart()
            self._steps = 0
        self._change(paused=False)

    def step(self, chunks: int = 1) -> None:
        """Release chunks while paused, without regard to when they are due."""
        with self._lock:
            self._steps += chunks
            self._changed.notify_all()

    def consumed(self, number: int) -> None:
        """Spark has committed this chunk and all before it: there is room for more."""
        gone = []
        with self._lock:
            number = max(number, self._playing.consumed_chunks)
            while self._ahead and self._ahead[0].number <= number:
                self._read.append(self._ahead.popleft())
                self._read_rows += self._read[-1].rows
            while self._is_beyond():
                gone.append(self._read.popleft())
                self._read_rows -= gone[-1].rows
                self._gone = (gone[-1],)
            listed = max(self._aside, number - LISTED_CHUNKS)
            aside, self._aside = range(self._aside + 1, listed + 1), listed
        for mark in gone:
            found_path(self._folder, mark.number).unlink(missing_ok=True)
        for each in aside:
            put_aside(self._folder, each)
        self._change(consumed_chunks=number)

    def _is_beyond(self) -> bool:
        """Whether the oldest chunk that was read is one too many."""
        keep_rows = self._limits.keep_rows
        if not self._read or len(self._read) + len(self._ahead) == 1:
            return False
        return len(self._read) > self._limits.keep_chunks or (
            keep_rows is not None and self._read_rows > keep_rows
        )

    def _run(self, writer: TapeWriter) -> None:
        if self._recorder.live:
            self._live.add(self)
        try:
            if writer.ends or self._play(writer):
                self._end(writer)
        except ArroyoError as problem:
            self._change(error=problem)
        except Exception as problem:  # what ends this thread must reach the run
            self._change(error=self._problem(problem))
        finally:
            self._live.discard(self)

    def _play(self, writer: TapeWriter) -> bool:
        """Release all there is; False when the conductor was stopped."""
        last = writer.last
        rows = last.totals.rows if last else 0
        pieces = released(self._recorder, self._paced, last)
        # Both are closed: the inner one holds what the recorder has open.
        with closing(pieces), closing(merged(pieces, rows, self._may_merge)) as chosen:
            for tick, piece in chosen:
                if not self._admitted(tick, empty=piece.empty):
                    return False
                mark = writer.append(piece)
                self._dropped(piece.bad, writer.dropped_rows)
                if mark is not None:
                    self._written(mark)
        return self._recorder.bounded

    def _end(self, writer: TapeWriter) -> None:
        while writer.ends < END_CHUNKS and self._admitted(None):
            self._written(writer.end(self._schema))

    def _admitted(self, tick: int | None, *, empty: bool = False) -> bool:
        """Wait until a slice may go; False when the conductor was stopped."""
        with self._lock:
            while not self._stopping:
                # Nothing is released by it; what it dropped is counted at once.
                if empty:
                    return True
                wait_s = self._wait_s(tick)
                self._due_s = time.monotonic() + wait_s if wait_s else None
                if wait_s == 0:
                    self._steps = max(0, self._steps - 1)
                    # Rows that were merged may go before the piece it is about.
                    self._repaced = self._repaced and tick is None
                    return True
                self._changed.wait(wait_s)
            return False

    def _wait_s(self, tick: int | None) -> float | None:
        """Seconds to wait, 0 for none, None until something changes."""
        if not self._has_room():
            return None
        if self._playing.paused:
            return 0 if self._steps else None
        if self._repaced:
            # It was cut by the pace before: when it is due by this one is not known.
            return 0
        now_s = time.monotonic()
        return max(self._schedule.wait_s(tick, now_s), self._shared_wait_s(now_s))

    def _shared_wait_s(self, now_s: float) -> float:
        """Seconds until a live source may add to the work that all of them make."""
        if not self._recorder.live:
            return 0.0
        others = sum(not c.state.paused for c in tuple(self._live)) - 1
        return max(0.0, self._written_s + SHARED_S * others - now_s)

    def _has_room(self) -> bool:
        # Which of the found chunks Spark has read is known only when it reads on, and
        # it reads on only when there is something new: they do not count.
        done = max(self._playing.consumed_chunks, self._found_chunks)
        ahead = [mark.size_bytes for mark in self._ahead if mark.number > done]
        return not ahead or (
            len(ahead) < self._limits.lookahead_chunks
            and sum(ahead) < self._limits.lookahead_bytes
        )

    def _written(self, mark: Mark) -> None:
        with self._lock:
            # Its bad records are in the state: many marks are held, and for long.
            self._ahead.append(replace(mark, bad=()))
            self._written_s = time.monotonic()
        self._change(
            chunks=mark.number,
            rows=mark.totals.rows,
            max_event_time=_instant(mark.totals.max_event_time_us),
            end_chunks=mark.end,
        )

    def _dropped(
        self, bad: tuple[BadRow, ...], dropped_rows: int, *, before: bool = False
    ) -> None:
        known = self.state
        if dropped_rows > known.dropped_rows:
            kept = (known.bad + bad)[:KEPT_BAD_ROWS]
            found = dropped_rows if before else known.dropped_before
            self._change(dropped_rows=dropped_rows, dropped_before=found, bad=kept)

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._playing = replace(self._playing, **changes)
            self._changed.notify_all()
        # Outside the lock: who is told may hold one and ask for the state.
        self._on_change()

    def _problem(self, problem: Exception) -> RunProblem:
        if is_full(problem):
            found = full_disk("state folder", self._folder)
            found.__cause__ = problem
            return found
        found = RunProblem(f"the source '{self._source}' stopped: {problem}")
        found.__cause__ = problem
        return found


def _instant(us: int | None) -> datetime | None:
    return None if us is None else EPOCH + us * MICROSECOND
