"""A tape on disk as a source: it plays again, chunk by chunk as it was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from arroyo_nb.tape import Chunk, Position
from arroyo_nb.tape.format import Tape


class Replay:
    """Recorder of a tape that is already there.

    Raises
    ------
    RunProblem
        When the folder is not a tape.
    """

    bounded = True

    def __init__(self, folder: Path) -> None:
        self._tape = Tape.open(folder)

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The tape's chunks; a position is the number of a chunk."""
        first = after["chunk"] if after else 0
        for number, chunk in enumerate(self._tape.chunks(first), first + 1):
            position = {"chunk": number}
            yield Chunk(chunk.rows, position, chunk.dropped_rows, chunk.bad)
