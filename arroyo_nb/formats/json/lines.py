"""Lines of records: a block at once where that is exact, else one by one.

A block of lines is read at once by Arrow where that gives exactly what the rules
ask for. Where it does not, the block is halved until the lines that need it are few,
and those are read one by one by the exact reader, which also says why a record is
bad. Both readers give the same rows: a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.codecs.bad_records import refusal
from arroyo_nb.formats import Decoded
from arroyo_nb.formats.json.foreign_files import conversion_hint
from arroyo_nb.formats.json.strict import BadRecord, RecordReader
from arroyo_nb.tape import KEPT_BAD_ROWS, BadRow, shown_text

if TYPE_CHECKING:
    import pyarrow as pa

SMALL_BYTES = 16 * 1024
"""A block up to this size is read one by one when Arrow refuses it."""


class Blocks(Protocol):
    """Reads whole blocks."""

    def read(self, block: bytes) -> pa.Table | None:
        """The block's rows; None where it must be read record by record."""


class LineDecoder:
    """Reads JSON objects, one a line; blank lines are no records.

    Parameters
    ----------
    blocks, records
        The fast reader and the exact one, of the same rows.
    drop
        Whether bad records are left out and counted; else they are an error.
    """

    def __init__(self, blocks: Blocks, records: RecordReader, *, drop: bool) -> None:
        self._blocks = blocks
        self._records = records
        self._drop = drop

    def decode(self, block: bytes, origin: str, first_line: int) -> Decoded:
        """Read a block of lines.

        Raises
        ------
        RunProblem
            When a record is bad and bad data is not dropped.
        """
        import pyarrow as pa

        tables: list[pa.Table] = []
        bad: list[BadRow] = []
        dropped_rows = 0
        for part, line in self._parts(block, first_line):
            if isinstance(part, bytes):
                found, problems = self._one_by_one(part, origin, line)
                tables.append(found)
                dropped_rows += len(problems)
                bad.extend(islice(problems, KEPT_BAD_ROWS - len(bad)))
            else:
                tables.append(part)
        if not tables:
            return Decoded(self._records.table([]))
        return Decoded(pa.concat_tables(tables), dropped_rows, tuple(bad))

    def _parts(self, block: bytes, line: int) -> Iterator[tuple[pa.Table | bytes, int]]:
        """The block's rows, or small pieces of it that must be read one by one."""
        if not block.strip():
            return
        rows = self._blocks.read(block)
        if rows is not None:
            yield rows, line
            return
        middle = block.find(b"\n", len(block) // 2) + 1
        if len(block) <= SMALL_BYTES or not 0 < middle < len(block):
            yield block, line
            return
        yield from self._parts(block[:middle], line)
        yield from self._parts(block[middle:], line + block.count(b"\n", 0, middle))

    def _one_by_one(
        self, block: bytes, origin: str, first_line: int
    ) -> tuple[pa.Table, list[BadRow]]:
        records, bad = [], []
        for line, text in enumerate(block.split(b"\n"), first_line):
            try:
                record = self._records.read(text)
            except BadRecord as problem:
                bad.append(self._bad(problem, origin, line, text))
                continue
            if record is not None:
                records.append(record)
        return self._records.table(records), bad

    def _bad(self, problem: BadRecord, origin: str, line: int, text: bytes) -> BadRow:
        bad = BadRow.in_file(origin, line, shown_text(text), str(problem))
        if not self._drop:
            raise refusal(bad, conversion_hint(bad)) from problem
        return bad
