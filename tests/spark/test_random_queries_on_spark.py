"""Random queries on Spark itself, some in one stream, so that they cost one: what they
give with a stand-in for Spark (tests/lowered) is what they give.
"""

from collections import Counter, defaultdict
from contextlib import contextmanager
from functools import cache, reduce
from random import Random

import duckdb
import pytest
from microbatches import reader, run_to_end, write_tables
from random_histories import answers, as_read, history, plain
from random_queries import TABLES, catalog, query
from seeds import random_of_the_day

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.plan.nodes import is_updating
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import quoted
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import StateConfig

_PARTITIONS = "spark.sql.shuffle.partitions"

tables = cache(catalog)


@contextmanager
def shuffled(spark, partitions):
    before = spark.conf.get(_PARTITIONS)
    spark.conf.set(_PARTITIONS, partitions)
    try:
        yield
    finally:
        spark.conf.set(_PARTITIONS, before)


def united(frames):
    """Frames of any columns as one: each row in a struct of its own query's."""
    rows = [[quoted(n) for n in f.columns if n not in (WEIGHT, ROW_ID)] for f in frames]
    structs = [
        frame.selectExpr(f"struct({', '.join(names)}) AS row").schema["row"].dataType
        for frame, names in zip(frames, rows, strict=True)
    ]

    def select(number, frame):
        of = (
            f"struct({', '.join(rows[number])}) AS q{n}"
            if n == number
            else f"CAST(NULL AS {struct.simpleString()}) AS q{n}"
            for n, struct in enumerate(structs)
        )
        weight = WEIGHT if WEIGHT in frame.columns else "1L"
        return frame.selectExpr(f"{number} AS q", f"{weight} AS weight", *of)

    selects = (select(number, frame) for number, frame in enumerate(frames))
    return reduce(lambda one, other: one.union(other), selects)


def run(engine, folder, queries, batches, partitions):
    """The changes of each query in each batch: rows with weights."""
    for name in TABLES:
        (folder / name).mkdir(parents=True)
    read = list(as_read(batches))
    for name in TABLES:
        write_tables(folder / name, (batch[name] for batch in read))
    plans = [plan_script(text, tables()).sinks[0] for text in queries]

    def work():
        spark = engine.session

        def source(node):
            return reader(spark, folder / node.table.name)(node)

        keeping = StateConfig(buckets=2)
        with query_settings(spark, IN_ROCKSDB), shuffled(spark, partitions):
            frames = [visible(lower(p, source, keeping=keeping), p) for p in plans]
            return run_to_end(united(frames), folder / "state")

    assert any(map(is_updating, plans))
    found = defaultdict(list)
    for batch, row in engine.worker.call(work).rows:
        values = plain(list(row[f"q{row['q']}"].values()))
        found[row["q"], batch].append((values, row["weight"]))
    return found


def check(engine, folder, seed, partitions, number):
    random = Random(seed)
    queries = [query(random) for _ in range(number)]
    batches = history(random, " ".join(f"FROM {name}" for name in TABLES))
    found = run(engine, folder, queries, batches, partitions)
    with duckdb.connect() as db:
        # Of rows that are all equal any order is right.
        db.execute("SET order_by_non_integer_literal = true")
        for n, text in enumerate(queries):
            folded = Counter()
            for batch, expected in enumerate(answers(db, text, batches)):
                for row, weight in found[n, batch]:
                    folded[row] += weight
                assert min(folded.values(), default=0) >= 0, text
                assert +folded == expected, f"after batch {batch}: {text} {batches}"


SEEDS = range(1000, 1060)


def begins_with_updating(seed):
    """Whether the first query of a seed takes rows back."""
    (sink,) = plan_script(query(Random(seed)), tables()).sinks
    return is_updating(sink)


def test_after_every_batch_the_changes_fold_to_the_answer(engine, tmp_path):
    seed = random_of_the_day("queries").choice([*filter(begins_with_updating, SEEDS)])
    print(f"seed {seed}")
    check(engine, tmp_path, seed, partitions=2, number=1)


@pytest.mark.long("queries")
@pytest.mark.parametrize("seed", SEEDS)
def test_of_many_queries(engine, tmp_path, seed):
    check(engine, tmp_path, seed, 1 + (seed - SEEDS[0]) % 3, number=5)
