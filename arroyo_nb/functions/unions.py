"""Values of several types: what ``json_get`` gives. Such a value is kept as the JSON
text of what it is, and NULL is the value ``null``."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    Nulls,
    ScalarFunction,
    Signature,
)
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BIGINT, BOOLEAN, DOUBLE, JSON, JSON_VALUE, NULL, TEXT, Type

# tag -> its type, and the value as a template of the text.
_MEMBERS: dict[str, tuple[Type, str]] = {
    "null": (NULL, "NULL"),
    "bool": (BOOLEAN, "TRY_CAST({} AS BOOLEAN)"),
    "int": (BIGINT, "TRY_CAST({} AS BIGINT)"),
    "float": (DOUBLE, "TRY_CAST({} AS DOUBLE)"),
    "str": (TEXT, """get_json_object(concat('{{"v":', {}, '}}'), '$.v')"""),
    "array": (TEXT, "trim({})"),
    "object": (TEXT, "trim({})"),
}


def _tag(value: str) -> str:
    """By the first character; a number is whole where nothing says otherwise."""
    return (
        f"(CASE substr(ltrim({value}), 1, 1) WHEN '{{' THEN 'object' "
        "WHEN '[' THEN 'array' WHEN '\"' THEN 'str' "
        "WHEN 't' THEN 'bool' WHEN 'f' THEN 'bool' WHEN 'n' THEN 'null' "
        f"ELSE CASE WHEN {value} IS NULL THEN 'null' "
        f"WHEN {value} RLIKE '[.eE]' THEN 'float' ELSE 'int' END END)"
    )


def _member_type(_: Sequence[Type], literals: Literals) -> Type:
    name = literals[1] if literals else None
    if name is None:
        raise Unsupported(
            "the member of a union must be a literal",
            hint="write union_extract(value, 'str')",
        )
    if name not in _MEMBERS:
        known = "known: " + ", ".join(_MEMBERS)
        raise CatalogProblem(
            f"field {name} not found on union",
            hint=did_you_mean(name, _MEMBERS) or known,
        )
    return _MEMBERS[name][0]


def _extract(arguments: Sequence[Argument]) -> str:
    value, name = arguments
    word = name.literal or ""
    member = _MEMBERS[word][1].format(value.sql)
    return f"IF({_tag(value.sql)} = '{word}', {member}, NULL)"


FUNCTIONS = (
    ScalarFunction(
        "union_tag",
        (Signature((JSON_VALUE,), TEXT), Signature((JSON,), TEXT)),
        lambda arguments: _tag(arguments[0].sql),
        "which type a JSON value has: " + ", ".join(_MEMBERS),
        Nulls.NEVER,
        example="union_tag(CAST('[1]' AS JSON)) -> 'array'",
        differs="a JSON column is taken too",
    ),
    ScalarFunction(
        "union_extract",
        (
            Signature((JSON_VALUE, TEXT), _member_type),
            Signature((JSON, TEXT), _member_type),
        ),
        _extract,
        "a JSON value, if it has that type; else NULL",
        Nulls.ALWAYS,
        example="union_extract(CAST('1.5' AS JSON), 'float') -> 1.5",
        differs="a JSON column is taken too",
    ),
)
