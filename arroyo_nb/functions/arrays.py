"""Lists. Places count from 1; NULL elements are elements."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, BOOLEAN, TEXT, ListOf, Type


def element(array: str, index: str) -> str:
    """The element at a place, from the end for a negative one; NULL where there is
    none, and 0 is none."""
    return f"try_element_at({array}, CAST(nullif({index}, 0) AS INT))"


def _row(
    name: str,
    parameters: tuple[Type | ParameterKind, ...],
    result: Type | Result,
    template: Template,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    optional: int = 0,
    nulls: Nulls = Nulls.STRICT,
    example: str,
) -> ScalarFunction:
    signature = Signature(parameters, result, optional=optional)
    return ScalarFunction(
        name, (signature,), template, doc, nulls, aliases, example=example
    )


def _element(arguments: Sequence[Argument]) -> str:
    return element(arguments[0].sql, arguments[1].sql)


def _joined(arguments: Sequence[Argument]) -> str:
    items, *others = arguments
    texts = cast(items.sql, items.type, ListOf(TEXT))
    return f"array_join({', '.join((texts, *(a.sql for a in others)))})"


# DECIMAL is what a BIGINT UNSIGNED is to Spark.
_LENGTH = "CAST(size({0}) AS DECIMAL(20, 0))"

FUNCTIONS = (
    _row(
        "array_length",
        (ParameterKind.LIST,),
        BIGINT_UNSIGNED,
        _LENGTH,
        "number of elements",
        aliases=("list_length",),
        example="array_length(make_array('a', 'b')) -> 2",
    ),
    _row(
        "cardinality",
        (ParameterKind.LIST,),
        BIGINT_UNSIGNED,
        _LENGTH,
        "number of elements",
        example="cardinality(make_array('a', 'b')) -> 2",
    ),
    _row(
        "array_has",
        (ParameterKind.LIST, ParameterKind.ELEMENT),
        BOOLEAN,
        # Beside a NULL, what is not there is NULL to Spark.
        "IF({0} IS NULL OR {1} IS NULL, NULL, "
        "coalesce(array_contains({0}, {1}), FALSE))",
        "is the value an element?",
        aliases=("array_contains", "list_has", "list_contains"),
        example="array_has(make_array(1, 2), 2) -> true",
    ),
    _row(
        "array_element",
        (ParameterKind.LIST, BIGINT),
        Result.ELEMENT,
        _element,
        "the n-th element, NULL where there is none",
        aliases=("array_extract", "list_element", "list_extract"),
        nulls=Nulls.ALWAYS,
        example="array_element(make_array('a', 'b'), 2) -> 'b'",
    ),
    _row(
        "array_distinct",
        (ParameterKind.LIST,),
        Result.FIRST,
        "array_distinct({0})",
        "each element once",
        aliases=("list_distinct",),
        example="array_distinct(make_array(1, 1)) -> [1]",
    ),
    _row(
        "array_reverse",
        (ParameterKind.LIST,),
        Result.FIRST,
        "reverse({0})",
        "back to front",
        aliases=("list_reverse",),
        example="array_reverse(make_array(1, 2)) -> [2, 1]",
    ),
    _row(
        "array_max",
        (ParameterKind.LIST,),
        Result.ELEMENT,
        "array_max({0})",
        "the greatest element",
        aliases=("list_max",),
        nulls=Nulls.ALWAYS,
        example="array_max(make_array(1, 3, 2)) -> 3",
    ),
    _row(
        "array_append",
        (ParameterKind.LIST, ParameterKind.ELEMENT),
        Result.LIST_OF_COMMON,
        "array_append({0}, {1})",
        "with the value as last element",
        aliases=("list_append", "array_push_back", "list_push_back"),
        example="array_append(make_array(1, 2), 3) -> [1, 2, 3]",
    ),
    _row(
        "array_position",
        (ParameterKind.LIST, ParameterKind.ELEMENT),
        BIGINT_UNSIGNED,
        "CAST(nullif(array_position({0}, {1}), 0) AS DECIMAL(20, 0))",
        "place of the first such element, NULL where there is none",
        aliases=("list_position", "array_indexof", "list_indexof"),
        nulls=Nulls.ALWAYS,
        example="array_position(make_array('a', 'b'), 'b') -> 2",
    ),
    _row(
        "array_to_string",
        (ParameterKind.LIST, TEXT, TEXT),
        TEXT,
        _joined,
        "joined with a separator; NULLs left out, or shown as the third",
        aliases=("array_join", "list_to_string", "list_join"),
        optional=1,
        example="array_to_string(make_array(1, 2), '-') -> '1-2'",
    ),
    _row(
        "string_to_array",
        (TEXT, TEXT),
        ListOf(TEXT),
        # Spark's separator is a regular expression.
        r"split({0}, concat('\\Q', {1}, '\\E'), -1)",
        "the parts between separators",
        aliases=("string_to_list",),
        example="string_to_array('a.b', '.') -> ['a', 'b']",
    ),
    _row(
        "empty",
        (ParameterKind.LIST,),
        BOOLEAN,
        "(size({0}) = 0)",
        "has it no element?",
        aliases=("array_empty", "list_empty"),
        example="empty(make_array(1)) -> false",
    ),
    ScalarFunction(
        "make_array",
        (Signature((ParameterKind.ANY,), Result.LIST_OF_COMMON, repeats=True),),
        "array({all})",
        "a list of the arguments",
        Nulls.NEVER,
        aliases=("make_list",),
        example="make_array(1, 2) -> [1, 2]",
    ),
)
