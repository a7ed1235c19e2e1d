"""Payloads of JSON: a batch at once where that is exact, else one by one.

What :mod:`arroyo_nb.formats.json.lines` does for the lines of a file, with the same two
readers. A payload is a line without its end: one that was written over several lines
is one here, as between the parts of a document a line end is as good as a blank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arroyo_nb.formats import DecodedPayloads, PayloadDecoder
from arroyo_nb.formats.json import PREFIX_BYTES
from arroyo_nb.formats.json.lines import SMALL_BYTES, Blocks
from arroyo_nb.formats.json.strict import BadRecord, RecordReader

if TYPE_CHECKING:
    import pyarrow as pa

_LARGE_BYTES = 16 * 2**20
"""More is not read at once: Arrow's reader counts its bytes with 32 bits."""

_Part: TypeAlias = "tuple[pa.Table, np.ndarray, list[tuple[int, str]]]"


class JsonPayloads:
    """Reads payloads, one row each.

    Parameters
    ----------
    blocks, records
        The fast reader and the exact one, of the same rows.
    """

    def __init__(self, blocks: Blocks, records: RecordReader) -> None:
        self._blocks = blocks
        self._records = records

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lines = pc.replace_substring(payloads, pattern=b"\n", replacement=b" ")
        parts = list(self._parts(lines, 0))
        rows = pa.concat_tables([self._records.table([]), *(part[0] for part in parts)])
        numbers = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        bad = tuple(one for part in parts for one in part[2])
        return DecodedPayloads(rows, pa.array(numbers), bad)

    def _parts(self, lines: pa.Array, first: int) -> Iterator[_Part]:
        """The rows of all payloads, read in as few pieces as can be."""
        if not len(lines):
            return
        size_bytes = _size_bytes(lines)
        if size_bytes <= _LARGE_BYTES:
            rows = self._blocks.read(_joined(lines))
            if rows is not None and rows.num_rows == len(lines):
                yield rows, np.arange(first, first + len(lines)), []
                return
        if size_bytes <= SMALL_BYTES or len(lines) == 1:
            yield self._one_by_one(lines, first)
            return
        middle = len(lines) // 2
        yield from self._parts(lines.slice(0, middle), first)
        yield from self._parts(lines.slice(middle), first + middle)

    def _one_by_one(self, lines: pa.Array, first: int) -> _Part:
        records, numbers, bad = [], [], []
        for number, line in enumerate(lines.to_pylist(), first):
            try:
                record = self._records.read(line)
            except BadRecord as problem:
                bad.append((number, str(problem)))
                continue
            if record is not None:
                records.append(record)
                numbers.append(number)
        return self._records.table(records), np.array(numbers, np.int64), bad


class Unframed:
    """Reads payloads that begin with the number of a schema in Confluent's registry.

    Parameters
    ----------
    decoder
        Reads what is behind it.
    """

    def __init__(self, decoder: PayloadDecoder) -> None:
        self._decoder = decoder

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        import pyarrow as pa
        import pyarrow.compute as pc

        framed = pc.and_(
            pc.starts_with(payloads, pattern=b"\0"),
            pc.greater_equal(pc.binary_length(payloads), PREFIX_BYTES),
        )
        numbers = np.flatnonzero(framed.to_numpy(zero_copy_only=False))
        others = np.flatnonzero(~framed.to_numpy(zero_copy_only=False))
        found = self._decoder.decode(
            pc.binary_slice(payloads.filter(framed), start=PREFIX_BYTES)
        )
        bad = [(int(numbers[number]), why) for number, why in found.bad]
        why = "it does not begin with the number of a schema in the schema registry"
        bad += [(int(number), why) for number in others]
        placed = numbers[found.numbers.to_numpy()]
        return DecodedPayloads(found.rows, pa.array(placed, pa.int64()), tuple(bad))


def _size_bytes(lines: pa.Array) -> int:
    import pyarrow.compute as pc

    return (pc.sum(pc.binary_length(lines)).as_py() or 0) + len(lines)


def _joined(lines: pa.Array) -> bytes:
    """The lines with their ends, as one block."""
    import pyarrow as pa
    import pyarrow.compute as pc

    block = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    made: bytes = pc.binary_join(block, b"\n")[0].as_py()
    return made
