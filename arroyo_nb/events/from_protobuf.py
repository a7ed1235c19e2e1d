"""Events of messages of Protocol Buffers: of the classes that protoc makes.

A field is a column of its name. Where a message tells a field that was not set from one
with its default value, that is NULL: fields of messages, optional ones, and those of a
oneof, of which one at most is not NULL.

Source: the language guide of proto3, and the JSON mapping for the well-known types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp as TimestampMessage

from arroyo_nb.events.shapes import (
    TEXTS,
    Converted,
    Mapped,
    Member,
    Plain,
    Record,
    Repeated,
    Shape,
)
from arroyo_nb.formats.json.payload_writer import json_text
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    JSON,
    TEXT,
    Timestamp,
    Type,
    check_visible,
)

TYPES: Mapping[str, Type] = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), INT),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), BIGINT),
    **dict.fromkeys(("uint32", "fixed32"), INT_UNSIGNED),
    **dict.fromkeys(("uint64", "fixed64"), BIGINT_UNSIGNED),
    "float": FLOAT,
    "double": DOUBLE,
    "bool": BOOLEAN,
    "string": TEXT,
    "bytes": BYTEA,
}
"""Type of a field -> type of SQL."""

_NAMES = {getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name for name in TYPES}
_OF_JSON = ("Struct", "Value", "ListValue")
_WRAPPED: Mapping[str, str] = {
    "DoubleValue": "double",
    "FloatValue": "float",
    "Int64Value": "int64",
    "UInt64Value": "uint64",
    "Int32Value": "int32",
    "UInt32Value": "uint32",
    "BoolValue": "bool",
    "StringValue": "string",
    "BytesValue": "bytes",
}
_WELL_KNOWN = "google.protobuf."


def is_message_class(cls: object) -> bool:
    """Whether it is the class of a message."""
    return isinstance(cls, type) and issubclass(cls, Message) and cls is not Message


def record_of(descriptor: Descriptor) -> Record:
    """The shape of the messages of a type.

    Raises
    ------
    CatalogProblem
        When a field has the name of a hidden column.
    """
    return _record(descriptor, ())


def _record(descriptor: Descriptor, within: tuple[str, ...]) -> Record:
    members = []
    for field in descriptor.fields:
        if not within:
            check_visible(field.name)
        shape = _shape(field, (*within, descriptor.full_name))
        take = partial(_present, field.name) if field.has_presence else None
        members.append(Member(field.name, field.name, shape, field.has_presence, take))
    names = [member.name for member in members]
    make = partial(_made, GetMessageClass(descriptor), names)
    return Record(descriptor.name, tuple(members), make)


def _present(name: str, message: Message) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _made(cls: type[Message], names: list[str], *parts: Any) -> Message:
    given = {n: part for n, part in zip(names, parts, strict=True) if part is not None}
    return cls(**given)


def _shape(field: FieldDescriptor, within: tuple[str, ...]) -> Shape:
    of = field.message_type
    if of is not None and of.GetOptions().map_entry:
        key, value = of.fields_by_name["key"], of.fields_by_name["value"]
        return Mapped(_single(key, within), _single(value, within))
    shape = _single(field, within)
    return Repeated(shape) if field.is_repeated else shape


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> Shape:
    if field.enum_type is not None:
        return _enum(field.enum_type)
    if field.message_type is not None:
        return _message(field.message_type, within)
    name = _NAMES[field.type]
    return Plain(TYPES[name], name)


def _message(of: Descriptor, within: tuple[str, ...]) -> Shape:
    package, _, name = of.full_name.rpartition(".")
    if f"{package}." == _WELL_KNOWN and (found := _WELL_KNOWN_SHAPES.get(name)):
        return found(of)
    if of.full_name in within:  # it contains itself: SQL has no such type
        return _as_json(of)
    if not of.fields:
        cls = GetMessageClass(of)
        there = Plain(BOOLEAN, name)
        return Converted(there, name, lambda _: True, lambda _: cls())
    return _record(of, within)


def _enum(of: EnumDescriptor) -> Shape:
    """By names; of a number that the schema does not know, the number."""
    names = {number: value.name for number, value in of.values_by_number.items()}
    numbers = {value.name: value.number for value in of.values}

    def read(text: str) -> int:
        return numbers[text] if text in numbers else int(text)

    return Converted(
        TEXTS, of.name, lambda number: names.get(number) or str(number), read
    )


def _as_json(of: Descriptor) -> Shape:
    cls = GetMessageClass(of)

    def read(text: str) -> Message:
        return json_format.Parse(text, cls())

    return Converted(Plain(JSON, of.name), of.name, _json, read)


def _json(message: Message) -> str:
    found = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return json_text(found)


def _wrapper(of: Descriptor) -> Shape:
    cls, name = GetMessageClass(of), _WRAPPED[of.name]
    plain = Plain(TYPES[name], name)
    return Converted(plain, of.name, attrgetter("value"), lambda v: cls(value=v))


def _instant(_: Descriptor) -> Shape:
    def write(message: TimestampMessage) -> datetime:
        return message.ToDatetime()

    def read(value: datetime) -> TimestampMessage:
        made = TimestampMessage()
        made.FromDatetime(value.replace(tzinfo=UTC))
        return made

    return Converted(Plain(Timestamp(), "Timestamp"), "Timestamp", write, read)


def _duration(_: Descriptor) -> Shape:
    def read(value: timedelta) -> Duration:
        made = Duration()
        made.FromTimedelta(value)
        return made

    plain = Plain(INTERVAL, "Duration")
    return Converted(plain, "Duration", lambda m: m.ToTimedelta(), read)


_WELL_KNOWN_SHAPES: Mapping[str, Callable[[Descriptor], Shape]] = {
    "Timestamp": _instant,
    "Duration": _duration,
    **dict.fromkeys(_OF_JSON, _as_json),
    **dict.fromkeys(_WRAPPED, _wrapper),
}
