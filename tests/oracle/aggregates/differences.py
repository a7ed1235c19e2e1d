"""The deliberate differences of aggregates from DataFusion. Each has a row in
:mod:`arroyo_nb.plan.explain.value_differences`.

Ours must be what the row tells: what DataFusion itself gives for the rows of each value
apart, or asked in another way, or what Python computes of them exactly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from oracle.aggregates import exact
from oracle.aggregates.apart import Apart
from oracle.aggregates.outcomes import Form, evaluate_there
from oracle.aggregates.rows import Rows
from oracle.cases import Case, Outcome
from oracle.comparison import close, compare


@dataclass(frozen=True)
class Pair:
    """A call in a form of query, and both outcomes."""

    form: Form
    case: Case
    ours: Outcome
    theirs: Outcome
    rows: Rows

    @property
    def call(self) -> str:
        return self.case.expression

    @property
    def name(self) -> str:
        """The aggregate's primary name."""
        return re.split(r"[ (]", self.case.kind.partition(": ")[2])[0]

    @property
    def is_value(self) -> bool:
        """Whether both give values of one type."""
        return self.ours.type == self.theirs.type != ""

    @cached_property
    def apart(self) -> Apart:
        """The rows of each value."""
        return Apart(self.form, self.case, self.rows)

    def asked(self, call: str) -> Outcome:
        """What DataFusion gives for another call over the same rows."""
        (found,) = evaluate_there(
            self.form, [replace(self.case, expression=call)], self.rows
        )
        return found

    def agrees(self, call: str) -> bool:
        """Whether ours is what DataFusion gives for another call."""
        return call != self.call and compare(self.ours, self.asked(call)).agrees

    def values(self) -> Iterator[tuple[Any, Any]]:
        """Those of each group or row, ours first."""
        if isinstance(self.ours.value, list) and isinstance(self.theirs.value, list):
            yield from zip(self.ours.value, self.theirs.value, strict=True)

    def are(self, wanted: Sequence[Any]) -> bool:
        """Whether our values are these, but for the sign of zero and last digits."""
        ours = self.ours.value
        return (
            isinstance(ours, list)
            and len(ours) == len(wanted)
            and all(map(_near, ours, wanted))
        )


def _near(ours: Any, wanted: Any) -> bool:
    if isinstance(ours, float) and isinstance(wanted, int | float):
        same = math.isclose(ours, wanted, rel_tol=_LAST_DIGITS)
        return same or (math.isnan(ours) and math.isnan(wanted))
    return close(ours, wanted)


_LAST_DIGITS = 1e-9


@dataclass(frozen=True)
class AggregateDifference:
    """One of them.

    Parameters
    ----------
    applies
        Whether it is why the outcomes differ.
    """

    name: str
    applies: Callable[[Pair], bool]


_FILTER = re.compile(r" FILTER \(WHERE (.*?)\)(?=$| OVER| IGNORE)")
_FLOATS = re.compile(r"\b(?<!')([fd])\b")


def _clause_is_lost(pair: Pair) -> bool:
    is_framed = pair.name in ("min", "max") and " OVER " in pair.call
    if not (is_framed or "DISTINCT " in pair.call or _FILTER.search(pair.call)):
        return False
    if pair.agrees(_FILTER.sub(r" FILTER (WHERE (\1) IS TRUE)", pair.call)):
        return True
    return compare(pair.ours, pair.apart.asked(pair.apart.call)).agrees


def _is_order_of_rows(pair: Pair) -> bool:
    if pair.name not in ("array_agg", "string_agg") or not pair.is_value:
        return False
    if "ORDER BY" in pair.call.partition(" OVER ")[0]:
        return False

    def parts(value: Any) -> list[str]:
        if isinstance(value, str):
            return sorted(value.split(", ") if "', '" in pair.call else value)
        return sorted(map(repr, value or []))

    return all(parts(one) == parts(other) for one, other in pair.values())


_APPROXIMATE = (
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
)
_FRACTION = re.compile(r"([0-9.]+)\) WITHIN")


def _is_approximate(pair: Pair) -> bool:
    if pair.name not in _APPROXIMATE or pair.ours.type != pair.theirs.type:
        return False
    arguments = pair.case.operands
    if pair.name == "approx_distinct":
        return pair.are([len(set(map(repr, v))) for v in pair.apart.values(*arguments)])
    return pair.are(_percentiles(pair))


def _percentiles(pair: Pair) -> list[Any]:
    found = _FRACTION.search(pair.call)
    fraction = float(found[1]) if found else 0.5
    fraction = 1 - fraction if " DESC)" in pair.call else fraction
    of_decimals = "DECIMAL" in pair.case.kind and pair.ours.type == "DOUBLE"
    value, *weight = pair.case.operands
    value = f"CAST({value} AS DOUBLE)" if of_decimals else value
    if weight:
        rows = pair.apart.values(value, f"CAST({weight[0]} AS DOUBLE)")
        return [exact.weighted(row, fraction) if row else None for row in rows]
    return [
        exact.percentile(row, fraction) if row else None
        for row in pair.apart.values(value)
    ]


_EXACT = ("sum", "avg", "var", "stddev", "covar", "corr", "regr")


def _is_exact(pair: Pair) -> bool:
    if not pair.name.startswith(_EXACT) or pair.ours.type != "DOUBLE":
        return False
    return pair.ours.type == pair.theirs.type and pair.are(_exact_values(pair))


def _exact_values(pair: Pair) -> list[float | None]:
    arguments = [f"CAST({a} AS DOUBLE)" for a in pair.case.operands]
    rows = pair.apart.values(*arguments)
    match pair.name:
        case "sum":
            return [exact.total(row) if row else None for row in rows]
        case "avg":
            return [exact.mean(row) if row else None for row in rows]
        case "regr_count":
            return [len(row) for row in rows]
    if len(arguments) == 1:
        rows = [[(number, number) for number in row] for row in rows]
    return [exact.moment(pair.name, row) for row in rows]


def _is_zero_or_nan(pair: Pair) -> bool:
    if pair.name in ("min", "max"):
        return _is_extreme_of_floats(pair)

    def written(match: re.Match[str]) -> str:
        type_ = "FLOAT" if match[1] == "f" else "DOUBLE"
        zero, nan = f"CAST(0 AS {type_})", f"CAST('NaN' AS {type_})"
        return f"(CASE WHEN isnan({match[1]}) THEN {nan} ELSE {match[1]} + {zero} END)"

    return pair.agrees(_FLOATS.sub(written, pair.call))


def _is_extreme_of_floats(pair: Pair) -> bool:
    if not (pair.is_value and pair.ours.type in ("FLOAT", "DOUBLE")):
        return False
    rows = pair.apart.values(*pair.case.operands)
    least = pair.name == "min"
    return pair.are([_extreme(row, least=least) for row in rows])


def _extreme(numbers: Sequence[float], *, least: bool) -> float | None:
    """NaN is the greatest."""
    ordered = sorted(numbers, key=lambda number: (math.isnan(number), number))
    return ordered[0 if least else -1] if ordered else None


def _is_overflow(pair: Pair) -> bool:
    if pair.ours.failure and "DECIMAL" in pair.theirs.type:
        is_refused = "NUMERIC_VALUE_OUT_OF_RANGE" in pair.ours.failure
        return is_refused and any(
            abs(sum(row)) > _LARGEST
            for row in _unscaled(pair.apart.values(pair.case.operands[0]))
        )
    if pair.name != "median" or not pair.is_value:
        return False
    return pair.are(_percentiles(pair))


_LARGEST = 10**38 - 1


def _unscaled(rows: list[list[Decimal]]) -> Iterator[list[int]]:
    for row in rows:
        yield [int(number.scaleb(-int(number.as_tuple().exponent))) for number in row]


DIFFERENCES = (
    AggregateDifference("lost clauses", _clause_is_lost),
    AggregateDifference("array_agg, string_agg", _is_order_of_rows),
    AggregateDifference(", ".join(_APPROXIMATE), _is_approximate),
    AggregateDifference("exact sums", _is_exact),
    AggregateDifference("zeros and NaN", _is_zero_or_nan),
    AggregateDifference("overflows", _is_overflow),
)


def deliberate(pair: Pair) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    for difference in DIFFERENCES:
        if difference.applies(pair):
            return difference.name
    return ""
