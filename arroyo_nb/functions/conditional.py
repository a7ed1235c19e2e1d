"""The first that is not NULL, the greatest, and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
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


def _of_months(name: str) -> DataFusionTemplate:
    """DataFusion chooses among intervals that may have months."""

    def template(arguments: Sequence[Argument]) -> str:
        if not any(argument.has_months for argument in arguments):
            return ""
        places = ", ".join(f"{{{place}}}" for place in range(len(arguments)))
        return f"{name}({places})"

    return template


def _choice_of_months(arguments: Sequence[Argument]) -> str:
    if not any(argument.has_months for argument in arguments):
        return ""
    return "CASE WHEN {0} IS NOT NULL THEN {1} ELSE {2} END"


FUNCTIONS = (
    ScalarFunction(
        "coalesce",
        _ANY_NUMBER,
        "coalesce({all})",
        "the first argument that is not NULL",
        Nulls.ALL,
        example="coalesce(NULL, 2, 3) -> 2",
        only_where=_while_null,
        datafusion=_of_months("coalesce"),
    ),
    ScalarFunction(
        "greatest",
        _ANY_NUMBER,
        _extreme("greatest"),
        "the greatest",
        Nulls.ALL,
        example="greatest(1, 3, 2) -> 3",
        datafusion=_of_months("greatest"),
    ),
    ScalarFunction(
        "least",
        _ANY_NUMBER,
        _extreme("least"),
        "the least",
        Nulls.ALL,
        example="least(3, 1, 2) -> 1",
        datafusion=_of_months("least"),
    ),
    ScalarFunction(
        "nullif",
        _TWO,
        "nullif({0}, {1})",
        "NULL where both are equal",
        Nulls.ALWAYS,
        example="nullif(1, 1) -> NULL",
        datafusion=_of_months("nullif"),
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
        datafusion=_of_months("coalesce"),
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
        datafusion=_choice_of_months,
    ),
)
