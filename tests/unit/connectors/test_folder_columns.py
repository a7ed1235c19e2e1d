"""Columns whose values are those of the folders of a file."""

import json
from datetime import datetime, timedelta

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors._partitions import Partitioning
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import BIGINT, INTERVAL, TEXT, Field, Schema, Timestamp

DAY = Timestamp()
SCHEMA = Schema(
    (Field("n", BIGINT), Field("town", TEXT), Field("day", DAY), Field("k", BIGINT))
)


def write_rows(path, rows, format_):
    path.parent.mkdir(parents=True, exist_ok=True)
    if format_ == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format_ == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        fields = [
            {"name": name, "type": ["null", "long" if name == "n" else "string"]}
            for name in rows[0]
        ]
        schema = {"type": "record", "name": "R", "fields": fields}
        with path.open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), rows)


def recorder(path, format_, schema=SCHEMA, event_time=None, **options):
    options = {"path": str(path), "format": format_, "bad_data": "fail", **options}
    spec = TableSpec("t", schema, options, event_time)
    return CONNECTORS.get("filesystem").recorder(spec)


def rows(path, format_, schema=SCHEMA, event_time=None, **options):
    made = recorder(path, format_, schema, event_time, **options)
    found = pa.concat_tables(chunk.rows for chunk in made.chunks(None))
    return found.to_pylist()


@pytest.mark.parametrize("format_", ["json", "parquet", "avro"])
def test_the_names_of_folders_are_values(tmp_path, format_):
    write_rows(
        tmp_path / "2024/day=2024-01-02/town=K%C3%B6ln/k=7/a", [{"n": 1}], format_
    )
    none = "__HIVE_DEFAULT_PARTITION__"
    write_rows(tmp_path / f"2025/day=2025-01-02/town={none}/k=8/a", [{"n": 2}], format_)
    must = Schema(
        (
            Field("n", BIGINT),
            Field("town", TEXT),
            Field("day", DAY, nullable=False),
            Field("k", BIGINT, nullable=False),
        )
    )
    found = rows(tmp_path, format_, must, event_time="day")
    first, second = datetime(2024, 1, 2), datetime(2025, 1, 2)
    assert [(r["n"], r["town"], r["day"], r["k"]) for r in found] == [
        (1, "Köln", first, 7),
        (2, None, second, 8),
    ]
    assert [r["_timestamp"].replace(tzinfo=None) for r in found] == [first, second]


@pytest.mark.parametrize("format_", ["json", "parquet", "avro"])
def test_what_the_file_says_itself_comes_first(tmp_path, format_):
    path = tmp_path / "town=bonn/day=2024-01-01/k=1/a"
    write_rows(path, [{"n": 1, "town": "Bonn"}, {"n": 2, "town": None}], format_)
    assert [row["town"] for row in rows(tmp_path, format_)] == ["Bonn", "bonn"]


def test_a_type_that_no_folder_names_is_read_from_the_file(tmp_path):
    """As of a sink, which keeps in its files the columns that name its folders."""
    waits = timedelta(seconds=5)
    write_rows(tmp_path / "waits=00:00:05/a", [{"n": 1, "waits": waits}], "parquet")
    schema = Schema((Field("n", BIGINT), Field("waits", INTERVAL)))
    found = rows(tmp_path, "parquet", schema)
    assert [(row["n"], row["waits"]) for row in found] == [(1, waits)]


@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_a_folder_that_is_no_value_of_its_column(tmp_path, format_):
    write_rows(tmp_path / "town=x/day=2024-01-01/k=seven/a", [{"n": 1}], format_)
    with pytest.raises(RunProblem, match=r"'k=seven' of '.*/a' is no value") as failed:
        recorder(tmp_path, format_)
    assert failed.value.hint == "declare 'k' as TEXT"
    assert "'k', which is BIGINT" in str(failed.value)


def test_a_folder_of_null_is_no_value_where_there_must_be_one(tmp_path):
    none = "__HIVE_DEFAULT_PARTITION__"
    write_rows(tmp_path / f"k={none}/a", [{"n": 1}], "json")
    must = Schema((Field("n", BIGINT), Field("k", BIGINT, nullable=False)))
    with pytest.raises(RunProblem, match="'k' is NOT NULL"):
        rows(tmp_path, "json", must)
    (chunk,) = recorder(tmp_path, "json", must, bad_data="drop").chunks(None)
    assert chunk.dropped_rows == 1


@pytest.mark.parametrize("town", ["a/b", "x=y", "100%", "", None, "Köln", "{a}"])
def test_the_folders_of_a_sink_are_those_values(tmp_path, town):
    folder = Partitioning(None, ("town",)).folder(json.dumps([town]))
    write_rows(tmp_path / folder / "a", [{"n": 1}], "json")
    (row,) = rows(tmp_path, "json")
    # Hive has one name for both.
    assert row["town"] == (town or None)
