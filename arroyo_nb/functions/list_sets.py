"""Lists as sets: each element once, NULL among them. As DataFusion has it, the result
is sorted, NULL first; but ``array_except`` keeps the order of its first list."""

from __future__ import annotations

from arroyo_nb.functions.signature import (
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
)
from arroyo_nb.schema import BOOLEAN

_LIST = ParameterKind.LIST
_ONE = (Signature((_LIST,), Result.FIRST),)
_TWO = (Signature((_LIST, _LIST), Result.LIST_OF_COMMON),)
_COMPARED = (Signature((_LIST, _LIST), BOOLEAN),)

FUNCTIONS = (
    ScalarFunction(
        "array_distinct",
        _ONE,
        "sort_array(array_distinct({0}))",
        "each element once, sorted",
        aliases=("list_distinct",),
        example="array_distinct(make_array(2, 1, 1)) -> [1, 2]",
    ),
    ScalarFunction(
        "array_union",
        _TWO,
        # First all of the one list, then what the other has more.
        "array_union(coalesce(sort_array({0}), array()), "
        "coalesce(sort_array({1}), array()))",
        "the elements of both, each once; NULL counts as an empty list",
        Nulls.NEVER,
        aliases=("list_union",),
        example="array_union(make_array(2, 1), make_array(3, 2)) -> [1, 2, 3]",
    ),
    ScalarFunction(
        "array_intersect",
        _TWO,
        "sort_array(array_intersect({0}, {1}))",
        "the elements that both have, each once, sorted",
        aliases=("list_intersect",),
        example="array_intersect(make_array(3, 1, 2), make_array(2, 3)) -> [2, 3]",
    ),
    ScalarFunction(
        "array_except",
        _TWO,
        "array_except({0}, {1})",
        "the elements of the first that the second has not, each once",
        aliases=("list_except",),
        example="array_except(make_array(3, 1, 2), make_array(2)) -> [3, 1]",
    ),
    ScalarFunction(
        "array_has_all",
        _COMPARED,
        "(size(array_except({1}, {0})) = 0)",
        "are all elements of the second in the first?",
        aliases=("list_has_all",),
        example="array_has_all(make_array(1, 2, 3), make_array(3, 1)) -> true",
    ),
    ScalarFunction(
        "array_has_any",
        _COMPARED,
        "(size(array_intersect({0}, {1})) > 0)",
        "is any element of the second in the first?",
        aliases=("list_has_any", "arrays_overlap"),
        example="array_has_any(make_array(1, 2), make_array(2, 5)) -> true",
    ),
)
