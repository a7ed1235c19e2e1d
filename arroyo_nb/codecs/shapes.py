"""Values of Python as columns of Arrow, and back, a column at a time.

A shape says what Python has for the values of a type: a number, a member of an Enum, an
object with attributes, a list of them. It makes one array of many values and hands
their parts on to the shapes of the parts: so no row becomes a dictionary, and a call of
Python is made once for each object, not for each field::

    Flight(origin="JFK", legs=[Leg(...), Leg(...)])
    Record -> attrgetter("origin", "legs") -> Plain(TEXT), Repeated(Record(...))
"""

from __future__ import annotations

import builtins
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from arroyo_nb.codecs.python_values import UNFIT, arrow_values, python_values
from arroyo_nb.schema import TEXT, Field, ListOf, StructOf, Type, arrow_type


class Misfit(Exception):
    """A value that is not of its shape.

    Parameters
    ----------
    at
        Which of the values of an array, from 0.
    path
        Where in that value, as Python writes it: ``.legs[2].origin``.
    reason
        What is wrong with it.
    """

    def __init__(self, at: int, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.at = at
        self.path = path
        self.reason = reason


class Shape(Protocol):
    """What Python has for the values of a type."""

    @property
    def type(self) -> Type:
        """The type of SQL."""

    def array(self, values: Sequence[Any]) -> pa.Array:
        """The array of some values; None is NULL.

        Raises
        ------
        Misfit
            For the first value that is none of this shape.
        """

    def values(self, array: pa.Array) -> list[Any]:
        """The values of an array; NULL is None.

        Raises
        ------
        Misfit
            For one that Python has no value for.
        """


@dataclass(frozen=True)
class Plain:
    """Values that Arrow knows.

    Parameters
    ----------
    type
        Their type.
    written
        What their annotation is.
    """

    type: Type
    written: str

    @cached_property
    def _arrow(self) -> pa.DataType:
        return arrow_type(self.type)

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        try:
            return arrow_values(values, self._arrow)
        except UNFIT as error:
            raise self._misfit(values, error) from None

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        return python_values(array)

    def _misfit(self, values: Sequence[Any], error: Exception) -> Misfit:
        for at, value in enumerate(values):
            try:
                arrow_values([value], self._arrow)
            except UNFIT as own:
                # Of a value of another class Arrow only says so once more.
                why = "" if isinstance(own, TypeError) else _range_text(own)
                return Misfit(at, "", f"{_shown(value)} is no {self.written}{why}")
        return Misfit(0, "", str(error))


@dataclass(frozen=True)
class Converted:
    """Values that are written as others.

    Parameters
    ----------
    of
        The shape of those others.
    written
        What their annotation is.
    write, read
        Make one of the other, and back; of none that is None.
    """

    of: Shape
    written: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]

    @property
    def type(self) -> Type:
        """Of what is written."""
        return self.of.type

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        return self.of.array(self._each(self.write, values))

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        return self._each(self.read, self.of.values(array))

    def _each(self, make: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        try:
            made.extend(None if value is None else make(value) for value in values)
        except (*UNFIT, AttributeError, KeyError):
            value = values[len(made)]
            reason = f"{_shown(value)} is no {self.written}"
            raise Misfit(len(made), "", reason) from None
        return made


@dataclass(frozen=True)
class Member:
    """A part of an object.

    Parameters
    ----------
    name
        The column, or the field of the struct.
    attribute
        What the object calls it.
    shape
        What its values are.
    optional
        Whether None is one.
    take
        Gives it of an object; None: it is the attribute.
    """

    name: str
    attribute: str
    shape: Shape
    optional: bool = False
    take: Callable[[Any], Any] | None = field(default=None, repr=False)

    @cached_property
    def taken(self) -> Callable[[Any], Any]:
        """Gives it of an object."""
        return self.take or attrgetter(self.attribute)

    @property
    def column(self) -> Field:
        """It as a column."""
        return Field(self.name, self.shape.type, self.optional)


@dataclass(frozen=True)
class Record:
    """Objects with attributes.

    Parameters
    ----------
    name
        What their class is called.
    members
        Their parts, in order.
    make
        Makes an object of its parts, in order.
    """

    name: str
    members: tuple[Member, ...]
    make: Callable[..., Any] = field(repr=False)

    @cached_property
    def type(self) -> StructOf:
        """A struct of the members; SQL does not say which of them may be NULL."""
        return StructOf(tuple(Field(m.name, m.shape.type) for m in self.members))

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        missing = np.fromiter(
            (value is None for value in values), np.bool_, len(values)
        )
        columns = self.columns(values, missing)
        fields = [
            pa.field(member.name, column.type)
            for member, column in zip(self.members, columns, strict=True)
        ]
        mask = pa.array(missing) if missing.any() else None
        return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)

    def columns(
        self, values: Sequence[Any], missing: np.ndarray[Any, Any] | None = None
    ) -> list[pa.Array]:
        """The arrays of the members.

        Parameters
        ----------
        values
            Objects.
        missing
            Which of them are None; None: not one.
        """
        if missing is not None and not missing.any():
            missing = None
        made = []
        taken = self._taken(values, some=missing is not None)
        for member, column in zip(self.members, taken, strict=True):
            try:
                array = member.shape.array(column)
                if array.null_count and not member.optional:
                    _refuse_null(array, missing)
            except Misfit as misfit:
                path = f".{member.attribute}{misfit.path}"
                raise Misfit(misfit.at, path, misfit.reason) from None
            made.append(array)
        return made

    def _taken(self, values: Sequence[Any], *, some: bool) -> list[list[Any]]:
        """The values of each member: a member at a time, so that no tuple is made for
        each object.

        Parameters
        ----------
        some
            Whether there are objects that are None, and so have no members.
        """
        try:
            if not some:
                return [list(map(member.taken, values)) for member in self.members]
            return [
                [None if value is None else member.taken(value) for value in values]
                for member in self.members
            ]
        except Exception:
            raise self._other(values) from None

    def _other(self, values: Sequence[Any]) -> Misfit:
        """What the first value lacks that is none of these objects."""
        for at, value in enumerate(values):
            try:
                for member in self.members if value is not None else ():
                    member.taken(value)
            except AttributeError as error:
                kind = type(value).__name__
                if kind == self.name:  # one of its attributes was never set
                    return Misfit(at, "", str(error))
                return Misfit(at, "", f"{_shown(value)} is no {self.name}")
            except Exception as error:
                return Misfit(at, "", f"{type(error).__name__}: {error}")
        raise AssertionError("one of them was refused")

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        columns = [array.field(member.name) for member in self.members]
        return self.objects(columns, len(array), array.is_valid())

    def objects(
        self, columns: Sequence[pa.Array], rows: int, valid: pa.Array | None = None
    ) -> list[Any]:
        """Objects of the arrays of their members.

        Parameters
        ----------
        columns
            An array for each member, in order.
        rows
            How many objects there are.
        valid
            Which of them there are; the others are None. None: all.
        """
        parts = []
        for member, column in zip(self.members, columns, strict=True):
            try:
                if column.null_count and not member.optional:
                    missing = None if valid is None else ~np.asarray(valid)
                    _refuse_null(column, missing)
                parts.append(member.shape.values(column))
            except Misfit as misfit:
                path = f".{member.attribute}{misfit.path}"
                raise Misfit(misfit.at, path, misfit.reason) from None
        made: list[Any] = []
        found = zip(*parts, strict=True) if parts else iter([()] * rows)
        try:
            if valid is None or valid.true_count == rows:
                made.extend(map(self.make, *parts) if parts else (self.make(),) * rows)
            else:
                there = valid.to_pylist()
                made.extend(
                    self.make(*row) if is_there else None
                    for row, is_there in zip(found, there, strict=True)
                )
        except Exception as error:
            reason = f"{self.name} refuses it: {type(error).__name__}: {error}"
            raise Misfit(len(made), "", reason) from None
        return made


@dataclass(frozen=True)
class Repeated:
    """Lists.

    Parameters
    ----------
    element
        What is in them.
    optional
        Whether None may be.
    make
        Makes one of a list, such as a tuple.
    """

    element: Shape
    optional: bool = False
    make: Callable[[list[Any]], Any] = list

    @cached_property
    def type(self) -> ListOf:
        """A list."""
        return ListOf(self.element.type)

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        missing = [value is None for value in values]
        lists = [() if value is None else value for value in values]
        try:
            ends = np.cumsum([0, *map(len, lists)])
            _refuse_texts(lists)
            inner = list(chain.from_iterable(lists))
        except TypeError:
            raise self._no_list(lists) from None
        try:
            flat = self.element.array(inner)
            if flat.null_count and not self.optional:
                _refuse_null(flat, None)
        except Misfit as misfit:
            at = bisect_right(ends, misfit.at) - 1
            path = f"[{misfit.at - ends[at]}]{misfit.path}"
            raise Misfit(at, path, misfit.reason) from None
        mask = pa.array(missing) if any(missing) else None
        offsets = pa.array(ends, pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, mask=mask)

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        ends = array.offsets.to_pylist()
        first = ends[0]
        try:
            flat = self.element.values(array.values.slice(first, ends[-1] - first))
        except Misfit as misfit:
            at = bisect_right(ends, misfit.at + first) - 1
            path = f"[{misfit.at + first - ends[at]}]{misfit.path}"
            raise Misfit(at, path, misfit.reason) from None
        valid = array.is_valid().to_pylist()
        return [
            self.make(flat[start - first : end - first]) if is_there else None
            for start, end, is_there in zip(ends, ends[1:], valid, strict=False)
        ]

    def _no_list(self, values: Sequence[Any]) -> Misfit:
        for at, value in enumerate(values):
            if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
                return Misfit(at, "", f"{_shown(value)} is no list")
        return Misfit(0, "", "it is no list")


_KEY, _VALUE = "key", "value"


@dataclass(frozen=True)
class Mapped:
    """Mappings: SQL has a list of their keys and values, as Arrow has it.

    Parameters
    ----------
    key, value
        What they are.
    optional
        Whether a value may be None.
    make
        Makes one of a dictionary.
    """

    key: Shape
    value: Shape
    optional: bool = False
    make: Callable[[dict[Any, Any]], Any] = dict

    @cached_property
    def _items(self) -> Repeated:
        members = (
            Member(_KEY, _KEY, self.key, take=itemgetter(0)),
            Member(_VALUE, _VALUE, self.value, self.optional, itemgetter(1)),
        )
        return Repeated(Record("pair", members, lambda *parts: parts))

    @property
    def type(self) -> ListOf:
        """A list of keys and values."""
        return self._items.type

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        pairs = []
        for at, value in enumerate(values):
            if value is not None and not isinstance(value, Mapping):
                raise Misfit(at, "", f"{_shown(value)} is no mapping")
            pairs.append(None if value is None else [*value.items()])
        return self._items.array(pairs)

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        found = self._items.values(array)
        return [None if pairs is None else self.make(dict(pairs)) for pairs in found]


@dataclass(frozen=True)
class Choice:
    """Objects of one of several classes: a struct with a field for each class, of which
    one is not NULL.

    Parameters
    ----------
    classes
        The class of each, and its shape under the name of its field.
    """

    classes: tuple[tuple[type, str, Shape], ...]

    @cached_property
    def type(self) -> StructOf:
        """A struct with a field for each."""
        return StructOf(tuple(Field(n, shape.type) for _, n, shape in self.classes))

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`Shape.array`."""
        for at, value in enumerate(values):
            if value is not None and not isinstance(value, self._all):
                names = " and no ".join(cls.__name__ for cls, _, _ in self.classes)
                raise Misfit(at, "", f"{_shown(value)} is no {names}")
        columns = [
            shape.array([v if self._class(v) is cls else None for v in values])
            for cls, _, shape in self.classes
        ]
        fields = [
            pa.field(name, column.type)
            for (_, name, _), column in zip(self.classes, columns, strict=True)
        ]
        mask = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`Shape.values`."""
        columns = [shape.values(array.field(name)) for _, name, shape in self.classes]
        rows = zip(*columns, strict=True)
        return [next((v for v in row if v is not None), None) for row in rows]

    @cached_property
    def _all(self) -> tuple[builtins.type[Any], ...]:
        return tuple(cls for cls, _, _ in self.classes)

    def _class(self, value: Any) -> builtins.type[Any] | None:
        """Of several that it is an object of the nearest."""
        found = (cls for cls in type(value).__mro__ if cls in self._all)
        return next(found, None)


TEXTS = Plain(TEXT, "str")
"""Texts."""


def _refuse_null(array: pa.Array, allowed: np.ndarray[Any, Any] | None) -> None:
    """Refuse a NULL, but where the object around it is missing."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if allowed is not None:
        nulls = nulls & ~allowed
    if nulls.any():
        raise Misfit(int(nulls.argmax()), "", "None is no value of it")


def _refuse_texts(lists: Sequence[Any]) -> None:
    for kind in set(map(type, lists)):
        if issubclass(kind, str | bytes | Mapping):
            raise TypeError


_LONGEST = 80


def _range_text(error: Exception) -> str:
    text = str(error)
    return "" if text.startswith("Could not convert") else f": {text}"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
