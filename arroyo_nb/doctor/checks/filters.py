"""Checks of WHERE, HAVING, LIMIT and unnest: which condition kept no row."""

from __future__ import annotations

import re

from arroyo_nb.doctor.examination import (
    JOINED,
    ConditionCount,
    Examination,
    FilterCount,
)
from arroyo_nb.doctor.words import one_of, rows, samples
from arroyo_nb.run.observe.findings import Finding


def limit_zero(exam: Examination) -> Finding | None:
    """LIMIT 0."""
    if exam.snapshot.facts.limit != 0:
        return None
    return Finding("limit", "the query ends with LIMIT 0: no row is asked for",
                   "remove the LIMIT, or write a number from 1 on")  # fmt: skip


def never_true(exam: Examination) -> Finding | None:
    """A condition that no row can meet."""
    s = exam.snapshot
    found = s.facts.never_true
    if not found or exam.gave_rows:
        return None
    said = next((hint for hint in s.hints if NEVER in hint), "")
    advice = said.rpartition(": ")[2] or "remove the condition, or write what is meant"
    return Finding("never-true", f"the condition {found[0]} is true of no row", advice)


NULL_COMPARED = "comparison with NULL"
"""What the plan says of ``= NULL``."""

NEVER = "never true"
"""What the plan says too of conditions that no row meets."""


def filtered(exam: Examination) -> Finding | None:
    """A filter that kept none of its rows, by what was counted."""
    if not exam.has_rows or exam.snapshot.facts.never_true:
        return None
    found = next((f for f in exam.probed.filters if f.rows_in and not f.rows_out), None)
    if found is None or found.stands == JOINED:
        return None
    return _filtered(found, exam.snapshot.hints)


def _filtered(found: FilterCount, hints: tuple[str, ...]) -> Finding:
    of = f" of {found.output}" if found.output else ""
    alone = [count for count in found.conditions if not count.passed]
    came = rows(found.rows_in)
    if not alone:
        listed = " AND ".join(str(count.condition.sql) for count in found.conditions)
        each = "; ".join(
            f"{count.condition.sql}: {count.passed:,}" for count in found.conditions
        )
        return Finding(
            "filtered",
            f"{came} came {found.stands}{of}, and none meets all of {listed} at once; "
            f"each alone is true of some ({each})",
            "take one of the conditions out",
        )
    worst = alone[0]
    code = "filtered" if found.stands in ("in WHERE", "in ON") else "having"
    return Finding(
        code,
        f"the condition {worst.condition} {found.stands}{of} kept none of the {came} "
        f"that came to it{_values(worst, found.rows_in)}",
        _advice(worst, found.rows_in, hints),
    )


def _values(count: ConditionCount, came: int) -> str:
    if count.nulls == came:
        cause = ", as a comparison with NULL always is" if _with_null(count) else ""
        return f": it is NULL in all of them{cause}"
    if not count.values:
        return ""
    return f": {count.column} is {samples(count.values)}"


_WITH_NULL = re.compile(r"(=|<>|[<>])\s*NULL\b|\bNULL\s*(=|<|>|!=)", re.IGNORECASE)


def _with_null(count: ConditionCount) -> bool:
    """Whether a condition compares a value with NULL."""
    return _WITH_NULL.search(count.condition.sql) is not None


def _advice(count: ConditionCount, came: int, hints: tuple[str, ...]) -> str:
    if count.nulls == came and _with_null(count):
        return _null_advice(hints)
    if (said := _of_column(count.column, hints)) is not None:
        return said
    if count.near:
        return f"did you mean {count.near}?"
    if count.nulls == came:
        return "compare a column that has values: %arroyo head shows the first rows"
    return "change the condition, or take it out"


def _null_advice(hints: tuple[str, ...]) -> str:
    said = (hint.rpartition(": ")[2] for hint in hints if NULL_COMPARED in hint)
    return next(said, "write IS NULL or IS NOT NULL")


def _of_column(column: str, hints: tuple[str, ...]) -> str | None:
    """What the plan says of the column of a condition."""
    word = re.compile(rf"\b{re.escape(column)}\b")
    return next((hint for hint in hints if column and word.search(hint)), None)


def unnested(exam: Examination) -> Finding | None:
    """unnest of lists without an element."""
    found = (c for c in exam.probed.lists if c.rows_in and not c.rows_out)
    empty = next(found, None) if exam.has_rows else None
    if empty is None:
        return None
    return Finding(
        "unnest",
        f"the list {empty.text} has no element in any of the {rows(empty.rows_in)}: "
        "unnest gives a row for each element",
        "unnest a list that has elements",
    )


def unknown_filter(exam: Examination) -> Finding | None:
    """No row passed the conditions, and nobody has counted which."""
    s, probed = exam.snapshot, exam.probed
    if not exam.has_rows or (s.windowed and s.windows) or not s.facts.drops_rows:
        return None
    counted = probed.filters or probed.matches or probed.lookups or probed.lists
    if counted or s.facts.never_true:
        return None
    what, where = s.facts.clauses or ("WHERE", "JOIN"), ""
    if s.windowed:  # without a window: no row has come to HAVING
        what, where = (
            tuple(w for w in what if w != "HAVING") or what,
            "before the window ",
        )
    advice = f"%arroyo doctor {s.name} counts the rows that each condition keeps"
    if probed.looked_at:  # and it was not told
        advice = "take its conditions out one by one"
    if s.hints:
        advice = f"probably overlooked: {'; '.join(s.hints)}"
    of = "of their groups" if what == ("HAVING",) else "of them"
    return Finding(
        "filtered",
        f"{rows(s.rows_in)} came in, and {one_of(what)} {where}kept none {of}",
        advice,
    )


def overlooked(exam: Examination) -> Finding | None:
    """What the plan itself says of its author's intention."""
    s = exam.snapshot
    known = exam.probed.looked_at or (s.windowed and s.windows)
    told = [hint for hint in s.hints if not (s.facts.never_true and NEVER in hint)]
    if (by := filtered(exam)) is not None:
        told = [hint for hint in told if not hint.endswith(by.hint)]
    # Else it is told beside the rows that an unknown condition has kept.
    if not exam.has_rows or not told or not known:
        return None
    what, _, advice = told[0].rpartition(": ")
    return Finding(
        "overlooked", what or told[0], advice if what else "change the query"
    )


FIRST_CHECKS = (limit_zero, never_true)
CHECKS = (unnested, filtered)
LATER_CHECKS = (unknown_filter, overlooked)
