"""The deliberate differences from what DataFusion gives: each has a name and a reason.

Nothing else may differ, but for what ``not_yet.tsv`` lists, which is to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from oracle.cases import Case, Outcome


@dataclass(frozen=True)
class DeliberateDifference:
    """One of them.

    Parameters
    ----------
    applies
        Whether it is why the outcomes, ours and DataFusion's, of a case differ.
    """

    name: str
    reason: str
    applies: Callable[[Case, Outcome, Outcome], bool]


def _is_nanoseconds(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    one, other = _numbers(ours), _numbers(theirs)
    return (
        ours.type == theirs.type
        and _OF_TIMES.match(ours.type) is not None
        and [number and number // 1000 * 1000 for number in other] == one
    )


_OF_TIMES = re.compile("TIME")
_LARGEST = (1 << 63) * 1000


def _numbers(outcome: Outcome) -> list[int | None]:
    """The values, and those of a list."""
    value = outcome.value
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, int) else None for item in items]


def _is_far(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    if not ours.failure or not _OF_TIMES.match(theirs.type):
        return False
    wraps = case.kind == "cast DECIMAL to TIMESTAMP"
    return wraps or any(abs(number or 0) >= _LARGEST for number in _numbers(theirs))


_MAP = re.compile(r"MAP<([^<>]+), ([^<>]+)>")


def _is_map(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    entries = _MAP.sub(r"STRUCT<key \1, value \2>[]", theirs.type)
    return "MAP<" in theirs.type and ours.type == entries and ours.value == theirs.value


def _is_panic(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.failure.startswith("panic")


DIFFERENCES = (
    DeliberateDifference(
        "nanoseconds",
        "Spark keeps microseconds: a TIMESTAMP or TIME loses its nanoseconds",
        _is_nanoseconds,
    ),
    DeliberateDifference(
        "far instants",
        "Spark counts microseconds in 64 bits: one beyond the year 294,247 fails; so "
        "does a constant DECIMAL that DataFusion lets wrap around",
        _is_far,
    ),
    DeliberateDifference(
        "maps", "a map is a list of its entries, as Arrow holds one", _is_map
    ),
    DeliberateDifference(
        "panics", "DataFusion panics: there is nothing to imitate", _is_panic
    ),
)


def deliberate(case: Case, ours: Outcome, theirs: Outcome) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    for difference in DIFFERENCES:
        if difference.applies(case, ours, theirs):
            return difference.name
    return ""
