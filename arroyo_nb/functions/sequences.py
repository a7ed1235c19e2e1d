"""Lists that are made of a few values: sequences of numbers and times, and repeats."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.functions.types import fits
from arroyo_nb.schema import (
    BIGINT,
    DATE,
    INTERVAL,
    ListOf,
    Timestamp,
    Type,
    spark_type,
)

_TIME = Timestamp()


def _times_type(types: Sequence[Type], _: Literals) -> Type:
    """Of dates a list of dates, of other times one of times."""
    ends = types[:2]
    if all(end == DATE for end in ends):
        return ListOf(DATE)
    if all(fits(end, _TIME) for end in ends):
        return ListOf(_TIME)
    given = ", ".join(map(str, types))
    raise CatalogProblem(
        f"a sequence is not of ({given})",
        hint="write generate_series(1, 10), or two times and an INTERVAL",
    )


def _sequence(name: str, *, includes_end: bool) -> Template:
    def template(arguments: Sequence[Argument]) -> str:
        *ends, step = _start_end_step(arguments)
        element: Type = BIGINT
        if arguments[-1].type == INTERVAL:
            types = [a.type for a in arguments]
            made = _times_type(types, ())
            assert isinstance(made, ListOf)
            element = made.element
            pairs = zip(ends, types, strict=False)
            ends = [cast(end, given, element) for end, given in pairs]
        start, end = ends
        if _is_zero(arguments):
            raise CatalogProblem(
                f"the step of {name}() must not be zero", span=arguments[2].span
            )
        zero = "INTERVAL '0' SECOND" if element != BIGINT else "0"
        made_list = f"sequence({start}, {end}, {step})"
        if not includes_end:
            made_list = f"filter({made_list}, __element__ -> __element__ <> {end})"
        # Against its step, Spark's sequence fails.
        return (
            f"CASE WHEN {step} = {zero} THEN raise_error('the step of {name}() is 0') "
            f"WHEN {start} <= {end} AND {step} > {zero} "
            f"OR {start} >= {end} AND {step} < {zero} THEN {made_list} "
            f"WHEN {start} <> {end} THEN CAST(array() AS {spark_type(ListOf(element))})"
            " END"
        )

    return template


def _start_end_step(arguments: Sequence[Argument]) -> tuple[str, str, str]:
    match [a.sql for a in arguments]:
        case [end]:
            return "0L", end, "1L"
        case [start, end]:
            return start, end, "1L"
        case [start, end, step]:
            return start, end, step
        case _:
            raise AssertionError(arguments)


def _is_zero(arguments: Sequence[Argument]) -> bool:
    if len(arguments) < 3:
        return False
    step = arguments[2]
    return step.number == 0 or (step.duration is not None and not step.duration)


_SIGNATURES = (
    Signature((BIGINT,), ListOf(BIGINT)),
    Signature((BIGINT, BIGINT, BIGINT), ListOf(BIGINT), optional=1),
    Signature((ParameterKind.ANY, ParameterKind.ANY, INTERVAL), _times_type),
)

FUNCTIONS = (
    ScalarFunction(
        "generate_series",
        _SIGNATURES,
        _sequence("generate_series", includes_end=True),
        "from the first to the second, with it, in steps of 1, or of the third",
        example="generate_series(1, 7, 3) -> [1, 4, 7]",
    ),
    ScalarFunction(
        "range",
        _SIGNATURES,
        _sequence("range", includes_end=False),
        "from the first (or 0) to the second, without it, in steps of 1, or of the "
        "third",
        example="range(1, 7, 3) -> [1, 4]",
    ),
    ScalarFunction(
        "array_repeat",
        (
            Signature(
                (ParameterKind.ANY, BIGINT),
                lambda types, _: ListOf(types[0]),
            ),
        ),
        "array_repeat({0}, CAST({1} AS INT))",
        "n times the value, as a list",
        aliases=("list_repeat",),
        example="array_repeat('ab', 2) -> ['ab', 'ab']",
    ),
)
