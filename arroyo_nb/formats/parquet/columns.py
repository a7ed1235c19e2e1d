"""Reading tables of columns, which have names and types of their own.

A column is found by its name and must be of a type that the declared one takes (see
:mod:`arroyo_nb.formats.parquet.types`). A value that does not fit is bad data, like a
NULL that may not be, and so is a time or a date outside the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.codecs.bad_records import MISMATCH_HINT, in_record
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import Decoded
from arroyo_nb.formats.parquet import MISSING_COLUMNS
from arroyo_nb.formats.parquet.types import Misfit, convert, declared_type, takes
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Field, Schema, Type, arrow_type
from arroyo_nb.tape import KEPT_BAD_ROWS, SHOWN_CHARS, BadRow, shown_text

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnDecoder:
    """Reads tables as the rows of a source.

    Parameters
    ----------
    schema
        The source's columns.
    event_time
        The column that may not be NULL because it is the event time.
    drop
        Whether bad rows are left out and counted; else they are an error.
    may_lack
        Whether a column that may be NULL, or a field of one, may be missing in a file.
    elsewhere
        Columns that are NULL where a file has none: their values stand elsewhere.
    """

    def __init__(
        self,
        schema: Schema,
        event_time: str | None,
        *,
        drop: bool,
        may_lack: bool = False,
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        self._schema = schema
        self._event_time = event_time
        self._drop = drop
        self._may_lack = may_lack
        self._elsewhere = elsewhere

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(self._schema.names)

    def check(self, found: pa.Schema, origin: str) -> None:
        """Refuse a table of another schema.

        Raises
        ------
        RunProblem
            When a column is missing, is there twice, or is of another type.
        """
        if not any(name in found.names for name in self.names):
            raise RunProblem(
                f"'{origin}' has none of the columns that the table declares",
                hint=f"it has: {shown_text(', '.join(found.names))}",
            )
        for field in self._schema:
            places = found.get_all_field_indices(field.name)
            if not places and self._is_null(field):
                continue
            if len(places) != 1:
                raise RunProblem(
                    f"'{origin}' has {'no' if not places else 'more than one'} column "
                    f"'{field.name}'",
                    hint=self._lacking_hint(field, found) if not places else None,
                )
            type_ = found.field(places[0]).type
            if not takes(field.type, type_, may_lack=self._may_lack):
                raise RunProblem(
                    f"the column '{field.name}' of '{origin}' is of the type {type_}, "
                    f"and {field.type} is declared",
                    hint=f"declare '{field.name}' as {declared_type(type_)}",
                )

    def _is_null(self, field: Field) -> bool:
        """Whether a column is NULL in files without it."""
        is_optional = field.nullable and field.name != self._event_time
        return is_optional and (self._may_lack or field.name in self._elsewhere)

    def _lacking_hint(self, field: Field, found: pa.Schema) -> str | None:
        near = did_you_mean(field.name, found.names)
        if not field.nullable or field.name == self._event_time:
            return near
        option = (
            f"write '{MISSING_COLUMNS}' = 'null' in WITH, and files without the column "
            "give NULL"
        )
        if near is None:
            return option
        return f"{near} Or {option}" if near.endswith("?") else f"{near}; or {option}"

    def decode(
        self,
        table: pa.Table,
        origin: str,
        first_row: int,
        coarse: Mapping[str, pa.ChunkedArray] = MappingProxyType({}),
    ) -> Decoded:
        """Read some rows of a table whose schema was checked.

        Parameters
        ----------
        table
            The rows.
        origin, first_row
            What a place begins with, and the number of the first row, from 1.
        coarse
            Of columns whose times may have left their unit unseen: the same times in a
            unit that holds them all.

        Raises
        ------
        RunProblem
            When a row is bad and bad data is not dropped.
        """
        import pyarrow as pa

        columns, faults = {}, dict[int, str]()
        there = set(table.column_names)
        for field in self._schema:
            if field.name not in there:
                nothing = pa.nulls(len(table), arrow_type(field.type))
                columns[field.name] = pa.chunked_array([nothing])
                continue
            found = table[field.name]
            values, misfits = _converted(found, field.type)
            columns[field.name] = values
            if field.name in coarse:
                found = coarse[field.name]
                misfits = [*misfits, *_converted(found, field.type)[1]]
            for row in misfits:
                faults.setdefault(row, _misfit(found.slice(row, 1), field.type))
            if not field.nullable or field.name == self._event_time:
                for row in _nulls(values):
                    faults.setdefault(row, f"'{field.name}' is NOT NULL and is null")
        rows = pa.table(columns)
        if not faults:
            return Decoded(rows)
        bad = (
            BadRow.in_file(origin, first_row + row, _text(table, row), faults[row])
            for row in sorted(faults)
        )
        if not self._drop:
            first = next(bad)
            raise DataProblem(
                f"{first.place}: the row does not match the schema: {first.reason}"
                f"{in_record(first.text)}",
                hint=MISMATCH_HINT,
            )
        kept = pa.array(row not in faults for row in range(len(rows)))
        return Decoded(
            rows.filter(kept), len(faults), tuple(islice(bad, KEPT_BAD_ROWS))
        )


def _converted(
    values: pa.ChunkedArray, type_: Type
) -> tuple[pa.ChunkedArray, list[int]]:
    """The values in a type, NULL where one does not fit, and which rows those are."""
    import pyarrow as pa

    made: list[pa.Array] = []
    misfits: list[int] = []
    start = 0
    for chunk in values.chunks:
        for row, part in _fitting(chunk, type_, start):
            if part is None:
                misfits.append(row)
            made.append(pa.nulls(1, arrow_type(type_)) if part is None else part)
        start += len(chunk)
    return pa.chunked_array(made, arrow_type(type_)), misfits


def _fitting(
    values: pa.Array, type_: Type, start: int
) -> Iterator[tuple[int, pa.Array | None]]:
    """The values piece by piece; one that does not fit is a piece, and None."""
    import pyarrow as pa

    try:
        yield start, convert(values, type_)
    except (Misfit, pa.ArrowInvalid):
        if len(values) == 1:
            yield start, None
            return
        middle = len(values) // 2
        yield from _fitting(values[:middle], type_, start)
        yield from _fitting(values[middle:], type_, start + middle)


def _nulls(values: pa.ChunkedArray) -> list[int]:
    import pyarrow.compute as pc

    if not values.null_count:
        return []
    rows: list[int] = pc.indices_nonzero(values.is_null()).to_pylist()
    return rows


def _misfit(value: pa.ChunkedArray, type_: Type) -> str:
    """What is wrong with the one value of an array."""
    return f"the value {_shown(value)[:SHOWN_CHARS]} does not fit into {type_}"


def _shown(value: pa.ChunkedArray) -> str:
    try:
        return str(value[0].as_py())
    except (ValueError, OverflowError):
        # Python has no such time; Arrow writes its number.
        return " ".join(value.combine_chunks().to_string().split())


def _text(table: pa.Table, row: int) -> str:
    columns = (f"{n!r}: {_shown(table[n].slice(row, 1))}" for n in table.column_names)
    return shown_text(f"{{{', '.join(columns)}}}")
