"""The aggregates of the dialect, a row each, by family.

A row says what an aggregate takes and gives, how its kernel computes it, and what it is
in Spark over a window, if it is anything: the kernel computes the others from the rows.
Source: arroyo-semantics f.3, i.2, i.3.
"""

from __future__ import annotations

from functools import cache

from arroyo_nb.functions.aggregates import (
    extremes,
    lists,
    moments,
    percentiles,
    sums,
)
from arroyo_nb.functions.aggregates.row import (
    AggregateFunction,
    Constant,
    SparkCall,
    SparkTemplate,
)
from arroyo_nb.functions.user_defined import user_functions

__all__ = [
    "FAMILIES",
    "AggregateFunction",
    "Constant",
    "SparkCall",
    "SparkTemplate",
    "aggregate",
    "names",
    "primary",
]

FAMILIES = (sums, extremes, lists, percentiles, moments)
"""The modules that have a table of aggregates each."""


@cache
def _by_name() -> dict[str, AggregateFunction]:
    rows = [row for family in FAMILIES for row in family.AGGREGATES]
    return {name: row for row in rows for name in (row.name, *row.aliases)}


def aggregate(name: str) -> AggregateFunction:
    """The aggregate of that name or alias, or a UDF, which there is."""
    found = _found(name)
    assert found is not None
    return found


def names() -> tuple[str, ...]:
    """What an aggregate of the dialect may be called."""
    return tuple(_by_name())


def primary(name: str) -> str | None:
    """The name that an aggregate goes by; None for what is no aggregate.

    >>> primary("mean"), primary("upper")
    ('avg', None)
    """
    row = _found(name)
    return None if row is None else row.name


def _found(name: str) -> AggregateFunction | None:
    found = _by_name().get(name) or user_functions().get(name)
    return found if isinstance(found, AggregateFunction) else None
