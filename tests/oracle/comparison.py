"""How two outcomes differ."""

from __future__ import annotations

import math
from decimal import Decimal
from enum import Enum

from oracle.cases import Outcome


class Verdict(Enum):
    """How our outcome stands to DataFusion's."""

    EQUAL = "equal"
    LAST_DIGITS = "equal but for last digits"
    BOTH_REFUSE = "both refuse"
    OTHER_VALUE = "other value"
    OTHER_TYPE = "other type"
    REFUSED_HERE = "refused here"
    ACCEPTED_HERE = "accepted here"
    FAILS_HERE = "fails here"

    @property
    def agrees(self) -> bool:
        """Whether the outcomes count as the same."""
        return self in (Verdict.EQUAL, Verdict.LAST_DIGITS, Verdict.BOTH_REFUSE)


def compare(ours: Outcome, theirs: Outcome) -> Verdict:
    """How they differ. To refuse an expression and to fail on the row is the same,
    but where a defect shows itself as such."""
    if theirs.refusal or theirs.failure:
        if ours.refusal or ours.failure:
            return Verdict.BOTH_REFUSE
        return Verdict.ACCEPTED_HERE
    if ours.refusal:
        return Verdict.REFUSED_HERE
    if ours.failure:
        return Verdict.FAILS_HERE
    if not close(ours.value, theirs.value):
        return Verdict.OTHER_VALUE
    if ours.type != theirs.type:
        return Verdict.OTHER_TYPE
    same = exact(ours.value, theirs.value)
    return Verdict.EQUAL if same else Verdict.LAST_DIGITS


def exact(one: object, other: object) -> bool:
    """Whether two plain values are the same; -0.0 is not 0.0, NaN is NaN."""
    match one, other:
        case float(), float():
            return str(one) == str(other)
        case list(), list():
            return len(one) == len(other) and all(map(exact, one, other))
        case dict(), dict():
            return list(one) == list(other) and all(
                exact(one[name], other[name]) for name in one
            )
        case bool(), _:
            return one is other
        case Decimal(), Decimal():
            return one == other
    return isinstance(one, type(other)) and one == other


def close(one: object, other: object) -> bool:
    """Whether two plain values are the same but for the last digits of floats. Numbers
    of different types are compared as numbers: that the types differ is said apart."""
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case (int() | float() | Decimal(), int() | float() | Decimal()):
            return _close(one, other)
        case list(), list():
            return len(one) == len(other) and all(map(close, one, other))
        case dict(), dict():
            # The names of fields are a matter of the type.
            pairs = zip(one.values(), other.values(), strict=False)
            return len(one) == len(other) and all(close(a, b) for a, b in pairs)
    return one == other


def _close(one: float | Decimal, other: float | Decimal) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    if isinstance(one, float) or isinstance(other, float):
        first, second = float(one), float(other)
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        if math.copysign(1, first) != math.copysign(1, second):
            # An integer has no sign of zero.
            return first == second and not isinstance(one, type(other))
        return math.isclose(first, second, rel_tol=1e-12, abs_tol=1e-300)
    return one == other
