"""The scalar functions of the dialect, a table for each family.

A row says what Arroyo's function takes and gives, and what it is in Spark SQL; the
differences between the engines (arroyo-semantics: functions) live in the templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from arroyo_nb.functions import (
    arrays,
    arrow_types,
    clock,
    conditional,
    crypto,
    date_parts,
    dates,
    json,
    list_edits,
    list_sets,
    math,
    regex,
    sequences,
    structs,
    text,
    timestamps,
    unions,
)
from arroyo_nb.functions.signature import (
    Argument,
    ClockTemplate,
    ScalarFunction,
    SignatureProblem,
)
from arroyo_nb.functions.user_defined import user_functions

__all__ = [
    "Argument",
    "ClockTemplate",
    "ScalarFunction",
    "SignatureProblem",
    "names",
    "scalar",
    "volatile",
]

FAMILIES = (
    *(math, conditional, text, regex, crypto),
    *(dates, date_parts, timestamps, clock),
    *(arrays, list_edits, list_sets, sequences, structs, unions),
    *(arrow_types, json),
)
"""The modules that have a table of functions each."""


@cache
def _by_name() -> dict[str, ScalarFunction]:
    rows = [function for family in FAMILIES for function in family.FUNCTIONS]
    return {name: row for row in rows for name in (row.name, *row.aliases)}


def scalar(name: str) -> ScalarFunction | None:
    """The function of that lower-case name or alias, or a UDF."""
    found = _by_name().get(name) or user_functions().get(name)
    return found if isinstance(found, ScalarFunction) else None


@cache
def volatile() -> Mapping[str, str]:
    """What each function gives that is not the same when it is computed again."""
    return {name: row.volatile for name, row in _by_name().items() if row.volatile}


def names() -> tuple[str, ...]:
    """All names of the dialect, aliases among them, sorted."""
    return tuple(sorted(_by_name()))
