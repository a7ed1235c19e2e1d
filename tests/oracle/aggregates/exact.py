"""What aggregates are of the numbers of a group: exact, and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context
from decimal import Decimal as Exact
from fractions import Fraction

_DIGITS = Context(prec=60)


def rounded(number: Fraction) -> float:
    """The nearest DOUBLE; infinite where it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def total(numbers: Sequence[float]) -> float:
    """The sum."""
    odd = [number for number in numbers if not math.isfinite(number)]
    if odd:
        return math.nan if len(set(map(str, odd))) > 1 else odd[0]
    return rounded(sum(map(Fraction, numbers), Fraction(0)))


def mean(numbers: Sequence[float]) -> float:
    """The sum by the count."""
    if not all(map(math.isfinite, numbers)):
        return total(numbers)
    return rounded(sum(map(Fraction, numbers)) / Fraction(len(numbers)))


def products(pairs: Sequence[tuple[float, float]]) -> Fraction | None:
    """The sum of the products of what differs from the means; None: it is NaN."""
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return None
    exact = [(Fraction(a), Fraction(b)) for a, b in pairs]
    count = len(exact)
    one, other = (sum(side) / count for side in zip(*exact, strict=True))
    return sum(((a - one) * (b - other) for a, b in exact), Fraction(0))


def root(number: Fraction) -> float:
    """The square root."""
    quotient = _DIGITS.divide(Exact(number.numerator), Exact(number.denominator))
    return float(_DIGITS.sqrt(quotient))


def moment(name: str, pairs: Sequence[tuple[float, float]]) -> float | None:
    """A variance, a covariance or a measure of a regression of y, the first of each
    pair, by x."""
    count = len(pairs)
    is_sample = not name.endswith(("_pop", "_population"))
    if name.startswith(("var", "stddev", "covar")):
        if count < 1 + is_sample:
            return None
        found = products(pairs)
        if found is None:
            return math.nan
        found /= count - is_sample
        return root(found) if name.startswith("stddev") else rounded(found)
    if count < (1 if name[5:] in ("avgx", "avgy", "sxx", "syy", "sxy") else 2):
        return None
    y, x = zip(*pairs, strict=True)
    match name:
        case "regr_avgx":
            return mean(x)
        case "regr_avgy":
            return mean(y)
    xx, yy = (products([*zip(side, side, strict=True)]) for side in (x, y))
    xy = products(pairs)
    if name in ("regr_sxx", "regr_syy", "regr_sxy"):
        wanted = {"regr_sxx": xx, "regr_syy": yy, "regr_sxy": xy}[name]
        return math.nan if wanted is None else rounded(wanted)
    if xx is None or yy is None or xy is None:
        return math.nan
    if not xx or (not yy and name in ("corr", "regr_r2")):
        return None
    match name:
        case "corr":
            return math.copysign(root(xy * xy / (xx * yy)), xy)
        case "regr_r2":
            return rounded(xy * xy / (xx * yy))
        case "regr_slope":
            return rounded(xy / xx)
        case _:
            assert name == "regr_intercept", name
            means = [sum(map(Fraction, side)) / count for side in (y, x)]
            return rounded(means[0] - xy / xx * means[1])


def percentile(values: Sequence[float], fraction: float) -> float:
    """What lies so far from the least to the greatest; between two values it is
    interpolated. NaN is the greatest."""
    ordered = sorted(values, key=lambda v: (v != v, v))
    place = (len(ordered) - 1) * fraction
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    if low == high:
        return low
    share = Fraction(place % 1)
    if not (math.isfinite(low) and math.isfinite(high)):
        return low * float(1 - share) + high * float(share)
    exact = Fraction(low) * (1 - share) + Fraction(high) * share
    return int(exact) if isinstance(low, int) else rounded(exact)


def weighted(pairs: Sequence[tuple[float, float]], fraction: float) -> float:
    """The first value at which the weights, added up, reach their share."""
    ordered = sorted(pairs, key=lambda pair: (pair[0] != pair[0], pair[0]))
    whole, reached = sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= fraction * whole:
            return value
    return ordered[-1][0]
