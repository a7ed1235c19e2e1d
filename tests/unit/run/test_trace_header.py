"""A header of a trace that was written by hand: each value has its kind, or the file is
refused before a view takes a text for a number."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arroyo_nb import load_trace
from arroyo_nb.errors import DataProblem
from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
from arroyo_nb.run.observe.moments import OutputTrace
from arroyo_nb.run.observe.snapshot import RunState, Snapshot, SourceProgress
from arroyo_nb.run.observe.trace_file import METADATA, SavedRun, TracedOutput
from arroyo_nb.run.observe.trace_writer import save
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import TEXT, Field, Schema

TEXT_IN_IT = "<img src=x onerror=alert(1)>"
NUMBERS = (
    *(("version",), ("outputs", 0, "elapsed_s"), ("outputs", 0, "output")),
    *(("outputs", 0, "more_outputs"), ("outputs", 0, "recorded_to")),
    *(("outputs", 0, "windowed"), ("outputs", 0, "state"), ("outputs", 0, "limit")),
    *(("outputs", 0, "sources", 0, "rows"), ("outputs", 0, "sources", 0, "delay")),
    *(("outputs", 0, "sources", 0, "bounded"), ("outputs", 0, "numeric", 0)),
    *(("outputs", 0, "window"), ("outputs", 0, "order"), ("outputs",), ("sql",)),
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of one batch of one row."""
    preview = Preview(Schema((Field("a", TEXT),)))
    preview.take(pa.table({"a": ["x"]}), 0)
    totals = BatchLog()
    totals.add(BatchTotals(0, 0.2, 5.0, None, None, rows_in=1, rows_out=1))
    source = SourceProgress("t", 1, None, None, bounded=True, ended=True)
    newest = Snapshot(
        "q", RunState.FINISHED, columns=("a",), numeric=(False,), sources=(source,)
    )
    made = OutputTrace(totals, None, preview, lambda _: newest.sources)
    path = tmp_path / "run.parquet"
    save(SavedRun("SELECT 1", "", (TracedOutput(newest, made),)), path, lambda: None)
    return path


def with_header(path: Path, header: Any) -> Path:
    table = pq.read_table(path)
    meta = {METADATA: json.dumps(header).encode()}
    pq.write_table(table.replace_schema_metadata(meta), path)
    return path


def header_of(path: Path) -> Any:
    return json.loads(pq.read_schema(path).metadata[METADATA])


def test_an_unchanged_header_is_read(trace: Path) -> None:
    again = load_trace(with_header(trace, header_of(trace)))
    assert again.table().to_pydict() == {"a": ["x"]}
    assert again.snapshot().sources[0].name == "t"


@pytest.mark.parametrize("place", NUMBERS, ids=lambda place: ".".join(map(str, place)))
def test_a_text_for_another_kind_is_refused(
    trace: Path, place: tuple[Any, ...]
) -> None:
    header = copy.deepcopy(header_of(trace))
    inside = header
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = 7 if place == ("sql",) else TEXT_IN_IT
    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(with_header(trace, header))


@pytest.mark.parametrize(
    "window",
    [
        {"kind": "Tumble"},
        {"kind": "Tumble", "width": 0},
        {"kind": "Hop", "width": 5},
        {"kind": "Path", "width": 5},
        {"kind": "Tumble", "width": 5, "__class__": 1},
    ],
    ids=str,
)
def test_a_window_that_is_none_is_refused(trace: Path, window: dict[str, Any]) -> None:
    header = header_of(trace)
    header["outputs"][0]["window"] = window
    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(with_header(trace, header))


def test_a_column_of_another_type_is_refused(trace: Path) -> None:
    table = pq.read_table(trace)
    at = table.schema.get_field_index("elapsed_s")
    texts = table.set_column(at, "elapsed_s", pa.array([TEXT_IN_IT]))
    pq.write_table(texts, trace)
    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(trace)


def test_a_batch_of_an_output_that_is_not_there_is_refused(trace: Path) -> None:
    table = pq.read_table(trace)
    at = table.schema.get_field_index("output")
    pq.write_table(table.set_column(at, "output", pa.array([3], pa.int32())), trace)
    with pytest.raises(DataProblem, match="is damaged"):
        load_trace(trace)
