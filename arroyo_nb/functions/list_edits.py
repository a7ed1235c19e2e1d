"""Lists with elements added, taken out or replaced, cut or put in order. NULL elements
are elements, and are equal to each other."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Nulls,
    Parameter,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
    always,
    literal_word,
    same_call,
)
from arroyo_nb.schema import BIGINT, TEXT

_LIST, _ELEMENT = ParameterKind.LIST, ParameterKind.ELEMENT
_TYPED = ParameterKind.TYPED_LIST


def _in_spark(
    name: str,
    parameters: tuple[Parameter, ...],
    template: Template,
    doc: str,
    *,
    nulls: Nulls = Nulls.STRICT,
    aliases: tuple[str, ...] = (),
    example: str,
) -> ScalarFunction:
    """A function of lists and elements that gives a list of what is common to them."""
    signature = Signature(parameters, Result.LIST_OF_COMMON)
    return ScalarFunction(
        name, (signature,), template, doc, nulls, aliases, example=example
    )


def _in_datafusion(
    name: str,
    parameters: tuple[Parameter, ...],
    template: str | DataFusionTemplate,
    doc: str,
    *,
    optional: int = 0,
    aliases: tuple[str, ...],
    example: str,
) -> ScalarFunction:
    """The same, of one that DataFusion evaluates."""
    return ScalarFunction(
        name,
        (Signature(parameters, Result.LIST_OR_NULL, optional=optional),),
        None,
        doc,
        Nulls.ALWAYS,
        aliases,
        example=example,
        datafusion=always(template) if isinstance(template, str) else template,
    )


_ORDERS = ("ASC", "DESC")
_PLACES_OF_NULLS = ("NULLS FIRST", "NULLS LAST")


def _sorted(arguments: Sequence[Argument]) -> str:
    """Without a word about them, NULLs come first, in both directions."""
    choices = ((_ORDERS, "the order of array_sort"), (_PLACES_OF_NULLS, _OF_NULLS))
    for argument, (known, what) in zip(arguments[1:], choices, strict=False):
        if not argument.was_null:
            # DataFusion reads that of the first row for all rows.
            literal_word(argument, known, what, fold=str.upper, written=repr)
    return same_call("array_sort")(arguments)


_OF_NULLS = "the place of NULLs"


def _sliced(arguments: Sequence[Argument]) -> str:
    if len(arguments) == 3:
        return "array_slice({0}, {1}, {2})"
    if (stride := arguments[3]).number == 0:
        raise CatalogProblem(
            "the stride of array_slice must not be 0",
            span=stride.span,
            hint="1 takes every element, -1 every one from the back",
        )
    return "array_slice({0}, {1}, {2}, {3})"


def _resized(arguments: Sequence[Argument]) -> str:
    number = arguments[1].number
    if number is not None and number < 0:
        raise CatalogProblem(
            "the size of array_resize must not be negative", span=arguments[1].span
        )
    # Without the third argument DataFusion panics where all lists are empty.
    value = "{2}" if len(arguments) == 3 else "NULL"
    return f"array_resize({{0}}, coalesce({{1}}, 0), {value})"


# DataFusion reads what lies beneath a NULL, which is 0 in a column of its own.
_COUNT_2, _COUNT_3 = "coalesce({2}, 0)", "coalesce({3}, 0)"

FUNCTIONS = (
    _in_spark(
        "array_append",
        (_LIST, _ELEMENT),
        "array_append(coalesce({0}, array()), {1})",
        "with the value as last element; NULL counts as an empty list",
        nulls=Nulls.NEVER,
        aliases=("list_append", "array_push_back", "list_push_back"),
        example="array_append(make_array(1, 2), 3) -> [1, 2, 3]",
    ),
    _in_spark(
        "array_prepend",
        (_ELEMENT, _LIST),
        "array_prepend(coalesce({1}, array()), {0})",
        "with the value as first element; NULL counts as an empty list",
        nulls=Nulls.NEVER,
        aliases=("list_prepend", "array_push_front", "list_push_front"),
        example="array_prepend(1, make_array(2, 3)) -> [1, 2, 3]",
    ),
    _in_datafusion(
        "array_remove",
        (_TYPED, _ELEMENT),
        "array_remove({0}, {1})",
        "without the first such element",
        aliases=("list_remove",),
        example="array_remove(make_array(1, 2, 1), 1) -> [2, 1]",
    ),
    _in_datafusion(
        "array_remove_n",
        (_TYPED, _ELEMENT, BIGINT),
        f"array_remove_n({{0}}, {{1}}, {_COUNT_2})",
        "without the first n such elements",
        aliases=("list_remove_n",),
        example="array_remove_n(make_array(1, 2, 1, 1), 1, 2) -> [2, 1]",
    ),
    _in_datafusion(
        "array_remove_all",
        (_TYPED, _ELEMENT),
        "array_remove_all({0}, {1})",
        "without any such element",
        aliases=("list_remove_all",),
        example="array_remove_all(make_array(1, 2, 1), 1) -> [2]",
    ),
    _in_datafusion(
        "array_replace",
        (_LIST, _ELEMENT, _ELEMENT),
        "array_replace({0}, {1}, {2})",
        "the first such element replaced by the third argument",
        aliases=("list_replace",),
        example="array_replace(make_array(1, 2, 1), 1, 5) -> [5, 2, 1]",
    ),
    _in_datafusion(
        "array_replace_n",
        (_LIST, _ELEMENT, _ELEMENT, BIGINT),
        f"array_replace_n({{0}}, {{1}}, {{2}}, {_COUNT_3})",
        "the first n such elements replaced: array_replace_n(list, from, to, n)",
        aliases=("list_replace_n",),
        example="array_replace_n(make_array(1, 1, 1), 1, 5, 2) -> [5, 5, 1]",
    ),
    _in_datafusion(
        "array_replace_all",
        (_LIST, _ELEMENT, _ELEMENT),
        "array_replace_all({0}, {1}, {2})",
        "every such element replaced by the third argument",
        aliases=("list_replace_all",),
        example="array_replace_all(make_array(1, 2, 1), 1, 5) -> [5, 2, 5]",
    ),
    ScalarFunction(
        "array_slice",
        (Signature((_TYPED, BIGINT, BIGINT, BIGINT), Result.FIRST, optional=1),),
        None,
        "from one place to another, both included, every n-th: also list[from:to]",
        Nulls.ALWAYS,
        aliases=("list_slice",),
        example="array_slice(make_array(1, 2, 3, 4), 2, -2) -> [2, 3]",
        datafusion=_sliced,
    ),
    ScalarFunction(
        "array_sort",
        (Signature((_LIST, TEXT, TEXT), Result.FIRST, optional=2),),
        None,
        "in order: array_sort(list, 'ASC' or 'DESC', 'NULLS FIRST' or 'NULLS LAST')",
        aliases=("list_sort",),
        example="array_sort(make_array(2, 3, 1), 'DESC') -> [3, 2, 1]",
        datafusion=_sorted,
    ),
    _in_datafusion(
        "array_resize",
        (_TYPED, BIGINT, _ELEMENT),
        _resized,
        "of n elements: cut, or filled up with the third argument, else with NULL",
        optional=1,
        aliases=("list_resize",),
        example="array_resize(make_array(1, 2), 4, 0) -> [1, 2, 0, 0]",
    ),
    ScalarFunction(
        "array_pop_back",
        (Signature((_TYPED,), Result.FIRST),),
        "slice({0}, 1, greatest(size({0}) - 1, 0))",
        "without the last element",
        aliases=("list_pop_back",),
        example="array_pop_back(make_array(1, 2, 3)) -> [1, 2]",
    ),
    ScalarFunction(
        "array_pop_front",
        (Signature((_TYPED,), Result.FIRST),),
        "slice({0}, 2, size({0}))",
        "without the first element",
        aliases=("list_pop_front",),
        example="array_pop_front(make_array(1, 2, 3)) -> [2, 3]",
    ),
)
