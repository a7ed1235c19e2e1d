"""Random calls of aggregates and with OVER give what DataFusion gives over the same
rows, or differ in a way that has a name."""

from __future__ import annotations

import pytest
from seeds import seed_of_the_day

from arroyo_nb.functions import over
from oracle.aggregates.calls import Calls, rows
from oracle.aggregates.outcomes import FORMS
from oracle.aggregates.report import NOT_YET, report
from oracle.report import not_yet, one_line

IN_TEST = 60
"""Calls in each form, each a few times over another type: planned in a few seconds."""

LONG = 1_500


def check(found):
    known = not_yet(NOT_YET)
    unknown = [
        f"{key[0]} | {key[1]} | {one_line(one)}"
        for key, one in found.kinds.items()
        if key not in known
    ]
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_calls_give_what_datafusion_gives(engine, form):
    check(report(engine, "fixed", IN_TEST, [form]))


@pytest.mark.long("oracle")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("part", range(4))
def test_many_calls_give_what_datafusion_gives(engine, form, part):
    check(report(engine, f"{seed_of_the_day()} {part}", LONG, [form]))


def test_a_seed_gives_the_same_calls_and_every_function_is_among_them():
    cases = [*Calls("any").aggregates(len(rows()))]
    assert cases == [*Calls("any").aggregates(len(rows()))]
    assert {case.kind.split(" ")[0].split("(")[0] for case in cases} == {
        row.name for row in rows()
    }
    count = len(rows()) + len(over.names())
    kinds = {case.kind.split(" ")[0].split("(")[0] for case in Calls("x").over(count)}
    assert kinds >= {*over.names()}
