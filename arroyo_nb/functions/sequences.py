"""Lists that are made of a few values: sequences of numbers and times, and repeats."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
)
from arroyo_nb.functions.types import fits, is_integer
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    INTERVAL,
    NULL,
    TEXT,
    ListOf,
    Timestamp,
    Type,
    spark_type,
)

_TIME = Timestamp()


def _type(types: Sequence[Type], _: Literals) -> Type:
    """Of numbers a list of BIGINT, of dates and texts one of dates, of other times one
    of times; NULL of a bare NULL."""
    if NULL in types:
        return NULL
    ends = types[:2]
    if all(map(is_integer, types)):
        return ListOf(BIGINT)
    if len(types) == 3 and types[2] == INTERVAL:
        if all(end in (DATE, TEXT) for end in ends):
            return ListOf(DATE)
        if all(fits(end, _TIME) for end in ends):
            return ListOf(_TIME)
    given = ", ".join(map(str, types))
    raise CatalogProblem(
        f"a sequence is not of ({given})",
        hint="write generate_series(1, 10), or two DATEs or two TIMESTAMPs and an "
        "INTERVAL",
    )


def _repeated_type(types: Sequence[Type], _: Literals) -> Type:
    if types[1] == NULL:
        raise CatalogProblem("array_repeat() takes a whole number as count, not NULL")
    return ListOf(types[0])


def _sequence(name: str) -> DataFusionTemplate:
    def template(arguments: Sequence[Argument]) -> str:
        if _is_zero(arguments):
            raise CatalogProblem(
                f"the step of {name}() must not be zero", span=arguments[2].span
            )
        if len(arguments) == 3:
            _check_days(name, arguments[0], arguments[2])
        places = [f"{{{n}}}" for n in range(len(arguments))]
        type_ = _type([a.type for a in arguments], ())
        if isinstance(type_, ListOf) and type_.element != BIGINT:
            places[:2] = (f"CAST({end} AS {type_.element})" for end in places[:2])
        return f"{name}({', '.join(places)})"

    return template


def _is_zero(arguments: Sequence[Argument]) -> bool:
    if len(arguments) < 3:
        return False
    step = arguments[2]
    return step.number == 0 or (step.duration is not None and not step.duration)


def _check_days(name: str, start: Argument, step: Argument) -> None:
    if (
        start.type in (DATE, TEXT)
        and step.duration is not None
        and abs(step.duration) < timedelta(days=1)
    ):
        raise CatalogProblem(
            f"the step of {name}() over dates is a day at least",
            span=step.span,
            hint="cast the dates to TIMESTAMP for a shorter one",
        )


def _repeated(arguments: Sequence[Argument]) -> str:
    value, count = arguments
    one = f"CAST(NULL AS {spark_type(TEXT)})" if value.type == NULL else value.sql
    return f"array_repeat({one}, CAST(coalesce({count.sql}, 0) AS INT))"


_SIGNATURES = (Signature((ParameterKind.ANY,) * 3, _type, optional=2),)

FUNCTIONS = (
    ScalarFunction(
        "generate_series",
        _SIGNATURES,
        None,
        "from the first to the second, with it, in steps of 1, or of the third",
        example="generate_series(1, 7, 3) -> [1, 4, 7]",
        datafusion=_sequence("generate_series"),
    ),
    ScalarFunction(
        "range",
        _SIGNATURES,
        None,
        "from the first (or 0) to the second, without it, in steps of 1, or of the "
        "third",
        example="range(1, 7, 3) -> [1, 4]",
        datafusion=_sequence("range"),
    ),
    ScalarFunction(
        "array_repeat",
        tuple(
            Signature((ParameterKind.ANY, count), _repeated_type)
            for count in (BIGINT, BIGINT_UNSIGNED)
        ),
        _repeated,
        "n times the value, as a list; none of them where n is NULL",
        Nulls.NEVER,
        aliases=("list_repeat",),
        example="array_repeat('ab', 2) -> ['ab', 'ab']",
    ),
)
