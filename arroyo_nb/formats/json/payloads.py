"""Payloads of JSON: a batch at once where that is exact, else one by one.

What :mod:`arroyo_nb.formats.json.lines` does for the lines of a file, with the same two
readers. A payload is a line without its end: one that was written over several lines
is one here, as between the parts of a document a line end is as good as a tab. Inside a
text neither may stand. A payload of blanks alone is no record, like a blank line.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arroyo_nb.formats import DecodedPayloads, PayloadDecoder
from arroyo_nb.formats.json.lines import SMALL_BYTES, Blocks
from arroyo_nb.formats.json.strict import BadRecord, RecordReader
from arroyo_nb.schema_registry import JSON_SCHEMA, RegistryClient
from arroyo_nb.schema_registry.prefix import (
    NO_PREFIX,
    PREFIX_BYTES,
    SchemaCache,
    by_schema_id,
    unknown_ids,
)
from arroyo_nb.tape import RecordCounts

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

        lines = pc.replace_substring(
            without_mark(payloads), pattern=b"\n", replacement=b"\t"
        )
        parts = list(self._parts(lines, 0))
        rows = pa.concat_tables([self._records.table([]), *(part[0] for part in parts)])
        numbers = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        bad = tuple(one for part in parts for one in part[2])
        counts = RecordCounts(empty=len(payloads) - len(numbers) - len(bad))
        return DecodedPayloads(rows, pa.array(numbers), bad, counts)

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


def without_mark(payloads: pa.Array) -> pa.Array:
    """The payloads without the mark of UTF-8 that one may begin with."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.starts_with(payloads, BOM_UTF8)).as_py():
        return payloads
    # Arrow 26 fails to slice values that are shorter than what is left out.
    plain = (payload.removeprefix(BOM_UTF8) for payload in payloads.to_pylist())
    return pa.array(plain, payloads.type)


class Unframed:
    """Reads payloads that begin with the id of a schema in Confluent's registry.

    Parameters
    ----------
    decoder
        Reads what is behind it.
    client
        Whom to ask whether it is the id of a JSON schema; None: nobody is asked.
    """

    def __init__(self, decoder: PayloadDecoder, client: RegistryClient | None) -> None:
        self._decoder = decoder
        self._problems: SchemaCache[str | None] | None = None
        if client is not None:
            check = partial(_problem, client)
            self._problems = SchemaCache(check, unknown_ids(client))

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads.

        Raises
        ------
        RunProblem
            When the registry does not answer, or refuses.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        good, bad = np.zeros(len(payloads), bool), list[tuple[int, str]]()
        for schema_id, which in by_schema_id(payloads):
            if (why := self._refused(schema_id)) is None:
                good[which] = True
            else:
                bad += ((number, why) for number in which.tolist())
        numbers = np.flatnonzero(good)
        documents = pc.binary_slice(payloads.filter(pa.array(good)), PREFIX_BYTES)
        found = self._decoder.decode(documents)
        bad += ((int(numbers[number]), why) for number, why in found.bad)
        placed = numbers[found.numbers.to_numpy()]
        return replace(found, numbers=pa.array(placed, pa.int64()), bad=tuple(bad))

    def _refused(self, schema_id: int | None) -> str | None:
        if schema_id is None:
            return NO_PREFIX
        return None if self._problems is None else self._problems.get(schema_id)


def _problem(client: RegistryClient, schema_id: int) -> str | None:
    """Why records of a schema are no JSON, as the registry says."""
    found = client.schema(schema_id).schema_type
    if found == JSON_SCHEMA:
        return None
    return f"its schema {schema_id} in the schema registry is {found}, and not JSON"


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
