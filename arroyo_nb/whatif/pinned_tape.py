"""A source whose chunks are all there before a query begins to read them.

However many queries read it, and however slow they are, a micro-batch is a chunk, and
with several sources it is a chunk of each: nothing waits for a conductor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.run.observe.snapshot import SourceProgress
from arroyo_nb.run.sources.reader import SourceOffset, SourcePosition
from arroyo_nb.run.sources.tape import TapeReader
from arroyo_nb.tape import ARRIVAL, END_CHUNKS
from arroyo_nb.tape.format import Header, chunk_numbers, chunk_path, read_mark
from arroyo_nb.tape.read_chunks import link_all
from arroyo_nb.tape.replay import Replay
from arroyo_nb.tape.speed import Pace, merged, released
from arroyo_nb.tape.writer import TapeWriter

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.state.folder import StateFolder


class PinnedTape(TapeReader):
    """A source that was recorded to its end.

    Parameters
    ----------
    table
        The source.
    folder
        Where its chunks are; nothing is written there.
    """

    def __init__(self, table: ConnectorTable, folder: Path) -> None:
        # Spark's progress knows a folder by its name.
        super().__init__(folder.name, table, Replay(folder), Pace())
        self._folder = folder
        self.chunk_count = len(chunk_numbers(folder))

    def open(self, folder: StateFolder, *, paused: bool, steps: int) -> None:
        """Nothing: its place is outside the run's folder."""

    def start(self) -> None:
        """Nothing: all that there will be is there."""

    def consumed(self, reaches: Sequence[SourcePosition]) -> None:
        """Nothing: its chunks are not its own."""

    def is_read(self, place: SourceOffset | None) -> bool:
        """Whether a query that stands there has read all chunks."""
        return _number(place) >= self.chunk_count

    def ends_read(self, place: SourceOffset) -> int:
        """How many of the end-of-stream rows have been read."""
        return max(0, _number(place) - (self.chunk_count - END_CHUNKS))

    def progress(self, reach: SourcePosition) -> SourceProgress | None:
        """Where a query stands."""
        done = _number(reach.place)
        return SourceProgress(
            name=self.table.name,
            rows=max(0, reach.rows - self.ends_read(done)),
            max_event_time=None,
            delay=None,
            bounded=True,
            ended=done >= self.chunk_count,
            unread=done < self.chunk_count,
        )

    def arrivals_us(self) -> tuple[int | None, ...]:
        """When the newest row of each chunk and of those before it arrived, in
        microseconds after the epoch; the end of the stream arrives with the last."""
        import pyarrow.parquet as pq

        assert self._folder is not None
        newest, found = None, list[int | None]()
        for number in range(1, self.chunk_count + 1):
            path = chunk_path(self._folder, number)
            if number <= self.chunk_count - END_CHUNKS:
                rows = pq.read_table(path, columns=[ARRIVAL])[ARRIVAL]
                newest = _latest_us(rows, newest)
            found.append(newest)
        return tuple(found)


def _latest_us(rows: object, newest: int | None) -> int | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.max(rows).cast(pa.int64()).as_py()
    return max((us for us in (newest, found) if us is not None), default=None)


def pin(
    feed: TapeReader,
    afresh: Callable[[], TapeReader],
    folder: Path,
    *,
    is_over: bool,
    recut: bool,
    cancel_check: Callable[[], None],
) -> Path:
    """A folder with all chunks of a source of a run, whole and in order.

    They are the run's own where these are all there. Else the source is read once more,
    in the chunks that the run reads, without its pace, as nobody looks.

    Parameters
    ----------
    feed
        The source.
    afresh
        Gives the same source, not read by anybody yet.
    folder
        Where it is recorded, if it must be.
    is_over
        Whether the run has ended.
    recut
        Whether other chunks are asked for than the run's.
    cancel_check
        Is called again and again; what it raises ends the recording.

    Raises
    ------
    RunProblem
        When it has no end, or can no longer be read.
    """
    kept = feed.kept_chunks if is_over else None
    if kept is not None and _has_end(kept) and not recut:
        # Linked and not read where they are: the run's folder may be resumed meanwhile,
        # and moves its chunks then.
        with refusals("read", str(kept)):
            link_all(kept, folder)
        return folder
    header = Header(str(feed.table.physical), feed.table.name, bounded=True)
    if feed.bounded:
        fresh = afresh()
        writer = TapeWriter(folder, header)
        merges = fresh.pace.merge and fresh.pace.clock is None
        pieces = released(fresh.recorder, fresh.pace, None)
        for _, piece in merged(pieces, 0, lambda: merges):
            cancel_check()
            writer.append(piece)
    elif recut:
        raise RunProblem(
            f"'{feed.table.name}' has no end: its micro-batches are those that it came "
            "in",
            hint="leave out every (--every)",
        )
    elif kept is not None and chunk_numbers(kept):
        # What a source without an end has brought by now is a tape, but for its end.
        with refusals("read", str(kept)):
            link_all(kept, folder)
        writer = TapeWriter(folder, header)
    else:
        raise _endless(feed, is_over=is_over)
    while writer.ends < END_CHUNKS:
        writer.end(feed.table.physical)
    return folder


def _has_end(folder: Path) -> bool:
    numbers = chunk_numbers(folder)
    return bool(numbers) and read_mark(folder, numbers[-1]).end == END_CHUNKS


def _endless(feed: TapeReader, *, is_over: bool) -> RunProblem:
    name = feed.table.name
    if is_over:
        why, other = "the run no longer has its first rows", ""
    else:
        why, other = "it is still being read", ", or stop the run and ask again"
    return RunProblem(
        f"'{name}' has no end, and {why}: the same rows cannot come again",
        hint=f"%arroyo record it, and run the query over the tape{other}",
    )


def _number(place: SourceOffset | None) -> int:
    assert place is None or isinstance(place, int), "of a tape"
    return place or 0
