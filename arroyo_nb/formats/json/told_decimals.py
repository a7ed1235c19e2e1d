"""How the schema beside a record says that its DECIMALs are written.

The schema is Kafka Connect's, as its JsonConverter and Debezium write it: a field is
``{"field": "price", "type": "string"}``, or ``bytes`` with the name of Connect's
Decimal and the digits behind the point among its parameters. Only declared columns are
looked for in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from arroyo_nb.schema import Decimal, Field, ListOf, StructOf, Type

CONNECT = "org.apache.kafka.connect.data."
DECIMAL_NAME = f"{CONNECT}Decimal"

SCHEMA = "schema"
"""The field of a document that has the schema of its payload."""

_SCALE = re.compile(r"-?[0-9]{1,3}\Z")
_BEGIN = re.compile(rb'\{\s*"schema"\s*:\s*')
_OBJECT_BESIDE = re.compile(rb'"schema"\s*:\s*\{')


def told_decimals(
    fields: Sequence[Field], told: Any, inside: str = ""
) -> Iterator[tuple[str, int | None]]:
    """What :class:`~arroyo_nb.formats.json.decimals.DecimalForms` is told of columns by
    the schema of their struct."""
    members = told.get("fields") if isinstance(told, dict) else None
    by_name = {}
    for member in members if isinstance(members, list) else ():
        if isinstance(member, dict) and isinstance(member.get("field"), str):
            by_name[member["field"]] = member
    for field in fields:
        if field.name in by_name:
            yield from _of(field.type, inside + field.name, by_name[field.name])


def _of(type_: Type, path: str, told: Any) -> Iterator[tuple[str, int | None]]:
    if not isinstance(told, dict):
        return
    match type_:
        case StructOf(fields):
            yield from told_decimals(fields, told, f"{path}.")
        case ListOf(element):
            yield from _of(element, f"{path}[]", told.get("items"))
        case Decimal() if told.get("name") == DECIMAL_NAME:
            parameters = told.get("parameters")
            scale = parameters.get("scale") if isinstance(parameters, dict) else None
            if _SCALE.match(str(scale)):
                yield path, int(str(scale))
        case Decimal() if told.get("type") not in ("bytes", "struct"):
            yield path, None


def common_schema(block: bytes, first: Any) -> tuple[Any] | None:
    """The schema beside all documents of a block of lines, None in it: they have none;
    None: they may have several."""
    if first.get(SCHEMA) is None:
        return None if _OBJECT_BESIDE.search(block) else (None,)
    line = block.lstrip().split(b"\n", 1)[0]
    if (found := _BEGIN.match(line)) is None:
        return None
    # What comes before it is ASCII: a place in the bytes is one in the text.
    text = line.decode("utf-8")
    _, end = json.JSONDecoder().raw_decode(text, found.end())
    begin = text[:end].encode("utf-8")
    lines = block.rstrip().count(b"\n") + 1
    alike = block.startswith(begin) + block.count(b"\n" + begin)
    return (first[SCHEMA],) if alike == lines else None
