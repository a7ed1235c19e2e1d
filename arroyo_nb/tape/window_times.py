"""Rows that no window can hold are bad data where windows are asked for.

Spark's watermark begins at 1970: a window that ends before it is late to Spark before
anything was read. At the end of a stream the watermark goes to the end of time, less
the delay: a window that ends after that is never closed. Rows of either would be lost
in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from arroyo_nb.errors import DataProblem
from arroyo_nb.schema import EPOCH, TIMESTAMP
from arroyo_nb.tape import (
    ARRIVAL,
    KEPT_BAD_ROWS,
    LAST_WINDOW,
    BadRow,
    Chunk,
    Position,
    Recorder,
    outside_windows,
    shown_text,
)


class WindowTimes:
    """A recorder's chunks, their event times looked at.

    Parameters
    ----------
    recorder
        Makes the chunks.
    source
        Name of the source, for the error.
    drop
        Whether rows of other times are left out and counted; else they are an error.
    """

    def __init__(self, recorder: Recorder, source: str, *, drop: bool) -> None:
        self.bounded = recorder.bounded
        self.live = recorder.live
        self._recorder = recorder
        self._source = source
        self._drop = drop

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The recorder's chunks.

        Raises
        ------
        RunProblem
            When a row lies where windows cannot be, and is not to be dropped.
        """
        for chunk in self._recorder.chunks(after):
            yield self._checked(chunk)
        # A feed may have ended: its server says so.
        self.bounded = self._recorder.bounded

    def _checked(self, chunk: Chunk) -> Chunk:
        import pyarrow as pa
        import pyarrow.compute as pc

        times = chunk.rows[TIMESTAMP]
        first, last = (pa.scalar(edge, times.type) for edge in (EPOCH, LAST_WINDOW))
        held = pc.and_(pc.greater_equal(times, first), pc.less(times, last))
        rows = chunk.rows.filter(held)
        other_rows = chunk.rows.num_rows - rows.num_rows
        if not other_rows:
            return chunk
        others = chunk.rows.filter(pc.invert(held)).slice(0, KEPT_BAD_ROWS).to_pylist()
        if not self._drop:
            raise DataProblem(
                f"the event time of '{self._source}' lies {_where(others[0])}, where "
                f"windows cannot be, in {other_rows} row{'s' * (other_rows > 1)}",
                hint="declare bad_data = 'drop' to leave such rows out",
            )
        return replace(
            chunk,
            rows=rows,
            dropped_rows=chunk.dropped_rows + other_rows,
            bad=(*chunk.bad, *map(self._bad, others)),
        )

    def _bad(self, row: Mapping[str, Any]) -> BadRow:
        own = {name: row[name] for name in row if name not in (ARRIVAL, TIMESTAMP)}
        text = shown_text(json.dumps(own, default=str))
        return BadRow(self._source, text, f"{row[TIMESTAMP]} lies {_where(row)}")


def _where(row: Mapping[str, Any]) -> str:
    return outside_windows(early=row[TIMESTAMP] < EPOCH)
