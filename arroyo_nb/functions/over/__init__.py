"""The functions of OVER, a row each, by family; every aggregate can be one too.

A row says what a function takes and gives and how it is computed. Source:
arroyo-semantics e.5.
"""

from __future__ import annotations

from functools import cache

from arroyo_nb.functions.over import numbers, values
from arroyo_nb.functions.over.row import OverFunction, Parameter

__all__ = ["FAMILIES", "OverFunction", "Parameter", "names", "over_function"]

FAMILIES = (numbers, values)
"""The modules that have a table of functions each."""


@cache
def _by_name() -> dict[str, OverFunction]:
    return {row.name: row for family in FAMILIES for row in family.FUNCTIONS}


def over_function(name: str) -> OverFunction | None:
    """The function of that lower-case name."""
    return _by_name().get(name)


def names() -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(sorted(_by_name()))
