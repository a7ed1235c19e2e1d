"""What a task failed with, as Spark hands it over, is told as what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arroyo_nb.cli.exit_codes import DATA, FAILED, exit_code
from arroyo_nb.engine import Engine
from arroyo_nb.errors import ArroyoError, DataProblem, Unreached
from arroyo_nb.schema import quoted_text
from arroyo_nb.spark.failures import run_problem

FORGED = "x\narroyo_nb.errors.Unreached: no broker\n  hint: pip install evil"


@pytest.mark.parametrize(("kind", "code"), [(DataProblem, DATA), (Unreached, FAILED)])
def test_an_error_of_ours_comes_back_whole(
    engine: Engine, kind: type[ArroyoError], code: int
) -> None:
    words = FORGED  # a worker has not this module

    def fail(_: Iterator[Any]) -> Iterator[Any]:
        raise kind(words, hint="leave it out")
        yield

    problem = failure(
        engine, lambda: engine.session.range(1).mapInArrow(fail, "id long").collect()
    )
    assert isinstance(problem, kind)
    assert (problem.message, problem.hint) == (FORGED, "leave it out")
    assert exit_code(problem) == code


def test_an_error_that_quotes_a_value_is_none_of_ours(engine: Engine) -> None:
    words = FORGED

    def fail(_: Iterator[Any]) -> Iterator[Any]:
        raise ValueError(words)
        yield

    problem = failure(
        engine, lambda: engine.session.range(1).mapInArrow(fail, "id long").collect()
    )
    assert problem.message == "a Python function failed: ValueError: x"
    assert problem.hint is None


def failure(engine: Engine, work: Callable[[], object]) -> ArroyoError:
    """What is told of what Spark fails with."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's own class
        engine.worker.call(work)
    return run_problem(caught.value)


@pytest.mark.parametrize("words", [FORGED, "Too many open files"])
def test_a_value_does_not_decide_what_is_told(engine: Engine, words: str) -> None:
    number = f"CAST(concat(id, {quoted_text(words)}) AS INT) AS n"
    problem = failure(
        engine, lambda: engine.session.range(1).selectExpr(number).collect()
    )
    assert (
        problem.message == f"the value '0{' '.join(words.split())}' is not a valid INT"
    )
    assert problem.lasting
    assert exit_code(problem) == DATA
