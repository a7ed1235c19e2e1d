"""Reading tables of columns, which have names and types of their own.

A column is found by its name and must be of the declared kind: integers of another
width and times of another unit are converted. A value that does not fit is bad data,
like a NULL that may not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from arroyo_nb.codecs.bad_records import MISMATCH_HINT, in_record
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import Decoded
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    Decimal,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
)
from arroyo_nb.tape import KEPT_BAD_ROWS, SHOWN_CHARS, BadRow, shown_text

if TYPE_CHECKING:
    import pyarrow as pa


# Which of pyarrow's tests a found type passes for one that is declared.
_TESTS = {
    "BOOLEAN": ("boolean",),
    "FLOAT": ("floating", "integer"),
    "DOUBLE": ("floating", "integer"),
    "TEXT": ("string", "large_string", "string_view"),
    "JSON": ("string", "large_string", "string_view"),
    "BYTEA": ("binary", "large_binary", "fixed_size_binary"),
    "DATE": ("date",),
    "TIME": ("time",),
    "INTERVAL": ("duration",),
    "NULL": ("null",),
}


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
    """

    def __init__(self, schema: Schema, event_time: str | None, *, drop: bool) -> None:
        self._schema = schema
        self._event_time = event_time
        self._drop = drop

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(self._schema.names)

    def check(self, found: pa.Schema, origin: str) -> None:
        """Refuse a table of another schema.

        Raises
        ------
        RunProblem
            When a column is missing, is there twice, or is of another kind.
        """
        for field in self._schema:
            places = found.get_all_field_indices(field.name)
            if len(places) != 1:
                raise RunProblem(
                    f"'{origin}' has {'no' if not places else 'more than one'} column "
                    f"'{field.name}'",
                    hint=did_you_mean(field.name, found.names),
                )
            type_ = found.field(places[0]).type
            if not _is_kind(type_, field.type):
                raise RunProblem(
                    f"the column '{field.name}' of '{origin}' is of the type {type_}, "
                    f"and {field.type} is declared",
                    hint="declare the type that the file has",
                )

    def decode(self, table: pa.Table, origin: str, first_row: int) -> Decoded:
        """Read some rows of a table whose schema was checked.

        Parameters
        ----------
        table
            The rows.
        origin, first_row
            What a place begins with, and the number of the first row, from 1.

        Raises
        ------
        RunProblem
            When a row is bad and bad data is not dropped.
        """
        import pyarrow as pa

        columns, faults = {}, dict[int, str]()
        for field, wanted in zip(self._schema, arrow_schema(self._schema), strict=True):
            values, misfits = _converted(table[field.name], wanted.type)
            columns[field.name] = values
            for row in misfits:
                faults.setdefault(row, _misfit(table[field.name][row], field.type))
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


def _is_kind(found: pa.DataType, wanted: Type) -> bool:
    import pyarrow.types as kinds

    if kinds.is_dictionary(found):
        found = found.value_type
    # Whatever a column of nothing but NULLs was to be, its writer did not know either.
    if kinds.is_null(found):
        return True
    match wanted:
        case Timestamp():
            return bool(kinds.is_timestamp(found))
        case Decimal():
            return bool(kinds.is_decimal(found) or kinds.is_integer(found))
        case ListOf(element):
            is_list = kinds.is_list(found) or kinds.is_large_list(found)
            return bool(is_list) and _is_kind(found.value_type, element)
        case StructOf(fields):
            if not kinds.is_struct(found):
                return False
            there = {field.name: field.type for field in found}
            return all(
                f.name in there and _is_kind(there[f.name], f.type) for f in fields
            )
        case Primitive(name):
            tests = _TESTS.get(name, ("integer",))
            return any(getattr(kinds, f"is_{test}")(found) for test in tests)


def _converted(
    values: pa.ChunkedArray, type_: pa.DataType
) -> tuple[pa.ChunkedArray, list[int]]:
    """The values in a type, NULL where one does not fit, and which rows those are."""
    import pyarrow as pa

    parts: list[pa.Array] = []
    misfits: list[int] = []
    for start, part in _fitting(values, type_, 0):
        if part is None:
            misfits.append(start)
            part = pa.nulls(1, type_)
        parts.extend(part.chunks if isinstance(part, pa.ChunkedArray) else [part])
    return pa.chunked_array(parts, type_), misfits


def _fitting(
    values: pa.ChunkedArray, type_: pa.DataType, start: int
) -> Iterator[tuple[int, pa.ChunkedArray | None]]:
    """The values piece by piece; one that does not fit is a piece, and None."""
    made = _cast(values, type_)
    if made is not None or len(values) == 1:
        yield start, made
        return
    middle = len(values) // 2
    yield from _fitting(values[:middle], type_, start)
    yield from _fitting(values[middle:], type_, start + middle)


def _cast(values: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray | None:
    """The values in a type; None where one does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        made = pc.cast(values, options=_options(type_))
    except pa.ArrowInvalid:
        return None
    return None if _is_beyond(values, made) else made


def _is_beyond(found: pa.ChunkedArray, made: pa.ChunkedArray) -> bool:
    """Whether a number became infinite: a DOUBLE that is no FLOAT is not refused."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if found.type.equals(made.type):
        return False
    if kinds.is_list(made.type):
        return _is_beyond(pc.list_flatten(found), pc.list_flatten(made))
    if kinds.is_struct(made.type):
        return any(
            _is_beyond(pc.struct_field(found, name), pc.struct_field(made, name))
            for name in made.type.names
        )
    if not kinds.is_float32(made.type):
        return False
    finite = pc.is_finite(found.cast("float64"))
    return bool(pc.any(pc.and_(finite, pc.is_inf(made))).as_py())


def _options(type_: pa.DataType) -> object:
    import pyarrow.compute as pc

    # Nanoseconds are cut: Spark keeps microseconds.
    return pc.CastOptions(target_type=type_, allow_time_truncate=True)


def _nulls(values: pa.ChunkedArray) -> list[int]:
    import pyarrow.compute as pc

    if not values.null_count:
        return []
    rows: list[int] = pc.indices_nonzero(values.is_null()).to_pylist()
    return rows


def _misfit(value: object, type_: Type) -> str:
    return f"the value {str(value)[:SHOWN_CHARS]} does not fit into {type_}"


def _text(table: pa.Table, row: int) -> str:
    return shown_text(str(table.slice(row, 1).to_pylist()[0]))
