"""Lists as sets: each element once, NULL among them. The result is sorted, NULL first;
but ``array_except`` keeps the order of its first list."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    always,
    of_float_lists,
)
from arroyo_nb.schema import BOOLEAN

_LIST = ParameterKind.LIST
_TYPED = ParameterKind.TYPED_LIST
_TWO = (Signature((_LIST, _LIST), Result.LIST_OF_COMMON),)
_COMPARED = (Signature((_TYPED, _TYPED), BOOLEAN),)


def _where_both_are(call: str) -> str:
    """A call for the rows that have both lists: DataFusion fails on others."""
    return f"(CASE WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL ELSE {call} END)"


def _of_two(call: str, where_both_are: str) -> DataFusionTemplate:
    """A bare NULL has a type of its own to DataFusion, and is taken as it is."""

    def datafusion(arguments: Sequence[Argument]) -> str:
        return call if any(a.was_null for a in arguments) else where_both_are

    return datafusion


FUNCTIONS = (
    ScalarFunction(
        "array_distinct",
        (Signature((_TYPED,), Result.FIRST),),
        None,
        "each element once, sorted",
        aliases=("list_distinct",),
        example="array_distinct(make_array(2, 1, 1)) -> [1, 2]",
        datafusion=always("array_distinct({0})"),
    ),
    ScalarFunction(
        "array_union",
        _TWO,
        None,
        "the elements of both, each once; NULL counts as an empty list",
        Nulls.ALL,
        aliases=("list_union",),
        example="array_union(make_array(2, 1), make_array(3, 2)) -> [1, 2, 3]",
        datafusion=_of_two(
            "array_union({0}, {1})",
            "(CASE WHEN {0} IS NULL THEN array_distinct({1}) "
            "WHEN {1} IS NULL THEN array_distinct({0}) "
            "ELSE array_union({0}, {1}) END)",
        ),
    ),
    ScalarFunction(
        "array_intersect",
        _TWO,
        None,
        "the elements that both have, each once, sorted",
        aliases=("list_intersect",),
        example="array_intersect(make_array(3, 1, 2), make_array(2, 3)) -> [2, 3]",
        datafusion=_of_two(
            "array_intersect({0}, {1})", _where_both_are("array_intersect({0}, {1})")
        ),
    ),
    ScalarFunction(
        "array_except",
        (Signature((_LIST, _LIST), Result.LIST_OR_NULL),),
        None,
        "the elements of the first that the second has not, each once",
        Nulls.ALWAYS,
        aliases=("list_except",),
        example="array_except(make_array(3, 1, 2), make_array(2)) -> [3, 1]",
        datafusion=always("array_except({0}, {1})"),
    ),
    ScalarFunction(
        "array_has_all",
        _COMPARED,
        "(size(array_except({1}, {0})) = 0)",
        "are all elements of the second in the first?",
        aliases=("list_has_all",),
        example="array_has_all(make_array(1, 2, 3), make_array(3, 1)) -> true",
        datafusion=of_float_lists(_where_both_are("array_has_all({0}, {1})")),
    ),
    ScalarFunction(
        "array_has_any",
        _COMPARED,
        "(size(array_intersect({0}, {1})) > 0)",
        "is any element of the second in the first?",
        aliases=("list_has_any", "arrays_overlap"),
        example="array_has_any(make_array(1, 2), make_array(2, 5)) -> true",
        datafusion=of_float_lists(_where_both_are("array_has_any({0}, {1})")),
    ),
)
