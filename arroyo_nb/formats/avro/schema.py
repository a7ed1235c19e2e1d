"""Avro schemas as values: what a text of JSON says of how a record was written.

A name stands for the type that it was given to, so a type may hold itself. Source:
the Avro specification, version 1.12, "Schema Declaration" and "Logical Types".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PRIMITIVES = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
REFERENCE = "reference"
"""The kind of a name in place of the type that has it."""

MAX_DEPTH, MAX_TYPES, MAX_BYTES = 64, 20_000, 4 * 2**20
"""How deep a schema is nested, of how many types it is, and how long its text is."""

MAX_DIGITS = 100
"""A decimal of more digits is taken for bytes: a few bytes would become long numbers,
and a schema may be anybody's. No column has more than 38."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_WIRES: Mapping[str, tuple[str, ...]] = {
    "decimal": ("bytes", "fixed"),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "duration": ("fixed",),
}
"""The types that each logical type may be written as."""

_SIZES = {"uuid": 16, "duration": 12}


class SchemaFault(Exception):
    """A text that is no Avro schema; says why."""


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType


@dataclass(frozen=True, slots=True)
class AvroType:
    """How a value is written.

    Parameters
    ----------
    kind
        A primitive, ``record``, ``enum``, ``array``, ``map``, ``fixed``, ``union`` or
        :data:`REFERENCE`.
    name
        Of a named type, with its namespace.
    logical
        What the value means; empty: what is written.
    precision, scale
        Of a decimal.
    size
        Bytes of a fixed.
    symbols
        Of an enum.
    inner
        The branches of a union, the items of an array, the values of a map.
    fields
        Of a record.
    """

    kind: str
    name: str = ""
    logical: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    inner: tuple[AvroType, ...] = ()
    fields: tuple[AvroField, ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case "union":
                return f"a union of {', '.join(map(str, self.inner))}"
            case "array" | "map":
                return f"{self.kind} of {self.inner[0]}"
            case "reference":
                return self.name
            case _ if self.logical:
                return f"{self.kind} ({self.logical})"
            case _:
                return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True)
class AvroSchema:
    """A schema, and the types that its names stand for."""

    root: AvroType
    names: Mapping[str, AvroType]

    def resolved(self, type_: AvroType) -> AvroType:
        """The type itself where it is given by its name."""
        return self.names[type_.name] if type_.kind == REFERENCE else type_


def parse_schema(text: str, uses: Sequence[str] = ()) -> AvroSchema:
    """The schema of a text.

    Parameters
    ----------
    text
        JSON; a name of a primitive type may stand without quotes.
    uses
        Texts of schemas whose names it uses, those that are used first.

    Raises
    ------
    SchemaFault
        When it is none.

    >>> parse_schema('{"type": "long", "logicalType": "timestamp-micros"}').root.logical
    'timestamp-micros'
    """
    parser = _Parser()
    for other in uses:
        parser.read(_document(other), "", 0)
    return AvroSchema(parser.read(_document(text), "", 0), parser.names)


def _document(text: str) -> Any:
    if text.strip() in PRIMITIVES:
        return text.strip()
    if len(text) > MAX_BYTES:
        raise SchemaFault(f"it is longer than {MAX_BYTES:,} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise SchemaFault(f"it is not JSON: {problem}") from None


class _Parser:
    """Reads documents of JSON; later ones may use the names of earlier ones."""

    def __init__(self) -> None:
        self.names: dict[str, AvroType] = {}
        self._types = 0

    def read(self, found: Any, space: str, depth: int) -> AvroType:
        """A type; names without a namespace are of ``space``."""
        self._types += 1
        if depth > MAX_DEPTH or self._types > MAX_TYPES:
            raise SchemaFault("it is nested too deeply, or of too many types")
        match found:
            case str():
                return self._named(found, space)
            case list():
                return self._union(found, space, depth)
            case {"type": str(kind)}:
                return self._declared(kind, found, space, depth)
            case {"type": inner}:
                return self.read(inner, space, depth + 1)
            case _:
                raise SchemaFault(f"{_shown(found)} is no type")

    def _named(self, name: str, space: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not space else f"{space}.{name}"
        # A name of no namespace can be used in any.
        full = full if full in self.names or name not in self.names else name
        if full not in self.names:
            raise SchemaFault(f"the type '{name[:100]}' is not known")
        return AvroType(REFERENCE, full)

    def _union(self, branches: list[Any], space: str, depth: int) -> AvroType:
        inner = tuple(self.read(branch, space, depth + 1) for branch in branches)
        if not inner or any(branch.kind == "union" for branch in inner):
            raise SchemaFault("a union is of one type or more, and of no union")
        kinds = [branch.name or branch.kind for branch in inner]
        if len(set(kinds)) < len(kinds):
            raise SchemaFault("a union has a type twice")
        return AvroType("union", inner=inner)

    def _declared(
        self, kind: str, found: dict[str, Any], space: str, depth: int
    ) -> AvroType:
        match kind:
            case "record" | "error":
                return self._record(found, space, depth)
            case "array":
                items = self.read(found.get("items"), space, depth + 1)
                return AvroType("array", inner=(items,))
            case "map":
                values = self.read(found.get("values"), space, depth + 1)
                return AvroType("map", inner=(values,))
            case "enum":
                symbols = found.get("symbols")
                if not isinstance(symbols, list) or not all(
                    isinstance(symbol, str) for symbol in symbols
                ):
                    raise SchemaFault("an enum has no list of symbols")
                name, _ = _full_name(found, space)
                return self._add(AvroType("enum", name, symbols=tuple(symbols)))
            case "fixed":
                size = found.get("size")
                if not isinstance(size, int) or not 0 <= size < 2**31:
                    raise SchemaFault("a fixed has no size")
                name, _ = _full_name(found, space)
                return self._add(
                    _with_logical(AvroType("fixed", name, size=size), found)
                )
            case _ if kind in PRIMITIVES:
                return _with_logical(AvroType(kind), found)
            case _:
                return self._named(kind, space)

    def _record(self, found: dict[str, Any], space: str, depth: int) -> AvroType:
        name, inside = _full_name(found, space)
        listed = found.get("fields")
        if not isinstance(listed, list):
            raise SchemaFault(f"the record '{name}' has no list of fields")
        # Known before its fields are read: they may hold the record itself.
        self._add(AvroType("record", name))
        fields = tuple(self._field(field, name, inside, depth) for field in listed)
        if len({field.name for field in fields}) < len(fields):
            raise SchemaFault(f"the record '{name}' has a field twice")
        self.names[name] = AvroType("record", name, fields=fields)
        return self.names[name]

    def _field(self, field: Any, record: str, space: str, depth: int) -> AvroField:
        match field:
            case {"name": str(name), "type": type_}:
                return AvroField(name, self.read(type_, space, depth + 1))
            case _:
                raise SchemaFault(
                    f"a field of the record '{record}' has no name or type"
                )

    def _add(self, type_: AvroType) -> AvroType:
        if type_.name in self.names:
            raise SchemaFault(f"the type '{type_.name}' is declared twice")
        self.names[type_.name] = type_
        return type_


def _full_name(found: Mapping[str, Any], space: str) -> tuple[str, str]:
    """The name of a type with its namespace, and the namespace that it opens."""
    name, own = found.get("name"), found.get("namespace", space)
    if not isinstance(name, str) or not _NAME.match(name):
        raise SchemaFault(f"{_shown(name)} is no name of a type")
    if "." in name:
        return name, name.rpartition(".")[0]
    return (f"{own}.{name}" if own else name), str(own or "")


def _with_logical(type_: AvroType, found: Mapping[str, Any]) -> AvroType:
    """The type with its logical type; one that is not known, or does not go with how it
    is written, is passed over, as the specification says."""
    logical = found.get("logicalType")
    if not isinstance(logical, str) or type_.kind not in _WIRES.get(logical, ()):
        return type_
    if type_.kind == "fixed" and type_.size != _SIZES.get(logical, type_.size):
        return type_
    precision, scale = found.get("precision", 0), found.get("scale", 0)
    if logical == "decimal":
        numbers = isinstance(precision, int) and isinstance(scale, int)
        if not numbers or not 0 <= scale <= precision <= MAX_DIGITS or not precision:
            return type_
        return AvroType(
            *(type_.kind, type_.name, logical, precision, scale), size=type_.size
        )
    return AvroType(type_.kind, type_.name, logical, size=type_.size)


def _shown(found: Any) -> str:
    text = json.dumps(found, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."
