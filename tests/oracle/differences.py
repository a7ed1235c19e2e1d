"""The deliberate differences from what DataFusion gives: each has a name and a reason.

Nothing else may differ, but for what ``not_yet.tsv`` lists, which is to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from arroyo_nb.schema import DOUBLE
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


def _is_of_months(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "an interval with months is not supported" in ours.refusal + ours.failure


_FAR = 2**63
_KINDS_OF_TIMES = re.compile(r"to_timestamp|from_unixtime|date_bin|date_trunc|.*TIMEST")


def _is_of_far_years(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    if not _KINDS_OF_TIMES.match(case.kind):
        return False
    for one in (ours, theirs):
        if isinstance(one.value, int) and abs(one.value) >= _FAR:
            return True
    return "DATETIME_OVERFLOW" in ours.failure


def _is_of_seconds(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "to_timestamp(" in case.expression and any(
        column.type == DOUBLE for column in case.columns
    )


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
        "months",
        "an interval with months has no length, so it is no column of Spark: it may be "
        "added, compared and read, and not be a value of its own",
        _is_of_months,
    ),
    DeliberateDifference(
        "years of a TIMESTAMP",
        "nanoseconds in 64 bits end in 1677 and 2262, and microseconds in the year "
        "294247: DataFusion wraps around or fails, where the value here is right, and "
        "holds seconds that Spark does not",
        _is_of_far_years,
    ),
    DeliberateDifference(
        "make_date of NULL",
        "DataFusion takes a NULL for the number 0, or fails",
        lambda case, ours, theirs: (
            "make_date(" in case.expression
            and ours.value is None
            and not ours.refusal + ours.failure
        ),
    ),
    DeliberateDifference(
        "seconds with a fraction",
        "to_timestamp of a DOUBLE counts seconds, as of a literal; DataFusion counts "
        "nanoseconds where it is a column",
        _is_of_seconds,
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
