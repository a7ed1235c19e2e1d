"""Where nothing came for a while a recording has a batch without rows.

A query on a topic that falls silent runs one, once its watermark has moved, and Spark
takes a row for late only by what the watermark was a batch before: rows that come after
a silence are late sooner than rows that come at once. So for windows over a recording
its silences are played too, as chunks without rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from arroyo_nb.tape import ARRIVAL, Chunk, Position, Recorder

QUIET_US = 100_000
"""A silence is no shorter: about what a query takes for a batch."""


class Quiet:
    """A recorder's chunks, and the silences between them.

    Parameters
    ----------
    recorder
        Makes the chunks; their rows have the instants at which they came.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.bounded = recorder.bounded
        self.live = recorder.live
        self._recorder = recorder

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The recorder's chunks; a position is the recorder's, when the last row came,
        and whether the silence after it was played."""
        import pyarrow as pa
        import pyarrow.compute as pc

        place = after or {"of": None, "last_us": None, "played": False}
        for chunk in self._recorder.chunks(place["of"]):
            if chunk.rows.num_rows:
                arrivals = pc.min_max(chunk.rows[ARRIVAL].cast(pa.int64())).as_py()
                last_us = place["last_us"]
                silent = last_us and arrivals["min"] - last_us >= QUIET_US
                if silent and not place["played"]:
                    quiet = chunk.rows.slice(0, 0)
                    yield Chunk(quiet, {**place, "played": True}, quiet=True)
                place = {**place, "last_us": arrivals["max"], "played": False}
            place = {**place, "of": chunk.position}
            yield replace(chunk, position=place)
        # A feed may have ended: its server says so.
        self.bounded = self._recorder.bounded
