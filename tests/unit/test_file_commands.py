"""``%arroyo peek PATH`` and ``head PATH``: what files hold, and a table for them."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime, timedelta

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arroyo_nb import file_commands
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.session import Session

AT = datetime(2024, 1, 1, 10)


@pytest.fixture
def peek(monkeypatch, tmp_path):
    """What a look tells, and the statement that it offers."""
    shown, offered = [], []
    monkeypatch.setattr(file_commands, "publish", lambda data: shown.append(data))

    def look(path, rows=5):
        def offer(place, statement):
            offered.append((place, statement))
            return True

        file_commands.peek(Session(), str(path), rows, offer)
        return shown[-1]["text/plain"], offered[-1][1]

    return look


def lines_of(statement):
    return [line.strip().rstrip(",") for line in statement.splitlines()]


def test_a_folder_of_parquet(peek, tmp_path):
    times = [AT, AT - timedelta(seconds=20), AT + timedelta(minutes=1)]
    columns = {
        "at": times,
        "day": [date(2024, 1, 1)] * 3,
        "Price": pa.array([1, 2, None], pa.decimal128(12, 2)),
        "tags": pa.array([[("end", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "s": [{"end": 1, "Big Name": "x"}] * 3,
        "_timestamp": times,
    }
    for day in ("2024-01-01", "2024-01-02"):
        folder = tmp_path / "rides" / f"for={day}" / "k=07"
        folder.mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / "a.parquet")
    text, statement = peek(tmp_path / "rides")
    assert "2 files, format parquet; as a table, in the next cell:" in text
    # The second file begins 80 seconds before the end of the first.
    assert lines_of(statement) == [
        "CREATE TABLE rides (",
        "at TIMESTAMP NOT NULL",
        "day TIMESTAMP",
        '"Price" DECIMAL(12, 2)',
        'tags STRUCT<"key" TEXT, value INT>[]',
        's STRUCT<"end" BIGINT, "Big Name" TEXT>',
        '"for" TIMESTAMP NOT NULL',
        "k TEXT NOT NULL",
        "WATERMARK FOR at AS at - INTERVAL '5 minutes'",
        ") WITH (",
        "connector = 'filesystem'",
        f"path = '{tmp_path}/rides'",
        "format = 'parquet'",
        "type = 'source'",
        ");",
    ]
    # The first rows were read by the statement: they are shown.
    assert "[{key: end, value: 1}]" in text
    assert "07" in text


def test_files_that_are_older_than_a_column(peek, tmp_path):
    pq.write_table(pa.table({"n": pa.array([1], pa.int32())}), tmp_path / "1.parquet")
    newer = pa.table({"n": [2**40], "x": [0.5]})
    pq.write_table(newer, tmp_path / "2.parquet")
    text, statement = peek(tmp_path)
    lines = lines_of(statement)
    assert lines[1:3] == ["n BIGINT", "x DOUBLE"]
    assert "'parquet.missing_columns' = 'null'" in lines
    assert "NULL" in text.split("\n\n")[0]


def test_avro_and_lines(peek, tmp_path):
    fields = [
        {"name": "id", "type": "long"},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "word", "type": ["null", "string"]},
    ]
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, schema, [{"id": 1, "ms": AT, "word": None}])
    _, statement = peek(tmp_path / "a.avro")
    assert lines_of(statement)[:4] == [
        "CREATE TABLE a (",
        "id BIGINT NOT NULL",
        "ms TIMESTAMP(3) NOT NULL",
        "word TEXT",
    ]
    folder = tmp_path / "logs" / "k=1"
    folder.mkdir(parents=True)
    rows = "".join(json.dumps({"a": n}) + "\n" for n in range(3)).encode()
    (folder / "x.json").write_bytes(rows)
    text, statement = peek(tmp_path / "logs")
    assert lines_of(statement)[1:3] == ["a BIGINT NOT NULL", "k BIGINT NOT NULL"]
    assert "format json" in text
    (folder / "x.json").write_bytes(gzip.compress(b"\xef\xbb\xbf" + rows))
    _, statement = peek(tmp_path / "logs")
    assert "'source.compression' = 'gzip'" in lines_of(statement)


@pytest.mark.parametrize("names", [("a.gz", "b.json"), ("b.gz", "a.json")])
def test_files_of_lines_that_are_packed_otherwise_than_others(peek, tmp_path, names):
    packed, plain = names
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / packed).write_bytes(gzip.compress(b'{"n": 1}\n'))
    (tmp_path / "mixed" / plain).write_text('{"n": 2}\n')
    text, statement = peek(tmp_path / "mixed")
    assert "not like the others" not in text
    assert "compression" not in statement
    assert "n BIGINT NOT NULL" in lines_of(statement)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_column_of_nothing_but_nulls_has_the_type_of_other_files(
    peek, tmp_path, names
):
    (tmp_path / "rides").mkdir()
    for name, values in zip(names, (pa.nulls(2), [1, None]), strict=True):
        columns = pa.table({"n": values, "odd": pa.nulls(2)})
        pq.write_table(columns, tmp_path / "rides" / f"{name}.parquet")
    text, statement = peek(tmp_path / "rides")
    assert lines_of(statement)[1:3] == ["n BIGINT", "odd TEXT"]
    assert "1" in text


def test_what_cannot_be_looked_into(peek, tmp_path):
    pq.write_table(pa.table({"n": [1]}), tmp_path / "1.parquet")
    (tmp_path / "2.json").write_text("{}")
    with pytest.raises(RunProblem, match="are files of two formats") as failed:
        peek(tmp_path)
    assert r"'source.regex_pattern' = '\.parquet$'" in failed.value.hint
    (tmp_path / "2.json").unlink()
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ArroyoError, match=r"1\.parquet' is not a Parquet file"):
        peek(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunProblem, match="there is no file in"):
        peek(tmp_path / "empty")
    (tmp_path / "zip codes.csv").write_text("zip;town\n")
    with pytest.raises(RunProblem, match="is a table of text") as failed:
        peek(tmp_path / "zip codes.csv")
    assert failed.value.hint == (
        f"write %%arroyo_rows zip_codes --from '{tmp_path}/zip codes.csv' in a cell of "
        "its own"
    )


@pytest.mark.parametrize(
    ("word", "wanted"),
    [("{here}/a.json", True), ("{here}", True), ("{here}/none", False), ("a", False)],
)
def test_what_is_a_path(tmp_path, word, wanted):
    (tmp_path / "a.json").write_text("{}")
    assert file_commands.is_path(word.format(here=tmp_path)) is wanted


def test_a_recording_is_declared_as_one(peek, tmp_path):
    rows = [{"id": n, "at": f"2024-01-01T10:00:{n:02}Z"} for n in range(20)]
    with Session() as session:
        session.emit(tmp_path / "trips.tape", [*rows, b"{no"], wait=True)
    said, statement = peek(tmp_path / "trips.tape", 3)
    assert "a recording, 21 records, format json; 1 of 21 are not like the" in said
    assert lines_of(statement)[1:4] == [
        "id BIGINT NOT NULL",
        "at TIMESTAMP NOT NULL",
        "WATERMARK FOR at AS at - INTERVAL '5 seconds'",
    ]
    assert "connector = 'tape'" in lines_of(statement)
    with Session() as session:
        session.run(statement)
        assert session.head("trips", 30).num_rows == 20
