"""The deliberate differences of aggregates from DataFusion. Each has a row in
:mod:`arroyo_nb.plan.explain.value_differences`, and is told by what DataFusion itself
gives when it is asked in another way."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from oracle.aggregates.outcomes import OVER, Form, evaluate_there
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
    without = pair.call
    if pair.form is OVER:
        without = _FILTER.sub("", without)
    without = without.replace("DISTINCT ", "")
    if without != pair.call:
        asked = pair.asked(without)
        if not asked.refusal and compare(asked, pair.theirs).agrees:
            return True
    return pair.agrees(_FILTER.sub(r" FILTER (WHERE (\1) IS TRUE)", pair.call))


def _is_order_of_rows(pair: Pair) -> bool:
    if pair.name not in ("array_agg", "string_agg") or pair.ours.type == "":
        return False
    ordered = "ORDER BY" in pair.call.partition(" OVER ")[0]
    if ordered or pair.ours.type != pair.theirs.type:
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


def _is_approximate(pair: Pair) -> bool:
    return pair.name in _APPROXIMATE and pair.ours.type == pair.theirs.type


_EXACT = ("sum", "avg", "var", "stddev", "covar", "corr", "regr")


def _is_exact(pair: Pair) -> bool:
    if not pair.name.startswith(_EXACT) or pair.ours.type != "DOUBLE":
        return False
    return pair.ours.type == pair.theirs.type and all(
        (one is None) == (other is None) or _is_odd(other)
        for one, other in pair.values()
    )


def _is_odd(value: Any) -> bool:
    """Whether it is what one of rounding makes of nothing."""
    return value is not None and (not math.isfinite(value) or abs(value) <= 1)


def _is_zero(pair: Pair) -> bool:
    def written(match: re.Match[str]) -> str:
        return f"({match[1]} + CAST(0 AS {'FLOAT' if match[1] == 'f' else 'DOUBLE'}))"

    return pair.agrees(_FLOATS.sub(written, pair.call))


_SLIDING = re.compile(r"BETWEEN (?!UNBOUNDED PRECEDING)")


def _is_extreme(pair: Pair) -> bool:
    if pair.name not in ("min", "max") or pair.ours.type != pair.theirs.type:
        return False
    if pair.form is OVER:
        return _SLIDING.search(pair.call) is not None
    argument = _FLOATS.sub(lambda m: f"(nullif({m[1]}, 'NaN'))", pair.call)
    if argument == pair.call:
        return False
    # Without NaN both agree but for the sign of zero.
    others = pair.asked(argument).value
    assert isinstance(others, list)
    return all(
        one == other or (isinstance(one, float) and math.isnan(one))
        for (one, _), other in zip(pair.values(), others, strict=True)
    )


def _is_overflow(pair: Pair) -> bool:
    if pair.ours.failure and "DECIMAL" in pair.theirs.type:
        return (
            any(
                isinstance(value, Decimal) and len(value.as_tuple().digits) > 38
                for value in pair.theirs.value  # type: ignore[attr-defined]
            )
            or "NUMERIC_VALUE_OUT_OF_RANGE" in pair.ours.failure
        )
    if pair.name != "median" or pair.ours.type != pair.theirs.type:
        return False
    # The mean of two numbers lies between them: that of an overflow has another sign.
    return all(
        close(one, other) or abs(one - other) > 2**30 or "UNSIGNED" in pair.ours.type
        for one, other in pair.values()
    )


DIFFERENCES = (
    AggregateDifference("lost clauses", _clause_is_lost),
    AggregateDifference("array_agg, string_agg", _is_order_of_rows),
    AggregateDifference(", ".join(_APPROXIMATE), _is_approximate),
    AggregateDifference("exact sums", _is_exact),
    AggregateDifference("negative zero", _is_zero),
    AggregateDifference("extremes", _is_extreme),
    AggregateDifference("overflows", _is_overflow),
)


def deliberate(pair: Pair) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    for difference in DIFFERENCES:
        if difference.applies(pair):
            return difference.name
    return ""
