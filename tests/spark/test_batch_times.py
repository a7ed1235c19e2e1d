"""The time that an updating operator is told: that of the batch, as Spark logged it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from microbatches import run_to_end, write_tables

from arroyo_nb.changelog.state_tables import Layout, State
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.spark.operator_changes import OperatorInput, operator_changes
from arroyo_nb.spark.state_config import StateConfig

NUMBERS = pa.schema({"n": pa.int64()})


def clock() -> Any:
    """An operator that sends what time it is. Local classes travel to a worker, which
    cannot import this module, as a whole."""

    class Clock:
        output = pa.schema({"now": pa.int64()})
        layout = partial_layout = Layout((("rows", NUMBERS),))
        group_keys = ("n",)

        def partial(self, rows: pa.Table) -> State:
            return {"rows": rows}

        def buckets(self, state: State, _: int) -> Any:
            return np.zeros(len(state["rows"]), np.int64)

        def step(
            self, state: State, _: Any, now_us: int
        ) -> tuple[StateUpdate, pa.Table]:
            told = pa.table({"now": [now_us], "_weight": [1]})
            return StateUpdate.nothing(self.layout), told

    return Clock()


def test_is_the_logged_one_and_the_same_when_a_batch_is_run_again(engine, tmp_path):
    folder, state = tmp_path / "files", tmp_path / "state"
    folder.mkdir()
    write_tables(folder, [pa.table({"n": [n]}, NUMBERS) for n in range(3)])

    def work():
        spark = engine.session
        reader = spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1)
        read = OperatorInput(reader.parquet(str(folder)), {"n": "n"}, retracts=False)
        told = operator_changes(read, clock(), StateConfig(buckets=1), {"now": "now"})
        with query_settings(spark, IN_ROCKSDB):
            outcome = run_to_end(told.rows, state)
        return {batch: row["now"] for batch, row in outcome.rows}

    def logged_us(batch: int) -> int:
        _, metadata, *_ = (state / "offsets" / str(batch)).read_text().splitlines()
        return json.loads(metadata)["batchTimestampMs"] * 1000

    told = engine.worker.call(work)
    assert told == {batch: logged_us(batch) for batch in range(3)}
    # As after a kill between a batch's rows and its commit.
    for name in ("2", ".2.crc"):
        (state / "commits" / name).unlink(missing_ok=True)
    assert engine.worker.call(work) == {2: told[2]}
