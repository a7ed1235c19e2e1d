"""Rows of a DataFrame, or of a list of mappings or typed events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import CatalogProblem, DataProblem
from arroyo_nb.events.definition import declared_type, event_type, is_event_class
from arroyo_nb.frames import gives_rows, rows_of, typed_rows
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import (
    FIXED_DAY,
    StreamRows,
    event_time_column,
    instant_us,
    is_utf8,
    stream_rows,
    with_event_time,
    with_left_out,
)
from arroyo_nb.row_tables.values import time_of
from arroyo_nb.schema import (
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Type,
    arrow_schema,
    check_visible,
)

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of_data(data: Any, event_time: str | None, arrives: str) -> StreamRows:
    """The rows of a value of Python.

    Parameters
    ----------
    data
        A DataFrame (pandas, pyarrow, Polars, DuckDB, Spark), or a list of mappings or
        of typed events (:mod:`arroyo_nb.events`).
    event_time
        The column that is the event time; None: the only TIMESTAMP.
    arrives
        The column that says when a row arrives; no column of the table. It may be
        missing.

    Raises
    ------
    ArroyoError
        When it is none of them, or has a column or a value that a table cannot have.
    """
    columns, rows = _read(data)
    if not rows:
        raise CatalogProblem("there are no rows", hint="hand in at least one")
    for field in columns:
        check_visible(field.name)
        _check_type(field.name, field.type)
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            _check_value(value, name, number)
    arrivals = None
    if arrives in columns:
        arrivals = [_arrival_us(row[arrives], arrives, n) for n, row in enumerate(rows)]
        columns = Schema(tuple(field for field in columns if field.name != arrives))
        rows = [{name: row[name] for name in columns.names} for row in rows]
    if not len(columns):
        raise CatalogProblem(f"there is no column but '{arrives}'")
    at = event_time_column(columns, event_time)
    schema = with_event_time(columns, at)
    for field in schema:
        if not field.nullable:
            missing = next(
                (n for n, r in enumerate(rows) if r[field.name] is None), None
            )
            if missing is not None:
                raise _missing(field.name, missing)
    return stream_rows(schema, rows, at, arrivals)


def as_declared(
    found: StreamRows, declared: Schema, event_time: str | None
) -> StreamRows:
    """The rows as those of a table that is there: with its types, and NULL in the
    columns that they lack.

    Raises
    ------
    CatalogProblem
        When they have another column, or a value is of another type.
    """
    import pyarrow as pa

    for field in found.schema:
        if field.name not in declared:
            raise CatalogProblem(
                f"the table has no column '{field.name}'",
                hint=did_you_mean(field.name, declared.names)
                or f"it has: {', '.join(declared.names)}",
            )
    declared = with_left_out(declared, found.schema)
    columns: dict[str, list[Any]] = {}
    types = arrow_schema(declared)
    for field in declared:
        values = [row.get(field.name) for row in found.rows]
        if not field.nullable and None in values:
            raise _missing(field.name, values.index(None))
        try:
            columns[field.name] = (
                pa.array(values, types.field(field.name).type).to_pylist()
                if any(isinstance(v, Mapping | list) for v in values)
                else pa.array(values).cast(types.field(field.name).type).to_pylist()
            )
        except (pa.ArrowException, OverflowError) as error:
            raise CatalogProblem(
                f"'{field.name}' is {field.type}, and a value is not: {error}"
            ) from None
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    schema = with_event_time(declared, event_time)
    return replace(found, schema=schema, rows=rows, event_time=event_time)


def _read(data: Any) -> tuple[Schema, list[dict[str, Any]]]:
    """Columns that a table can have, and the rows."""
    if gives_rows(data):
        return _of_arrow(rows_of(data))
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise CatalogProblem(
            f"a {type(data).__name__} has no rows",
            hint="hand in a DataFrame, or a list of mappings or typed events",
        )
    found = list(data)
    classes = {type(row) for row in found}
    if len(classes) == 1 and is_event_class(cls := classes.pop()):
        events = event_type(cls)
        return events.declared, events.mappings(found)
    return _of_arrow(_of_mappings(found))


def _of_mappings(rows: Sequence[Any]) -> pa.Table:
    import pyarrow as pa

    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise CatalogProblem(
                f"row {number} is a {type(row).__name__}",
                hint="a row is a mapping, {'user': 'ann', 'n': 1}, and rows of typed "
                "events are all of one class",
            )
    # Of the first row alone Arrow would take the columns.
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        if not isinstance(name, str):
            raise CatalogProblem(
                f"the key {name!r} of a row is a {type(name).__name__}",
                hint="a key is the name of a column, which is a text",
            )
        _check_name(name)
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except UnicodeEncodeError:
            for number, value in enumerate(values, 1):
                _check_value(value, name, number)
            raise CatalogProblem(
                f"a text of '{name}' has half a character", hint=_HALF
            ) from None
        except (pa.ArrowException, OverflowError) as error:
            raise CatalogProblem(
                f"the values of '{name}' are not of one type: {error}",
                hint="convert them, or leave the column out",
            ) from None
    return pa.table(columns)


def _check_name(name: str) -> None:
    if not is_utf8(name):
        raise CatalogProblem(
            f"the column {name!a} has half a character in its name", hint=_HALF
        )


def _check_type(name: str, type_: Type) -> None:
    """That a record of JSON can hold the values of a column."""
    match type_:
        case Primitive("BYTEA"):
            raise CatalogProblem(
                f"the column '{name}' has bytes, which JSON has not",
                hint="decode them to text, or leave the column out",
            )
        case StructOf(()):
            raise CatalogProblem(
                f"the column '{name}' has an empty mapping, which has no type",
                hint="give it a key, or leave the column out",
            )
        case StructOf(fields):
            for field in fields:
                _check_type(f"{name}.{field.name}", field.type)
        case ListOf(element):
            _check_type(name, element)
        case _:
            pass


def _check_value(value: Any, name: str, number: int) -> None:
    """That a record of JSON can hold a value; rows count from 1."""
    if isinstance(value, float) and not isfinite(value):
        what = "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
        raise DataProblem(
            f"'{name}' of row {number} is {what}, which JSON has not",
            hint="hand in None, which is NULL, or a number",
        )
    if isinstance(value, str) and not is_utf8(value):
        raise DataProblem(
            f"'{name}' of row {number} is {value!a}, which has half a character",
            hint=_HALF,
        )
    if isinstance(value, Mapping):
        for key, part in value.items():
            _check_value(key, name, number)
            _check_value(part, name, number)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_value(part, name, number)


_HALF = "remove the lone surrogate: no text in UTF-8 can hold it"


def _of_arrow(found: pa.Table) -> tuple[Schema, list[dict[str, Any]]]:
    counts = Counter(name.lower() for name in found.column_names)
    for name in found.column_names:
        if counts[name.lower()] > 1:
            raise CatalogProblem(
                f"there are two columns '{name}'", hint="give one of them another name"
            )
    rows, schema = typed_rows(found)
    declared = Schema(
        tuple(
            replace(field, type=declared_type(f"the column '{field.name}'", field.type))
            for field in schema
        )
    )
    try:
        made: list[dict[str, Any]] = rows.cast(arrow_schema(declared)).to_pylist()
    except OverflowError:
        raise DataProblem(
            "a time is outside of the years 1 to 9999, in UTC",
            hint="write another, or NULL",
        ) from None
    return declared, made


def _arrival_us(value: Any, name: str, number: int) -> int:
    if value is None:
        raise _missing(name, number)
    if isinstance(value, time):
        value = datetime.combine(FIXED_DAY, value)
    if isinstance(value, str):
        try:
            value = time_of(value)
        except ValueError as error:
            raise DataProblem(
                f"'{name}' of row {number + 1} is '{value}', and no time",
                hint=str(error),
            ) from None
    if not isinstance(value, datetime):
        raise CatalogProblem(
            f"'{name}' has a {type(value).__name__}, and is the time of arrival",
            hint="make it a datetime, or call another column the arrival: "
            "arrives='...'",
        )
    return instant_us(value)


def _missing(name: str, number: int) -> DataProblem:
    return DataProblem(
        f"'{name}' is NULL in row {number + 1}",
        hint="the event time, the arrival and what is NOT NULL must be in each row: "
        "leave out the rows without it",
    )
