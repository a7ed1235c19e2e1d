"""Rows of Python as payloads of records, where there is no Spark to write them.

A declared table's rows are written as its format writes them (see
:mod:`arroyo_nb.formats.json.encode`): its columns take what Arrow can make of a value,
and refuse the rest. What is declared nowhere is written as it is: a mapping as a JSON
object, text and bytes as themselves.

Python's own encoder would write NaN, has no word for a DECIMAL and none for a JSON text
that is a value already: so texts are made here, a column at a time.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal as Number10
from functools import partial
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from arroyo_nb.codecs.declared_rows import DeclaredRows, Row
from arroyo_nb.codecs.json_text import json_text, number_text
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats.json import INCLUDE_SCHEMA, REGISTRY
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT
from arroyo_nb.formats.json.strict import UNIT_NS, BadRecord, compact, parse
from arroyo_nb.schema import (
    EPOCH,
    JSON,
    MICROSECOND,
    Decimal,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.with_options import OptionValue

Write: TypeAlias = Callable[[Any], str]
"""The JSON text of a value that is not NULL."""


class DeclaredPayloads:
    """Writes the rows of a declared table.

    Parameters
    ----------
    table
        Its name, for errors.
    schema
        The columns of a record.
    options
        Those of the table.
    read
        Whether the table is a source: a time that is a number then has the unit that
        its column has for whoever reads it, and else milliseconds.

    Raises
    ------
    RunProblem
        When its records have what cannot be written here.
    """

    def __init__(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,
    ) -> None:
        for name in (REGISTRY, INCLUDE_SCHEMA):
            if options.get(name):
                raise RunProblem(
                    f"rows cannot be emitted to '{table}': records with '{name}' are "
                    "only read"
                )
        self._rows = DeclaredRows(table, schema, adapted)
        writers = _Writers(options, read=read)
        self._writers = [writers.of(field.type) for field in schema]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of a document's fields."""
        return self._rows.names

    def __call__(self, rows: Sequence[Row]) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        RunProblem
            When a row has another column, or a value that its column does not take.
        """
        texts = [
            ["null" if value is None else write(value) for value in column]
            for column, write in zip(
                self._rows.columns(rows), self._writers, strict=True
            )
        ]
        leads = [f"{encode_basestring(name)}:" for name in self.names]
        return [
            self.document(f"{{{','.join(map(str.__add__, leads, parts))}}}").encode()
            for parts in zip(*texts, strict=True)
        ]

    def document(self, row: str) -> str:
        """The record of a row, whose JSON text is given: that text."""
        return row


def adapted(type_: Type, value: Any) -> Any:
    """A value for Arrow: that of a JSON column is its text."""
    return _json(value) if type_ == JSON and value is not None else value


class _Writers:
    """How the values of each type are written, as a table's options say."""

    def __init__(self, options: Mapping[str, OptionValue], *, read: bool) -> None:
        self._decimals = str(options.get(DECIMAL_ENCODING, "number"))
        style = str(options.get(TIMESTAMP_FORMAT, "")).lower()
        self._counted = style.startswith("unix")
        self._read = read

    def of(self, type_: Type) -> Write:
        """The JSON text of a value of a type, as Arrow gives it back."""
        match type_:
            case Timestamp(digits) if self._counted:
                return partial(_count, UNIT_NS[digits if self._read else 3])
            case Decimal() if self._decimals == "bytes":
                return _unscaled
            case Decimal() if self._decimals == "string":
                return lambda value: f'"{value:f}"'
            case ListOf(element):
                return partial(_list, self.of(element))
            case StructOf(fields):
                return partial(_struct, [(f.name, self.of(f.type)) for f in fields])
            case Primitive("JSON"):
                return str
            case Primitive("FLOAT"):
                return _float
            case _:
                return json_text


def _count(unit_ns: int, value: datetime) -> str:
    return str((value.replace(tzinfo=UTC) - EPOCH) // MICROSECOND * 1000 // unit_ns)


def _unscaled(value: Number10) -> str:
    """Base64 of the number without its point, 16 bytes, big-endian."""
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    return f'"{base64.b64encode(number.to_bytes(16, signed=True)).decode()}"'


def _list(write: Write, values: Sequence[Any]) -> str:
    return f"[{','.join('null' if v is None else write(v) for v in values)}]"


def _struct(writers: Sequence[tuple[str, Write]], value: Row) -> str:
    parts = (
        f"{encode_basestring(name)}:"
        + ("null" if value[name] is None else write(value[name]))
        for name, write in writers
    )
    return f"{{{','.join(parts)}}}"


def _float(value: float) -> str:
    import numpy as np

    # The shortest text of a FLOAT; as a DOUBLE it has digits that nobody wrote.
    return number_text(str(np.float32(value))) if math.isfinite(value) else "null"


def _json(value: Any) -> str:
    """A value of a JSON column: a text is JSON already."""
    if not isinstance(value, str):
        return json_text(value)
    try:
        return compact(parse(value.encode("utf-8", "replace")))
    except BadRecord as problem:
        raise RunProblem(f"a text for a column of JSON is {problem}") from None


def plain_payload(row: Any) -> bytes:
    """The payload of a row that nobody declared.

    Raises
    ------
    RunProblem
        When it has no form in JSON.
    """
    if isinstance(row, bytes):
        return row
    return row.encode() if isinstance(row, str) else json_text(row).encode()
