"""Structs and maps. A map is a list of its entries, each with a ``key`` and a
``value``: that is how Arrow holds one."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
)
from arroyo_nb.functions.types import element_of, fits
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    NULL,
    TEXT,
    Field,
    ListOf,
    StructOf,
    Type,
    quoted,
    quoted_text,
)

_ANY = ParameterKind.ANY


def _struct_type(types: Sequence[Type], _: Literals) -> Type:
    return StructOf(tuple(Field(f"c{n}", type_) for n, type_ in enumerate(types)))


def _struct(arguments: Sequence[Argument]) -> str:
    fields = (f"'c{n}', {argument.sql}" for n, argument in enumerate(arguments))
    return f"named_struct({', '.join(fields)})"


def _named_type(types: Sequence[Type], literals: Literals) -> Type:
    if len(types) % 2:
        raise CatalogProblem(
            "named_struct() takes a value after each name",
            hint="write named_struct('a', 1, 'b', 2)",
        )
    # Of a call that is only looked at, no literal is known.
    names = literals[::2] or [f"c{n}" for n in range(len(types) // 2)]
    fields: list[Field] = []
    for name, type_ in zip(names, types[1::2], strict=True):
        if name is None:
            raise Unsupported(
                "the name of a field must be a literal",
                hint="write named_struct('a', 1, 'b', 2)",
            )
        if name in (field.name for field in fields):
            raise CatalogProblem(f"named_struct() is given two fields '{name}'")
        fields.append(Field(name, type_))
    return StructOf(tuple(fields))


def _named_struct(arguments: Sequence[Argument]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    fields = (f"{quoted_text(n.literal or '')}, {v.sql}" for n, v in pairs)
    return f"named_struct({', '.join(fields)})"


def _field_type(types: Sequence[Type], literals: Literals) -> Type:
    struct = types[0]
    if not isinstance(struct, StructOf):
        return NULL
    name = literals[1] if literals else None
    if name is None:
        raise Unsupported(
            "the name of a field must be a literal",
            hint="write get_field(struct, 'name')",
        )
    field = struct.field(name)
    if field is None:
        names = [f.name for f in struct.fields]
        known = "known: " + ", ".join(names)
        raise CatalogProblem(
            f"field '{name}' not found", hint=did_you_mean(name, names) or known
        )
    return field.type


def _get_field(arguments: Sequence[Argument]) -> str:
    struct, name = arguments
    if not isinstance(struct.type, StructOf):
        return "NULL"
    return f"{struct.sql}.{quoted(name.literal or '')}"


def _map_type(types: Sequence[Type], _: Literals) -> Type:
    keys, values = map(element_of, types)
    return ListOf(StructOf((Field("key", keys, False), Field("value", values))))


def is_map(type_: Type) -> bool:
    """Is it what ``map()`` gives? Its keys are never NULL."""
    if not (isinstance(type_, ListOf) and isinstance(type_.element, StructOf)):
        return False
    fields = type_.element.fields
    names = [field.name for field in fields]
    return names == ["key", "value"] and not fields[0].nullable


def _entry(type_: Type) -> tuple[Type, Type]:
    """The types of a map's keys and values."""
    if isinstance(type_, ListOf) and isinstance(type_.element, StructOf):
        key, value = map(type_.element.field, ("key", "value"))
        if key is not None and value is not None:
            return key.type, value.type
    if type_ == NULL:
        return NULL, NULL
    raise CatalogProblem(f"{type_} is not a map", hint="write map(keys, values)")


def _extract_type(types: Sequence[Type], _: Literals) -> Type:
    key, value = _entry(types[0])
    if not fits(types[1], key):
        raise CatalogProblem(
            f"the map's keys are {key}, and the key that is looked up is {types[1]}",
            hint=f"cast it to {key}",
        )
    return ListOf(value)


_MAP_EXTRACT = (
    "IF({0} IS NULL, NULL, array(try_element_at("
    "filter({0}, __entry__ -> __entry__.key = {1}), 1).value))"
)

FUNCTIONS = (
    ScalarFunction(
        "struct",
        (Signature((_ANY,), _struct_type, repeats=True),),
        _struct,
        "a struct of the values; its fields are c0, c1 and so on",
        Nulls.NEVER,
        example="get_field(struct(1, 'a'), 'c1') -> 'a'",
    ),
    ScalarFunction(
        "named_struct",
        (Signature((TEXT, _ANY), _named_type, repeats=True),),
        _named_struct,
        "a struct of names and values: named_struct('a', 1, 'b', 2)",
        Nulls.NEVER,
        example="get_field(named_struct('a', 1, 'b', 'x'), 'b') -> 'x'",
    ),
    ScalarFunction(
        "get_field",
        (Signature((ParameterKind.STRUCT, TEXT), _field_type),),
        _get_field,
        "a field of a struct: also struct.field and struct['field']",
        Nulls.ALWAYS,
        example="get_field(named_struct('a', 1), 'a') -> 1",
    ),
    ScalarFunction(
        "map",
        (Signature((ParameterKind.OTHER_LIST, ParameterKind.OTHER_LIST), _map_type),),
        "map_entries(map_from_arrays({0}, {1}))",
        "a map of a list of keys and one of values: a list of entries; a key that is "
        "NULL or there twice is an error",
        example="map_keys(map(make_array('a', 'b'), make_array(1, 2))) -> ['a', 'b']",
        differs="JSON has a list of entries, and not an object",
    ),
    ScalarFunction(
        "map_keys",
        (
            Signature(
                (ParameterKind.OTHER_LIST,),
                lambda types, _: ListOf(_entry(types[0])[0]),
            ),
        ),
        "{0}.key",
        "the keys of a map",
        example="map_keys(map(make_array('a', 'b'), make_array(1, 2))) -> ['a', 'b']",
    ),
    ScalarFunction(
        "map_values",
        (
            Signature(
                (ParameterKind.OTHER_LIST,),
                lambda types, _: ListOf(_entry(types[0])[1]),
            ),
        ),
        "{0}.value",
        "the values of a map",
        example="map_values(map(make_array('a', 'b'), make_array(1, 2))) -> [1, 2]",
    ),
    ScalarFunction(
        "map_extract",
        (Signature((ParameterKind.OTHER_LIST, ParameterKind.MAP_KEY), _extract_type),),
        _MAP_EXTRACT,
        "a list of the value of a key, or of NULL where there is none",
        example="map_extract(map(make_array('a'), make_array(1)), 'a') -> [1]",
    ),
)
