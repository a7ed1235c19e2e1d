"""Lists and what is taken from them: ``array_agg``, ``string_agg``, ``first_value`` ...

Without ORDER BY values come in ascending order, NULLs last, so that a list depends on
the rows that are there and on nothing else; the first value is then the least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.changelog.measures import AggregateCall, Kernel
from arroyo_nb.changelog.multisets import Bags, nth, sizes
from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.aggregates.row import AggregateFunction, always, any_value
from arroyo_nb.functions.types import castable
from arroyo_nb.lazy_imports import np, pa, pc
from arroyo_nb.schema import NULL, TEXT, ListOf, Type

if TYPE_CHECKING:
    from sqlglot import exp


def _listed(type_: Type) -> Type | None:
    return None if type_ == NULL else ListOf(type_)


def _joined(type_: Type) -> Type | None:
    return TEXT if castable(type_, TEXT) else None


def _text(literal: exp.Expr) -> str | None:
    if literal.key == "null":
        return ""
    return literal.name if literal.is_string else None


def _position(literal: exp.Expr) -> int | None:
    is_whole = literal.key == "literal" and literal.is_int
    return int(literal.name) or None if is_whole else None


def _first_value(bags: Bags, call: AggregateCall) -> pa.Array:
    return nth(bags, np.zeros(bags.slots, np.int64)).cast(call.type)


def _last_value(bags: Bags, call: AggregateCall) -> pa.Array:
    return nth(bags, sizes(bags) - 1).cast(call.type)


def _nth_value(bags: Bags, call: AggregateCall) -> pa.Array:
    """Row ``parameter`` from 1; from the end where it is negative."""
    n = int(call.parameter or 0)
    rows = np.full(bags.slots, n - 1) if n > 0 else sizes(bags) + n
    return nth(bags, rows).cast(call.type)


def _array_agg(bags: Bags, call: AggregateCall) -> pa.Array:
    """Lists of all groups are one Arrow array, whose offsets have 32 bits.

    Raises
    ------
    RunProblem
        When the lists have 2**31 elements or more.
    """
    ordered = bags.in_order
    if int(ordered.weight.sum()) >= 1 << 31:
        raise RunProblem(
            f"{call.function} collects 2**31 values or more at once",
            hint="filter rows before they are aggregated",
        )
    values = ordered.column().take(
        pa.array(np.repeat(np.arange(len(ordered.slot)), ordered.weight))
    )
    offsets = np.r_[0, ordered.ends].astype(np.int32)
    empty = pa.array(np.diff(offsets) == 0)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=empty)


def _string_agg(bags: Bags, call: AggregateCall) -> pa.Array:
    return pc.binary_join(_array_agg(bags, call), str(call.parameter or ""))


_ASCENDING = (
    "without ORDER BY the values are in ascending order; in Arroyo they are as they "
    "came"
)

AGGREGATES = (
    AggregateFunction(
        name="array_agg",
        doc="a list of the values",
        example="array_agg(name ORDER BY at) -> ['ann', 'bob', 'ann', 'cy', 'bob']",
        result=_listed,
        wants="a value",
        ordered=True,
        differs=_ASCENDING,
        kernel=Kernel(multiset=_array_agg, keeps_nulls=True),
    ),
    AggregateFunction(
        name="first_value",
        doc="the first value",
        example="first_value(name ORDER BY at) -> 'ann'",
        result=any_value,
        wants="a value",
        ordered=True,
        kernel=Kernel(multiset=_first_value, keeps_nulls=True),
    ),
    AggregateFunction(
        name="last_value",
        doc="the last value",
        example="last_value(name ORDER BY at) -> 'bob'",
        result=any_value,
        wants="a value",
        ordered=True,
        kernel=Kernel(multiset=_last_value, keeps_nulls=True),
    ),
    AggregateFunction(
        name="nth_value",
        doc="the value at a position, from 1; from the end where it is negative",
        example="nth_value(name, -1) -> 'cy'",
        result=any_value,
        wants="a value",
        constant=_position,
        constant_words="a whole number other than 0",
        ordered=True,
        kernel=Kernel(multiset=_nth_value, keeps_nulls=True),
    ),
    AggregateFunction(
        name="string_agg",
        doc="the texts, with another text between",
        example="string_agg(DISTINCT name, '; ') -> 'ann; bob; cy'",
        result=_joined,
        wants="TEXT",
        constant=_text,
        constant_words="a text in quotes",
        ordered=True,
        reads=always(TEXT),
        differs=_ASCENDING,
        kernel=Kernel(multiset=_string_agg),
    ),
)
