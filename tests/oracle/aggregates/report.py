"""Many calls compared, in each form of query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.aggregates.calls import Calls
from oracle.aggregates.differences import Pair, deliberate
from oracle.aggregates.outcomes import (
    FORMS,
    OVER,
    Form,
    evaluate_here,
    evaluate_there,
    refused_strictly,
)
from oracle.aggregates.rows import Rows
from oracle.cases import Outcome
from oracle.comparison import Verdict
from oracle.report import Compared, Report

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine

NOT_YET = Path(__file__).with_name("not_yet.tsv")
"""Kinds of differences that are not yet mended: kind, verdict and smallest case."""

_ABSENT = "NotImplemented"
"""A failure that says nothing of the rows."""

_MAY_OVERFLOW = re.compile(r"(sum|avg|mean)\((DISTINCT )?x\b")
"""Sums of the widest decimals."""


def report(
    engine: Engine, seed: str, count: int, forms: Sequence[Form] = FORMS
) -> Report:
    """The calls of a seed, so many in each form."""
    result = Report()
    for form in forms:
        # Its rows are groups of a query below, where both zeros are one.
        rows = Rows.at_random(seed, zeros=form is not OVER)
        for one in compared(engine, form, rows, seed, count):
            name = ""
            if not one.verdict.agrees:
                pair = Pair(form, one.case, one.ours, one.theirs, rows)
                name = deliberate(pair)
            result.add(one, name)
    return result


def compared(
    engine: Engine, form: Form, rows: Rows, seed: str, count: int
) -> list[Compared]:
    """Both outcomes of the calls in one form."""
    calls = Calls(f"{form.name} {seed}")
    cases = [*(calls.over(count) if form is OVER else calls.aggregates(count))]
    there = evaluate_there(form, cases, rows)
    likely = {
        number
        for number, (case, outcome) in enumerate(zip(cases, there, strict=True))
        if (outcome.failure and _ABSENT not in outcome.failure)
        or _MAY_OVERFLOW.match(case.expression)
    }
    here = evaluate_here(engine, form, cases, rows, likely=likely)
    found = []
    for case, one, other in zip(cases, here, there, strict=True):
        case = replace(case, kind=f"{form.name}: {case.kind}")
        pair = Compared(case, one, other)
        if pair.verdict is Verdict.ACCEPTED_HERE and refused_strictly(form, case):
            pair = Compared(case, Outcome(refusal="in strict mode"), other)
        found.append(pair)
    return found
