"""How the rows of a source fit its declared columns.

A name that is misspelt reads as NULL in every row, and a time in another unit as one of
January 1970. Both are results, as upstream, and both are noticed here: of each column
it is known whether it ever had a value, and a time that is likely.

What is known is a number, so that Spark can put the batches of its tasks together::

    bit 2n: column n had a value    bit 2n + 1: it had another time than of January 1970

What a format counts of its records besides is told with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.schema import Schema, Timestamp
from arroyo_nb.tape import NO_COUNTS, RecordCounts

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.tape import Chunk, Position, Recorder

SEEN = "_seen"
"""The hidden column of the rows of a topic that has this of their batch; NULL in what
is no row: what stands for a bad record, or for what was counted."""

COUNTED: Mapping[str, str] = MappingProxyType(
    {f"_{field.name}": field.name for field in fields(RecordCounts)}
)
"""The hidden columns of the rows of a topic whose sums are what was counted of its
records."""

MOST_COLUMNS = 31
"""Of so many columns it is known: the numbers have 63 bits."""

ENOUGH_ROWS = 10
"""Fewer rows say nothing about the next one, where there may be one."""

JANUARY_US = 31 * 24 * 3600 * 10**6
"""The end of January 1970. A number of milliseconds, taken for microseconds, lies
before it until the year 2054."""


@dataclass(frozen=True)
class Fit:
    """What is known of the rows of a source.

    Parameters
    ----------
    rows
        How many there were.
    seen
        What their columns had, as :func:`columns_seen` tells it.
    counts
        What was counted of their records.
    are_all
        Whether the source has no more rows than those.
    """

    rows: int = 0
    seen: int = 0
    counts: RecordCounts = NO_COUNTS
    are_all: bool = False

    def __add__(self, other: Fit) -> Fit:
        return Fit(
            self.rows + other.rows,
            self.seen | other.seen,
            self.counts + other.counts,
            self.are_all or other.are_all,
        )

    def empty_columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns that are NULL in every row."""
        return self._names(schema, lambda n: not self._has(2 * n))

    def epoch_columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns whose times all lie in January 1970."""
        return self._names(
            schema,
            lambda n: (
                isinstance(schema.fields[n].type, Timestamp)
                and self._has(2 * n)
                and not self._has(2 * n + 1)
            ),
        )

    def _has(self, bit: int) -> bool:
        return bool(self.seen >> bit & 1)

    def _names(self, schema: Schema, is_odd: Callable[[int], bool]) -> tuple[str, ...]:
        if self.rows < (1 if self.are_all else ENOUGH_ROWS):
            return ()
        among = range(min(len(schema.fields), MOST_COLUMNS))
        return tuple(schema.fields[n].name for n in among if is_odd(n))


def fit_of_chunk(chunk: Chunk, schema: Schema) -> Fit:
    """What is known of the rows of a chunk of a source with those columns."""
    columns = [chunk.rows[name] for name in schema.names]
    return Fit(chunk.rows.num_rows, columns_seen(columns), chunk.counts)


def columns_seen(columns: Sequence[pa.ChunkedArray | pa.Array]) -> int:
    """What the columns of some rows had; costs no look at a row, but of the times."""
    import pyarrow as pa

    seen = 0
    for number, column in enumerate(columns[:MOST_COLUMNS]):
        if column.null_count < len(column):
            seen |= 1 << 2 * number
            if pa.types.is_timestamp(column.type) and _has_likely_time(column):
                seen |= 2 << 2 * number
    return seen


def _has_likely_time(column: pa.ChunkedArray | pa.Array) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    us = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    found = pc.min_max(us).as_py()
    return bool(found["min"] < 0 or found["max"] >= JANUARY_US)


class FittedRecorder:
    """A recorder's chunks, looked at as they go by.

    Parameters
    ----------
    recorder
        Makes the chunks.
    schema
        The source's columns.
    """

    def __init__(self, recorder: Recorder, schema: Schema) -> None:
        self.bounded = recorder.bounded
        self.live = recorder.live
        self.fit = Fit()
        """Of the chunks so far."""
        self._recorder = recorder
        self._schema = schema

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The recorder's chunks."""
        for chunk in self._recorder.chunks(after):
            # Records of a chunk without rows are counted too: they may all be bad.
            if chunk.rows.num_rows or chunk.counts:
                self.fit += fit_of_chunk(chunk, self._schema)
            yield chunk
        # A feed may have ended: its server says so.
        self.bounded = self._recorder.bounded
        # Of a run that goes on the rows before are not known here.
        self.fit += Fit(are_all=self.bounded and after is None)
