"""What to write for an element of a list and a field of a struct, where an author
called what another engine has for it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from arroyo_nb.plan.typing import type_of
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import JSON, TEXT, ListOf, StructOf, Type

ROWS_OF_LISTS = frozenset(
    (
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "unnest"),
        *("inline", "inline_outer"),
    )
)
"""What makes rows of a list elsewhere."""

FIELDS = frozenset(
    (
        *("json_get", "json_as_text", "json_get_str", "json_get_int", "json_get_json"),
        *("json_get_bool", "json_get_float", "get_field"),
    )
)
"""What reads a field; the operators -> and ->> are calls of the first two."""


def access_hint(
    name: str, arguments: list[exp.Expr], bind: Callable[[exp.Expr], exp.Expr]
) -> str | None:
    """What to write in place of a call; None where it is none of these.

    Raises
    ------
    CatalogProblem
        When its first argument cannot be bound.
    """
    if not arguments or name not in ROWS_OF_LISTS | FIELDS:
        return None
    text, type_ = arguments[0].sql(dialect="postgres"), type_of(bind(arguments[0]))
    if name in ROWS_OF_LISTS:
        if isinstance(type_, ListOf):
            return f"a list cannot become rows yet: {element_hint(text, type_)}"
        return f"{text} is {type_}, and no list"
    return _field_hint(text, type_, arguments[1]) if len(arguments) == 2 else None


def element_hint(text: str, type_: ListOf) -> str:
    """How an element of a list is read, or what is in it.

    >>> element_hint("tags", ListOf(TEXT))
    'read an element with tags[1], or look for one with array_has(tags, x)'
    """
    if isinstance(type_.element, StructOf) and type_.element.fields:
        field = type_.element.fields[0].name
        return f"read a field of an element, as in {text}[1].{_written(field)}"
    return f"read an element with {text}[1], or look for one with array_has({text}, x)"


def member_hint(parent: exp.Expr, type_: Type, name: str) -> str | None:
    """How a field is read of what is no struct.

    >>> member_hint(exp.column("place"), TEXT, "city")
    'declare the column STRUCT<city TYPE, ...> to read its fields'
    """
    if isinstance(type_, ListOf) and isinstance(type_.element, StructOf):
        text = parent.name if isinstance(parent, exp.Column) else "list"
        return f"read it of an element, as in {text}[1].{_written(name)}"
    if type_ in (TEXT, JSON):
        field = f"{_written(name)} TYPE"
        return f"declare the column STRUCT<{field}, ...> to read its fields"
    return None


def _field_hint(text: str, type_: Type, key: exp.Expr) -> str | None:
    match type_:
        case StructOf(fields):
            names = [field.name for field in fields]
            if key.name in names:
                return f"write {text}.{_written(key.name)}"
            return did_you_mean(key.name, names)
        case ListOf() if isinstance(key, exp.Literal) and not key.is_string:
            return f"write {text}[{int(key.name) + 1}]: elements are counted from 1"
        case ListOf():
            return element_hint(text, type_)
        case _:
            return member_hint(key, type_, key.name)


def _written(name: str) -> str:
    return name if name.isidentifier() and name == name.lower() else f'"{name}"'
