"""Variance, covariance, correlation and regression from exact sums.

``n * sum(xy) - sum(x) * sum(y)`` loses the digits that both products share. The sums
are exact and the difference is taken in twice the precision of a double, so what is
left is good to the last bits; a difference that is nothing but rounding is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog.exact import Floats, two_product, two_sum
from arroyo_nb.changelog.measures import AggregateCall

Double: TypeAlias = tuple[Floats, Floats]
"""A number in twice the precision of a double: it, rounded, and the remainder."""
Moment: TypeAlias = Callable[[Mapping[str, Any]], Floats]

_NOISE = 2.0**-96


def _spread(totals: Mapping[str, Any], x: str, y: str) -> Floats:
    """``n**2`` times the population covariance of ``x`` and ``y``."""
    n = totals["count"].astype(np.float64)
    raw = _times(totals["".join(sorted(x + y))], (n, np.zeros(len(n))))
    mean = _times(totals[x], totals[y])
    high, rest = two_sum(raw[0], -mean[0])
    difference = high + (rest + (raw[1] - mean[1]))
    scale = np.abs(raw[0]) + np.abs(mean[0])
    noise = np.abs(difference) <= scale * _NOISE
    return np.asarray(np.where(noise, 0.0, difference), np.float64)


def _times(a: Double, b: Double) -> Double:
    high, low = two_product(a[0], b[0])
    return two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def _covariance(x: str, y: str, *, sample: bool) -> Moment:
    def moment(totals: Mapping[str, Any]) -> Floats:
        n = totals["count"].astype(np.float64)
        divisor = n * (n - 1) if sample else n * n
        return np.where(divisor > 0, _spread(totals, x, y) / divisor, np.nan)

    return moment


def _deviation(*, sample: bool) -> Moment:
    variance = _covariance("a", "a", sample=sample)

    def moment(totals: Mapping[str, Any]) -> Floats:
        return np.sqrt(variance(totals))

    return moment


def _corr(totals: Mapping[str, Any]) -> Floats:
    a, b = (np.sqrt(_spread(totals, x, x)) for x in "ab")
    correlation: Floats = _spread(totals, "a", "b") / (a * b)
    return correlation


def _mean(x: str) -> Moment:
    def moment(totals: Mapping[str, Any]) -> Floats:
        mean: Floats = totals[x][0] / totals["count"]
        return mean

    return moment


def _summed(x: str, y: str) -> Moment:
    def moment(totals: Mapping[str, Any]) -> Floats:
        total: Floats = _spread(totals, x, y) / totals["count"]
        return total

    return moment


def _slope(totals: Mapping[str, Any]) -> Floats:
    return np.divide(_spread(totals, "a", "b"), _spread(totals, "b", "b"))


def _intercept(totals: Mapping[str, Any]) -> Floats:
    return _mean("a")(totals) - _slope(totals) * _mean("b")(totals)


def _r2(totals: Mapping[str, Any]) -> Floats:
    return _corr(totals) ** 2


def _finish(
    moment: Moment, least: int, varying: str
) -> Callable[[Mapping[str, Any], AggregateCall], pa.Array]:
    """NULL for less than ``least`` rows, or a ``varying`` argument that is constant."""

    def finish(totals: Mapping[str, Any], call: AggregateCall) -> pa.Array:
        with np.errstate(all="ignore"):
            values = moment(totals)
            null = totals["count"] < least
            for x in varying:
                null |= _spread(totals, x, x) == 0
        return pa.array(values, pa.float64(), mask=null).cast(call.type, safe=False)

    return finish


def _count(totals: Mapping[str, Any], call: AggregateCall) -> pa.Array:
    return pa.array(totals["count"]).cast(call.type)


_ONE = ("count", "a", "aa")
_PAIR = ("count", "a", "b", "aa", "ab", "bb")

MOMENTS: dict[
    str,
    tuple[tuple[str, ...], Callable[[Mapping[str, Any], AggregateCall], pa.Array]],
] = {
    "var": (_ONE, _finish(_covariance("a", "a", sample=True), 2, "")),
    "var_pop": (_ONE, _finish(_covariance("a", "a", sample=False), 1, "")),
    "stddev": (_ONE, _finish(_deviation(sample=True), 2, "")),
    "stddev_pop": (_ONE, _finish(_deviation(sample=False), 1, "")),
    "covar_samp": (_PAIR, _finish(_covariance("a", "b", sample=True), 2, "")),
    "covar_pop": (_PAIR, _finish(_covariance("a", "b", sample=False), 1, "")),
    "corr": (_PAIR, _finish(_corr, 2, "ab")),
    "regr_count": (("count",), _count),
    "regr_avgx": (_PAIR, _finish(_mean("b"), 1, "")),
    "regr_avgy": (_PAIR, _finish(_mean("a"), 1, "")),
    "regr_sxx": (_PAIR, _finish(_summed("b", "b"), 1, "")),
    "regr_syy": (_PAIR, _finish(_summed("a", "a"), 1, "")),
    "regr_sxy": (_PAIR, _finish(_summed("a", "b"), 1, "")),
    "regr_slope": (_PAIR, _finish(_slope, 2, "b")),
    "regr_intercept": (_PAIR, _finish(_intercept, 2, "b")),
    "regr_r2": (_PAIR, _finish(_r2, 2, "ab")),
}
"""Function -> the parts it needs, and how it is computed. Two arguments are (y, x)."""
