"""Checks of joins and lookups: keys that never meet, pairs that meet no condition."""

from __future__ import annotations

from arroyo_nb.doctor.examination import JOINED, Examination, KeyMatch, SideSample
from arroyo_nb.doctor.words import rows, samples
from arroyo_nb.run.observe.findings import Finding


def side_without_rows(exam: Examination) -> Finding | None:
    """One side of a join has no row."""
    for match in exam.probed.matches if exam.has_rows else ():
        for empty, other in (
            (match.left, match.right),
            (match.right, match.left),
        ):
            # Else what has dropped them is said, with its own count.
            if other.rows and not empty.rows and not empty.dropped:
                return Finding(
                    "empty-side",
                    f"the side {empty.name} of the JOIN ON {_on(match)} has no row, "
                    f"and {other.name} has {rows(other.rows)}",
                    f"see why {empty.name} is empty: run SELECT * FROM it alone",
                )
    return None


def null_keys(exam: Examination) -> Finding | None:
    """The keys of one side are all NULL, which equals nothing."""
    for match in exam.probed.matches if exam.has_rows else ():
        for side in (match.left, match.right):
            if side.rows and not side.keyed:
                return Finding(
                    "null-keys",
                    f"the key of {side.name} in the JOIN ON {_on(match)} is NULL in "
                    f"all {rows(side.rows)}: NULL equals nothing",
                    "join by a column that has values: %arroyo head shows the first "
                    "rows",
                )
    return None


def keys_never_meet(exam: Examination) -> Finding | None:
    """No key is on both sides."""
    for match in exam.probed.matches if exam.has_rows else ():
        keyed = match.left.keyed and match.right.keyed
        if keyed and not match.shared and not match.wants_other_window:
            return Finding(
                "keys-never-meet",
                f"the keys of the JOIN ON {_on(match)} never meet: {_keys(match.left)}"
                f", {_keys(match.right)}",
                "make the keys equal: their type, case, blanks and prefix",
            )
    return None


def windows_never_meet(exam: Examination) -> Finding | None:
    """The sides have the same keys, in different windows."""
    for match in exam.probed.matches if exam.has_rows else ():
        if match.wants_other_window:
            return Finding(
                "windows-never-meet",
                f"the JOIN ON {_on(match)} compares two different windows, and a JOIN "
                "of windows only joins rows of the same window",
                "compare the windows themselves, as in ON a.w = b.w",
            )
        if match.windowed and match.shared and not match.shared_windows:
            if match.same_windows:
                return Finding(
                    "windows-never-meet",
                    f"both sides of the JOIN ON {_on(match)} have the same keys and "
                    "the same windows, and never the same key in the same window",
                    "take wider windows, or compare the event times of both sides",
                )
            return Finding(
                "windows-never-meet",
                f"both sides of the JOIN ON {_on(match)} have rows, and never in the "
                f"same window: {match.left.name} and {match.right.name} are of "
                "different times",
                "compare the event times of both sides, or take wider windows",
            )
    return None


def pairs_meet_no_condition(exam: Examination) -> Finding | None:
    """Keys meet, and what else the join asks is true of no pair."""
    found = exam.probed.filters if exam.has_rows else ()
    for pairs in found:
        if pairs.stands != JOINED or not pairs.rows_in or pairs.rows_out:
            continue
        alone = [c for c in pairs.conditions if not c.passed] or pairs.conditions
        text = " AND ".join(str(c.condition) for c in alone)
        return Finding(
            "join-condition",
            f"keys of both sides meet in {rows(pairs.rows_in, 'pair')}, and none of "
            f"them meets {text}",
            "widen the condition: its interval, or which of both times comes first",
        )
    return None


def lookups_never_match(exam: Examination) -> Finding | None:
    """No row found anything in a lookup table."""
    for looked in exam.probed.lookups:
        if looked.rows and not looked.found and (exam.has_rows or not looked.inner):
            keys = f", such as {samples(looked.keys)}" if looked.keys else ""
            return Finding(
                "lookup",
                f"none of {rows(looked.rows)} found its key in the lookup table "
                f"'{looked.table}'{keys}",
                f"compare its keys: %arroyo head {looked.table}",
            )
    return None


def _on(match: KeyMatch) -> str:
    return match.text if match.line is None else f"{match.text} (line {match.line})"


def _keys(side: SideSample) -> str:
    return f"{side.name} has {samples(side.keys)}"


CHECKS = (
    side_without_rows,
    null_keys,
    keys_never_meet,
    windows_never_meet,
    pairs_meet_no_condition,
    lookups_never_match,
)
