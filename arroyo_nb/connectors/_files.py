"""Recording files, one after another.

A chunk is a block of one file, or several small files; the first chunks are small so
that the first row comes fast. What is in a chunk depends on the files and its number
only: whoever goes on after a kill makes the chunks that would have come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.changelog import SEQUENCE
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import Decoded, FileReader, ListedFile, Reading
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import ARRIVAL, KEPT_BAD_ROWS, NO_COUNTS, Chunk, Position
from arroyo_nb.tape.clock import EvenClock

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_CHUNK_BYTES = 128 * 2**10
LARGEST_CHUNK_BYTES = 16 * 2**20


class Files:
    """Recorder of files; a position is a file, a place in it and a chunk.

    Parameters
    ----------
    files
        What is read, in this order.
    reader
        How.
    event_time
        Column that is the event time; None: the arrival is.
    """

    bounded = True
    live = False

    def __init__(
        self, files: Sequence[ListedFile], reader: FileReader, event_time: str | None
    ) -> None:
        self._files = files
        self._reader = reader
        self._event_time = event_time
        self._clock = EvenClock()
        self._allowed = current_roots()
        # Whatever can be is said before the run starts, not in its middle.
        for file in files:
            self._allowed.check(file.path, file.name)
        with self._opened(0, None):
            pass

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The files' rows in chunks that double in size up to 16 MiB.

        Raises
        ------
        RunProblem
            When a file cannot be read, or a record is bad and not dropped; when the
            files that were read before are others now.
        """
        first, place, before, number = self._begin(after)
        stand: Position = {}
        pieces: list[Decoded] = []
        room = _chunk_bytes(number)
        for index in range(first, len(self._files)):
            with self._opened(index, place) as reading:
                while (piece := reading.read(room)) is not None:
                    pieces.append(_moved(piece.decoded, before))
                    room -= piece.size_bytes
                    stand = {"file": index, "place": reading.place, "before": before}
                    if room <= 0:
                        number += 1
                        yield self._chunk(pieces, stand, number)
                        pieces, room = [], _chunk_bytes(number)
                place, before = None, before + reading.records
        if pieces:
            yield self._chunk(pieces, stand, number + 1)

    def _opened(
        self, index: int, place: Position | None
    ) -> AbstractContextManager[Reading]:
        file = self._files[index]
        # A link may have taken its place since it was listed.
        self._allowed.check(file.path, file.name)
        return self._reader.open(file, place)

    def _begin(self, after: Position | None) -> tuple[int, Position | None, int, int]:
        """The file, the place in it, the records before it and the chunk's number."""
        if after is None:
            return 0, None, 0, 0
        index: int = after["file"]
        if index >= len(self._files) or self._names(index) != after["files"]:
            raise RunProblem(
                "the files that were read before are others now: one was added among "
                "them, renamed or taken away",
                hint="put them back, or start afresh",
            )
        return index, after["place"], after["before"], after["chunk"]

    def _names(self, index: int) -> str:
        """What tells the files up to one from others, in few letters."""
        names = "\0".join(file.name for file in self._files[: index + 1])
        return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def _chunk(self, pieces: Sequence[Decoded], stand: Position, number: int) -> Chunk:
        import pyarrow as pa

        names = self._names(stand["file"])

        return Chunk(
            self._stamped(pa.concat_tables([piece.rows for piece in pieces])),
            {**stand, "files": names, "chunk": number},
            sum(piece.dropped_rows for piece in pieces),
            tuple(
                islice((row for piece in pieces for row in piece.bad), KEPT_BAD_ROWS)
            ),
            counts=sum((piece.counts for piece in pieces), NO_COUNTS),
        )

    def _stamped(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        instant = pa.timestamp("us", "UTC")
        now = pa.scalar(self._clock.now(), instant)
        arrival = pa.repeat(now, rows.num_rows)
        event_time = (
            rows[self._event_time].cast(instant) if self._event_time else arrival
        )
        return rows.append_column(ARRIVAL, arrival).append_column(TIMESTAMP, event_time)


def _chunk_bytes(number: int) -> int:
    return min(FIRST_CHUNK_BYTES << min(number, 16), LARGEST_CHUNK_BYTES)


def _moved(decoded: Decoded, before: int) -> Decoded:
    """Changes of a later file come after those of the ones before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = decoded.rows
    if not before or SEQUENCE not in rows.column_names:
        return decoded
    # A record tells two changes at most.
    moved = pc.add(rows[SEQUENCE], pa.scalar(2 * before, pa.int64()))
    at = rows.column_names.index(SEQUENCE)
    rows = rows.set_column(at, SEQUENCE, moved)
    return replace(decoded, rows=rows)
