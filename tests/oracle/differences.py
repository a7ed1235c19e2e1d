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
    one, other = ours.value, theirs.value
    return (
        ours.type == theirs.type
        and ours.type.startswith("TIMESTAMP")
        and isinstance(one, int)
        and isinstance(other, int)
        and one == other // 1000 * 1000
    )


_MAP = re.compile(r"MAP<([^<>]+), ([^<>]+)>")


def _is_map(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    entries = _MAP.sub(r"STRUCT<key \1, value \2>[]", theirs.type)
    return "MAP<" in theirs.type and ours.type == entries and ours.value == theirs.value


def _is_panic(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.failure.startswith("panic")


DIFFERENCES = (
    DeliberateDifference(
        "nanoseconds",
        "Spark keeps microseconds: a TIMESTAMP loses its nanoseconds",
        _is_nanoseconds,
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
