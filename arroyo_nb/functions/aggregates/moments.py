"""Variance, covariance, correlation and regression from exact sums.

``n * sum(xy) - sum(x) * sum(y)`` loses the digits that both products share. The sums
are exact and the difference is taken in twice the precision of a double, so what is
left is good to the last bits; a difference that is nothing but rounding is zero. Two
arguments are (y, x).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from arroyo_nb.changelog.exact import Double, Floats, two_product, two_sum
from arroyo_nb.changelog.measures import AggregateCall, Kernel, Linear, Totals
from arroyo_nb.functions.aggregates.row import AggregateFunction, always, real
from arroyo_nb.functions.types import is_number
from arroyo_nb.lazy_imports import np, pa
from arroyo_nb.schema import BIGINT_UNSIGNED, DOUBLE, NULL, Type

Moment: TypeAlias = Callable[[Totals], Floats]

_NOISE = 2.0**-96


def _spread(totals: Totals, x: str, y: str) -> Floats:
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


def _covariance(totals: Totals, x: str, y: str, *, sample: bool) -> Floats:
    n = totals["count"].astype(np.float64)
    divisor = n * (n - 1) if sample else n * n
    return np.where(divisor > 0, _spread(totals, x, y) / divisor, np.nan)


def _variance(totals: Totals, *, sample: bool) -> Floats:
    return _covariance(totals, "a", "a", sample=sample)


def _deviation(totals: Totals, *, sample: bool) -> Floats:
    return np.sqrt(_variance(totals, sample=sample))


def _corr(totals: Totals) -> Floats:
    a, b = (np.sqrt(_spread(totals, x, x)) for x in "ab")
    correlation: Floats = _spread(totals, "a", "b") / (a * b)
    return correlation


def _mean(totals: Totals, x: str) -> Floats:
    mean: Floats = totals[x][0] / totals["count"]
    return mean


def _products(totals: Totals, x: str, y: str) -> Floats:
    total: Floats = _spread(totals, x, y) / totals["count"]
    return total


def _slope(totals: Totals) -> Floats:
    return np.divide(_spread(totals, "a", "b"), _spread(totals, "b", "b"))


def _intercept(totals: Totals) -> Floats:
    return _mean(totals, "a") - _slope(totals) * _mean(totals, "b")


def _r2(totals: Totals) -> Floats:
    return _corr(totals) ** 2


def _finish(
    totals: Totals, call: AggregateCall, *, moment: Moment, least: int, varying: str
) -> pa.Array:
    """NULL for less than ``least`` rows, or a ``varying`` argument that is constant."""
    with np.errstate(all="ignore"):
        values = moment(totals)
        null = totals["count"] < least
        for x in varying:
            null |= _spread(totals, x, x) == 0
    return pa.array(values, pa.float64(), mask=null).cast(call.type, safe=False)


def _kernel(
    parts: tuple[str, ...], moment: Moment, least: int, varying: str = ""
) -> Kernel:
    # Kernels are pickled, for Spark's workers: no local function.
    finish = partial(_finish, moment=moment, least=least, varying=varying)
    return Kernel({"any": Linear(parts, finish)})


def _count(totals: Totals, call: AggregateCall) -> pa.Array:
    return pa.array(totals["count"]).cast(call.type)


_ONE = ("count", "a", "aa")
_PAIR = ("count", "a", "b", "aa", "ab", "bb")


def _of_pairs(type_: Type) -> Type | None:
    return BIGINT_UNSIGNED if is_number(type_) or type_ == NULL else None


AGGREGATES = (
    AggregateFunction(
        name="var",
        aliases=("var_samp", "var_sample"),
        doc="the sample variance",
        example="var(fare) -> 16.0",
        result=real,
        never_distinct="VAR",
        slides=True,
        reads=always(DOUBLE),
        kernel=_kernel(_ONE, partial(_variance, sample=True), 2),
        spark="var_samp",
    ),
    AggregateFunction(
        name="var_pop",
        aliases=("var_population",),
        doc="the population variance",
        example="var_pop(fare) -> 12.8",
        result=real,
        never_distinct="VAR_POP",
        slides=True,
        reads=always(DOUBLE),
        kernel=_kernel(_ONE, partial(_variance, sample=False), 1),
        spark="var_pop",
    ),
    AggregateFunction(
        name="stddev",
        aliases=("stddev_samp",),
        doc="the sample standard deviation",
        example="stddev(fare) -> 4.0",
        result=real,
        never_distinct="STDDEV_POP",
        slides=True,
        reads=always(DOUBLE),
        kernel=_kernel(_ONE, partial(_deviation, sample=True), 2),
        spark="stddev_samp",
    ),
    AggregateFunction(
        name="stddev_pop",
        doc="the population standard deviation",
        example="round(stddev_pop(fare), 3) -> 3.578",
        result=real,
        never_distinct="STDDEV_POP",
        slides=True,
        reads=always(DOUBLE),
        kernel=_kernel(_ONE, partial(_deviation, sample=False), 1),
        spark="stddev_pop",
    ),
    AggregateFunction(
        name="covar_samp",
        aliases=("covar",),
        doc="the sample covariance",
        example="covar_samp(fare, seats) -> 8.0",
        result=real,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_covariance, x="a", y="b", sample=True), 2),
    ),
    AggregateFunction(
        name="covar_pop",
        doc="the population covariance",
        example="covar_pop(fare, seats) -> 6.4",
        result=real,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_covariance, x="a", y="b", sample=False), 1),
    ),
    AggregateFunction(
        name="corr",
        doc="the correlation",
        example="round(corr(fare, seats), 3) -> 1.0",
        result=real,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, _corr, 2, "ab"),
    ),
    AggregateFunction(
        name="regr_count",
        doc="how many pairs there are",
        example="regr_count(fare, seats) -> 5",
        result=_of_pairs,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=Kernel({"any": Linear(("count",), _count)}),
    ),
    AggregateFunction(
        name="regr_avgx",
        doc="the mean of x",
        example="regr_avgx(fare, seats) -> 3.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_mean, x="b"), 1),
    ),
    AggregateFunction(
        name="regr_avgy",
        doc="the mean of y",
        example="regr_avgy(fare, seats) -> 8.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_mean, x="a"), 1),
    ),
    AggregateFunction(
        name="regr_sxx",
        doc="the sum of squares of x about its mean",
        example="regr_sxx(fare, seats) -> 16.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_products, x="b", y="b"), 1),
    ),
    AggregateFunction(
        name="regr_syy",
        doc="the sum of squares of y about its mean",
        example="regr_syy(fare, seats) -> 64.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_products, x="a", y="a"), 1),
    ),
    AggregateFunction(
        name="regr_sxy",
        doc="the sum of products of x and y about their means",
        example="regr_sxy(fare, seats) -> 32.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, partial(_products, x="a", y="b"), 1),
    ),
    AggregateFunction(
        name="regr_slope",
        doc="the slope of the fitted line",
        example="regr_slope(fare, seats) -> 2.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, _slope, 2, "b"),
    ),
    AggregateFunction(
        name="regr_intercept",
        doc="where the fitted line is at x = 0",
        example="regr_intercept(fare, seats) -> 2.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, _intercept, 2, "b"),
    ),
    AggregateFunction(
        name="regr_r2",
        doc="the share of the variance of y that the fitted line explains",
        example="round(regr_r2(fare, seats), 3) -> 1.0",
        result=real,
        slides=True,
        arguments=2,
        reads=always(DOUBLE),
        kernel=_kernel(_PAIR, _r2, 2, "ab"),
    ),
)
