"""The seed of the day: which cases of a long family ``make test`` runs too.

Kills, outages, damages and the like have many cases that are alike. ``make test`` runs
one of each, another one each day; ``make long-...`` runs them all. The seed is the date
in UTC, which pytest prints first. To repeat a day, name it:
``ARROYO_NB_TEST_SEED=2026-05-09 make test``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

VARIABLE = "ARROYO_NB_TEST_SEED"

ParameterSet = type(pytest.param())


def seed_of_the_day() -> str:
    """The date in UTC, unless the environment has a seed."""
    # The first call notes it there. So workers, which have to collect the same tests,
    # have the same seed though they may start after midnight.
    if not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = datetime.now(UTC).date().isoformat()
    return os.environ[VARIABLE]


def random_of_the_day(name: str) -> Random:
    """Random numbers that are the same ones all day.

    Parameters
    ----------
    name
        Whoever draws: each has numbers of its own.
    """
    return Random(f"{seed_of_the_day()} {name}")


def of_the_day(cases: Iterable[Any], family: str, count: int = 1) -> list[Any]:
    """Parameters that all run in their family, and a few of them in ``make test``.

    Parameters
    ----------
    cases
        The values, or ``pytest.param(...)`` for a case of several values.
    count
        How many of them the day has.
    """
    params = [c if isinstance(c, ParameterSet) else pytest.param(c) for c in cases]
    # Not by the values: those that are objects are called another name each time.
    random = random_of_the_day(f"{family} {len(params)}")
    chosen = random.sample(range(len(params)), count)
    return [
        pytest.param(*param.values, id=param.id, marks=[*param.marks, mark])
        for number, param in enumerate(params)
        for mark in [_mark(family, is_chosen=number in chosen)]
    ]


def turn_of(name: str, among: Sequence[str], family: str) -> pytest.MarkDecorator:
    """Mark a test that takes turns with others: each day ``make test`` runs one."""
    chosen = random_of_the_day(f"{family} {' '.join(among)}").choice(among)
    assert name in among
    return _mark(family, is_chosen=name == chosen)


def _mark(family: str, *, is_chosen: bool) -> pytest.MarkDecorator:
    return pytest.mark.of_the_day(family) if is_chosen else pytest.mark.long(family)
