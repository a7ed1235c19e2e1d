"""Random expressions give what DataFusion gives, or differ in a way that has a name."""

from __future__ import annotations

import pytest
from seeds import seed_of_the_day

from arroyo_nb.plan.explain.value_differences import VALUE_DIFFERENCES
from oracle.aggregates import differences as aggregates
from oracle.differences import DIFFERENCES
from oracle.generator import Generator, compared_functions
from oracle.report import not_yet, one_line, report

IN_TEST, IN_ALL = 2_000, 50_000


def check(found):
    known = not_yet()
    unknown = [
        f"{key[0]} | {key[1]} | {one_line(one)}"
        for key, one in found.kinds.items()
        if key not in known
    ]
    assert not unknown, "\n".join(unknown)


def test_expressions_give_what_datafusion_gives(engine):
    check(report(engine, Generator("fixed").cases(IN_TEST)))


@pytest.mark.long("oracle")
def test_many_expressions_give_what_datafusion_gives(engine):
    found = report(engine, Generator(f"long {seed_of_the_day()}").cases(IN_ALL))
    for kind, verdict in sorted(not_yet().keys() - found.kinds.keys()):
        print(f"differs no longer, to be removed from not_yet.tsv: {kind} | {verdict}")
    check(found)


def test_a_seed_gives_the_same_cases_and_every_function_is_among_them():
    cases = list(Generator("any").cases(1_000))
    assert list(map(str, cases)) == list(map(str, Generator("any").cases(1_000)))
    kinds = {case.kind.partition(" of other types")[0] for case in cases}
    assert {row.name for row in compared_functions()} <= kinds


def test_what_may_differ_is_published():
    # One holds of aggregates, too.
    names = {row.name for row in (*DIFFERENCES, *aggregates.DIFFERENCES)}
    assert sorted(names) == sorted(row.name for row in VALUE_DIFFERENCES)
    assert len(names) <= 25
