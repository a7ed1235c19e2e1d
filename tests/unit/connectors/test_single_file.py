"""Reading one file of lines."""

import json
import os
import tracemalloc
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec, _files, _line_files
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema, Timestamp
from arroyo_nb.tape.conductor import Conductor, ConductorLimits
from arroyo_nb.tape.format import chunk_numbers

SCHEMA = Schema((Field("n", BIGINT), Field("s", TEXT)))


def recorder(path, schema=SCHEMA, *, event_time=None, bad_data="fail"):
    options = {"path": str(path), "format": "json", "bad_data": bad_data}
    spec = TableSpec("t", schema, options, event_time)
    return CONNECTORS.get("single_file").recorder(spec)


def read(path, **options):
    return list(recorder(path, **options).chunks(None))


def numbers(chunks):
    return [n for chunk in chunks for n in chunk.rows["n"].to_pylist()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n \n", []),
        (b'{"n": 1}\n{"n": 2}\n', [1, 2]),
        (b'{"n": 1}\n{"n": 2}', [1, 2]),
        (b'{"n": 1}\r\n{"n": 2}\r\n', [1, 2]),
        (b'\xef\xbb\xbf{"n": 1}\n', [1]),
        (b'\n{"n": 1}\n\n\n{"n": 2}\n\n', [1, 2]),
        (b'{"n": 1, "s": "' + b"x" * 300_000 + b'"}\n{"n": 2}', [1, 2]),
    ],
)
def test_lines_are_records(tmp_path, data, expected):
    path = tmp_path / "data.json"
    path.write_bytes(data)
    assert numbers(read(path)) == expected


@pytest.mark.parametrize("line", [b"{", b'{"n": 1}\0', b'{"s": "\xff"}', b'{"n": []}'])
def test_a_bad_line_is_named_or_counted(tmp_path, line):
    path = tmp_path / "data.json"
    path.write_bytes(b'{"n": 1}\n' * 20_000 + line + b'\n{"n": 2}\n')
    with pytest.raises(RunProblem, match=r"data\.json:20001: "):
        read(path)
    chunks = read(path, bad_data="drop")
    assert len(numbers(chunks)) == 20_001
    assert sum(chunk.dropped_rows for chunk in chunks) == 1
    assert [b.place for c in chunks for b in c.bad] == [f"{path}:20001"]


def test_what_cannot_be_read_is_told_before_the_run_starts(tmp_path, monkeypatch):
    with pytest.raises(RunProblem, match="there is no file"):
        recorder(tmp_path / "none.json")
    with pytest.raises(RunProblem, match="is a folder, not a file"):
        recorder(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunProblem, match="is not a regular file"):
        recorder(tmp_path / "pipe")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "data.json").write_text("")
    # Root reads anything, so the system's refusal is played.
    monkeypatch.setattr(type(tmp_path), "open", refuse)
    with pytest.raises(RunProblem, match=r"data\.json': Permission denied"):
        recorder(tmp_path / "data.json")


def test_a_format_is_required():
    with pytest.raises(CatalogProblem, match="'format' must be set"):
        CONNECTORS.get("single_file").columns({"path": "data.json"})
    assert CONNECTORS.get("single_file").columns({"format": "json"}) is None


def test_an_endless_line_is_an_error_not_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_line_files, "LONGEST_LINE_BYTES", 1000)
    path = tmp_path / "data.json"
    path.write_bytes(b'{"n": 1}\n' * 14_563 + b"x" * 5_000)
    with pytest.raises(RunProblem, match=r"data\.json:14564: the line is longer than"):
        read(path)


def test_event_time_is_the_column_or_the_arrival(tmp_path):
    path = tmp_path / "data.json"
    path.write_text('{"t": "2023-01-02T03:04:05"}')
    schema = Schema((Field("t", Timestamp()),))
    before = datetime.now(UTC)
    (chunk,) = read(path, schema=schema, event_time="t")
    (row,) = chunk.rows.to_pylist()
    assert row["_timestamp"] == datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert before <= row["_arrival"] <= datetime.now(UTC)
    (chunk,) = read(path, schema=schema)
    assert chunk.rows["_timestamp"] == chunk.rows["_arrival"]
    assert chunk.rows.schema.field("_timestamp").type == pa.timestamp("us", "UTC")


def test_chunks_grow_and_can_be_gone_on_from(tmp_path):
    path = tmp_path / "data.json"
    with path.open("w") as file:
        file.writelines(f'{{"n": {n}, "s": "{n:060d}"}}\n' for n in range(20_000))
    chunks = read(path)
    sizes = [chunk.rows.num_rows for chunk in chunks]
    assert sum(sizes) == 20_000
    assert sizes[0] < 2_000 < sizes[1] < sizes[2]
    for done, chunk in enumerate(chunks, 1):
        position = json.loads(json.dumps(chunk.position))
        rest = list(recorder(path).chunks(position))
        assert [numbers([c]) for c in rest] == [numbers([c]) for c in chunks[done:]]
        assert [c.position for c in rest] == [c.position for c in chunks[done:]]
    with path.open("a") as file:
        file.write('{"n": 20000, "s": ""}\n')
    assert numbers(recorder(path).chunks(chunks[-1].position)) == [20_000]
    path.write_text(path.read_text().replace('"s": "0', '"s": "1'))
    with pytest.raises(RunProblem, match="other lines than were read of it before"):
        list(recorder(path).chunks(chunks[1].position))
    path.write_text("")
    with pytest.raises(RunProblem, match="shorter than what was read"):
        list(recorder(path).chunks(chunks[-1].position))


def test_a_large_file_needs_little_memory_and_little_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "LARGEST_CHUNK_BYTES", 2 * 2**20)
    path = tmp_path / "data.json"
    block = b'{"n": 1, "s": "' + os.urandom(500).hex().encode() + b'"}\n'
    with path.open("wb") as file:
        for _ in range(64):
            file.write(block * 1_000)
    assert path.stat().st_size > 60 * 2**20
    limits = ConductorLimits(lookahead_chunks=2, keep_rows=0)
    conductor = Conductor(
        recorder(path), tmp_path / "tape", schema=SCHEMA, source="t", limits=limits
    )
    arrow_before = pa.total_allocated_bytes()
    most_arrow = most_files = 0
    tracemalloc.start()
    conductor.start()
    while not conductor.state.ended:
        assert conductor.error is None
        most_arrow = max(most_arrow, pa.total_allocated_bytes() - arrow_before)
        most_files = max(most_files, len(chunk_numbers(tmp_path / "tape")))
        conductor.consumed(conductor.state.chunks)
    _, most_python = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert conductor.join(10)
    assert conductor.state.rows == 64_000
    # A few blocks of 2 MiB, in Python and in Arrow, whatever the file's size.
    assert 0 < most_arrow < 12 * 2**20
    assert 0 < most_python < 12 * 2**20
    assert most_files <= 4


def test_changes_are_told_in_one_sequence_wherever_one_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "data.json"
    update = {"before": {"n": 1}, "after": {"n": 1, "s": "x"}, "op": "u"}
    path.write_text(f"null\n{json.dumps(update)}\n" * 3)
    monkeypatch.setattr(_files, "FIRST_CHUNK_BYTES", 1)
    options = {"path": str(path), "format": "debezium_json"}
    spec = TableSpec("t", SCHEMA, options, None, ("n",))
    made = CONNECTORS.get("single_file").recorder(spec)
    chunks = list(made.chunks(None))
    hidden = ["_weight", "_sequence", "_arrival", "_timestamp"]
    assert chunks[0].rows.column_names == ["n", "s", *hidden]
    rows = pa.concat_tables(chunk.rows for chunk in chunks)
    assert rows["_weight"].to_pylist() == [-1, 1] * 3
    sequence = rows["_sequence"].to_pylist()
    assert sequence == sorted(set(sequence))
    again = pa.concat_tables(c.rows for c in made.chunks(chunks[1].position))
    assert sequence[-again.num_rows :] == again["_sequence"].to_pylist()
    assert 0 < again.num_rows < rows.num_rows
