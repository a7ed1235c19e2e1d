"""Rows are counted by their panes on their way, in any order and any tasks."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from microbatches import run_to_end, write_chunks, write_tables
from pyspark.errors import PySparkException

from arroyo_nb.engine.pane_counts import NO_STREAM, PaneCounts, has_pane_counts

MINUTE = 60_000_000
MOST = 8
SCHEMA = pa.schema([("us", pa.int64())])
END = 253_370_764_800_000_000


def some_times(random):
    """Some of an hour, of any of a week, before 1970, at the end of time, and none."""
    week = random.choice([60, 7 * 24 * 60]) * MINUTE
    kinds = [
        lambda: random.randrange(week),
        lambda: random.randrange(-10 * MINUTE, 10 * MINUTE),
        lambda: END,
        lambda: None,
    ]
    weights = random.choice([(9, 2, 1, 1), (0, 1, 0, 0), (0, 0, 0, 1)])
    chosen = random.choices(kinds, weights, k=random.randrange(40))
    return [make() for make in chosen]


def counted(engine, times, tasks, width=MINUTE, told=""):
    """What is counted of rows with these event times."""

    def work():
        spark = engine.session
        rows = spark.createDataFrame([(t,) for t in times], "us long")
        counts = PaneCounts(spark, width, MOST)
        out = counts.counted(rows.repartition(tasks), "us", told)
        assert out.count() == len(times)  # all of them go on
        return counts.take(NO_STREAM)

    return engine.worker.call(work)


def test_an_engine_of_ours_has_them(engine):
    assert engine.worker.call(lambda: has_pane_counts(engine.session))


@pytest.mark.parametrize("seed", range(12))
def test_panes_are_counted_and_neighbours_together_where_there_are_too_many(
    engine, seed
):
    random = Random(seed)
    times = some_times(random)
    known = [t for t in times if t is not None]
    found = counted(engine, times, random.randint(1, 3))
    if not known:
        assert found is None
        return
    together = 1
    while len(panes := Counter(t // (MINUTE * together) for t in known)) > MOST:
        together *= 2
    assert (found.newest_us, found.together) == (max(known), together)
    width = MINUTE * together
    assert found.rows == {pane * width: rows for pane, rows in panes.items()}
    assert found.told == ()


@pytest.mark.parametrize("rows", [1, 64, 65, 1000, 20_000])
def test_what_is_told_of_a_drawn_row_is_its_own(engine, rows):
    times = Random(rows).sample(range(40 * MINUTE), rows)
    told = "concat('row ', us)"
    found = counted(engine, times, 3, told=told)
    assert found.told == tuple(f"row {us}" for us in found.sample)
    assert set(found.sample) <= set(times)
    assert min(rows, 32) <= len(found.sample) <= 64


def test_a_text_is_evaluated_for_drawn_rows_only(engine):
    # The second row of a task is drawn, and of 1,000 rows most later ones are not.
    last = "IF(us = 999, raise_error('evaluated'), 'x')"
    assert len(counted(engine, [*range(1000)], 1, told=last).told) < 64
    with pytest.raises(PySparkException, match="evaluated"):
        counted(engine, [999], 1, told=last)


def test_a_batch_is_told_until_a_later_one_is_asked_for(engine, tmp_path):
    folder = tmp_path / "tape"
    folder.mkdir()
    batches = [[(1, 0)], [], [(MINUTE, 0), (2, 0)], [(3, 0)]]
    write_chunks(folder, SCHEMA, batches)

    def work():
        rows = engine.session.readStream.schema("us long")
        rows = rows.option("maxFilesPerTrigger", 1).parquet(str(folder))
        counts = PaneCounts(engine.session, MINUTE, MOST)
        run_to_end(counts.counted(rows, "us"), tmp_path / "state")
        taken = [counts.take(number) for number in (0, 0, 2, 0, 1, 2, 9, 2)]
        return [told and told.rows for told in taken]

    first, third = {0: 1}, {0: 1, MINUTE: 1}
    expected = [first, first, third, None, None, third, None, None]
    assert engine.worker.call(work) == expected


def test_a_query_that_starts_again_counts_what_it_reads_anew(engine, tmp_path):
    folder, state = tmp_path / "tape", tmp_path / "state"
    folder.mkdir()

    def run(batches):
        write_tables(folder, [pa.table([times], SCHEMA) for times in batches])
        rows = engine.session.readStream.schema("us long")
        rows = rows.option("maxFilesPerTrigger", 1).parquet(str(folder))
        counts = PaneCounts(engine.session, MINUTE, MOST)
        run_to_end(counts.counted(rows, "us"), state)
        taken = [counts.take(number) for number in range(4)]
        return [told and told.rows for told in taken]

    batches = [[1], [2, 3], [MINUTE]]
    assert engine.worker.call(run, batches[:2]) == [{0: 1}, {0: 2}, None, None]
    # As if it was killed before its commit, the second batch is run again.
    (state / "commits" / "1").unlink()
    assert engine.worker.call(run, batches) == [None, {0: 2}, {MINUTE: 1}, None]


def test_a_task_that_fails_counts_nothing(engine):
    def work():
        counts = PaneCounts(engine.session, MINUTE, MOST)
        rows = counts.counted(engine.session.range(0, 9, 1, 1), "id")
        with pytest.raises(PySparkException, match="seven"):
            rows.selectExpr("assert_true(id <> 7, 'seven')").collect()
        return counts.take(NO_STREAM)

    assert engine.worker.call(work) is None


def test_rows_that_spark_computes_while_it_plans_are_no_tasks(engine):
    def work():
        counts = PaneCounts(engine.session, MINUTE, MOST)
        rows = engine.session.sql("SELECT * FROM VALUES (1L), (2L) AS t(us)")
        counts.counted(rows, "us").collect()

    with pytest.raises(Exception, match="counted in tasks"):
        engine.worker.call(work)


@pytest.mark.parametrize("width", [1, 7, 86_400_000_000])
def test_a_pane_has_any_width(engine, width):
    times = [-1, 0, 1, 6, 7, 86_400_000_001]
    found = counted(engine, times, 1, width)
    assert found.together == 1
    assert found.rows == Counter(t // width * width for t in times)
