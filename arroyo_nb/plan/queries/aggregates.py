"""Which aggregate functions there are: what they take and give, and where they run.

An updating aggregate runs every one, a window aggregate those of :data:`WINDOWED`.
Source: arroyo-semantics f.3, i.2, i.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.functions.types import is_integer, is_number
from arroyo_nb.plan.names.operators import avg_type, extreme_type, sum_type
from arroyo_nb.plan.names.typing import (
    whole_number,
)
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    JSON,
    NULL,
    TEXT,
    ListOf,
    StructOf,
    Type,
)

Constant = str | int | float


@dataclass(frozen=True)
class AggregateFunction:
    """A row of :data:`AGGREGATES`.

    Parameters
    ----------
    result
        Type of the result for the type of each argument; None where it is refused.
    wants
        What an argument must be, in words.
    arguments
        How many it takes, the constant one left out.
    constant
        Reads the constant argument, which comes last; None where it is not one.
    constant_words
        What the constant must be, in words.
    ordered
        Whether the order of the rows changes the result.
    within
        Whether WITHIN GROUP (ORDER BY x) gives its first argument.
    reads
        The type that an argument of a type is cast to.
    """

    result: Callable[[Type], Type | None]
    wants: str = "a number"
    arguments: int = 1
    constant: Callable[[exp.Expr], Constant | None] | None = None
    constant_words: str = ""
    ordered: bool = False
    within: bool = False
    reads: Callable[[Type], Type] = lambda type_: type_


def _any(type_: Type) -> Type | None:
    return None if type_ == NULL else type_


def _listed(type_: Type) -> Type | None:
    return None if type_ == NULL else ListOf(type_)


def _numeric(type_: Type) -> Type | None:
    return type_ if is_number(type_) else None


def _of_bits(type_: Type) -> Type | None:
    # A BIGINT UNSIGNED is a DECIMAL to Spark, which has no bits.
    return type_ if is_integer(type_) and type_ != BIGINT_UNSIGNED else None


def _logical(type_: Type) -> Type | None:
    return BOOLEAN if type_ in (BOOLEAN, NULL) else None


def _joined(type_: Type) -> Type | None:
    return TEXT if type_ in (TEXT, JSON, NULL) else None


def _counted(type_: Type) -> Type | None:
    is_plain = not isinstance(type_, ListOf | StructOf) and type_ != NULL
    return BIGINT_UNSIGNED if is_plain else None


def _real(type_: Type) -> Type | None:
    return DOUBLE if is_number(type_) else None


def _always(type_: Type) -> Callable[[Type], Type]:
    return lambda _: type_


def _averaged(type_: Type) -> Type:
    # A DECIMAL to Spark, whose mean would have no more than four digits of a DOUBLE's.
    return DOUBLE if type_ == BIGINT_UNSIGNED else type_


def _text(literal: exp.Expr) -> str | None:
    return literal.name if literal.is_string else None


def _position(literal: exp.Expr) -> int | None:
    return whole_number(literal) or None


def _fraction(literal: exp.Expr) -> float | None:
    is_numeral = isinstance(literal, exp.Literal) and not literal.is_string
    value = float(literal.name) if is_numeral else -1.0
    return value if 0 <= value <= 1 else None


_REAL = AggregateFunction(_real, reads=_always(DOUBLE))
_REAL_PAIR = AggregateFunction(_real, arguments=2, reads=_always(DOUBLE))
_BITS = AggregateFunction(_of_bits, "a BIGINT")
_LOGICAL = AggregateFunction(_logical, "a BOOLEAN", reads=_always(BOOLEAN))
_CHOSEN = AggregateFunction(_any, "a value", ordered=True)
_FRACTION = (_fraction, "a number from 0 to 1")

AGGREGATES: dict[str, AggregateFunction] = {
    "approx_distinct": AggregateFunction(_counted, "a number or a text"),
    "approx_median": AggregateFunction(_numeric),
    "approx_percentile_cont": AggregateFunction(
        _numeric, "a number", 1, *_FRACTION, within=True
    ),
    "approx_percentile_cont_with_weight": AggregateFunction(
        _numeric, "a number", 2, *_FRACTION, within=True
    ),
    "array_agg": AggregateFunction(_listed, "a value", ordered=True),
    "avg": AggregateFunction(avg_type, reads=_averaged),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _BITS),
    **dict.fromkeys(("bool_and", "bool_or"), _LOGICAL),
    "count": AggregateFunction(lambda _: BIGINT, "a value"),
    **dict.fromkeys(("corr", "covar_pop", "covar_samp"), _REAL_PAIR),
    **dict.fromkeys(("first_value", "last_value"), _CHOSEN),
    **dict.fromkeys(("max", "min"), AggregateFunction(extreme_type)),
    "median": AggregateFunction(_numeric),
    "nth_value": AggregateFunction(
        _any,
        "a value",
        1,
        _position,
        "a whole number other than 0",
        ordered=True,
    ),
    **dict.fromkeys(
        (
            *("regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope"),
            *("regr_sxx", "regr_sxy", "regr_syy"),
        ),
        _REAL_PAIR,
    ),
    "regr_count": AggregateFunction(
        lambda t: BIGINT_UNSIGNED if is_number(t) else None,
        arguments=2,
        reads=_always(DOUBLE),
    ),
    **dict.fromkeys(("stddev", "stddev_pop", "var", "var_pop"), _REAL),
    "string_agg": AggregateFunction(
        _joined, "TEXT", 1, _text, "a text in quotes", ordered=True, reads=_always(TEXT)
    ),
    "sum": AggregateFunction(sum_type),
}
"""Arroyo's aggregates; an updating aggregate runs every one of them."""

_ALIASES = {
    "covar": "covar_samp",
    "mean": "avg",
    "stddev_samp": "stddev",
    "var_population": "var_pop",
    "var_samp": "var",
    "var_sample": "var",
}

WINDOWED_DISTINCT = frozenset(
    (
        *("avg", "bit_and", "bit_or", "bool_and", "bool_or", "count", "max", "min"),
        "sum",
    )
)
"""Aggregates that Spark runs over a window, DISTINCT or not."""

WINDOWED = WINDOWED_DISTINCT | {"stddev", "stddev_pop", "var", "var_pop"}
"""Aggregates that Spark runs over a window without DISTINCT."""


def names() -> tuple[str, ...]:
    """What an aggregate may be called."""
    return (*AGGREGATES, *_ALIASES)


def primary(name: str) -> str | None:
    """The name that an aggregate goes by; None for what is no aggregate.

    >>> primary("mean"), primary("upper")
    ('avg', None)
    """
    name = _ALIASES.get(name, name)
    return name if name in AGGREGATES else None


def runs_windowed(measure: Measure) -> bool:
    """Whether a window aggregate can have this measure."""
    return measure.function in (WINDOWED_DISTINCT if measure.distinct else WINDOWED)
