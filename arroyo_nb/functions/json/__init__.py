"""JSON: values found by names and indices, as DataFusion's functions of JSON have them.

A document is a TEXT, a JSON column, or what ``->`` gave. What is no JSON has the values
up to where it is broken; a value of another type than is asked for is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from arroyo_nb.functions.json import find, paths, quick
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    JSON_VALUE,
    TEXT,
    Decimal,
    ListOf,
    Primitive,
    Type,
)

GET = "json_get"
"""The function that ``->`` is."""

_GETTERS: dict[Type, str] = {
    TEXT: "json_get_str",
    BOOLEAN: "json_get_bool",
    **{Primitive(n): "json_get_int" for n in ("INT", "BIGINT")},
    **{Primitive(n): "json_get_float" for n in ("FLOAT", "DOUBLE")},
}


def getter(type_: Type) -> str | None:
    """The function that a cast of what ``->`` gives stands for; None: there is none."""
    return _GETTERS.get(DOUBLE if isinstance(type_, Decimal) else type_)


def _step(argument: Argument) -> find.Step:
    return argument.sql if argument.type == TEXT else (argument.sql,)


def _literal(argument: Argument) -> str | int | None:
    return argument.number if argument.literal is None else argument.literal


def _found(
    of_text: Callable[[str], str],
    by_spark: quick.Quick | None,
    arguments: Sequence[Argument],
) -> str:
    """What is made of the exact text of a value, or of what Spark finds."""
    document, *steps = arguments
    found = find.find(document.sql, list(map(_step, steps)))
    if by_spark is not quick.exists:  # a value that is broken is there
        found = find.unbroken(found)
    exact = of_text(found)
    at = quick.path(document.sql, list(map(_literal, steps)))
    if by_spark is None or at is None:
        return exact
    return at.once_found(by_spark(at, exact))


def _row(
    name: str,
    result: Type,
    of_text: str,
    doc: str,
    example: str,
    by_spark: quick.Quick | None = None,
) -> ScalarFunction:
    template: Template = partial(_found, find.of(of_text), by_spark)
    parameters = (ParameterKind.DOCUMENT, ParameterKind.KEY)
    signature = Signature(parameters, result, optional=1, repeats=True)
    is_test = result == BOOLEAN and name == "json_contains"
    return ScalarFunction(
        name,
        (signature,),
        template,
        doc,
        Nulls.NEVER if is_test else Nulls.ALWAYS,
        example=example,
    )


def _by_path(
    name: str, result: Type, template: Template, doc: str, example: str
) -> ScalarFunction:
    signature = Signature((ParameterKind.DOCUMENT, TEXT), result)
    return ScalarFunction(
        name, (signature,), template, doc, Nulls.ALWAYS, example=example
    )


_DOCUMENT = """'{"a": [1, "x"], "b": {"c": 2.50}}'"""
# Of a value that is missing it is no element, and of {} none.
_NAMES = "IF(startswith({0}, '{{'), json_object_keys({0}), NULL)"
_LENGTH = (
    "CAST(IF(startswith({0}, '{{'), size(json_object_keys({0})), "
    "json_array_length({0})) AS DECIMAL(20, 0))"
)

_OF_STEPS = (
    _row(
        GET,
        JSON_VALUE,
        "nullif({0}, 'null')",
        "j -> 'a': the value at a path of names and indices; cast it to the type that "
        "it should have",
        f"json_get({_DOCUMENT}, 'a', 1)::TEXT -> 'x'",
        quick.raw,
    ),
    _row(
        "json_as_text",
        TEXT,
        find.AS_TEXT,
        "j ->> 'a': the value at a path as text, NULL where it is null",
        f"json_as_text({_DOCUMENT}, 'b', 'c') -> '2.50'",
        quick.text,
    ),
    _row(
        "json_get_str",
        TEXT,
        find.AS_STRING,
        "the text at a path; NULL where the value is none",
        f"json_get_str({_DOCUMENT}, 'a', 1) -> 'x'",
        quick.string,
    ),
    _row(
        "json_get_int",
        BIGINT,
        find.AS_INT,
        "the whole number at a path; NULL where the value is none",
        f"json_get_int({_DOCUMENT}, 'a', 0) -> 1",
        quick.whole,
    ),
    _row(
        "json_get_float",
        DOUBLE,
        find.AS_FLOAT,
        "the number at a path; NULL where the value is none",
        f"json_get_float({_DOCUMENT}, 'b', 'c') -> 2.5",
        quick.real,
    ),
    _row(
        "json_get_bool",
        BOOLEAN,
        find.AS_BOOLEAN,
        "true or false at a path; NULL where the value is neither",
        """json_get_bool('{"ok": true}', 'ok') -> true""",
        quick.boolean,
    ),
    _row(
        "json_get_json",
        TEXT,
        "{0}",
        "the JSON text of the value at a path, as it is written",
        f"""json_get_json({_DOCUMENT}, 'b') -> '{{"c": 2.50}}'""",
        quick.raw,
    ),
    _row(
        "json_contains",
        BOOLEAN,
        "({0} IS NOT NULL)",
        "j ? 'a': is there a value at a path? Null is one",
        f"json_contains({_DOCUMENT}, 'b', 'd') -> false",
        quick.exists,
    ),
    _row(
        "json_length",
        BIGINT_UNSIGNED,
        _LENGTH,
        "number of elements of a list, or of names of an object",
        f"json_length({_DOCUMENT}, 'a') -> 2",
    ),
    _row(
        "json_object_keys",
        ListOf(TEXT),
        _NAMES,
        "the names of an object, as they come",
        f"json_object_keys({_DOCUMENT}) -> ['a', 'b']",
    ),
)

_OF_PATHS = (
    _by_path(
        "extract_json",
        ListOf(TEXT),
        paths.all_texts,
        "the JSON text of each value at a JSONPath, as in '$.items[*].price'",
        f"extract_json({_DOCUMENT}, '$.a[*]') -> ['1', '\"x\"']",
    ),
    _by_path(
        "extract_json_string",
        TEXT,
        partial(paths.first, find.AS_STRING, quick.string),
        "the first value at a JSONPath, where it is a text",
        f"extract_json_string({_DOCUMENT}, '$.a[1]') -> 'x'",
    ),
    _by_path(
        "get_first_json_object",
        TEXT,
        partial(paths.first, find.COMPACT, quick.raw),
        "the JSON text of the first value at a JSONPath",
        f"get_first_json_object({_DOCUMENT}, '$.b') -> '{{\"c\":2.50}}'",
    ),
)

FUNCTIONS = (*_OF_STEPS, *_OF_PATHS)

NAMES = frozenset(row.name for row in _OF_STEPS)
"""What reads a path: ``j -> 'a' -> 'b'`` is one path."""
