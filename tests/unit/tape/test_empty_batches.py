"""Silences of a recording: where a batch without rows is played."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from arroyo_nb.tape import ARRIVAL, Chunk
from arroyo_nb.tape.empty_batches import QUIET_US, Quiet

INSTANT = pa.timestamp("us", "UTC")
NOON = int(datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000


class Chunks:
    bounded, live = True, False

    def __init__(self, *arrivals):
        self.arrivals = arrivals

    def chunks(self, after):
        first = after["n"] if after else 0
        for n, times in enumerate(self.arrivals[first:], first + 1):
            times = pa.array([NOON + us for us in times], INSTANT)
            yield Chunk(pa.table({ARRIVAL: times}), {"n": n})


def played(quiet, after=None):
    return [(chunk.rows.num_rows, chunk.quiet) for chunk in quiet.chunks(after)]


SOME = Chunks([0, 10], [9 + QUIET_US], [9 + 2 * QUIET_US], [], [9 + 3 * QUIET_US])


def test_a_silence_is_a_batch_without_rows():
    assert played(Quiet(SOME)) == [
        (2, False),
        (1, False),  # a microsecond too soon
        (0, True),
        (1, False),
        (0, False),  # only tombstones, say: no batch is made of it
        (0, True),
        (1, False),
    ]


def test_who_goes_on_plays_what_would_have_come():
    whole = list(Quiet(SOME).chunks(None))
    for number, chunk in enumerate(whole, 1):
        left = list(Quiet(SOME).chunks(chunk.position))
        assert [c.position for c in left] == [c.position for c in whole[number:]]
