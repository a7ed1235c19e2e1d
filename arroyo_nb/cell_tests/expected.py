"""Expected rows, with the types of the rows that came out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.errors import ArroyoError, CatalogProblem, raise_all
from arroyo_nb.frames import gives_rows, rows_of
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import length_of_time
from arroyo_nb.row_tables.grid import MOST_PROBLEMS, Cell, read_grid
from arroyo_nb.row_tables.values import time_of
from arroyo_nb.source import ScriptText, Span

if TYPE_CHECKING:
    import pyarrow as pa

Row: TypeAlias = tuple[Any, ...]

OP, BATCH, BEFORE, AFTER = "op", "batch", "before", "after"
_OPS = {"+": "c", "~": "u", "-": "d", "c": "c", "u": "u", "d": "d"}
_INTERVAL = re.compile(r"\s+(?:–|-|to)\s+")
_WHOLE = re.compile(r"[+-]?\d+\Z", re.ASCII)


class MissingColumn(CatalogProblem):
    """An expectation names a column that the result has not."""


@dataclass(frozen=True)
class Column:
    """A column that an expectation names.

    Parameters
    ----------
    name
        As it was written.
    type
        Arrow's type of its values.
    value
        Gives its value of a row that came out.
    """

    name: str
    type: pa.DataType
    value: Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class ExpectedRows:
    """The columns that are compared, and the rows that are expected in them."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def of(self, found: pa.Table) -> list[Row]:
        """The rows that came out, in these columns."""
        values = tuple(column.value for column in self.columns)
        return [tuple(v(row) for v in values) for row in found.to_pylist()]


def expected_rows(
    given: Any, schema: pa.Schema, *, is_changelog: bool = False
) -> ExpectedRows:
    """Read the rows of an expectation.

    Parameters
    ----------
    given
        A text as of :mod:`arroyo_nb.row_tables.grid`; a DataFrame or a list of
        mappings; None: no rows, of all columns.
    schema
        The columns that came out.
    is_changelog
        Whether these are ``op``, ``batch``, ``before`` and ``after``.

    Raises
    ------
    ArroyoError
        When there is no such column, or a cell is no value of its type.
    """
    if given is None:
        names = [OP, BATCH, *schema.field(AFTER).type.names] if is_changelog else None
        names = schema.names if names is None else names
        columns = [_column(name, schema, is_changelog) for name in names]
        return ExpectedRows(tuple(filter(None, columns)), ())
    if isinstance(given, str):
        given = ScriptText(given)
    if isinstance(given, ScriptText):
        return _of_text(given, schema, is_changelog=is_changelog)
    return _of_values(given, schema, is_changelog=is_changelog)


def _of_text(
    source: ScriptText, schema: pa.Schema, *, is_changelog: bool
) -> ExpectedRows:
    grid = read_grid(source)
    columns, problems = list[Column](), list[ArroyoError]()
    for cell in grid.header:
        name, span = _name(cell, source)
        try:
            columns.append(_known(name, schema, is_changelog, span))
        except CatalogProblem as problem:
            problems.append(problem)
    if not problems:
        problems += _repeated(columns, [cell.span for cell in grid.header])
    raise_all(problem.at(source) for problem in problems)
    rows: list[Row] = []
    for line in grid.rows:
        row: list[Any] = []
        for column, cell in zip(columns, line.cells, strict=True):
            try:
                row.append(_cell_value(cell, column))
            except ValueError as error:
                problems.append(
                    CatalogProblem(
                        f"'{cell.text}' is not a value of '{column.name}', which is "
                        f"{type_name(column.type)}",
                        span=cell.span,
                        hint=str(error),
                    )
                )
        rows.append(tuple(row))
    raise_all(problem.at(source) for problem in problems[:MOST_PROBLEMS])
    return ExpectedRows(tuple(columns), tuple(rows))


def _name(cell: Cell, source: ScriptText) -> tuple[str, Span]:
    """The name of a column; blanks in it stand in double quotes."""
    written = source.text[cell.span.start : cell.span.end]
    if written.startswith('"') and written.endswith('"') and len(written) > 1:
        return written[1:-1].replace('""', '"'), cell.span
    return cell.text, cell.span


def _repeated(
    columns: Sequence[Column], spans: Sequence[Span]
) -> Iterable[ArroyoError]:
    seen: set[str] = set()
    for column, span in zip(columns, spans, strict=True):
        if column.name in seen:
            yield CatalogProblem(f"there are two columns '{column.name}'", span=span)
        seen.add(column.name)


def _of_values(given: Any, schema: pa.Schema, *, is_changelog: bool) -> ExpectedRows:
    if gives_rows(given):
        given = rows_of(given).to_pylist()
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise CatalogProblem(
            f"a {type(given).__name__} has no rows",
            hint="hand in a text, a DataFrame or a list of mappings",
        )
    mappings = [*given]
    for row in mappings:
        if not isinstance(row, Mapping):
            raise CatalogProblem(
                f"an expected row is a {type(row).__name__}",
                hint="a row is a mapping, as {'user': 'ann', 'n': 1}",
            )
    if not mappings:
        return expected_rows(None, schema, is_changelog=is_changelog)
    names = dict.fromkeys(str(name) for row in mappings for name in row)
    columns = tuple(_known(name, schema, is_changelog, None) for name in names)
    rows = tuple(
        tuple(_python_value(row.get(c.name), c.type) for c in columns)
        for row in mappings
    )
    return ExpectedRows(columns, rows)


def _known(
    name: str, schema: pa.Schema, is_changelog: bool, span: Span | None
) -> Column:
    column = _column(name, schema, is_changelog)
    if column is not None:
        return column
    names = [*_paths(schema, is_changelog)]
    raise MissingColumn(
        f"the result has no column '{name}'",
        span=span,
        hint=did_you_mean(name, names) or f"it has: {', '.join(names)}",
    )


def _paths(schema: pa.Schema, is_changelog: bool) -> Iterable[str]:
    """The names that an expectation may use."""
    import pyarrow as pa

    fields = schema
    if is_changelog:
        yield OP
        yield BATCH
        fields = pa.schema([*schema.field(AFTER).type])
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from (f"{field.name}.{part.name}" for part in field.type)
        else:
            yield field.name


def _column(name: str, schema: pa.Schema, is_changelog: bool) -> Column | None:
    """The column of a name, such as ``n``, ``window.start`` or ``before.n``."""
    found = _path(name, schema)
    if not is_changelog or name in (OP, BATCH) or name in (BEFORE, AFTER):
        return found if found is None else Column(name, *found)
    row = schema.field(AFTER).type
    import pyarrow as pa

    # A column of the query comes before the images of a row.
    of_row = _path(name, pa.schema([*row]))
    if of_row is None:
        return None if found is None else Column(name, *found)
    type_, value = of_row
    return Column(name, type_, lambda change: value(_image(change)))


def _image(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row that a change leaves; of one that removes a row, that row."""
    after = change[AFTER]
    image: Mapping[str, Any] = change[BEFORE] if after is None else after
    return image


def _path(
    name: str, fields: Iterable[Any]
) -> tuple[pa.DataType, Callable[[Any], Any]] | None:
    """The type of a column or of a field in one, and what gives its value of a row."""
    import pyarrow as pa

    by_name = {field.name: field.type for field in fields}
    if name in by_name:
        return by_name[name], lambda row: None if row is None else row.get(name)
    parts = name.split(".")
    for end in range(1, len(parts)):
        head = ".".join(parts[:end])
        type_ = by_name.get(head)
        if type_ is None or not pa.types.is_struct(type_):
            continue
        inner = _path(".".join(parts[end:]), [*type_])
        if inner is not None:
            return inner[0], partial(_field, head, inner[1])
    return None


def _field(name: str, value: Callable[[Any], Any], row: Any) -> Any:
    return None if row is None else value(row.get(name))


def _cell_value(cell: Cell, column: Column) -> Any:
    if cell.is_null:
        return None
    if column.name == OP and cell.text in _OPS:
        return _OPS[cell.text]
    return read_value(cell.text, column.type)


def read_value(text: str, type_: pa.DataType) -> Any:
    """A value of a type, as a cell has it.

    Raises
    ------
    ValueError
        When it is none; the text says what the type takes.
    """
    import pyarrow as pa

    is_ = pa.types
    if is_.is_string(type_) or is_.is_large_string(type_):
        return text
    if is_.is_boolean(type_):
        if text.lower() not in ("true", "false"):
            raise ValueError("write true or false")
        return text.lower() == "true"
    if is_.is_integer(type_):
        if _WHOLE.match(text) is None or len(text) > 40:
            raise ValueError("write a whole number")
        return int(text)
    if is_.is_floating(type_):
        return _float(text)
    if is_.is_decimal(type_):
        return _decimal(text)
    if is_.is_timestamp(type_):
        return time_of(text)
    if is_.is_date(type_):
        return _parsed(date.fromisoformat, text, "write a day as 2026-01-31")
    if is_.is_time(type_):
        return _parsed(time.fromisoformat, text, "write a time of day as 10:00:00")
    if is_.is_duration(type_):
        return _duration(text)
    if is_.is_binary(type_) or is_.is_large_binary(type_):
        return _bytes(text)
    if is_.is_struct(type_) and type_.names == ["start", "end"]:
        parts = _INTERVAL.split(text)
        if len(parts) == 2:
            return {"start": time_of(parts[0]), "end": time_of(parts[1])}
    if is_.is_nested(type_):
        return _nested(text, type_)
    raise ValueError("no cell can hold it; leave the column out")


def _nested(text: str, type_: pa.DataType) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(_how_nested(type_)) from None
    return _json_value(value, type_)


def _how_nested(type_: pa.DataType) -> str:
    """How a cell has a list or a struct."""
    import pyarrow as pa

    if not _is_list(type_):
        return (
            'write a struct as {"a": 1}, or name its fields in the header, as '
            "window.start"
        )
    is_text = pa.types.is_string(type_.value_type)
    return f"write a list as {_TEXT_LIST if is_text else _LIST}"


_LIST, _TEXT_LIST = "[1, 2]", '["a", "b"]'


def _is_list(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_))


def _json_value(value: Any, type_: pa.DataType) -> Any:
    """A value of JSON as the type has it."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_struct(type_):
        if not isinstance(value, dict) or set(value) - set(type_.names):
            raise ValueError(f"a struct has the fields {', '.join(type_.names)}")
        return {
            field.name: _json_value(value.get(field.name), field.type)
            for field in type_
        }
    if _is_list(type_):
        if not isinstance(value, list):
            raise ValueError(_how_nested(type_))
        return [_json_value(part, type_.value_type) for part in value]
    if isinstance(value, bool):
        return read_value("true" if value else "false", type_)
    return read_value(value if isinstance(value, str) else repr(value), type_)


def _python_value(value: Any, type_: pa.DataType) -> Any:
    """A value of Python, compared as the type has it: times in UTC, texts of what is
    written as text in a cell."""
    import pyarrow as pa

    if isinstance(value, float) and value != value and not pa.types.is_floating(type_):
        return None  # what pandas has for a missing value
    if isinstance(value, datetime):
        aware = value.tzinfo is not None
        value = value.astimezone(UTC).replace(tzinfo=None) if aware else value
        # pandas has a class of its own, with nanoseconds.
        return value if type(value) is datetime else value.to_pydatetime()
    text_types = (pa.types.is_string, pa.types.is_large_string)
    if isinstance(value, str) and not any(is_(type_) for is_ in text_types):
        try:
            return read_value(value, type_)
        except ValueError as error:
            raise CatalogProblem(
                f"'{value}' is not a value of {type_name(type_)}", hint=str(error)
            ) from None
    if isinstance(value, tuple):
        return [*value]
    if isinstance(value, int) and pa.types.is_floating(type_):
        return float(value)
    return value.item() if hasattr(value, "item") else value  # a number of NumPy


def _float(text: str) -> float:
    names = {"nan": "nan", "infinity": "inf", "∞": "inf", "-∞": "-inf"}
    try:
        return float(names.get(text.lower(), text))
    except ValueError:
        raise ValueError("write a number such as 1.5 or 2e-3") from None


def _decimal(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError("write a number such as 12.50") from None
    if not found.is_finite():
        raise ValueError("write a number such as 12.50")
    return found


def _parsed(read: Callable[[str], Any], text: str, hint: str) -> Any:
    try:
        return read(text)
    except ValueError:
        raise ValueError(hint) from None


def _duration(text: str) -> timedelta:
    hint = "write a length of time, such as '35 seconds'"
    clock = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)", text)
    if clock is not None:
        sign, hours, minutes, seconds = clock.groups()
        found = timedelta(
            hours=int(hours), minutes=int(minutes), seconds=float(seconds)
        )
        return -found if sign else found
    short = re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|s|min|h|d)", text)
    units = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours"}
    if short is not None:
        return timedelta(**{units.get(short[2], "days"): float(short[1])})
    try:
        return length_of_time("value", text, hint)
    except CatalogProblem:
        raise ValueError(hint) from None


def _bytes(text: str) -> bytes:
    digits = text.removeprefix("0x").removeprefix("\\x")
    try:
        if digits == text:
            raise ValueError
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueError("write bytes as 0x0aff") from None


def type_name(type_: pa.DataType) -> str:
    """What SQL calls an Arrow type."""
    import pyarrow as pa

    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_duration(type_):
        return "INTERVAL"
    if _is_list(type_):
        return f"{type_name(type_.value_type)}[]"
    names = {
        "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT",
        "int64": "BIGINT", "uint8": "TINYINT UNSIGNED", "uint16": "SMALLINT UNSIGNED",
        "uint32": "INT UNSIGNED", "uint64": "BIGINT UNSIGNED", "float": "FLOAT",
        "double": "DOUBLE", "string": "TEXT", "binary": "BYTEA", "date32[day]": "DATE",
    }  # fmt: skip
    return names.get(str(type_), str(type_))
