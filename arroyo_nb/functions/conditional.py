"""The first that is not NULL, the greatest, and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions import floats
from arroyo_nb.functions.datafusion import datafusion_call
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    operand,
    same_call,
)
from arroyo_nb.functions.types import chosen_type, is_number
from arroyo_nb.schema import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    NULL,
    TEXT,
    Decimal,
    ListOf,
    StructOf,
    Type,
)

_ANY_NUMBER = (Signature((ParameterKind.ANY,), Result.COMMON, repeats=True),)
_TWO = (ParameterKind.ANY, ParameterKind.ANY)


def _extreme(function: str) -> Callable[[Sequence[Argument]], str]:
    """Spark wants two arguments at least; both engines ignore NULLs."""

    def template(arguments: Sequence[Argument]) -> str:
        texts = [a.sql for a in arguments]
        if len(texts) == 1:
            return texts[0]
        if arguments[0].type in (FLOAT, DOUBLE):
            return floats.extreme(function, texts)
        return f"{function}({', '.join(texts)})"

    return template


def _nullif(arguments: Sequence[Argument]) -> str:
    one, other = (a.sql for a in arguments)
    if isinstance(arguments[0].type, ListOf | StructOf):
        raise CatalogProblem(
            "nullif() compares no lists and structs",
            span=arguments[0].span,
            hint="write CASE WHEN a = b THEN NULL ELSE a END",
        )
    if arguments[0].type in (FLOAT, DOUBLE):
        return f"IF({floats.equal('=', one, other)}, NULL, {one})"
    return f"nullif({one}, {other})"


def _while_null(before: Sequence[Argument]) -> str:
    return " AND ".join(_null_test(argument, "IS NULL") for argument in before)


def _by_the_first(before: Sequence[Argument]) -> str:
    words = ("", "IS NOT NULL", "IS NULL")
    return _null_test(before[0], words[len(before)]) if before else ""


def _null_test(argument: Argument, words: str) -> str:
    if argument.has_months:
        # Spark cannot be given the value.
        return datafusion_call(f"({{0}} {words})", [operand(argument)], BOOLEAN)
    return f"({argument.sql} {words})"


def _arroyos_nvl_type(types: Sequence[Type], _: Literals) -> Type:
    """The first type of a list of DataFusion's that takes both; TEXT is the last."""
    if any(isinstance(type_, StructOf) for type_ in types):
        raise CatalogProblem(
            "nvl() takes no struct", hint="write coalesce(), which takes it"
        )
    if not all(is_number(type_) or type_ == NULL for type_ in types):
        return BOOLEAN if set(types) <= {BOOLEAN, NULL} else TEXT
    if any(isinstance(type_, Decimal) for type_ in types):
        return DOUBLE
    common = chosen_type(types)
    return FLOAT if isinstance(common, Decimal) else common or TEXT


_ARROYOS_NVL = ScalarFunction(
    "nvl",
    (Signature(_TWO, _arroyos_nvl_type),),
    "",
    "the second where the first is NULL",
    Nulls.ALL,
    example="nvl(NULL, 'none') -> 'none'",
    datafusion=lambda _: "nvl({0}, {1})",
)


def _of_months(name: str) -> DataFusionTemplate:
    """DataFusion chooses among intervals that may have months."""

    def template(arguments: Sequence[Argument]) -> str:
        if not any(argument.has_months for argument in arguments):
            return ""
        return same_call(name)(arguments)

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
        (Signature(_TWO, Result.COMMON_OF_ONE_TIME),),
        _nullif,
        "NULL where both are equal",
        Nulls.ALWAYS,
        example="nullif(1, 1) -> NULL",
        datafusion=_of_months("nullif"),
    ),
    ScalarFunction(
        "nvl",
        (Signature(_TWO, Result.COMMON_OR_TEXT),),
        "coalesce({0}, {1})",
        "the second where the first is NULL",
        Nulls.ALL,
        aliases=("ifnull",),
        arroyos=_ARROYOS_NVL,
        example="nvl(NULL, 'none') -> 'none'",
        only_where=_while_null,
        datafusion=_of_months("coalesce"),
    ),
    ScalarFunction(
        "nvl2",
        (Signature((ParameterKind.ANY, *_TWO), Result.COMPARED),),
        "IF({0} IS NOT NULL, {1}, {2})",
        "the second where the first is not NULL, else the third",
        Nulls.ALWAYS,
        example="nvl2(NULL, 'some', 'none') -> 'none'",
        only_where=_by_the_first,
        datafusion=_choice_of_months,
    ),
)
