"""Times from numbers and texts, and times as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.errors import ArroyoError
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.chrono_formats import check_pattern
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    ParameterKind,
    ScalarFunction,
    Signature,
    SignatureProblem,
    Template,
    same_call,
)
from arroyo_nb.functions.types import is_number
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    DOUBLE,
    INT,
    TEXT,
    Decimal,
    Timestamp,
    Type,
)

_TIME = Timestamp()


def by_patterns(name: str) -> DataFusionTemplate:
    """DataFusion reads a text by patterns, the first that fits."""

    def template(arguments: Sequence[Argument]) -> str:
        patterns = arguments[1:]
        for pattern in patterns:
            if pattern.literal is not None:
                try:
                    check_pattern(pattern.literal, reads=True)
                except ArroyoError as problem:
                    problem.span = pattern.span
                    raise
        return same_call(name)(arguments) if patterns else ""

    return template


def _only(
    name: str, result: Type, numbers: Sequence[Type], *, dates: bool = False
) -> Callable[[Sequence[Type], Literals], Type]:
    """The result for a number of few types, as DataFusion takes them."""

    def check(types: Sequence[Type], _: Literals) -> Type:
        given = types[0]
        # A DECIMAL is what DataFusion may have of a number with a point.
        kind = DOUBLE if isinstance(given, Decimal) and not dates else given
        if (is_number(given) and kind not in numbers) or (given == DATE and not dates):
            wanted = "TIMESTAMP" if given == DATE else "BIGINT"
            raise SignatureProblem(
                f"{name}() does not take {given}",
                hint=f"cast it: {name}(CAST(x AS {wanted}))",
            )
        return result

    return check


def _to_timestamp(digits: int, unit_digits: int) -> Template:
    """A number counts units of ``10 ** -unit_digits`` s."""
    result = Timestamp(digits)

    def template(arguments: Sequence[Argument]) -> str:
        (value,) = arguments
        if value.type == BIGINT:
            return cast(value.sql, BIGINT, Timestamp(unit_digits))
        if isinstance(value.type, Decimal):
            seconds = cast(value.sql, value.type, BIGINT)
            return cast(seconds, BIGINT, Timestamp(unit_digits))
        if value.type == DOUBLE:
            return cast(f"timestamp_seconds({value.sql})", _TIME, result)
        return cast(value.sql, value.type, result)

    return template


def _whole_seconds(types: Sequence[Type], literals: Literals) -> Type:
    if not isinstance(types[0], Decimal):
        return _only("to_timestamp_seconds", Timestamp(0), (INT, BIGINT))(
            types, literals
        )
    return Timestamp(0)


def _timestamps(
    name: str, digits: int, unit_digits: int, *, example: str
) -> ScalarFunction:
    result = Timestamp(digits)
    # Seconds may have a fraction in one of them.
    fractions = (DOUBLE,) if name == "to_timestamp" else ()
    checked = _only(name, result, (INT, BIGINT, *fractions))
    # Its DECIMALs are whole seconds.
    decimals = Signature((ParameterKind.DECIMAL,), _whole_seconds)
    return ScalarFunction(
        name,
        (
            Signature((BIGINT,), checked),
            *([decimals] if name == "to_timestamp_seconds" else ()),
            Signature((DOUBLE,), checked),
            Signature((_TIME,), checked),
            Signature((TEXT, TEXT), result, repeats=True),
        ),
        _to_timestamp(digits, unit_digits),
        f"a number of {_UNIT_NAMES[unit_digits]} since 1970, or a text, by the first "
        "pattern that fits, as a TIMESTAMP",
        example=example,
        differs="microseconds are kept, and no nanoseconds" if digits == 9 else "",
        datafusion=by_patterns(name),
    )


_UNIT_NAMES = {0: "seconds", 3: "ms", 6: "microseconds", 9: "nanoseconds"}


def _to_unixtime(arguments: Sequence[Argument]) -> str:
    (value,) = arguments
    if value.type == BIGINT:
        return value.sql
    if value.type == DOUBLE:
        return cast(value.sql, DOUBLE, BIGINT)
    # Towards 1970, as in DataFusion.
    return f"(unix_micros({value.sql}) div 1000000)"


def _from_unixtime_type(types: Sequence[Type], _: Literals) -> Type:
    if types[0] == BIGINT_UNSIGNED:
        raise SignatureProblem(
            "from_unixtime() does not take BIGINT UNSIGNED",
            hint="cast it: from_unixtime(CAST(x AS BIGINT))",
        )
    return Timestamp(0)


_SECONDS = _only("to_unixtime", BIGINT, (INT, BIGINT, DOUBLE), dates=True)

FUNCTIONS = (
    ScalarFunction(
        "from_unixtime",
        (Signature((BIGINT,), _from_unixtime_type),),
        "timestamp_seconds({0})",
        "seconds since 1970 as a TIMESTAMP",
        example="from_unixtime(86400) -> 1970-01-02 00:00:00",
    ),
    ScalarFunction(
        "to_unixtime",
        (
            Signature((BIGINT,), _SECONDS),
            Signature((DOUBLE,), _SECONDS),
            Signature((_TIME,), _SECONDS),
            Signature((TEXT, TEXT), BIGINT, repeats=True),
        ),
        _to_unixtime,
        "whole seconds since 1970, of a time or a text, by the first pattern that fits",
        example="to_unixtime('1970-01-02 00:00:00') -> 86400",
        datafusion=by_patterns("to_unixtime"),
    ),
    _timestamps(
        "to_timestamp",
        9,
        0,
        example="to_timestamp('2024-03-01T10:40:00Z') -> 2024-03-01 10:40:00",
    ),
    _timestamps(
        "to_timestamp_seconds",
        0,
        0,
        example="to_timestamp_seconds(1) -> 1970-01-01 00:00:01",
    ),
    _timestamps(
        "to_timestamp_millis",
        3,
        3,
        example="to_timestamp_millis(1500) -> 1970-01-01 00:00:01.500000",
    ),
    _timestamps(
        "to_timestamp_micros",
        6,
        6,
        example="to_timestamp_micros(1500000) -> 1970-01-01 00:00:01.500000",
    ),
    _timestamps(
        "to_timestamp_nanos",
        9,
        9,
        example="to_timestamp_nanos(1500000000) -> 1970-01-01 00:00:01.500000",
    ),
)
