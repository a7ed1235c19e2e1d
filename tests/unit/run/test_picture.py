"""A run's picture, without an engine."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa

from arroyo_nb.catalog import Catalog
from arroyo_nb.planner import plan_script
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.run import Run
from arroyo_nb.run.trace import TracedBatch
from arroyo_nb.schema import EPOCH

TWO_OUTPUTS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);
SELECT count(*) AS n, tumble(INTERVAL '1 hour') AS w FROM ticks GROUP BY w;
SELECT counter FROM ticks;
"""


def test_a_picture_tells_what_was_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.trace.TRACE_BATCHES", 1)
    plan = plan_script(TWO_OUTPUTS, Catalog())
    engine = SimpleNamespace(status="starting")
    run = Run("r", plan, engine, tmp_path, RunOptions(keep=True))
    before = run.snapshot()
    assert (before.rows_cut, before.windows_cut) == (0, 0)
    assert (before.recorded_to, before.exact) == (None, True)

    windowed, plain = run.outputs
    windowed.preview._limit_rows = 2
    window = pa.struct([("start", pa.timestamp("us")), ("end", pa.timestamp("us"))])
    rows = pa.table({"n": [1, 2, 3], "w": pa.nulls(3, window)})
    windowed.preview.put(rows, 0)
    plain.preview.put(pa.table({"counter": [7]}), 0)
    first = TracedBatch(0, 0.0, None, EPOCH, {}, None)
    windowed.traces[0].add(first)
    windowed.traces[0].add(replace(first, batch_id=1, exact=False))
    picture = run.snapshot()
    assert (picture.rows_kept, picture.rows_cut, picture.rows_out) == (2, 1, 4)
    assert (picture.recorded_to, picture.exact) == (0, False)
