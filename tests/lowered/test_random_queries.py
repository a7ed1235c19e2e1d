"""Random queries over random histories: after every batch the changes fold to DuckDB's
answer over the rows so far, whatever the tasks and the buckets, whatever the restarts.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import cache
from random import Random

import pytest
from frames import Query, database, type_from_ddl
from pyspark.sql.types import DataType
from random_cases import Case, smallest
from random_histories import answers, as_read, plain, stored
from random_queries import catalog
from seeds import of_the_day

from arroyo_nb.plan.nodes import Sink, is_updating
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.results.changes import RELATION_ROWS, ChangesPreview
from arroyo_nb.spark import bucket_state
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import StateConfig

CASES, SOME, MANY = 150, 50, 10_000
_OPS = {(False, True): "c", (True, True): "u", (True, False): "d"}

tables = cache(catalog)


@pytest.fixture(scope="module", autouse=True)
def no_jvm():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataType, "fromDDL", staticmethod(type_from_ddl))
        # States of either size, and logs that are often written anew.
        patch.setattr(bucket_state, "SMALL_BYTES", 600)
        patch.setattr(bucket_state, "MOST_UPDATES", 3)
        yield


class Running:
    """A query on the stand-in."""

    def __init__(self, plan: Sink, case: Case) -> None:
        self._plan = plan
        self._schemas = {name: stored(name) for name in case.history[0]}
        self._query = Query(Random(case.seed))
        # With a time to live each join is one of our operators.
        buckets = 1 + case.seed % 3
        self._keeping = StateConfig(buckets=buckets, ttl=timedelta(days=1))
        self._lower()

    def restart(self) -> None:
        """Go on with what was saved."""
        self._query = Query(self._query.random, self._query.states)
        self._lower()

    def after(self, batch):
        """What it gives for one more batch."""
        self._query.batch = batch
        return self._frame

    def _lower(self) -> None:
        read = self._query.reader(self._schemas)
        lowered = lower(self._plan, read, keeping=self._keeping)
        self._frame = visible(lowered, self._plan)


class Told:
    """What somebody knows who is told the changes as a preview and a sink tell them."""

    def __init__(self, plan: Sink) -> None:
        self._rows: Counter = Counter()
        self._preview: ChangesPreview | None = None
        if is_updating(plan):
            self._preview = ChangesPreview(plan.schema, limit_rows=1_000_000)

    def take(self, frame, number: int) -> Counter:
        """The rows after one more batch."""
        if self._preview is None:
            self._rows.update(map(_row, frame.toArrow().to_pylist()))
            return self._rows
        self._preview.take(frame.toArrow(), number)
        for change in self._preview.changelog().to_pylist():
            if change["batch"] == number:
                self._fold(**change)
        kept = Counter(map(_row, self._preview.table().to_pylist()))
        assert kept == +self._rows, "table() is what changelog() folds to"
        return kept

    def _fold(self, op, batch, before, after) -> None:
        assert op == _OPS[before is not None, after is not None]
        assert before != after, "it changes nothing"
        if before is not None:
            self._rows[_row(before)] -= 1
            assert self._rows[_row(before)] >= 0, f"was not there: {before}"
        if after is not None:
            self._rows[_row(after)] += 1


def _row(row):
    return plain(list(row.values()))


def check(case: Case) -> None:
    (plan,) = plan_script(case.query, tables()).sinks
    running, told = Running(plan, case), Told(plan)
    expected = answers(database(), case.query, case.history)
    for number, batch in enumerate(as_read(case.history)):
        if number in case.restarts:
            running.restart()
        answer = next(expected)
        if answer.total() > RELATION_ROWS:  # equal rows, joined again and again
            return
        rows = told.take(running.after(batch), number)
        assert rows == answer, f"after batch {number}"


def fails(case: Case) -> bool:
    try:
        check(case)
    except Exception:
        return True
    return False


def check_some(seeds: range) -> None:
    """Check cases; of the first that fails, the smallest part that does."""
    for seed in seeds:
        case = Case.of(seed)
        if fails(case):
            case = smallest(case, fails)
            print(f"seed {seed}, made smaller:\n{case}")
            check(case)
            pytest.fail(f"seed {seed} failed once")


@pytest.mark.parametrize("first", of_the_day(range(0, CASES, SOME), "queries"))
def test_after_every_batch_the_changes_fold_to_the_answer(first):
    check_some(range(first, first + SOME))


@pytest.mark.long("queries")
@pytest.mark.parametrize("first", range(CASES, CASES + MANY, 500))
def test_of_many_queries(first):
    check_some(range(first, first + 500))
