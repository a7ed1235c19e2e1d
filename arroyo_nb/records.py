"""A topic's records as rows: their payloads are decoded.

Spark's Python workers do it to those that Spark reads, and a recorder to those of a
tape: what a query gets of either is the same.

An Arrow batch is decoded at once; no record is looked at by itself but those that
cannot be read with the others. The event time is checked here too, so that a bad one is
told with its place, like any bad record.

A worker loads this module, so it loads no planner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.changelog.keys import whole
from arroyo_nb.codecs.bad_records import TO_READ_IT, refusal
from arroyo_nb.formats import (
    DecodedPayloads,
    PayloadDecoder,
    framed,
    payload_format,
)
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, Schema
from arroyo_nb.tape import (
    ARRIVAL,
    END_OF_TIME_US,
    LAST_WINDOW,
    NO_COUNTS,
    UNREAD,
    BadRow,
    RecordCounts,
    outside_windows,
    shown_text,
)
from arroyo_nb.tape.fit import COUNTED, SEEN, columns_seen
from arroyo_nb.with_options import OptionValue

VALUE, TIME, PARTITION, OFFSET = "value", "timestamp", "partition", "offset"
"""The columns of a record, as Spark reads it; a message of a feed has no partition, and
its number as the offset."""

TOO_LATE = "its event time lies after the year 9998"
"""Why a record whose event time is past the last one cannot be used."""

NOT_MILLISECONDS = (
    f"{TOO_LATE}: the time of the record is not in milliseconds, but in micro- or "
    "nanoseconds"
)
"""Why one cannot whose own time that is: nobody else writes such times."""

IN_OTHER_UNIT = (
    "declare time BIGINT NOT NULL METADATA FROM 'timestamp', event_time TIMESTAMP NOT "
    "NULL GENERATED ALWAYS AS (to_timestamp_micros(time)) STORED, WATERMARK FOR "
    "event_time"
)
"""How such times are read."""

_INSTANT = pa.timestamp("us", "UTC")

# A record's own time is what its producer wrote.
_TIMES = (-(2**63), END_OF_TIME_US)
_WINDOWS = (0, (LAST_WINDOW - EPOCH) // MICROSECOND)
"""The event times that a row may have, and one that gets a window: from, and before."""


class DecodedRows(NamedTuple):
    """The rows of a batch of records, and the records that are bad.

    Attributes
    ----------
    rows
        As the format decoded them.
    numbers
        Which record each is of.
    times
        Their event times.
    bad
        The other records, with the reason.
    counts
        What was counted of all of them.
    """

    rows: pa.Table
    numbers: pa.Array
    times: pa.Array
    bad: Sequence[tuple[int, str]]
    counts: RecordCounts


@dataclass
class CountingDecoder:
    """Reads payloads, and counts what they are. One that is NULL, a tombstone, gives no
    row; nor does one without a byte, where a record has some.

    Parameters
    ----------
    decoder
        What reads them.
    has_bytes
        Whether a record cannot be without.
    counts
        What was counted.
    """

    decoder: PayloadDecoder
    has_bytes: bool
    counts: RecordCounts = NO_COUNTS

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        present = payloads.is_valid()
        if self.has_bytes:
            present = pc.and_kleene(present, pc.greater(pc.binary_length(payloads), 0))
        numbers = np.flatnonzero(present)
        empty = len(payloads) - len(numbers)
        found = self.decoder.decode(payloads.filter(present) if empty else payloads)
        counts = found.counts + RecordCounts(empty=empty)
        self.counts += counts
        if not empty:
            return replace(found, counts=counts)
        bad = tuple((int(numbers[number]), why) for number, why in found.bad)
        return DecodedPayloads(
            found.rows, pa.array(numbers[found.numbers]), bad, counts
        )


@dataclass(frozen=True)
class Records:
    """Decodes batches of records into rows; pickled for Spark's workers.

    Parameters
    ----------
    topic
        What places of records begin with.
    format, record, options, event_time, primary_key
        What a record is read with.
    held
        The columns of a row, with the types that Spark holds.
    metadata
        Those that are told of a record beside it, and what they are called on the way.
    beside
        The hidden columns of a row. Without :data:`UNREAD` a bad record is an error.
    windowed
        Whether rows get windows: a time that no window can hold is then bad data.
    uses_time
        Whether the own time of a record is used, where no column is the event time.
    """

    topic: str
    format: str
    record: Schema
    held: pa.Schema
    # One may be the password of a schema registry, and Spark logs what it sends.
    options: Mapping[str, OptionValue] = dataclasses.field(repr=False)
    event_time: str | None
    primary_key: tuple[str, ...]
    metadata: Mapping[str, str]
    beside: tuple[str, ...]
    windowed: bool
    uses_time: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoder = self.decoder()
        for batch in batches:
            records = pa.Table.from_batches([batch])
            yield from self.rows(records, decoder).to_batches()

    def decoder(self) -> CountingDecoder:
        """What reads the payloads."""
        format_ = payload_format(self.format)
        decoder = format_.payload_decoder(
            self.record, self.options, self.event_time, self.primary_key
        )
        has_bytes = not format_.may_be_empty(self.options)
        return CountingDecoder(framed(decoder, self.options), has_bytes)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of a row are called until they are back in Spark, which
        stumbles over dots and backticks in what Python gives."""
        return (*(f"c_{number}" for number in range(len(self.held))), *self.beside)

    def rows(self, records: pa.Table, decoder: PayloadDecoder) -> pa.Table:
        """The rows of a batch; behind them one for each bad record that is dropped.

        Raises
        ------
        RunProblem
            When a record is bad, and such are not dropped.
        """
        decoded = self._decoded(records, decoder)
        rows = self._rows(records, decoded)
        if decoded.bad:
            bad = self._bad_rows(records, decoded)
            # They are sorted: the error is that of the batch's first, whichever check
            # found it.
            if UNREAD not in self.beside:
                raise refusal(next(bad))
            unread = pa.table({UNREAD: pa.array(map(BadRow.to_json, bad), pa.string())})
            rows = pa.concat_tables([rows, unread], promote_options="default")
        counts = {
            name: getattr(decoded.counts, COUNTED[name])
            for name in self.beside
            if name in COUNTED
        }
        if not rows.num_rows and any(counts.values()):
            # What was counted needs a row to stand in: one that :data:`SEEN` is NULL
            # of, which is no row of the table.
            rows = pa.table([pa.nulls(1, f.type) for f in rows.schema], rows.schema)
        # After the bad ones have come: a batch may have no other rows.
        for name, count in counts.items():
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, _in_first_row(count, rows.num_rows))
        return rows

    def split_bad(
        self, records: pa.Table, decoder: PayloadDecoder
    ) -> tuple[pa.Table, int, Iterator[BadRow]]:
        """The rows of a batch, how many of its records are bad, and which."""
        decoded = self._decoded(records, decoder)
        bad = self._bad_rows(records, decoded)
        return self._rows(records, decoded), len(decoded.bad), bad

    def _bad_rows(self, records: pa.Table, decoded: DecodedRows) -> Iterator[BadRow]:
        return (self._bad_row(records, *one) for one in sorted(decoded.bad))

    def _decoded(self, records: pa.Table, decoder: PayloadDecoder) -> DecodedRows:
        decoded = decoder.decode(whole(records[VALUE]))
        rows, numbers = decoded.rows, decoded.numbers
        if self.event_time is None:
            # One document may give several rows, or none: `numbers` says of which
            # record each is.
            times = whole(records[TIME]).take(numbers).cast(_INSTANT)
            if not self.uses_time:
                # The time of the end of the stream is left to its row.
                us = pc.min_element_wise(times.cast(pa.int64()), END_OF_TIME_US - 1)
                times = us.cast(_INSTANT)
                return DecodedRows(rows, numbers, times, decoded.bad, decoded.counts)
        else:
            times = whole(rows[self.event_time]).cast(_INSTANT)
        first, after = _WINDOWS if self.windowed else _TIMES
        # As numbers: a bad time may be none that Python can write.
        us = times.cast(pa.int64())
        # One comparison for the batch: nearly always every time is in range.
        in_range = pc.and_(pc.greater_equal(us, first), pc.less(us, after))
        if pc.all(in_range, min_count=0).as_py():
            return DecodedRows(rows, numbers, times, decoded.bad, decoded.counts)
        others = pc.invert(in_range)
        wrong = zip(
            numbers.filter(others).to_pylist(),
            map(self._out_of_range, us.filter(others).to_pylist()),
            strict=True,
        )
        return DecodedRows(
            rows.filter(in_range),
            numbers.filter(in_range),
            times.filter(in_range),
            # A record of several rows is bad once, by the last of its times.
            (*decoded.bad, *dict(wrong).items()),
            decoded.counts,
        )

    def _out_of_range(self, us: int) -> str:
        """Why a time cannot be used. It may be none that Python can write."""
        if us >= END_OF_TIME_US and self.event_time is None:
            return f"{NOT_MILLISECONDS}{TO_READ_IT}{IN_OTHER_UNIT}"
        if us >= END_OF_TIME_US:
            return TOO_LATE
        where = outside_windows(early=us < 0)
        return f"its event time lies {where}, where windows cannot be"

    def _rows(self, records: pa.Table, decoded: DecodedRows) -> pa.Table:
        columns = []
        for field in self.held:
            if (metadata := self.metadata.get(field.name)) is not None:
                column = whole(records[metadata]).take(decoded.numbers)
            else:
                column = decoded.rows[field.name]
            columns.append(column.cast(field.type))
        seen = columns_seen(columns) if SEEN in self.beside else 0
        columns += (self._beside(name, records, decoded, seen) for name in self.beside)
        return pa.table(columns, names=list(self.names))

    def _beside(
        self, name: str, records: pa.Table, decoded: DecodedRows, seen: int
    ) -> pa.Array:
        match name:
            case str() if name == SEEN:
                return pa.repeat(pa.scalar(seen, pa.int64()), decoded.rows.num_rows)
            case str() if name in COUNTED:  # it is set once the bad ones have come
                return pa.nulls(decoded.rows.num_rows, pa.int64())
            case str() if name == TIMESTAMP:
                return decoded.times
            case str() if name == WEIGHT:
                return decoded.rows[WEIGHT]
            case str() if name == SEQUENCE:
                return _sequence(records, decoded)
            case str() if name == ARRIVAL:
                return whole(records[ARRIVAL]).take(decoded.numbers)
            case _:
                return pa.nulls(decoded.rows.num_rows, pa.string())

    def _bad_row(self, records: pa.Table, number: int, reason: str) -> BadRow:
        known = [n for n in (PARTITION, OFFSET, VALUE) if n in records.column_names]
        record = records.select(known).slice(number, 1).to_pylist()[0]
        partition, offset = record.get(PARTITION), record[OFFSET]
        place = f"{self.topic}[{partition}] offset {offset}"
        if partition is None:
            place = f"{self.topic} message {offset + 1:,}"
        return BadRow(
            place,
            shown_text(record[VALUE]),
            reason,
            self.topic,
            partition,
            offset,
        )


def _in_first_row(number: int, rows: int) -> pa.Array:
    """A column whose sum is a number, which is 0 where there is no row."""
    column = np.zeros(rows, np.int64)
    column[:1] = number
    return pa.array(column)


def _sequence(records: pa.Table, decoded: DecodedRows) -> pa.Array:
    """The order of changes, as numbers: a document has two at most, the retraction
    first, and those of one key are in one partition."""
    offsets = whole(records[OFFSET]).take(decoded.numbers).to_numpy()
    appends = whole(decoded.rows[WEIGHT]).to_numpy() > 0
    # Offsets of other partitions may be equal, which does no harm: their keys differ.
    return pa.array(2 * offsets + appends.astype(np.int64))
