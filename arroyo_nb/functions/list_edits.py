"""Lists with elements added, taken out or replaced, cut or put in order. NULL elements
are elements, and are equal to each other."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.let_binding import let
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BIGINT, TEXT

_LIST, _ELEMENT = ParameterKind.LIST, ParameterKind.ELEMENT

# No column is called so: a lambda's variable hides it.
_X, _I = "__element__", "__place__"
_SAME = f"({_X} <=> {{1}})"

PLACES = (
    f"filter(transform({{0}}, ({_X}, {_I}) -> IF({_SAME}, {_I} + 1, NULL)), "
    f"{_I} -> {_I} IS NOT NULL)"
)
"""The places of an element in a list, as a template."""

# How far a change goes: to the n-th such element, or to the end. Of BIGINTs as well.
_FIRST = f"coalesce(try_element_at({PLACES}, 1), 0)"
_NTH = (
    "CASE WHEN {n} < 1 THEN 0 WHEN {n} > size({{0}}) THEN size({{0}}) "
    f"ELSE coalesce(try_element_at({PLACES.replace('{', '{{').replace('}', '}}')}, "
    "CAST(greatest(least({n}, 2147483647), 1) AS INT)), size({{0}})) END"
)
_CUT = "__cut__"
_REMOVED = f"filter({{0}}, ({_X}, {_I}) -> {_I} >= {_CUT} OR NOT {_SAME})"
_REPLACED = (
    f"transform({{0}}, ({_X}, {_I}) -> IF({_I} < {_CUT} AND {_SAME}, {{2}}, {_X}))"
)


def _up_to(change: str, cut: str) -> str:
    return let(_CUT, cut, change)


def _row(
    name: str,
    parameters: tuple[ParameterKind, ...],
    template: Template,
    doc: str,
    *,
    nulls: Nulls = Nulls.STRICT,
    aliases: tuple[str, ...] = (),
    example: str,
) -> ScalarFunction:
    """A function of lists and elements that gives a list of what is common to them."""
    return ScalarFunction(
        name,
        (Signature(parameters, Result.LIST_OF_COMMON),),
        template,
        doc,
        nulls,
        aliases,
        example=example,
    )


def _counted(
    name: str,
    parameters: tuple[ParameterKind, ...],
    change: str,
    doc: str,
    *,
    aliases: tuple[str, ...],
    example: str,
) -> ScalarFunction:
    """One that is told how many elements it changes at most."""
    number = f"{{{len(parameters)}}}"
    changed = _up_to(change, _NTH.format(n=number))
    return ScalarFunction(
        name,
        (Signature((*parameters, BIGINT), Result.LIST_OF_COMMON),),
        f"IF({number} IS NULL, NULL, {changed})",
        doc,
        Nulls.ALWAYS,
        aliases,
        example=example,
    )


def _slice(arguments: Sequence[Argument]) -> str:
    """Bounds count from 1, or from -1 at the end, and are both part of it; NULL is the
    end of the list. A list is cut where it ends, but what starts behind it is empty."""
    items, first, last = (a.sql for a in arguments[:3])
    size = f"size({items})"
    start = (
        f"IF({first} < 0, greatest({first} + {size}, 0), "
        f"greatest(least({first}, {size} + 1) - 1, 0))"
    )
    end = (
        f"IF({last} < 0, greatest({last} + {size}, -1), "
        f"greatest(least({last}, {size}), 0) - 1)"
    )
    bounds = (
        f"struct({items} AS items, CAST(IF({first} IS NULL, 0, {start}) AS INT) AS a, "
        f"CAST(IF({last} IS NULL, {size} - 1, {end}) AS INT) AS b)"
    )
    s = "__slice__"
    none = f"slice({s}.items, 1, 0)"
    between = f"slice({s}.items, {s}.a + 1, {s}.b - {s}.a + 1)"
    is_some = f"{s}.a < size({s}.items) AND {s}.b >= 0 AND {s}.a <= {s}.b"
    cut = f"IF({is_some}, {between}, {none})"
    if len(arguments) == 3:
        return let(s, bounds, cut)
    stride = arguments[3]
    if stride.number == 0:
        raise CatalogProblem(
            "the stride of array_slice must not be 0",
            span=stride.span,
            hint="1 takes every element, -1 every one from the back",
        )
    forth = f"filter({cut}, ({_X}, {_I}) -> {_I} % {stride.sql} = 0)"
    behind = f"reverse(slice({s}.items, {s}.b + 1, {s}.a - {s}.b + 1))"
    is_back = f"{s}.a < size({s}.items) AND {s}.b >= 0 AND {s}.a >= {s}.b"
    back = f"filter({behind}, ({_X}, {_I}) -> {_I} % {stride.sql} = 0)"
    return let(
        s,
        bounds,
        f"CASE WHEN {stride.sql} > 0 THEN {forth} "
        f"WHEN {stride.sql} < 0 THEN IF({is_back}, {back}, {none}) "
        "WHEN 0 = "
        f"{stride.sql} THEN raise_error('the stride of array_slice is 0') END",
    )


_ORDERS = ("ASC", "DESC")
_PLACES_OF_NULLS = ("NULLS FIRST", "NULLS LAST")


def _choice(given: Argument, known: Sequence[str], what: str) -> bool:
    """Whether the first of two words is given."""
    every = "known: " + ", ".join(f"'{word}'" for word in known)
    if given.literal is None:
        raise Unsupported(f"{what} must be a literal", span=given.span, hint=every)
    word = given.literal.upper()
    if word not in known:
        raise CatalogProblem(
            f"{what} '{given.literal}' is not known",
            span=given.span,
            hint=did_you_mean(word, known) or every,
        )
    return word == known[0]


def _sorted(arguments: Sequence[Argument]) -> str:
    """Without a word about them, NULLs come first, in both directions."""
    items, *words = arguments
    rises = not words or _choice(words[0], _ORDERS, "the order of array_sort")
    nulls_first = len(words) < 2 or _choice(
        words[1], _PLACES_OF_NULLS, "the place of NULLs"
    )
    if rises == nulls_first:
        # Spark puts NULLs where they are smallest.
        return f"sort_array({items.sql}, {str(rises).upper()})"
    last = f"array_sort({items.sql})"
    return last if rises else f"reverse({last})"


def _resized(arguments: Sequence[Argument]) -> str:
    items, size, *value = (a.sql for a in arguments)
    number = arguments[1].number
    if number is not None and number < 0:
        raise CatalogProblem(
            "the size of array_resize must not be negative", span=arguments[1].span
        )
    fill = f"array_repeat({value[0] if value else 'NULL'}, CAST({size} AS INT))"
    return f"slice(concat({items}, {fill}), 1, CAST({size} AS INT))"


FUNCTIONS = (
    _row(
        "array_append",
        (_LIST, _ELEMENT),
        "array_append(coalesce({0}, array()), {1})",
        "with the value as last element; NULL counts as an empty list",
        nulls=Nulls.NEVER,
        aliases=("list_append", "array_push_back", "list_push_back"),
        example="array_append(make_array(1, 2), 3) -> [1, 2, 3]",
    ),
    _row(
        "array_prepend",
        (_ELEMENT, _LIST),
        "array_prepend(coalesce({1}, array()), {0})",
        "with the value as first element; NULL counts as an empty list",
        nulls=Nulls.NEVER,
        aliases=("list_prepend", "array_push_front", "list_push_front"),
        example="array_prepend(1, make_array(2, 3)) -> [1, 2, 3]",
    ),
    _row(
        "array_remove",
        (_LIST, _ELEMENT),
        _up_to(_REMOVED, _FIRST),
        "without the first such element",
        aliases=("list_remove",),
        example="array_remove(make_array(1, 2, 1), 1) -> [2, 1]",
    ),
    _counted(
        "array_remove_n",
        (_LIST, _ELEMENT),
        _REMOVED,
        "without the first n such elements",
        aliases=("list_remove_n",),
        example="array_remove_n(make_array(1, 2, 1, 1), 1, 2) -> [2, 1]",
    ),
    _row(
        "array_remove_all",
        (_LIST, _ELEMENT),
        f"filter({{0}}, {_X} -> NOT {_SAME})",
        "without any such element",
        aliases=("list_remove_all",),
        example="array_remove_all(make_array(1, 2, 1), 1) -> [2]",
    ),
    _row(
        "array_replace",
        (_LIST, _ELEMENT, _ELEMENT),
        _up_to(_REPLACED, _FIRST),
        "the first such element replaced by the third argument",
        aliases=("list_replace",),
        example="array_replace(make_array(1, 2, 1), 1, 5) -> [5, 2, 1]",
    ),
    _counted(
        "array_replace_n",
        (_LIST, _ELEMENT, _ELEMENT),
        _REPLACED,
        "the first n such elements replaced: array_replace_n(list, from, to, n)",
        aliases=("list_replace_n",),
        example="array_replace_n(make_array(1, 1, 1), 1, 5, 2) -> [5, 5, 1]",
    ),
    _row(
        "array_replace_all",
        (_LIST, _ELEMENT, _ELEMENT),
        f"transform({{0}}, {_X} -> IF({_SAME}, {{2}}, {_X}))",
        "every such element replaced by the third argument",
        aliases=("list_replace_all",),
        example="array_replace_all(make_array(1, 2, 1), 1, 5) -> [5, 2, 5]",
    ),
    ScalarFunction(
        "array_slice",
        (Signature((_LIST, BIGINT, BIGINT, BIGINT), Result.FIRST, optional=1),),
        _slice,
        "from one place to another, both included, every n-th: also list[from:to]",
        Nulls.ALWAYS,
        aliases=("list_slice",),
        example="array_slice(make_array(1, 2, 3, 4), 2, -2) -> [2, 3]",
    ),
    ScalarFunction(
        "array_sort",
        (Signature((_LIST, TEXT, TEXT), Result.FIRST, optional=2),),
        _sorted,
        "in order: array_sort(list, 'ASC' or 'DESC', 'NULLS FIRST' or 'NULLS LAST')",
        aliases=("list_sort",),
        example="array_sort(make_array(2, 3, 1), 'DESC') -> [3, 2, 1]",
    ),
    ScalarFunction(
        "array_resize",
        (Signature((_LIST, BIGINT, _ELEMENT), Result.LIST_OF_COMMON, optional=1),),
        _resized,
        "of n elements: cut, or filled up with the third argument, else with NULL",
        Nulls.ALWAYS,
        aliases=("list_resize",),
        example="array_resize(make_array(1, 2), 4, 0) -> [1, 2, 0, 0]",
    ),
    ScalarFunction(
        "array_pop_back",
        (Signature((_LIST,), Result.FIRST),),
        "slice({0}, 1, greatest(size({0}) - 1, 0))",
        "without the last element",
        aliases=("list_pop_back",),
        example="array_pop_back(make_array(1, 2, 3)) -> [1, 2]",
    ),
    ScalarFunction(
        "array_pop_front",
        (Signature((_LIST,), Result.FIRST),),
        "slice({0}, 2, size({0}))",
        "without the first element",
        aliases=("list_pop_front",),
        example="array_pop_front(make_array(1, 2, 3)) -> [2, 3]",
    ),
)
