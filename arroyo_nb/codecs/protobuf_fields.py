"""The fields of a message as columns of Arrow, and back.

A field is a column of its name. Where a message tells a field that was not set from one
with its default value, that is NULL: fields of messages, optional ones, and those of a
oneof, of which one at most is not NULL.

A table says which type it wants of a field, and a class of events takes the usual one.

Source: the language guide of proto3, and the JSON mapping for the well-known types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, methodcaller
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from arroyo_nb.codecs.protobuf_times import DURATION, TIMESTAMP, Instants
from arroyo_nb.codecs.shapes import (
    TEXTS,
    Converted,
    Mapped,
    Member,
    Misfit,
    Plain,
    Record,
    Repeated,
    Shape,
)
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
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
    SMALLINT,
    TEXT,
    TINYINT,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_type,
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

_UNSIGNED = map(Primitive, ("TINYINT UNSIGNED", "SMALLINT UNSIGNED"))
_WHOLE = frozenset(
    (TINYINT, SMALLINT, INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED, *_UNSIGNED)
)
_FLOATING = frozenset((FLOAT, DOUBLE))


def record_of(descriptor: Descriptor) -> Record:
    """The shape of the messages of a type, every field as a column of its usual type.

    Raises
    ------
    CatalogProblem
        When a field has the name of a hidden column.
    """
    for field in descriptor.fields:
        check_visible(field.name)
    return _record(descriptor, None, (descriptor.full_name,))


def record_of_columns(descriptor: Descriptor, schema: Schema) -> Record:
    """The shape of the messages of a type, those fields of it that are columns.

    Raises
    ------
    CatalogProblem
        When there is no field for a column, or one of another type.
    """
    return _record(descriptor, StructOf(schema.fields), ())


def _record(descriptor: Descriptor, wanted: StructOf | None, place: Place) -> Record:
    pairs: list[tuple[str, FieldDescriptor, Type | None]]
    if wanted is None:
        pairs = [(field.name, field, None) for field in descriptor.fields]
    else:
        pairs = [
            (column.name, _field(descriptor, column.name, place), column.type)
            for column in wanted.fields
        ]
    members = tuple(
        Member(
            name,
            name,
            _shape(field, type_, _inside(place, name, descriptor, type_)),
            # A column of a table may be NULL, and NULL is what is not set.
            optional=type_ is not None or field.has_presence,
            take=_taker(field),
        )
        for name, field, type_ in pairs
    )
    make = _maker(descriptor, [field.name for _, field, _ in pairs])
    return Record(descriptor.name, members, make)


Place = tuple[str, ...]
"""Where a field stands. Of a table: the columns around it, by which errors name it; of
a class of events: the messages around it, as one that contains itself has no type."""


def _inside(
    place: Place, name: str, descriptor: Descriptor, type_: Type | None
) -> Place:
    return (*place, descriptor.full_name if type_ is None else name)


def _field(descriptor: Descriptor, name: str, place: Place) -> FieldDescriptor:
    """The field of a column, by its own name or by the one that it has in JSON."""
    if (found := descriptor.fields_by_name.get(name)) is not None:
        return found
    for field in descriptor.fields:
        if field.json_name == name:
            return field
    column = ".".join((*place, name))
    raise CatalogProblem(
        f"the message '{descriptor.full_name}' has no field for the column '{column}'",
        hint=did_you_mean(name, descriptor.fields_by_name),
    )


def _taker(field: FieldDescriptor) -> Callable[[Any], Any]:
    if not field.has_presence:
        return attrgetter(field.name)
    get, is_set = attrgetter(field.name), methodcaller("HasField", field.name)
    return lambda message: get(message) if is_set(message) else None


def _maker(descriptor: Descriptor, names: list[str]) -> Callable[..., Message]:
    """What makes a message of its fields; one that is None is not set."""
    cls = GetMessageClass(descriptor)
    # Asked once: descriptors are slow to look into.
    choices = [
        (oneof.name, members)
        for oneof in descriptor.oneofs
        if len(members := [f.name for f in oneof.fields if f.name in names]) > 1
    ]

    def make(*parts: Any) -> Message:
        pairs = zip(names, parts, strict=True)
        given = {name: part for name, part in pairs if part is not None}
        for oneof, members in choices:
            chosen = [name for name in members if name in given]
            if len(chosen) > 1:
                raise ValueError(
                    f"'{chosen[0]}' and '{chosen[1]}' are both set, and one at most of "
                    f"the oneof '{oneof}' may be"
                )
        return cls(**given)

    return make


def _shape(field: FieldDescriptor, type_: Type | None, place: Place) -> Shape:
    """The shape of a field; of the usual type where none is wanted."""
    of = field.message_type
    if of is not None and of.GetOptions().map_entry:
        return _map(field, of, type_, place)
    if not field.is_repeated:
        return _single(field, type_, place)
    if type_ is None:
        return Repeated(_single(field, None, place))
    if isinstance(type_, ListOf):
        return Repeated(_single(field, type_.element, place))
    raise _mismatch(field, type_, place)


def _map(
    field: FieldDescriptor, of: Descriptor, type_: Type | None, place: Place
) -> Shape:
    key, value = of.fields_by_name["key"], of.fields_by_name["value"]
    types: list[Type | None] = [None, None]
    if type_ is not None:
        pair = type_.element if isinstance(type_, ListOf) else None
        fields = pair.fields if isinstance(pair, StructOf) else ()
        if [part.name for part in fields] != ["key", "value"]:
            raise _mismatch(field, type_, place)
        types = [part.type for part in fields]
    shape = Mapped(_single(key, types[0], place), _single(value, types[1], place))
    # Its own order is another in each process.
    return Converted(shape, "map", lambda found: dict(sorted(found.items())), dict)


def _single(field: FieldDescriptor, type_: Type | None, place: Place) -> Shape:
    if field.enum_type is not None:
        if type_ is None or type_ == TEXT:
            return _enum(field.enum_type)
        return _fitted(Plain(INT, field.enum_type.name), field, type_, place)
    if field.message_type is not None:
        return _message(field, field.message_type, type_, place)
    name = _NAMES[field.type]
    return _fitted(Plain(TYPES[name], name), field, type_, place)


def _fitted(
    shape: Shape, field: FieldDescriptor, type_: Type | None, place: Place
) -> Shape:
    """The shape with the wanted type."""
    usual = shape.type
    if type_ is None or type_ == usual:
        return shape
    if usual in _WHOLE and type_ in _WHOLE | _FLOATING:
        return Cast(shape, type_)
    if usual in _FLOATING and type_ in _FLOATING:
        return Cast(shape, type_)
    raise _mismatch(field, type_, place)


def _message(
    field: FieldDescriptor, of: Descriptor, type_: Type | None, place: Place
) -> Shape:
    package, _, name = of.full_name.rpartition(".")
    known = name if f"{package}." == _WELL_KNOWN else ""
    if isinstance(type_, StructOf):
        return _record(of, type_, place)
    if known in _WRAPPED:
        return _fitted(_wrapper(of), field, type_, place)
    if known == "Timestamp" and (type_ is None or isinstance(type_, Timestamp)):
        return Instants(GetMessageClass(of), TIMESTAMP, type_ or Timestamp())
    if known == "Duration" and type_ in (None, BIGINT):
        return Instants(GetMessageClass(of), DURATION, type_ or INTERVAL)
    # SQL has no type that contains itself.
    usual = known in _OF_JSON or of.full_name in place
    if type_ == JSON or (type_ is None and usual):
        return _as_json(of)
    if not of.fields and type_ in (None, BOOLEAN):
        return _empty(of)
    if type_ is None:
        return _record(of, None, place)
    raise _mismatch(field, type_, place)


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

    def write(message: Message) -> str:
        try:
            found = json_format.MessageToDict(
                message,
                preserving_proto_field_name=True,
                descriptor_pool=of.file.pool,
            )
        except json_format.Error as problem:
            raise ValueError(str(problem)) from None
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def read(text: str) -> Message:
        try:
            made: Message = json_format.Parse(text, cls(), descriptor_pool=of.file.pool)
        except json_format.Error as problem:
            raise ValueError(str(problem)) from None
        return made

    return Converted(Plain(JSON, of.name), of.name, write, read)


def _wrapper(of: Descriptor) -> Shape:
    cls, name = GetMessageClass(of), _WRAPPED[of.name]
    plain = Plain(TYPES[name], name)
    return Converted(plain, of.name, attrgetter("value"), lambda v: cls(value=v))


def _empty(of: Descriptor) -> Shape:
    """A message without fields: whether it is there."""
    cls = GetMessageClass(of)
    plain = Plain(BOOLEAN, of.name)
    return Converted(
        plain, of.name, lambda _: True, lambda there: cls() if there else None
    )


def _mismatch(field: FieldDescriptor, type_: Type, place: Place) -> CatalogProblem:
    return CatalogProblem(
        f"the column '{'.'.join(place)}' is {type_}, which the field "
        f"'{field.full_name}' cannot be",
        hint=f"declare it {usual_type(field)}",
    )


def usual_type(field: FieldDescriptor) -> Type:
    """The type that a field has in a table that reads or writes it."""
    message = field.full_name.rpartition(".")[0]
    shape = _shape(field, None, (message,))
    return _declared(shape.type)


def _declared(type_: Type) -> Type:
    """The type with what no table can have replaced: an INTERVAL is microseconds."""
    if isinstance(type_, ListOf):
        return ListOf(_declared(type_.element))
    if isinstance(type_, StructOf):
        parts = ((part, _declared(part.type)) for part in type_.fields)
        return StructOf(tuple(type(part)(part.name, inner) for part, inner in parts))
    return BIGINT if type_ == INTERVAL else type_


@dataclass(frozen=True)
class Cast:
    """Numbers as those of another type: one that does not fit it is refused.

    Parameters
    ----------
    of
        The shape of the field.
    type
        The type of the column.
    """

    of: Shape
    type: Type

    @cached_property
    def _arrow(self) -> pa.DataType:
        return arrow_type(self.type)

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`arroyo_nb.codecs.shapes.Shape.array`."""
        return self._cast(self.of.array(values), self._arrow)

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`arroyo_nb.codecs.shapes.Shape.values`."""
        return self.of.values(self._cast(array, arrow_type(self.of.type)))

    def _cast(self, array: pa.Array, type_: pa.DataType) -> pa.Array:
        try:
            return _finite(array, array.cast(type_))
        except pa.ArrowException:
            for at in range(len(array)):
                try:
                    array.slice(at, 1).cast(type_)
                except pa.ArrowException:
                    value = array[at].as_py()
                    raise Misfit(at, "", f"{value} is no {type_}") from None
            raise


def _finite(array: pa.Array, cast: pa.Array) -> pa.Array:
    """The numbers that were cast; one that has become infinite is refused."""
    if not pa.types.is_float32(cast.type) or not pa.types.is_float64(array.type):
        return cast
    lost = pc.and_(pc.is_inf(cast), pc.is_finite(array))
    at = pc.index(lost, True).as_py()
    if at >= 0:
        raise Misfit(at, "", f"{array[at].as_py()} is no {cast.type}")
    return cast
