"""Reading tables of columns, which have names and types of their own.

A column is found by its name and must be of the declared kind: integers of another
width and times of another unit are converted. A value that does not fit is bad data,
like a NULL that may not be, and so is a time or a date outside the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.codecs.bad_records import MISMATCH_HINT, in_record
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import Decoded
from arroyo_nb.formats.json.strict import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US
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
        for field, wanted in zip(self._schema, arrow_schema(self._schema), strict=True):
            values, misfits = _converted(table[field.name], wanted.type)
            columns[field.name] = values
            found = table[field.name]
            if field.name in coarse:
                found = coarse[field.name]
                misfits = [*misfits, *_converted(found, found.type)[1]]
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
    yield from _fitting(_piece(values, 0, middle), type_, start)
    yield from _fitting(_piece(values, middle, len(values)), type_, start + middle)


def _piece(values: pa.ChunkedArray, start: int, stop: int) -> pa.ChunkedArray:
    """Some of the values, copied: Arrow casts all elements that a list's buffer has,
    also those of lists outside a slice."""
    import pyarrow as pa

    return values.take(pa.array(range(start, stop), pa.int64()))


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
    """Whether a value left its range and was not refused: a number became infinite, as
    a DOUBLE that is no FLOAT does, or a time lies outside the years that can be shown.
    """
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    type_ = made.type
    if kinds.is_list(type_):
        return _is_beyond(pc.list_flatten(found), pc.list_flatten(made))
    if kinds.is_struct(type_):
        return any(
            _is_beyond(pc.struct_field(found, name), pc.struct_field(made, name))
            for name in type_.names
        )
    if kinds.is_timestamp(type_):
        per_s = _PER_S[type_.unit]
        first, after = FIRST_US * per_s // 10**6, (LAST_US + 1) * per_s // 10**6
        return _is_outside(made.cast("int64"), first, after - 1)
    if kinds.is_date32(type_):
        return _is_outside(made.cast("int32"), FIRST_DAY, LAST_DAY)
    if not kinds.is_float32(type_) or found.type.equals(type_):
        return False
    finite = pc.is_finite(found.cast("float64"))
    return bool(pc.any(pc.and_(finite, pc.is_inf(made))).as_py())


_PER_S = {"s": 1, "ms": 10**3, "us": 10**6}


def _is_outside(numbers: pa.ChunkedArray, first: int, last: int) -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(numbers).as_py()
    return ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last


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
