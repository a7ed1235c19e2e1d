"""Rows from before 1970 are bad data where windows are asked for.

Spark's watermark begins at 1970: a window that ends before it is late to Spark before
anything was read, and its rows would be lost in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import EPOCH, TIMESTAMP
from arroyo_nb.tape import (
    ARRIVAL,
    KEPT_BAD_ROWS,
    SHOWN_CHARS,
    BadRow,
    Chunk,
    Position,
    Recorder,
)


class SinceEpoch:
    """A recorder's chunks, their event times looked at.

    Parameters
    ----------
    recorder
        Makes the chunks.
    source
        Name of the source, for the error.
    drop
        Whether rows from before 1970 are left out and counted; else they are an error.
    """

    def __init__(self, recorder: Recorder, source: str, *, drop: bool) -> None:
        self.bounded = recorder.bounded
        self._recorder = recorder
        self._source = source
        self._drop = drop

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The recorder's chunks.

        Raises
        ------
        RunProblem
            When a row lies before 1970 and is not to be dropped.
        """
        for chunk in self._recorder.chunks(after):
            yield self._checked(chunk)

    def _checked(self, chunk: Chunk) -> Chunk:
        import pyarrow as pa
        import pyarrow.compute as pc

        times = chunk.rows[TIMESTAMP]
        since = pc.greater_equal(times, pa.scalar(EPOCH, times.type))
        rows = chunk.rows.filter(since)
        before_rows = chunk.rows.num_rows - rows.num_rows
        if not before_rows:
            return chunk
        if not self._drop:
            raise RunProblem(
                f"the event time of '{self._source}' lies before 1970, where windows "
                f"cannot be, in {before_rows} rows",
                hint="declare bad_data = 'drop' to leave such rows out",
            )
        early = chunk.rows.filter(pc.invert(since)).slice(0, KEPT_BAD_ROWS)
        return replace(
            chunk,
            rows=rows,
            dropped_rows=chunk.dropped_rows + before_rows,
            bad=(*chunk.bad, *map(self._bad, early.to_pylist())),
        )

    def _bad(self, row: Mapping[str, object]) -> BadRow:
        own = {name: row[name] for name in row if name not in (ARRIVAL, TIMESTAMP)}
        text = json.dumps(own, default=str)[:SHOWN_CHARS]
        return BadRow(self._source, text, f"{row[TIMESTAMP]} lies before 1970")
