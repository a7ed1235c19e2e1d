"""Each smallest case that was found gives what DataFusion gives."""

from __future__ import annotations

import pytest

from oracle.cases import Case
from oracle.differences import deliberate
from oracle.report import compared
from oracle.smallest_cases import COLUMNS, DELIBERATE, EXPRESSIONS, STILL_DIFFER


def case_of(expression):
    kind, operands = DELIBERATE.get(expression, ("", ()))
    return Case(expression, COLUMNS, kind, operands=operands)


@pytest.fixture(scope="module")
def outcomes(engine):
    cases = [case_of(expression) for expression in EXPRESSIONS]
    return {one.case.expression: one for one in compared(engine, cases)}


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(e, marks=[pytest.mark.xfail(strict=True)] * (e in STILL_DIFFER))
        for e in EXPRESSIONS
    ],
)
def test_smallest_case_gives_what_datafusion_gives(outcomes, expression):
    found = outcomes[expression]
    named = deliberate(found.case, found.ours, found.theirs)
    assert found.verdict.agrees or named, f"{found.verdict.value}: {found}"


def test_what_still_differs_is_among_the_cases():
    assert set(EXPRESSIONS) >= STILL_DIFFER
    assert len(set(EXPRESSIONS)) == len(EXPRESSIONS)
