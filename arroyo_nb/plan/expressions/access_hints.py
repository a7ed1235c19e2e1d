"""What to write for an element of a list and a field of a struct, where an author
called what another engine has for it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import JSON, TEXT, ListOf, StructOf, Type

ROWS_OF_LISTS = frozenset(
    (
        *("explode", "explode_outer", "posexplode", "posexplode_outer"),
        *("inline", "inline_outer", "flatten", "json_each"),
        *("json_array_elements", "jsonb_array_elements"),
    )
)
"""What makes rows of a list elsewhere."""

ELEMENTS = frozenset(
    (
        *("any_match", "all_match", "array_filter", "array_transform", "element_at"),
        *("exists", "filter", "forall", "transform"),
    )
)
"""What reads or changes single elements of a list elsewhere."""

FIELDS = frozenset(
    (
        *("json_get", "json_as_text", "json_get_str", "json_get_int", "json_get_json"),
        *("json_get_bool", "json_get_float", "get_field"),
    )
)
"""What reads a field of JSON, or another's struct; the operators -> and ->> are calls
of the first two."""


def access_hint(
    name: str, arguments: list[exp.Expr], bind: Callable[[exp.Expr], exp.Expr]
) -> str | None:
    """What to write in place of a call; None where it is none of these.

    Raises
    ------
    CatalogProblem
        When its first argument cannot be bound.
    """
    if not arguments or name not in ROWS_OF_LISTS | ELEMENTS | FIELDS:
        return None
    if name in FIELDS and len(arguments) != 2:
        return None
    if name in FIELDS:
        whole, keys = _path(exp.Anonymous(this=name, expressions=arguments))
        # An arrow that nothing stands behind.
        if None in keys:
            return None
        text, type_ = whole.sql(dialect="postgres"), type_of(bind(whole))
        is_nested = isinstance(type_, StructOf | ListOf)
        return _path_hint(text, type_, keys) if is_nested else None
    text, type_ = arguments[0].sql(dialect="postgres"), type_of(bind(arguments[0]))
    if not isinstance(type_, ListOf):
        return f"{text} is {type_}, and no list"
    if name in ROWS_OF_LISTS:
        return f"write unnest({text}) in the select list"
    return element_hint(text, type_)


def element_hint(text: str, type_: ListOf) -> str:
    """How an element of a list is read, or what is in it.

    >>> element_hint("tags", ListOf(TEXT))
    'read an element with tags[1], or look for one with array_has(tags, x)'
    """
    if isinstance(type_.element, StructOf) and type_.element.fields:
        field = type_.element.fields[0].name
        return f"read a field of an element, as in {text}[1].{_written(field)}"
    return f"read an element with {text}[1], or look for one with array_has({text}, x)"


def membership_hint(test: exp.In, column: exp.Expr, type_: Type) -> str | None:
    """How a column is asked whether a value is in it; None where it is no list."""
    if not isinstance(type_, ListOf):
        return None
    is_not = isinstance(test.parent, exp.Not)
    list_, value = (e.sql(dialect="postgres") for e in (column, test.this))
    return f"write {'NOT ' * is_not}array_has({list_}, {value})"


def member_hint(parent: exp.Expr, type_: Type, name: str) -> str | None:
    """How a field is read of what is no struct.

    >>> member_hint(exp.column("place"), TEXT, "city")
    "write place ->> 'city', where the text is JSON"
    """
    if isinstance(type_, ListOf) and isinstance(type_.element, StructOf):
        text = parent.name if isinstance(parent, exp.Column) else "list"
        return f"read it of an element, as in {text}[1].{_written(name)}"
    if type_ in (TEXT, JSON):
        text = parent.name if isinstance(parent, exp.Column) else "text"
        written = exp.Literal.string(name).sql()
        return f"write {text} ->> {written}, where the text is JSON"
    return None


def _path(call: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """What calls within calls read from, and the keys from the outermost one in."""
    keys: list[exp.Expr] = []
    while (
        isinstance(call, exp.Anonymous)
        and call.name.lower() in FIELDS
        and len(call.expressions) == 2
    ):
        keys.insert(0, call.expressions[1])
        call = call.expressions[0]
    return call, keys


def _path_hint(text: str, type_: Type, keys: list[exp.Expr]) -> str | None:
    for key in keys:
        is_number = isinstance(key, exp.Literal) and not key.is_string
        if isinstance(type_, StructOf):
            field = type_.field(key.name)
            if field is None:
                return did_you_mean(key.name, (field.name for field in type_.fields))
            text, type_ = f"{text}.{_written(key.name)}", field.type
        elif isinstance(type_, ListOf) and is_number:
            text, type_ = f"{text}[{int(key.name) + 1}]", type_.element
        elif isinstance(type_, ListOf):
            return element_hint(text, type_)
        else:
            return member_hint(key, type_, key.name)
    counted = ": elements are counted from 1" * ("[" in text)
    return f"write {text}{counted}" if keys else None


def _written(name: str) -> str:
    return name if name.isidentifier() and name == name.lower() else f'"{name}"'
