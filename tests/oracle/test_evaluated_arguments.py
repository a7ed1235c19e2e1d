"""Every function takes arguments that DataFusion evaluates: Spark calls no function of
Python in the body of a lambda, in which a function's own text may hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arroyo_nb import functions
from arroyo_nb.functions.examples import split_example
from oracle import ours
from oracle.cases import Case
from oracle.comparison import close

LITERAL = re.compile(r"'(?:[^']|'')*'|(?<![\w.'])\d+(?![\w.])")


def evaluated(literal: str) -> str:
    """The same value, from DataFusion."""
    if literal.startswith("'"):
        return f"regexp_replace({literal}, '(?i)zzz', '')"
    return f"({literal} + regexp_count('', '(?i)z'))"


def variants(call: str) -> Iterator[Case]:
    """A call with one of its literals evaluated, and one with all of them."""
    for found in LITERAL.finditer(call):
        start, end = found.span()
        yield Case(f"{call[:start]}{evaluated(found[0])}{call[end:]}")
    yield Case(LITERAL.sub(lambda found: evaluated(found[0]), call))


def test_every_example_with_arguments_that_datafusion_evaluates(engine):
    calls = [
        split_example(row.example)[0]
        for family in functions.FAMILIES
        for row in family.FUNCTIONS
        if not row.volatile
    ]
    # Of a call with one literal both variants are the same.
    cases = {variant: call for call in calls for variant in variants(call)}
    values = ours.evaluate(engine, [Case(call) for call in calls])
    plain = dict(zip(calls, values, strict=True))
    found = ours.evaluate(engine, [*cases])
    # An argument that must be a literal is none of these.
    wrong = [
        f"{variant}: {outcome}, not {plain[call]}"
        for (variant, call), outcome in zip(cases.items(), found, strict=True)
        if not outcome.refusal
        and (outcome.failure or not close(outcome.value, plain[call].value))
    ]
    assert not wrong, "\n".join(wrong)
    assert sum(not outcome.refusal for outcome in found) > 300
