"""``unnest`` gives the rows that DataFusion gives: of lists that are NULL, empty,
nested or of structs."""

from __future__ import annotations

import pytest

from oracle.aggregates.outcomes import Form, evaluate_here, evaluate_there
from oracle.aggregates.rows import Rows
from oracle.cases import Case
from oracle.comparison import compare

UNNEST = Form(
    "unnest",
    "SELECT n, {calls} FROM data",
    "SELECT n, {call} AS value FROM data ORDER BY n",
    "n",
)
EXPRESSIONS = (
    "unnest(li)",
    "unnest(ls)",
    "upper(unnest(ls))",
    "unnest(make_array(li, li))",
    "unnest(make_array(st, st))",
    "unnest(make_array(s, NULL))",
    "unnest(s)",
    "unnest(NULL)",
)
TWO = ("unnest(li) + unnest(array_append(li, 1))", "unnest(unnest(make_array(li)))")
"""Arroyo refuses them, though DataFusion by itself does not."""


@pytest.fixture(scope="module")
def outcomes(engine):
    rows = Rows.at_random("unnest")
    cases = [Case(expression) for expression in (*EXPRESSIONS, *TWO)]
    there = evaluate_there(UNNEST, cases, rows)
    # A query has one list.
    here = [evaluate_here(engine, UNNEST, [case], rows)[0] for case in cases]
    return {
        case.expression: (one, other)
        for case, one, other in zip(cases, here, there, strict=True)
    }


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_rows_are_those_of_datafusion(outcomes, expression):
    ours, theirs = outcomes[expression]
    verdict = compare(ours, theirs)
    assert verdict.agrees, f"{verdict.value}: {ours} -> {theirs}"


@pytest.mark.parametrize("expression", TWO)
def test_two_in_one_expression_are_refused(outcomes, expression):
    assert "nnest" in outcomes[expression][0].refusal
