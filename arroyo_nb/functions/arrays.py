"""Lists. Places count from 1; NULL elements are elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.errors import Unsupported
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.list_edits import PLACES
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    TEXT,
    ListOf,
    Type,
    spark_type,
)


def element(array: str, index: str) -> str:
    """The element at a place, from the end for a negative one; NULL where there is
    none, and 0 is none."""
    return f"try_element_at({array}, CAST(nullif({index}, 0) AS INT))"


def _row(
    name: str,
    parameters: tuple[Type | ParameterKind, ...],
    result: Type | Result | Callable[[Sequence[Type], Literals], Type],
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


def _position(arguments: Sequence[Argument]) -> str:
    items, value, *start = (a.sql for a in arguments)
    places = PLACES.format(items, value)
    if start:
        places = f"filter({places}, __place__ -> __place__ >= {start[0]})"
    return f"CAST(try_element_at({places}, 1) AS DECIMAL(20, 0))"


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


def _flattened(arguments: Sequence[Argument]) -> str:
    (items,) = arguments
    if _depth(items.type) < 2:
        return items.sql
    # Of a list with a NULL in it, Spark's is NULL.
    return f"flatten(filter({items.sql}, __element__ -> __element__ IS NOT NULL))"


def _depth(type_: Type) -> int:
    return 1 + _depth(type_.element) if isinstance(type_, ListOf) else 0


def _firsts(items: Argument) -> list[str]:
    """A list, its first element, the first of that."""
    firsts = [items.sql]
    for _ in range(_depth(items.type) - 1):
        firsts.append(f"try_element_at({firsts[-1]}, 1)")
    return firsts


def _length(arguments: Sequence[Argument]) -> str:
    items, *dimension = arguments
    if not dimension:
        return _LENGTH.format(items.sql)
    number = dimension[0].number
    if number is None:
        raise Unsupported(
            "the dimension of array_length must be a literal",
            span=dimension[0].span,
            hint="write array_length(list, 1)",
        )
    firsts = _firsts(items)
    if not 0 < number <= len(firsts):
        return "CAST(NULL AS DECIMAL(20, 0))"
    return _LENGTH.format(firsts[number - 1])


def _dimensions(arguments: Sequence[Argument]) -> str:
    (items,) = arguments
    firsts = _firsts(items)
    sizes = ", ".join(f"CAST(size({first}) AS DECIMAL(20, 0))" for first in firsts)
    some = f"filter(array({sizes}), __element__ -> __element__ IS NOT NULL)"
    return f"IF({items.sql} IS NULL, NULL, {some})"


# DECIMAL is what a BIGINT UNSIGNED is to Spark.
_LENGTH = "CAST(size({0}) AS DECIMAL(20, 0))"

FUNCTIONS = (
    _row(
        "array_length",
        (ParameterKind.LIST, BIGINT),
        BIGINT_UNSIGNED,
        _length,
        "number of elements; of those of its first element, as array_length(list, 2)",
        optional=1,
        nulls=Nulls.ALWAYS,
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
    ScalarFunction(
        "array_position",
        (
            Signature(
                (ParameterKind.LIST, ParameterKind.ELEMENT, BIGINT),
                BIGINT_UNSIGNED,
                optional=1,
            ),
        ),
        _position,
        "place of the first such element, from the third argument on; NULL where "
        "there is none",
        Nulls.ALWAYS,
        aliases=("list_position", "array_indexof", "list_indexof"),
        example="array_position(make_array('a', 'b'), 'b') -> 2",
    ),
    _row(
        "array_positions",
        (ParameterKind.LIST, ParameterKind.ELEMENT),
        ListOf(BIGINT_UNSIGNED),
        f"CAST({PLACES} AS {spark_type(ListOf(BIGINT_UNSIGNED))})",
        "the places of all such elements",
        aliases=("list_positions",),
        example="array_positions(make_array('a', 'b', 'a'), 'a') -> [1, 3]",
    ),
    _row(
        "array_any_value",
        (ParameterKind.LIST,),
        Result.ELEMENT,
        "try_element_at(filter({0}, __element__ -> __element__ IS NOT NULL), 1)",
        "the first element that is not NULL",
        aliases=("list_any_value",),
        nulls=Nulls.ALWAYS,
        example="array_any_value(make_array(NULL, 2, 3)) -> 2",
    ),
    ScalarFunction(
        "array_concat",
        (Signature((ParameterKind.LIST,), Result.LIST_OF_COMMON, repeats=True),),
        _concatenated,
        "one after the other; NULL counts as an empty list",
        Nulls.ALL,
        aliases=("array_cat", "list_concat", "list_cat"),
        example="array_concat(make_array(1), make_array(2, 3)) -> [1, 2, 3]",
    ),
    _row(
        "flatten",
        (ParameterKind.LIST,),
        _flat_type,
        _flattened,
        "the elements of the lists in a list, one level",
        example="flatten(make_array(make_array(1), make_array(2, 3))) -> [1, 2, 3]",
    ),
    _row(
        "array_ndims",
        (ParameterKind.LIST,),
        BIGINT_UNSIGNED,
        lambda a: f"IF({a[0].sql} IS NULL, NULL, {_depth(a[0].type)}BD)",
        "how deep lists are in it: 1 where its elements are none",
        aliases=("list_ndims",),
        example="array_ndims(make_array(make_array(1))) -> 2",
    ),
    _row(
        "array_dims",
        (ParameterKind.LIST,),
        ListOf(BIGINT_UNSIGNED),
        _dimensions,
        "the number of elements, and of those of its first element",
        aliases=("list_dims",),
        example="array_dims(make_array(make_array(1, 2, 3))) -> [1, 3]",
    ),
    _row(
        "array_distance",
        (ListOf(DOUBLE), ListOf(DOUBLE)),
        DOUBLE,
        "IF(size({0}) <> size({1}), raise_error("
        "'array_distance() takes two lists of one length'), "
        "aggregate(zip_with({0}, {1}, (x, y) -> (x - y) * (x - y)), 0D, "
        "(s, x) -> s + x, s -> sqrt(s)))",
        "Euclidean distance of two lists of numbers",
        nulls=Nulls.ALWAYS,
        aliases=("list_distance",),
        example="array_distance(make_array(0, 0), make_array(3, 4)) -> 5.0",
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
        (
            Signature((ParameterKind.ANY,), Result.LIST_OF_COMMON, repeats=True),
            Signature((), ListOf(BIGINT)),
        ),
        lambda a: (
            f"array({', '.join(item.sql for item in a)})"
            if a
            else "CAST(array() AS array<bigint>)"
        ),
        "a list of the arguments",
        Nulls.NEVER,
        aliases=("make_list",),
        example="make_array(1, 2) -> [1, 2]",
    ),
)
