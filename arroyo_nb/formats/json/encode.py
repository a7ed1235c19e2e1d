"""Rows as JSON text, made by Spark's own expressions (no Python in the way).

One object per row, keys in the schema's order, every NULL written. Timestamps carry no
zone; a number of DOUBLE always has a point or an exponent, and what JSON has no number
for (NaN, infinities) is null. Source: arroyo-semantics, writing JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.codecs.timestamps import timestamp_text
from arroyo_nb.schema import (
    Decimal,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    quoted,
    quoted_text,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

TIMESTAMP_FORMAT, DECIMAL_ENCODING = "json.timestamp_format", "json.decimal_encoding"


@dataclass(frozen=True)
class _Style:
    """The options that change how a value is written."""

    unix_millis: bool
    decimals: str


def json_column(schema: Schema, options: Mapping[str, object]) -> Column:
    """The rows' JSON text, as one column named ``value``.

    Parameters
    ----------
    schema
        The columns to write; the frame has them under these names and types.
    options
        ``json.timestamp_format`` is ``RFC3339`` (default), ``unix_millis`` or
        ``UnixMillis``; ``json.decimal_encoding`` is ``number`` (default), ``string``
        or ``bytes``: base64 of the unscaled value, 16 bytes, big-endian.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(json_sql(schema, options)).alias("value")


def json_sql(schema: Schema, options: Mapping[str, object]) -> str:
    """What :func:`json_column` evaluates, as Spark SQL."""
    style = _Style(
        unix_millis=str(options.get(TIMESTAMP_FORMAT, "")).lower().startswith("unix"),
        decimals=str(options.get(DECIMAL_ENCODING, "number")),
    )
    return _object([(f.name, quoted(f.name), f.type) for f in schema], style, 0)


def _object(members: list[tuple[str, str, Type]], style: _Style, depth: int) -> str:
    parts: list[str] = []
    for name, value, type_ in members:
        lead = ("," if parts else "{") + json.dumps(name, ensure_ascii=False) + ":"
        parts += quoted_text(lead), _or_null(_value(value, type_, style, depth))
    return f"concat({', '.join(parts or [quoted_text('{')])}, '}}')"


def _or_null(text: str) -> str:
    return f"coalesce({text}, 'null')"


def _value(value: str, type_: Type, style: _Style, depth: int) -> str:
    """SQL of one value's JSON text; NULL where the value is."""
    match type_:
        case Timestamp() if style.unix_millis:
            return f"CAST(unix_millis({value}) AS STRING)"
        case Timestamp():
            return _in_quotes(timestamp_text(value))
        case Decimal():
            return _decimal(value, style)
        case ListOf(element):
            return _list(value, element, style, depth)
        case StructOf(fields):
            members = [(f.name, f"{value}.{quoted(f.name)}", f.type) for f in fields]
            # An object's text is never NULL by itself: its members are written as null.
            return f"IF({value} IS NULL, NULL, {_object(members, style, depth)})"
        case Primitive(name):
            return _PRIMITIVES.get(name, "CAST({0} AS STRING)").format(value)


def _in_quotes(text: str) -> str:
    return f"""concat('"', {text}, '"')"""


def _decimal(value: str, style: _Style) -> str:
    text = f"CAST({value} AS STRING)"
    match style.decimals:
        case "string":
            return _in_quotes(text)
        case "bytes":
            return _in_quotes(_sixteen_bytes(f"replace({text}, '.', '')"))
        case _:
            return text


def _sixteen_bytes(unscaled: str) -> str:
    """Base64 of a whole number's two's complement, made of its two 64-bit halves."""
    number, word = f"CAST({unscaled} AS DECIMAL(38, 0))", "18446744073709551616BD"
    rest = f"({number} % {word})"
    borrow = f"IF({rest} < 0, 1L, 0L)"
    high = f"(({number} div {word}) - {borrow})"
    low = f"IF({rest} < 0, {rest} + {word}, {rest})"
    # hex() reads a signed BIGINT: the upper half of the unsigned range is negative.
    half = "9223372036854775808BD"
    signed = f"CAST(IF({low} >= {half}, {low} - {word}, {low}) AS BIGINT)"
    digits = (f"lpad(hex({part}), 16, '0')" for part in (high, signed))
    return f"base64(unhex(concat({', '.join(digits)})))"


def _list(value: str, element: Type, style: _Style, depth: int) -> str:
    # One for each level: an inner variable would hide the outer one.
    name = f"e{depth}"
    item = _or_null(_value(name, element, style, depth + 1))
    items = f"array_join(transform({value}, {name} -> {item}), ',')"
    return f"concat('[', {items}, ']')"


# x - x is 0 for what is finite alone.
_FLOATING = "IF({0} - {0} = 0, replace(CAST({0} AS STRING), 'E', 'e'), NULL)"
# to_json escapes; the quotes of ["..."] keep the trimming out of the text itself.
_TEXT = "trim(BOTH '[]' FROM to_json(array({0})))"
_PRIMITIVES = {
    "FLOAT": _FLOATING,
    "DOUBLE": _FLOATING,
    "TEXT": _TEXT,
    # A line break in JSON text stands between values only; a row is one line.
    # Arroyo writes such a value as the text of its JSON, also where there is none.
    "JSON VALUE": _TEXT.format("coalesce({0}, 'null')"),
    "JSON": r"IF(try_parse_json({0}) IS NULL, NULL, translate({0}, '\r\n', '  '))",
    "BYTEA": _in_quotes("base64({0})"),
    "DATE": _in_quotes("CAST({0} AS STRING)"),
    "TIME": _in_quotes(f"substr({timestamp_text('timestamp_micros({0})')}, 12)"),
    "INTERVAL": _in_quotes("CAST({0} AS STRING)"),
    "NULL": "CAST({0} AS STRING)",
}
