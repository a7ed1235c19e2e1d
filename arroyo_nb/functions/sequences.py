"""Lists that are made of a few values: sequences of numbers and times, and repeats."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.schema import (
    BIGINT,
    DATE,
    INTERVAL,
    NULL,
    TEXT,
    ListOf,
    Timestamp,
    Type,
    spark_type,
)


def _times_type(types: Sequence[Type], _: Literals) -> Type:
    """Of dates and texts a list of dates, of TIMESTAMPs one of TIMESTAMPs."""
    ends = types[:2]
    if all(end in (DATE, TEXT, NULL) for end in ends):
        return ListOf(DATE)
    if all(isinstance(end, Timestamp) or end == NULL for end in ends):
        return ListOf(Timestamp())
    given = ", ".join(map(str, types))
    raise CatalogProblem(
        f"a sequence is not of ({given})",
        hint="write generate_series(1, 10), or two DATEs or two TIMESTAMPs and an "
        "INTERVAL",
    )


def _sequence(name: str, *, includes_end: bool) -> Template:
    def template(arguments: Sequence[Argument]) -> str:
        start, end, step = _start_end_step(arguments)
        if len(arguments) == 3 and arguments[2].number == 0:
            raise CatalogProblem(
                f"the step of {name}() must not be zero", span=arguments[2].span
            )
        none = f"CAST(array() AS {spark_type(ListOf(BIGINT))})"
        made_list = f"sequence({start}, {end}, {step})"
        if not includes_end:
            made_list = f"filter({made_list}, __element__ -> __element__ <> {end})"
        # Against its step, Spark's sequence fails.
        return (
            f"CASE WHEN {step} = 0 THEN raise_error('the step of {name}() is 0') "
            f"WHEN {start} <= {end} AND {step} > 0 "
            f"OR {start} >= {end} AND {step} < 0 THEN {made_list} "
            f"WHEN {start} <> {end} AND {step} IS NOT NULL THEN {none} END"
        )

    return template


def _of_times(name: str) -> DataFusionTemplate:
    """DataFusion steps through times, by months too."""

    def template(arguments: Sequence[Argument]) -> str:
        if arguments[-1].type != INTERVAL:
            return ""
        start, _, step = arguments
        is_zero = step.duration is not None and not step.duration
        _check_step(name, start, step, is_zero=is_zero)
        return f"{name}({{0}}, {{1}}, {{2}})"

    return template


def _check_step(name: str, start: Argument, step: Argument, *, is_zero: bool) -> None:
    if is_zero:
        raise CatalogProblem(f"the step of {name}() must not be zero", span=step.span)
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
        datafusion=_of_times("generate_series"),
    ),
    ScalarFunction(
        "range",
        _SIGNATURES,
        _sequence("range", includes_end=False),
        "from the first (or 0) to the second, without it, in steps of 1, or of the "
        "third",
        example="range(1, 7, 3) -> [1, 4]",
        datafusion=_of_times("range"),
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
