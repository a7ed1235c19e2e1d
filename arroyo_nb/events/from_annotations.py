"""Events of classes with annotations: dataclasses, and models of pydantic."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal as Number
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

from arroyo_nb.codecs.json_text import json_text
from arroyo_nb.codecs.shapes import (
    TEXTS,
    Choice,
    Converted,
    Mapped,
    Member,
    Plain,
    Record,
    Repeated,
    Shape,
)
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    JSON,
    PRIMITIVES,
    SMALLINT,
    TEXT,
    TIME,
    TINYINT,
    Decimal,
    Primitive,
    Timestamp,
    Type,
    check_visible,
)

DECIMAL = Decimal(38, 18)
"""Of a ``Decimal`` that says nothing more."""

TYPES: Mapping[type, Type] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: TEXT,
    bytes: BYTEA,
    datetime: Timestamp(),
    date: DATE,
    time: TIME,
    timedelta: INTERVAL,
    Number: DECIMAL,
}
"""Annotation -> type."""

_NARROWER: Mapping[type, tuple[Type, ...]] = {
    int: tuple(Primitive(n) for n in PRIMITIVES if "INT" in n and n != "INTERVAL"),
    float: (FLOAT, DOUBLE),
    str: (TEXT, JSON),
}
"""What ``Annotated[int, "SMALLINT"]`` may say."""

assert {TINYINT, SMALLINT, INT, BIGINT} <= set(_NARROWER[int])

_DECIMAL = re.compile(r"DECIMAL\((\d+), *(\d+)\)")
_LISTS = (list, tuple, set, frozenset, Sequence, Set, Iterable)


def record_of(cls: type) -> Record:
    """The shape of the objects of a class.

    Raises
    ------
    CatalogProblem
        When it is no dataclass and no model, or an attribute has no type in SQL.
    """
    return _Reader().record(cls)


def is_annotated(cls: object) -> bool:
    """Whether it is a dataclass or a model of pydantic."""
    return isinstance(cls, type) and (dataclasses.is_dataclass(cls) or _is_model(cls))


class _Reader:
    """Reads the annotations of a class and of those that it names."""

    def __init__(self) -> None:
        self._within: list[type] = []

    def record(self, cls: type) -> Record:
        """The shape of a class."""
        if not is_annotated(cls):
            raise CatalogProblem(
                f"{cls.__name__} is no class of events",
                hint="write @dataclass above it, or make it a model of pydantic",
            )
        if cls in self._within:
            raise CatalogProblem(
                f"{cls.__name__} contains itself: SQL has no such type"
            )
        self._within.append(cls)
        try:
            members = tuple(self._members(cls))
        finally:
            self._within.pop()
        if not members:
            raise CatalogProblem(f"{cls.__name__} has no attributes")
        return Record(cls.__name__, members, _maker(cls, members))

    def _members(self, cls: type) -> Iterable[Member]:
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except Exception as error:
            raise CatalogProblem(
                f"the annotations of {cls.__name__} cannot be read: {error}"
            ) from None
        for attribute, name in _attributes(cls):
            check_visible(name)
            hint = _with_said(hints[attribute], _said_by_model(cls, attribute))
            shape, optional = self._shape(hint, f"{cls.__name__}.{attribute}")
            yield Member(name, attribute, shape, optional)

    def _shape(self, hint: Any, place: str) -> tuple[Shape, bool]:
        """The shape of an annotation, and whether None is one of its values."""
        hint, said = _plain_hint(hint)
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            others = [one for one in inner if one is not types.NoneType]
            optional = len(others) < len(inner)
            if len(others) == 1:
                return self._shape(_with_said(others[0], said), place)[0], optional
            return self._choice(others, place), optional
        if origin is typing.Literal:
            return self._literal(inner, place), False
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self._mapping(inner, place), False
        if isinstance(origin, type) and origin in _LISTS:
            return self._list(origin, inner, place), False
        return self._single(hint, said, place), hint is Any

    def _single(self, hint: Any, said: Sequence[Any], place: str) -> Shape:
        if hint in (Any, object, dict):
            return Converted(Plain(JSON, "value of JSON"), "value of JSON", json_text,
                             _read_json)  # fmt: skip
        if not isinstance(hint, type):
            raise self._unknown(hint, place)
        if issubclass(hint, Enum):
            return _enum(hint)
        if hint is UUID:
            return Converted(TEXTS, "UUID", _uuid_text, UUID)
        if hint in TYPES:
            return Plain(_narrowed(hint, said, place), hint.__name__)
        if is_annotated(hint):
            return self.record(hint)
        raise self._unknown(hint, place)

    def _choice(self, classes: Sequence[Any], place: str) -> Shape:
        if not all(map(is_annotated, classes)):
            raise self._unknown(" | ".join(map(_written, classes)), place)
        names = [cls.__name__.lower() for cls in classes]
        if len({*names}) < len(names):
            raise CatalogProblem(
                f"{place} has two classes whose fields would both be "
                f"'{max(names, key=names.count)}'",
                hint="give one of the classes another name",
            )
        return Choice(
            tuple((cls, cls.__name__.lower(), self.record(cls)) for cls in classes)
        )

    def _literal(self, values: Sequence[Any], place: str) -> Shape:
        if not all(isinstance(value, str) for value in values):
            raise self._unknown(f"Literal{list(values)}", place)
        known = {value: value for value in values}
        return Converted(
            TEXTS, f"one of {', '.join(values)}", known.__getitem__, known.__getitem__
        )

    def _mapping(self, inner: Sequence[Any], place: str) -> Shape:
        if len(inner) != 2:
            raise self._unknown("dict", place)
        key, optional = self._shape(inner[0], f"{place} (its keys)")
        if optional:
            raise self._unknown(inner[0], f"{place} (its keys)")
        return Mapped(key, *self._shape(inner[1], f"{place} (its values)"))

    def _list(self, origin: type, inner: Sequence[Any], place: str) -> Shape:
        is_tuple = issubclass(origin, tuple)
        if is_tuple and not (len(inner) == 2 and inner[1] is ...):
            raise CatalogProblem(
                f"{place} is a tuple of fixed length, for which SQL has no type",
                hint="write tuple[int, ...] for a list, or a dataclass for named parts",
            )
        element, optional = self._shape(inner[0], f"{place} (its elements)")
        make = list if origin in (Sequence, Iterable) else origin
        return Repeated(element, optional, set if make is Set else make)

    def _unknown(self, hint: Any, place: str) -> CatalogProblem:
        known = ", ".join(cls.__name__ for cls in TYPES)
        return CatalogProblem(
            f"{place} is {_written(hint)}, for which SQL has no type",
            hint=f"write {known}, an Enum, a dataclass, list[T], dict[K, V], T | None",
        )


def _with_said(hint: Any, said: Sequence[Any]) -> Any:
    return typing.Annotated[(hint, *said)] if said else hint


def _said_by_model(cls: type, attribute: str) -> Sequence[Any]:
    """What ``price: Decimal = Field(max_digits=12, ...)`` says of a model's attribute:
    it stands in no annotation."""
    if dataclasses.is_dataclass(cls):
        return ()
    return tuple(cls.model_fields[attribute].metadata)  # type: ignore[attr-defined]


def _plain_hint(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation, and what ``Annotated`` says beside it."""
    said: tuple[Any, ...] = ()
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            said = (*said, *hint.__metadata__)
            hint = hint.__origin__
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__"):  # type Name = ...
            hint = hint.__value__
        else:
            return hint, said


def _narrowed(cls: type, said: Sequence[Any], place: str) -> Type:
    """The type of a class, or the one that its annotation says."""
    if cls is Number:
        return _decimal(said)
    for text in said:
        if not isinstance(text, str) or cls not in _NARROWER:
            continue
        found = next((t for t in _NARROWER[cls] if str(t) == text.upper()), None)
        if found is None:
            known = ", ".join(map(str, _NARROWER[cls]))
            raise CatalogProblem(
                f"{place} is {cls.__name__}, and no {text}", hint=f"write {known}"
            )
        return found
    return TYPES[cls]


def _decimal(said: Sequence[Any]) -> Decimal:
    parts = (part for one in said for part in (one, *getattr(one, "metadata", ())))
    for one in parts:
        if isinstance(one, str) and (found := _DECIMAL.fullmatch(one.upper())):
            return Decimal(int(found[1]), int(found[2]))
        # As pydantic has it.
        digits = getattr(one, "max_digits", None)
        scale = getattr(one, "decimal_places", None)
        if digits is not None and scale is not None:
            return Decimal(digits, scale)
    return DECIMAL


def _enum(cls: type[Enum]) -> Shape:
    """By values where they are texts, as JSON of others has them; else by names."""
    by_value = all(isinstance(member.value, str) for member in cls)
    texts = {m: m.value if by_value else m.name for m in cls.__members__.values()}
    members = {text: member for member, text in texts.items()}
    return Converted(TEXTS, cls.__name__, texts.__getitem__, members.__getitem__)


def _uuid_text(value: Any) -> str:
    if not isinstance(value, UUID):
        raise TypeError
    return str(value)


def _read_json(text: str) -> Any:
    import json

    return json.loads(text)


def _attributes(cls: type) -> Iterable[tuple[str, str]]:
    """The attributes of a class, each with the name of its column."""
    if dataclasses.is_dataclass(cls):
        for found in dataclasses.fields(cls):
            yield found.name, str(found.metadata.get("name", found.name))
        return
    for name, found in cls.model_fields.items():  # type: ignore[attr-defined]
        yield name, found.serialization_alias or found.alias or name


def _maker(cls: type, members: Sequence[Member]) -> Callable[..., Any]:
    """Makes an object of its attributes, in order."""
    if dataclasses.is_dataclass(cls):
        found = dataclasses.fields(cls)
        if all(f.init and not f.kw_only for f in found):
            return cls
        set_later = [f.name for f in found if not f.init]
        names = [member.attribute for member in members]
        return partial(_made, cls, names, set_later)
    names = [
        cls.model_fields[m.attribute].alias or m.attribute  # type: ignore[attr-defined]
        for m in members
    ]
    return partial(_made, cls, names, ())


def _made(
    cls: type, names: Sequence[str], set_later: Sequence[str], *parts: Any
) -> Any:
    given = dict(zip(names, parts, strict=True))
    later = {name: given.pop(name) for name in set_later}
    made = cls(**given)
    for name, value in later.items():
        object.__setattr__(made, name, value)
    return made


def _is_model(cls: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(cls, pydantic.BaseModel)


def _written(hint: Any) -> str:
    return hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
