"""Folders of files on a real Spark: what goes in comes out, in the right folders."""

import gzip
import json
import os
from collections import Counter
from datetime import datetime
from decimal import Decimal
from operator import itemgetter

import fastavro
import pyarrow.parquet as pq
import pytest

from arroyo_nb import file_commands
from arroyo_nb.errors import ArroyoError
from arroyo_nb.formats.avro import files

ROWS = [
    {
        "id": n,
        "at": f"2023-01-{1 + n % 3:02d}T00:00:{n:02d}",
        "town": [None, "a/b", "Århus"][n % 3],
        "price": f"{n}.50",
    }
    for n in range(30)
]
COLUMNS = "id BIGINT, at TIMESTAMP, town TEXT, price DECIMAL(10, 2)"


def table(name, path, type_, format_="json", columns=COLUMNS, **options):
    given = "".join(
        f", '{option.replace('__', '.')}' = {value!r}"
        for option, value in options.items()
    )
    columns = f"({columns})" if columns else ""
    return f"""CREATE TABLE {name} {columns} WITH (connector = 'filesystem',
        path = '{path}', type = '{type_}', format = '{format_}'{given});
    """


@pytest.fixture
def rides(tmp_path):
    """Files of rows."""
    folder = tmp_path / "in"
    (folder / "b").mkdir(parents=True)
    for name, rows in (("a.json", ROWS[:17]), ("b/c.json", ROWS[17:])):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text)
    return table("rides", folder, "source", columns=f"{COLUMNS}, WATERMARK FOR at")


def test_rows_go_into_the_folders_of_their_time_and_town(session, tmp_path, rides):
    out = tmp_path / "out"
    options = {"partitioning__time_pattern": "%Y/%m-%d", "partitioning__fields": "town"}
    sink = table("o", out, "sink", columns="", json__compression="gzip", **options)
    query = "INSERT INTO o SELECT id, town, price FROM rides"
    # The preview beside it does not see the time.
    run = session.run(rides + sink + query, keep=True, wait=True)
    assert run.table().column_names == ["id", "town", "price"]
    found = {}
    for path in out.rglob("*.json.gz"):
        lines = gzip.decompress(path.read_bytes()).splitlines()
        found.setdefault(str(path.parent.relative_to(out)), []).extend(
            json.loads(line)["id"] for line in lines
        )
    nothing = "__HIVE_DEFAULT_PARTITION__"
    assert {folder: sorted(ids) for folder, ids in found.items()} == {
        f"2023/01-01/town={nothing}": list(range(0, 30, 3)),
        "2023/01-02/town=a%2Fb": list(range(1, 30, 3)),
        "2023/01-03/town=Århus": list(range(2, 30, 3)),
    }
    assert [path.name for path in out.iterdir()] == ["2023"]


def test_the_time_of_a_window_is_its_last_moment(session, tmp_path, rides):
    out = tmp_path / "out"
    options = {"partitioning__time_pattern": "%d", "rolling_policy__file_size": "1MB"}
    sink = table("o", out, "sink", columns="", **options)
    query = """INSERT INTO o SELECT count(*) AS n FROM rides
        GROUP BY tumble(INTERVAL '2 days')"""
    session.run(rides + sink + query, wait=True)
    (first, second) = sorted(out.rglob("*.json"))
    assert [first.parent.name, second.parent.name] == ["02", "04"]
    assert [json.loads(path.read_text())["n"] for path in (first, second)] == [20, 10]


def test_parquet_and_back(session, tmp_path, rides):
    out = tmp_path / "out"
    sink = table("o", out, "sink", "parquet", parquet__compression="snappy")
    session.run(rides + sink + "INSERT INTO o SELECT * FROM rides", wait=True)
    (path,) = out.rglob("*.parquet")
    schema = pq.read_schema(path)
    assert [str(f.type) for f in schema] == [
        "int64",
        "timestamp[us]",
        "string",
        "decimal128(10, 2)",
    ]
    back = table("back", out, "source", "parquet") + "SELECT * FROM back"
    rows = session.run(back, wait=True).table().to_pylist()
    before = session.run(rides + "SELECT * FROM rides", wait=True).table().to_pylist()
    assert Counter(map(str, rows)) == Counter(map(str, before))
    assert len(rows) == len(ROWS)


def test_avro_and_back(session, tmp_path, rides):
    out = tmp_path / "out"
    options = {"avro__compression": "deflate", "partitioning__fields": "town"}
    sink = table("o", out, "sink", "avro", columns="", **options)
    session.run(rides + sink + "INSERT INTO o SELECT * FROM rides", wait=True)
    paths = sorted(out.rglob("*.avro"))
    assert {path.parent.name for path in paths} == {
        *("town=__HIVE_DEFAULT_PARTITION__", "town=a%2Fb", "town=Århus")
    }
    found = []
    for path in paths:
        with path.open("rb") as file:
            found += list(fastavro.reader(file))
    assert [{**row, "at": None} for row in sorted(found, key=itemgetter("id"))] == [
        {**row, "at": None, "price": Decimal(row["price"])} for row in ROWS
    ]
    assert {row["at"].isoformat()[:19] for row in found} == {r["at"] for r in ROWS}
    back = table("back", out, "source", "avro") + "SELECT * FROM back"
    rows = session.run(back, wait=True).table().to_pylist()
    before = session.run(rides + "SELECT * FROM rides", wait=True).table().to_pylist()
    assert Counter(map(str, rows)) == Counter(map(str, before))
    assert len(rows) == len(ROWS)


def test_damage_of_avro_is_counted_with_its_file(session, tmp_path):
    fields = [{"name": "id", "type": "long"}]
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})
    for name, first in (("a", 0), ("b", 100)):
        with (tmp_path / f"{name}.avro").open("wb") as file:
            rows = [{"id": n} for n in range(first, first + 100)]
            fastavro.writer(file, schema, rows, sync_interval=1)
    whole = (tmp_path / "a.avro").read_bytes()
    # The last block has two bytes of numbers, one of a datum, and the marker.
    (tmp_path / "a.avro").write_bytes(whole[:-17])
    query = "SELECT count(*) AS n, max(id) AS most FROM t"
    options = {"bad_data": "drop"}
    source = table("t", tmp_path, "source", "avro", "id BIGINT NOT NULL", **options)
    run = session.run(source + query, wait=True)
    assert run.table().to_pylist()[-1] == {"n": 199, "most": 199}
    (lost,) = run.bad().to_pylist()
    assert (lost["origin"], lost["line"]) == (str(tmp_path / "a.avro"), 100)
    (progress,) = run.snapshot().sources
    assert progress.dropped_rows == 1
    source = table("t", tmp_path, "source", "avro", "id BIGINT NOT NULL")
    with pytest.raises(ArroyoError, match=r"a\.avro:100: invalid Avro: the container"):
        session.run(source + query, wait=True)


def test_an_avro_file_that_becomes_shorter_ends_there(session, tmp_path, monkeypatch):
    path = tmp_path / "a.avro"
    fields = [{"name": "id", "type": "long"}]
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})
    with path.open("wb") as file:
        rows = ({"id": n} for n in range(200_000))
        fastavro.writer(file, schema, rows, sync_interval=100_000)
    read = files.ReadDatums.read

    def read_and_cut(self, size_bytes):
        piece = read(self, size_bytes)
        os.truncate(path, 300_000)
        return piece

    monkeypatch.setattr(files.ReadDatums, "read", read_and_cut)
    options = {"bad_data": "drop"}
    source = table("t", path, "source", "avro", "id BIGINT NOT NULL", **options)
    query = "SELECT count(*) AS n, max(id) AS most FROM t"
    run = session.run(source + query, wait=True)
    found = run.table().to_pylist()[-1]
    assert found["n"] == found["most"] + 1
    assert 0 < found["n"] < 200_000
    (lost,) = run.bad().to_pylist()
    assert lost["reason"] == files.SHORTER_FILE
    assert (lost["origin"], lost["line"]) == (str(path), found["n"] + 1)


def test_a_number_that_avro_has_not_is_told_with_its_column(session, tmp_path, rides):
    sink = table("o", tmp_path / "out", "sink", "avro", columns="")
    query = """INSERT INTO o SELECT
        CAST('9223372036854775808' AS BIGINT UNSIGNED) AS big FROM rides"""
    with pytest.raises(ArroyoError, match=r"a row has 9223372036854775808 in .*'big'"):
        session.run(rides + sink + query, wait=True)


def test_changes_and_back(session, tmp_path, rides):
    out = tmp_path / "out"
    sink = table("o", out, "sink", "debezium_json", columns="")
    query = """SELECT town, count(*) AS n, sum(price) AS total FROM rides
        WHERE town IS NOT NULL GROUP BY town"""
    session.run(rides + sink + f"INSERT INTO o {query}", wait=True)
    columns = "town TEXT PRIMARY KEY, n BIGINT, total DECIMAL(20, 2)"
    back = table("back", out, "source", "debezium_json", columns)
    found = session.run(back + "SELECT * FROM back", wait=True).table().to_pylist()
    wanted = session.run(rides + query, wait=True).table().to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    assert [row["n"] for row in found] == [10, 10]


def test_a_sink_of_all_types_is_read_by_what_peek_declares(
    session, tmp_path, rides, monkeypatch
):
    shown = []
    monkeypatch.setattr(file_commands, "publish", shown.append)
    out = tmp_path / "out"
    sink = table(
        "o", out, "sink", "parquet", columns="", partitioning__fields=["town", "day"]
    )
    query = """INSERT INTO o SELECT id, town, at, price, CAST(id AS SMALLINT) AS small,
        CAST(id AS INT UNSIGNED) AS whole, CAST(id AS FLOAT) AS f, id % 2 = 0 AS even,
        CAST(at AS DATE) AS day, CAST(at AS TIME) AS clock, at - at AS span,
        make_array(id, 1) AS ids, named_struct('end', at, 'n', id) AS pair,
        CAST(town AS BYTEA) AS bytes
        FROM rides WHERE id < 3"""
    session.run(rides + sink + query, wait=True)
    offered = []

    def offer(_, text):
        offered.append(text)
        return True

    file_commands.peek(session, str(out), 3, offer)
    (statement,) = offered
    columns = statement.split(" WITH (")[0]
    assert "day TIMESTAMP" in columns
    assert "clock TEXT" in columns
    assert "span BIGINT" in columns
    assert 'pair STRUCT<"end" TIMESTAMP, n BIGINT>' in columns
    run = session.run(f"{statement} SELECT * FROM out", wait=True)
    rows = sorted(run.table().to_pylist(), key=itemgetter("id"))
    assert [row["town"] for row in rows] == [None, "a/b", "Århus"]
    last = rows[2]
    at = datetime(2023, 1, 3, 0, 0, 2)
    assert last["at"] == last["pair"]["end"] == at
    assert last["day"] == datetime(2023, 1, 3)
    assert last["clock"] == "00:00:02"
    assert last["span"] == 0
    assert last["ids"] == [2, 1]
    assert last["bytes"] == "Århus".encode()
    assert (last["small"], last["whole"], last["f"], last["even"]) == (2, 2, 2.0, True)
