"""How fast a tape plays: as fast as Spark takes it, or by its event or arrival time.

A paced tape is cut into slices of stream time, one tick each. Ticks are counted from
the epoch, not from the start of the run, and a slice never crosses a recorder's
chunk: the same tape at the same speed gives the same batches, whatever the wall
clock did and wherever a killed run went on. Where nothing paces a tape, small chunks
of it go together (:func:`merged`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.tape import KEPT_BAD_ROWS, Chunk, Clock, Recorder
from arroyo_nb.tape.format import Mark, newest

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Slice:
    """So many rows of a chunk, due together in ``tick``."""

    rows: int
    tick: int | None


@dataclass(frozen=True)
class Pace:
    """How fast rows are released.

    Parameters
    ----------
    clock
        Which time paces the rows; None: none does, a chunk goes when there is room.
    speed
        Seconds of stream time per second of wall time; above 0.
    tick_s
        Seconds of wall time between two slices.
    whole
        Whether a recorder's chunks are never cut, each due with its first row: any
        speed then gives the same batches.
    merge
        Whether small chunks are merged where no time paces them, see :func:`merged`.
    """

    clock: Clock | None = None
    speed: float = 1.0
    tick_s: float = 0.25
    whole: bool = False
    merge: bool = False

    def __post_init__(self) -> None:
        if self.speed <= 0 or self.tick_s <= 0:
            raise ValueError("speed and tick_s must be above 0")

    @property
    def tick_us(self) -> int:
        """Microseconds of stream time in one tick."""
        return max(1, round(self.speed * self.tick_s * 1e6))

    def slices(self, rows: pa.Table, newest_us: int | None = None) -> list[Slice]:
        """Cut a chunk into the slices that are due together, one after the other.

        Rows keep their order: one that is older than a row before it is released
        with that row, which is what makes it late.

        Parameters
        ----------
        rows
            A chunk's rows.
        newest_us
            Newest event time of the rows before them, in microseconds.
        """
        if self.clock is None or rows.num_rows == 0:
            return [Slice(rows.num_rows, None)]
        import numpy as np
        import pyarrow as pa

        times = _without_gaps(rows[self.clock.value].cast(pa.int64()))
        if times is None:
            return [Slice(rows.num_rows, None)]
        # Arrival times never go back from chunk to chunk.
        if newest_us is not None and self.clock is Clock.EVENT_TIME:
            times = np.maximum(times, newest_us)
        ticks = np.maximum.accumulate(times) // self.tick_us
        if self.whole:
            return [Slice(rows.num_rows, int(ticks[0]))]
        # The first row begins a slice whatever its tick is.
        starts = np.flatnonzero(np.diff(ticks, prepend=ticks[0] - 1))
        ends = np.append(starts[1:], rows.num_rows)
        return [
            Slice(int(end - start), int(ticks[start]))
            for start, end in zip(starts, ends, strict=True)
        ]


def _without_gaps(times: pa.ChunkedArray) -> Any:
    """Times as numpy holds them; a row without one goes with the row before it, or the
    first that has one. None: no row has."""
    import pyarrow.compute as pc

    if times.null_count == len(times):
        return None
    if times.null_count:
        times = pc.fill_null_backward(pc.fill_null_forward(times))
    return times.to_numpy()


MAX = Pace()
"""As fast as Spark takes it."""

MERGED_BYTES, MERGED_CHUNKS = 16 * 2**20, 1_000
"""So many bytes of Arrow, or so many chunks, are merged with no further one."""

Piece: TypeAlias = "tuple[int | None, Chunk]"
"""Rows that go together, and the tick in which they are due; None: at once."""


def released(
    recorder: Recorder, pace: Pace | Callable[[], Pace], last: Mark | None
) -> Generator[Piece, None, None]:
    """A recorder's chunks cut into slices, each with the tick in which it is due.

    A slice's position is the recorder's before the chunk that it is of (``at``), and
    how many rows of that chunk have been released (``skip``). What the recorder
    dropped is counted with a chunk's last slice.

    Parameters
    ----------
    recorder
        Makes the chunks.
    pace
        How they are cut; or a function that gives it, and is asked at each slice.
    last
        The last slice that was released, None to begin at the start.
    """

    def asked() -> Pace:
        return pace if isinstance(pace, Pace) else pace()

    at, skip = (last.position["at"], last.position["skip"]) if last else (None, 0)
    newest_us = last.totals.max_event_time_us if last else None
    for chunk in recorder.chunks(at):
        rows = chunk.rows.slice(skip)
        current = asked()
        cuts = deque(current.slices(rows, newest_us))
        while len(cuts) > 1:
            cut = cuts.popleft()
            skip += cut.rows
            piece = rows.slice(0, cut.rows)
            yield cut.tick, Chunk(piece, {"at": at, "skip": skip})
            newest_us = newest(newest_us, piece)
            rows = rows.slice(cut.rows)
            if (pace_now := asked()) is not current:
                # What is left is cut anew, the last slice too.
                current, cuts = pace_now, deque(pace_now.slices(rows, newest_us))
        at, skip = chunk.position, 0
        newest_us = newest(newest_us, rows)
        position = {"at": at, "skip": 0}
        yield cuts[0].tick, replace(chunk, rows=rows, position=position)


def merged(
    pieces: Generator[Piece, None, None], rows: int, may_merge: Callable[[], bool]
) -> Generator[Piece, None, None]:
    """The same rows in fewer pieces: each has as many rows as all before it, or
    :data:`MERGED_BYTES`, or what is left.

    A small micro-batch costs as much as a large one, so a small tape takes a handful of
    them instead of dozens, and its first rows come as soon. Unless somebody pauses,
    what is merged follows from the rows before it alone: the same tape gives the same
    pieces, also where a killed run went on. A piece that is due at a time, or has no
    rows, stays as it is.

    Parameters
    ----------
    pieces
        As :func:`released` gives them.
    rows
        How many rows were released before them.
    may_merge
        Is asked at each piece.
    """
    held: list[Chunk] = []
    held_rows = held_bytes = 0
    try:
        for tick, chunk in pieces:
            alone = tick is not None or not chunk.rows.num_rows or not may_merge()
            if held and alone:
                yield None, _merged(held)
                rows += held_rows
                held, held_rows, held_bytes = [], 0, 0
            if alone:
                yield tick, chunk
                rows += chunk.rows.num_rows
                continue
            held.append(chunk)
            held_rows += chunk.rows.num_rows
            held_bytes += chunk.rows.nbytes
            is_large = held_bytes >= MERGED_BYTES or len(held) >= MERGED_CHUNKS
            if held_rows >= rows or is_large:
                yield None, _merged(held)
                rows += held_rows
                held, held_rows, held_bytes = [], 0, 0
    except Exception:
        # The rows before a bad record are released, as they are without merging.
        if held:
            yield None, _merged(held)
        raise
    if held:
        yield None, _merged(held)


def _merged(chunks: Sequence[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    import pyarrow as pa

    from arroyo_nb.tape.writer import stored

    bad = tuple(row for chunk in chunks for row in chunk.bad)
    return Chunk(
        # As they are stored: a recorder may say of one chunk only that it has no NULL.
        pa.concat_tables([stored(chunk.rows) for chunk in chunks]),
        chunks[-1].position,
        sum(chunk.dropped_rows for chunk in chunks),
        bad[:KEPT_BAD_ROWS],
    )


class Schedule:
    """When slices are due, in seconds of a monotonic clock.

    The first slice is due at once, and so is the first one after :meth:`restart`:
    a pause makes what follows later, it is not caught up.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._origin_s: float | None = None

    def wait_s(self, tick: int | None, now_s: float) -> float:
        """Seconds until a slice is due; 0 where it is."""
        if tick is None:
            return 0.0
        offset_s = tick * self._pace.tick_s
        if self._origin_s is None:
            self._origin_s = now_s - offset_s
        return max(0.0, self._origin_s + offset_s - now_s)

    def restart(self) -> None:
        """Make the next slice due at once."""
        self._origin_s = None
