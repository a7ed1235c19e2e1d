"""How many rows a run has read, and how fast it reads."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arroyo_nb.run.observe.query_observation import QueryObservation
    from arroyo_nb.run.sources.sources import Sources

LOOKS = 20
"""Looks over which the rate is taken: the last two seconds."""


class InputRate:
    """The rows that the first query of a run has read; from any thread.

    Parameters
    ----------
    query
        What it did so far.
    sources
        They know which rows are ends of streams, and no data.
    """

    def __init__(self, query: QueryObservation, sources: Sources) -> None:
        self._query = query
        self._sources = sources
        self._looks: deque[tuple[float, int]] = deque(maxlen=LOOKS)

    @property
    def rows(self) -> int:
        """Rows so far, without the end-of-stream rows and bad data."""
        query = self._query
        if query.progress is None:
            return 0
        # One that is resumed has read ends before, when its sources, which know them,
        # have not been opened yet.
        ends = self._sources.ends_read(query.progress.places)
        query.ends_read = max(query.ends_read, ends)
        # Bad data that a reader leaves out itself was never among them.
        streams = {reader.table.name for reader in self._sources.readers}
        bad = sum(query.dropped_rows[name] for name in streams)
        return max(0, query.input_rows - query.ends_read - bad)

    @property
    def rows_per_s(self) -> float:
        """Rows a second over the last looks; 0 before the second one."""
        if len(self._looks) < 2:
            return 0.0
        (t0, n0), (t1, n1) = self._looks[0], self._looks[-1]
        return (n1 - n0) / max(t1 - t0, 1e-3)

    def look(self) -> None:
        """Note how many rows there are now."""
        self._looks.append((time.monotonic(), self.rows))
