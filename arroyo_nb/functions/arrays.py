"""Lists. Places count from 1; NULL elements are elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    Nulls,
    Parameter,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
    always,
    of_float_lists,
)
from arroyo_nb.functions.types import depth_of, is_integer
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    NULL,
    TEXT,
    ListOf,
    Type,
    spark_type,
)

_LIST, _TYPED = ParameterKind.LIST, ParameterKind.TYPED_LIST
_ELEMENT = ParameterKind.ELEMENT


def element(array: str, index: str) -> str:
    """The element at a place, from the end for a negative one; NULL where there is
    none, and 0 is none."""
    return f"try_element_at({array}, CAST(nullif({index}, 0) AS INT))"


def _row(
    name: str,
    parameters: tuple[Parameter, ...],
    result: Type | Result | Callable[[Sequence[Type], Literals], Type],
    template: Template | None,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    optional: int = 0,
    nulls: Nulls = Nulls.STRICT,
    example: str,
    datafusion: str | DataFusionTemplate | None = None,
) -> ScalarFunction:
    signature = Signature(parameters, result, optional=optional)
    return ScalarFunction(
        name,
        (signature,),
        template,
        doc,
        nulls,
        aliases,
        example=example,
        datafusion=always(datafusion) if isinstance(datafusion, str) else datafusion,
    )


def _element(arguments: Sequence[Argument]) -> str:
    return element(arguments[0].sql, arguments[1].sql)


_SHOWN = (TEXT, BOOLEAN, FLOAT, DOUBLE)


def _joined_type(types: Sequence[Type], _: Literals) -> Type:
    """Refuse what DataFusion has no text for."""
    innermost = types[0]
    while isinstance(innermost, ListOf):
        innermost = innermost.element
    if not (innermost in (*_SHOWN, NULL) or is_integer(innermost)):
        raise CatalogProblem(
            f"array_to_string() does not take a list of {innermost}",
            hint="write array_to_string(CAST(list AS TEXT[]), ',')",
        )
    if types[1] == NULL:
        raise CatalogProblem("the separator of array_to_string() is a text, not NULL")
    return TEXT


def _joined(arguments: Sequence[Argument]) -> str:
    items, _, *null = arguments
    if not null or null[0].was_null:
        return "array_to_string({0}, {1})"
    if null[0].literal is not None:
        return "array_to_string({0}, {1}, {2})"
    element = items.type.element if isinstance(items.type, ListOf) else NULL
    if not (element in (TEXT, BOOLEAN) or is_integer(element)):
        raise Unsupported(
            "the text for NULLs must be a literal",
            span=null[0].span,
            hint="write it as '...', or cast the list to TEXT[]",
        )
    # DataFusion takes that of the first row for all rows.
    return (
        "(CASE WHEN {2} IS NULL THEN array_to_string({0}, {1}) ELSE "
        "array_to_string(array_replace_all(CAST({0} AS TEXT[]), "
        "CAST(NULL AS TEXT), {2}), {1}) END)"
    )


def _position(arguments: Sequence[Argument]) -> str:
    """DataFusion fails where the first place that counts is behind the list's end."""
    start, more = ("{2}", ", {2}") if len(arguments) == 3 else ("1", "")
    is_there = f"{start} BETWEEN 1 AND array_length({{0}})"
    return f"(CASE WHEN {is_there} THEN array_position({{0}}, {{1}}{more}) END)"


def _concatenated(arguments: Sequence[Argument]) -> str:
    lists = [a.sql for a in arguments]
    if len(lists) == 1:
        return lists[0]
    whole = ", ".join(f"coalesce({text}, array())" for text in lists)
    return f"IF(coalesce({', '.join(lists)}) IS NULL, NULL, concat({whole}))"


def _flat_type(types: Sequence[Type], _: Literals) -> Type:
    match types[0]:
        case ListOf(ListOf() as inner):
            return inner
        case given:
            return given


def _length(arguments: Sequence[Argument]) -> str:
    return _LENGTH.format(arguments[0].sql)


def _length_elsewhere(arguments: Sequence[Argument]) -> str:
    if len(arguments) == 1 or arguments[1].number == 1:
        return ""
    return "array_length({0}, {1})"


def _distance_type(types: Sequence[Type], _: Literals) -> Type:
    if NULL in types:
        raise CatalogProblem("array_distance() takes two lists, not NULL")
    return DOUBLE


def _made(arguments: Sequence[Argument]) -> str:
    made = f"array({', '.join(a.sql for a in arguments)})"
    if all(a.type == NULL for a in arguments):
        return f"CAST({made} AS {spark_type(ListOf(NULL))})"
    return made


# DECIMAL is what a BIGINT UNSIGNED is to Spark.
_LENGTH = "CAST(size({0}) AS DECIMAL(20, 0))"
_PLACES = ("{0}", "{1}", "{2}")

FUNCTIONS = (
    _row(
        "array_length",
        (_TYPED, BIGINT),
        BIGINT_UNSIGNED,
        _length,
        "number of elements; of those of its first element, as array_length(list, 2)",
        optional=1,
        nulls=Nulls.ALWAYS,
        aliases=("list_length",),
        example="array_length(make_array('a', 'b')) -> 2",
        datafusion=_length_elsewhere,
    ),
    _row(
        "cardinality",
        (_LIST,),
        BIGINT_UNSIGNED,
        "nullif(CAST(size({0}) AS DECIMAL(20, 0)), 0)",
        "number of elements, of those of lists in it; NULL where there is none",
        nulls=Nulls.ALWAYS,
        example="cardinality(make_array('a', 'b')) -> 2",
        datafusion=lambda a: (
            "cardinality({0})" if depth_of(a[0].type) > 1 or a[0].was_null else ""
        ),
    ),
    _row(
        "array_has",
        (_TYPED, _ELEMENT),
        BOOLEAN,
        # Beside a NULL, what is not there is NULL to Spark.
        "IF({0} IS NULL OR {1} IS NULL, NULL, "
        "coalesce(array_contains({0}, {1}), FALSE))",
        "is the value an element?",
        aliases=("array_contains", "list_has", "list_contains"),
        example="array_has(make_array(1, 2), 2) -> true",
        # Its own array_has() of a literal and an empty list is NULL in some batches.
        datafusion=of_float_lists(
            "(CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL "
            "WHEN array_length({0}) = 0 THEN FALSE "
            "ELSE array_position({0}, {1}) IS NOT NULL END)",
        ),
    ),
    _row(
        "array_element",
        (_LIST, BIGINT),
        Result.ELEMENT,
        _element,
        "the n-th element, NULL where there is none",
        aliases=("array_extract", "list_element", "list_extract"),
        nulls=Nulls.ALWAYS,
        example="array_element(make_array('a', 'b'), 2) -> 'b'",
    ),
    _row(
        "array_reverse",
        (_LIST,),
        Result.FIRST,
        "reverse({0})",
        "back to front",
        aliases=("list_reverse",),
        example="array_reverse(make_array(1, 2)) -> [2, 1]",
    ),
    _row(
        "array_max",
        (_TYPED,),
        Result.ELEMENT,
        "array_max({0})",
        "the greatest element",
        aliases=("list_max",),
        nulls=Nulls.ALWAYS,
        example="array_max(make_array(1, 3, 2)) -> 3",
        datafusion=of_float_lists("array_max({0})"),
    ),
    _row(
        "array_position",
        (_TYPED, _ELEMENT, BIGINT),
        BIGINT_UNSIGNED,
        None,
        "place of the first such element, from the third argument on; NULL where "
        "there is none",
        optional=1,
        nulls=Nulls.ALWAYS,
        aliases=("list_position", "array_indexof", "list_indexof"),
        example="array_position(make_array('a', 'b'), 'b') -> 2",
        datafusion=_position,
    ),
    _row(
        "array_positions",
        (_TYPED, _ELEMENT),
        ListOf(BIGINT_UNSIGNED),
        None,
        "the places of all such elements",
        nulls=Nulls.ALWAYS,
        aliases=("list_positions",),
        example="array_positions(make_array('a', 'b', 'a'), 'a') -> [1, 3]",
        datafusion="array_positions({0}, {1})",
    ),
    _row(
        "array_any_value",
        (_TYPED,),
        Result.ELEMENT,
        None,
        "the first element that is not NULL",
        aliases=("list_any_value",),
        nulls=Nulls.ALWAYS,
        example="array_any_value(make_array(NULL, 2, 3)) -> 2",
        datafusion="array_any_value({0})",
    ),
    ScalarFunction(
        "array_concat",
        (Signature((_TYPED,), Result.LIST_OF_COMMON, repeats=True),),
        _concatenated,
        "one after the other; NULL counts as an empty list",
        Nulls.ALL,
        aliases=("array_cat", "list_concat", "list_cat"),
        example="array_concat(make_array(1), make_array(2, 3)) -> [1, 2, 3]",
    ),
    _row(
        "flatten",
        (_LIST,),
        _flat_type,
        None,
        "the elements of the lists in a list, one level",
        nulls=Nulls.ALWAYS,
        example="flatten(make_array(make_array(1), make_array(2, 3))) -> [1, 2, 3]",
        datafusion="flatten({0})",
    ),
    _row(
        "array_ndims",
        (_LIST,),
        BIGINT_UNSIGNED,
        lambda a: f"IF({a[0].sql} IS NULL, NULL, {depth_of(a[0].type)}BD)",
        "how deep lists are in it: 1 where its elements are none",
        aliases=("list_ndims",),
        example="array_ndims(make_array(make_array(1))) -> 2",
    ),
    _row(
        "array_dims",
        (_TYPED,),
        ListOf(BIGINT_UNSIGNED),
        None,
        "the number of elements, and of those of its first element; NULL where there "
        "is none",
        nulls=Nulls.ALWAYS,
        aliases=("list_dims",),
        example="array_dims(make_array(make_array(1, 2, 3))) -> [1, 3]",
        datafusion="array_dims({0})",
    ),
    _row(
        "array_distance",
        (ListOf(DOUBLE), ListOf(DOUBLE)),
        _distance_type,
        None,
        "Euclidean distance of two lists of numbers",
        nulls=Nulls.ALWAYS,
        aliases=("list_distance",),
        example="array_distance(make_array(0, 0), make_array(3, 4)) -> 5.0",
        datafusion="array_distance({0}, {1})",
    ),
    _row(
        "array_to_string",
        (_TYPED, TEXT, TEXT),
        _joined_type,
        None,
        "joined with a separator; NULLs left out, or shown as the third",
        nulls=Nulls.ALWAYS,
        aliases=("array_join", "list_to_string", "list_join"),
        optional=1,
        example="array_to_string(make_array(1, 2), '-') -> '1-2'",
        datafusion=_joined,
    ),
    _row(
        "string_to_array",
        (TEXT, TEXT, TEXT),
        ListOf(TEXT),
        None,
        "the parts between separators, or the characters where that is NULL; NULL for "
        "a part that is the third",
        nulls=Nulls.ALWAYS,
        aliases=("string_to_list",),
        optional=1,
        example="string_to_array('a.b', '.') -> ['a', 'b']",
        datafusion=lambda a: f"string_to_array({', '.join(_PLACES[: len(a)])})",
    ),
    _row(
        "empty",
        (_TYPED,),
        BOOLEAN,
        "(size({0}) = 0)",
        "has it no element?",
        aliases=("array_empty", "list_empty"),
        example="empty(make_array(1)) -> false",
    ),
    ScalarFunction(
        "make_array",
        (
            Signature((ParameterKind.ANY,), Result.LIST_OF_COMMON, repeats=True),
            Signature((), ListOf(NULL)),
        ),
        _made,
        "a list of the arguments",
        Nulls.NEVER,
        aliases=("make_list",),
        example="make_array(1, 2) -> [1, 2]",
    ),
)
