"""Schemas of Protocol Buffers, written or made by chance, and what reads their rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from arroyo_nb.codecs.protobuf_fields import usual_type
from arroyo_nb.formats import framed, payload_format
from arroyo_nb.formats.protobuf.compile import compiled_texts
from arroyo_nb.formats.protobuf.descriptors import message_schema
from arroyo_nb.schema import Field, Schema

HEAD = 'syntax = "proto3"; package t;\n'

FLIGHT = (
    HEAD
    + """
message Leg { string origin = 1; optional int32 miles = 2; }
message Flight { string flight = 1; int64 id = 2; Leg leg = 3; }
"""
)


def compiled(text, message=None):
    """The message of a text."""
    return message_schema(compiled_texts((("m.proto", text),), "m.proto"), message)


def usual_columns(message):
    """All fields of a message as columns of their usual types."""
    fields = message.descriptor.fields
    return Schema(tuple(Field(field.name, usual_type(field)) for field in fields))


def decoder(text, schema, message=None, event_time=None, **options):
    """What reads the records of a table with a schema as text."""
    options = {name.replace("__", "."): value for name, value in options.items()}
    options |= {"protobuf.schema": text}
    if message is not None:
        options |= {"protobuf.message": message}
    made = payload_format("protobuf").payload_decoder(schema, options, event_time)
    return framed(made, options)


def read(made, *payloads):
    """What a decoder makes of payloads."""
    return made.decode(pa.array(payloads, pa.binary()))


def rows(found):
    """The rows as tuples."""
    found.rows.validate(full=True)
    return [tuple(row.values()) for row in found.rows.to_pylist()]


F = FieldDescriptorProto
FLOAT = st.floats(allow_nan=False, width=32)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    **dict.fromkeys(
        (F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), st.integers(-(2**31), 2**31 - 1)
    ),
    **dict.fromkeys(
        (F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), st.integers(-(2**63), 2**63 - 1)
    ),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), st.integers(0, 2**32 - 1)),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), st.integers(0, 2**64 - 1)),
    F.TYPE_FLOAT: FLOAT,
    F.TYPE_DOUBLE: st.floats(allow_nan=False),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_STRING: st.text(max_size=8),
    F.TYPE_BYTES: st.binary(max_size=8),
}
ENUM = {"ZERO": 0, "ONE": 1, "MANY": 70_000, "LESS": -3}
KEYS = [F.TYPE_STRING, F.TYPE_INT32, F.TYPE_UINT64, F.TYPE_BOOL]


@st.composite
def schemas(draw):
    """A message of a file with enums, messages inside of each other, maps, oneofs."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    file = FileDescriptorProto(name="t.proto", package="t", syntax=syntax)
    enum = file.enum_type.add(name="Kind")
    for name, number in ENUM.items():
        enum.value.add(name=name, number=number)
    for number in range(draw(st.integers(1, 3))):
        message = file.message_type.add(name=f"M{number}")
        count = draw(st.integers(1, 7))
        numbers = draw(
            st.lists(st.integers(1, 1000), unique=True, min_size=count, max_size=count)
        )
        for place, field_number in enumerate(numbers):
            _add_field(draw, message, f"f_{place}", field_number, syntax, number)
        _add_synthetic_oneofs(message)
    last = f"t.{file.message_type[-1].name}"
    return message_schema(FileDescriptorSet(file=[file]).SerializeToString(), last)


def _add_field(draw, message, name, number, syntax, messages):
    field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
    kinds = ["scalar", "scalar", "enum", "map", *(["message"] if messages else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "map":
        _add_map(draw, message, field, messages)
        return
    _set_type(draw, field, kind, messages)
    form = draw(st.sampled_from(["plain", "optional", "repeated", "oneof"]))
    if form == "repeated":
        field.label = F.LABEL_REPEATED
    elif form == "oneof":
        if not message.oneof_decl:
            message.oneof_decl.add(name="choice")
        field.oneof_index = 0
    elif syntax == "proto3":
        field.proto3_optional = form == "optional" and kind != "message"
    elif form == "plain":
        field.label = F.LABEL_REQUIRED


def _set_type(draw, field, kind, messages):
    if kind == "message":
        field.type = F.TYPE_MESSAGE
        field.type_name = f".t.M{draw(st.integers(0, messages - 1))}"
    elif kind == "enum":
        field.type, field.type_name = F.TYPE_ENUM, ".t.Kind"
    else:
        field.type = draw(st.sampled_from(sorted(SCALARS)))


def _add_map(draw, message, field, messages):
    entry: DescriptorProto = message.nested_type.add(
        name="".join(part.title() for part in field.name.split("_")) + "Entry"
    )
    entry.options.map_entry = True
    entry.field.add(
        name="key", number=1, label=F.LABEL_OPTIONAL, type=draw(st.sampled_from(KEYS))
    )
    value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
    kinds = ["scalar", "enum", *(["message"] if messages else [])]
    _set_type(draw, value, draw(st.sampled_from(kinds)), messages)
    field.type, field.label = F.TYPE_MESSAGE, F.LABEL_REPEATED
    field.type_name = f".t.{message.name}.{entry.name}"


def _add_synthetic_oneofs(message):
    """A proto3 field with `optional` is in a oneof of its own, behind the others."""
    for field in message.field:
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


@st.composite
def messages(draw, descriptor):
    """A message with some of its fields set."""
    made = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if field.is_required or draw(st.booleans()):
            _set_field(draw, made, field)
    return made


def _set_field(draw, made, field):
    of = field.message_type
    if of is not None and of.GetOptions().map_entry:
        key, value = of.fields_by_name["key"], of.fields_by_name["value"]
        found = draw(st.dictionaries(_value(key), _value(value), max_size=3))
        container = getattr(made, field.name)
        for name, one in found.items():
            if value.message_type is None:
                container[name] = one
            else:
                container[name].CopyFrom(one)
    elif field.is_repeated:
        getattr(made, field.name).extend(draw(st.lists(_value(field), max_size=3)))
    elif of is not None:
        getattr(made, field.name).CopyFrom(draw(messages(of)))
        getattr(made, field.name).SetInParent()
    else:
        setattr(made, field.name, draw(_value(field)))


def _value(field):
    if field.message_type is not None:
        return messages(field.message_type)
    if field.enum_type is not None:
        return st.sampled_from([*ENUM.values()])
    return SCALARS[field.type]


def expected(message):
    """The row of a message, as the language guide has it, field by field."""
    return {
        field.name: _expected(message, field) for field in message.DESCRIPTOR.fields
    }


def _expected(message, field):
    value, of = getattr(message, field.name), field.message_type
    if of is not None and of.GetOptions().map_entry:
        inner = of.fields_by_name["value"]
        return [{"key": k, "value": _plain(inner, value[k])} for k in sorted(value)]
    if field.is_repeated:
        return [_plain(field, one) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _plain(field, value)


def _plain(field, value):
    if field.message_type is not None:
        return expected(value)
    if field.enum_type is not None:
        return {number: name for name, number in ENUM.items()}[value]
    return value
