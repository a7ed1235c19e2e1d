"""A tape on disk as a source: it plays again, chunk by chunk as it was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from arroyo_nb.errors import DataProblem
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import Chunk, Position
from arroyo_nb.tape.format import Tape


class Replay:
    """Recorder of a tape that is already there.

    Parameters
    ----------
    folder
        Where it lies.
    event_time
        Column that is the event time; None: the one that was recorded.
    drop
        Whether rows without it are left out and counted; else they are an error.

    Raises
    ------
    RunProblem
        When the folder is not a tape.
    """

    bounded = True
    live = False

    def __init__(
        self, folder: Path, *, event_time: str | None = None, drop: bool = False
    ) -> None:
        self._tape = Tape.open(folder)
        self._event_time = event_time
        self._drop = drop

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The tape's chunks; a position is the number of a chunk."""
        first = after["chunk"] if after else 0
        for number, chunk in enumerate(self._tape.chunks(first), first + 1):
            yield self._stamped(replace(chunk, position={"chunk": number}))

    def _stamped(self, chunk: Chunk) -> Chunk:
        """The chunk with the event time that the table declares."""
        import pyarrow.compute as pc

        name = self._event_time
        if name is None:
            return chunk
        rows = chunk.rows
        there = pc.is_valid(rows[name])
        missing = rows[name].null_count
        if missing and not self._drop:
            raise DataProblem(
                f"the event time '{name}' is NULL in {missing} rows of chunk "
                f"{chunk.position['chunk']}",
                hint="declare another column, or bad_data = 'drop'",
            )
        where = rows.schema.get_field_index(TIMESTAMP)
        stamped = rows.set_column(where, TIMESTAMP, rows[name]).filter(there)
        return replace(chunk, rows=stamped, dropped_rows=chunk.dropped_rows + missing)
