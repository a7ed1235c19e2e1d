"""The first that is not NULL, the greatest, and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
)

_ANY_NUMBER = (Signature((ParameterKind.ANY,), Result.COMMON, repeats=True),)
_TWO = (Signature((ParameterKind.ANY, ParameterKind.ANY), Result.COMMON),)


def _extreme(function: str) -> Callable[[Sequence[Argument]], str]:
    """Spark wants two arguments at least; both engines ignore NULLs."""

    def template(arguments: Sequence[Argument]) -> str:
        first, *others = (a.sql for a in arguments)
        return f"{function}({', '.join((first, *others))})" if others else first

    return template


def _while_null(before: Sequence[str]) -> str:
    return " AND ".join(f"({argument} IS NULL)" for argument in before)


def _by_the_first(before: Sequence[str]) -> str:
    words = ("", "IS NOT NULL", "IS NULL")
    return f"({before[0]} {words[len(before)]})" if before else ""


FUNCTIONS = (
    ScalarFunction(
        "coalesce",
        _ANY_NUMBER,
        "coalesce({all})",
        "the first argument that is not NULL",
        Nulls.ALL,
        example="coalesce(NULL, 2, 3) -> 2",
        only_where=_while_null,
    ),
    ScalarFunction(
        "greatest",
        _ANY_NUMBER,
        _extreme("greatest"),
        "the greatest",
        Nulls.ALL,
        example="greatest(1, 3, 2) -> 3",
    ),
    ScalarFunction(
        "least",
        _ANY_NUMBER,
        _extreme("least"),
        "the least",
        Nulls.ALL,
        example="least(3, 1, 2) -> 1",
    ),
    ScalarFunction(
        "nullif",
        _TWO,
        "nullif({0}, {1})",
        "NULL where both are equal",
        Nulls.ALWAYS,
        example="nullif(1, 1) -> NULL",
    ),
    ScalarFunction(
        "nvl",
        _TWO,
        "coalesce({0}, {1})",
        "the second where the first is NULL",
        Nulls.ALL,
        aliases=("ifnull",),
        example="nvl(NULL, 'none') -> 'none'",
        only_where=_while_null,
    ),
    ScalarFunction(
        "nvl2",
        (
            Signature(
                (ParameterKind.ANY, ParameterKind.ANY, ParameterKind.ANY),
                Result.COMMON_OF_REST,
            ),
        ),
        "IF({0} IS NOT NULL, {1}, {2})",
        "the second where the first is not NULL, else the third",
        Nulls.ALWAYS,
        example="nvl2(NULL, 'some', 'none') -> 'none'",
        only_where=_by_the_first,
    ),
)
