"""A tape of records as a table: its rows, its bad records, and where it goes on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.session import Session
from arroyo_nb.tape import ARRIVAL
from arroyo_nb.tape.format import Header
from arroyo_nb.tape.records import TOGETHER_US, RecordWriter, TapeRecord
from arroyo_nb.tape.writer import TapeWriter

NOON_MS = int(datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp()) * 1000
BESIDE = """part INT METADATA FROM 'partition', at BIGINT METADATA FROM 'offset_id',
    name TEXT METADATA FROM 'topic', ms BIGINT METADATA FROM 'timestamp',
    key BYTEA METADATA FROM 'key',
    headers STRUCT<key TEXT, value BYTEA>[] METADATA FROM 'headers'"""


@pytest.fixture
def tape(tmp_path):
    """Writes a tape of chunks of values, and gives its table's recorder."""

    def write(*chunks, columns="id INT", **options):
        with RecordWriter(tmp_path / "a", "orders") as writer:
            for number, values in enumerate(chunks):
                for value in values:
                    offset = writer.records
                    record = TapeRecord(
                        number % 2, offset, NOON_MS + offset, b"k", value
                    )
                    writer.append(record, number * TOGETHER_US)
            writer.finish()
        return read(columns, **options)

    def read(columns="id INT", path="", **options):
        given = {
            "connector": "tape",
            "path": path or tmp_path / "a",
            "format": "json",
            **options,
        }
        pairs = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
        session = Session()
        session.run(f"CREATE TABLE t ({columns}) WITH ({pairs})")
        table = session.catalog.get("t")
        return CONNECTORS.get("tape").recorder(table.spec.resolved())

    write.read = read
    return write


def test_a_row_has_its_columns_and_what_stands_beside(tape):
    (chunk,) = tape(
        [b'{"id": 5}', None, b'{"id": 6}'], columns=f"id INT, {BESIDE}"
    ).chunks(None)
    first, second = chunk.rows.to_pylist()
    time = datetime.fromtimestamp(NOON_MS / 1000, UTC)
    assert first == {
        "id": 5, "part": 0, "at": 0, "name": "orders", "ms": NOON_MS, "key": b"k",
        "headers": None, ARRIVAL: datetime(1970, 1, 1, tzinfo=UTC), TIMESTAMP: time,
    }  # fmt: skip
    assert (second["id"], second["at"], second["ms"]) == (6, 2, NOON_MS + 2)


def test_the_time_may_be_a_column(tape):
    columns = "at TIMESTAMP, WATERMARK FOR at"
    (chunk,) = tape([b'{"at": "2024-01-02T03:04:05Z"}'], columns=columns).chunks(None)
    assert chunk.rows[TIMESTAMP].to_pylist() == [
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    ]


def test_changes_have_their_weight_and_their_place(tape):
    create = b'{"before": null, "after": {"id": 1}, "op": "c"}'
    update = b'{"before": {"id": 1}, "after": {"id": 1}, "op": "u"}'
    made = tape([create, update], columns="id INT PRIMARY KEY", format="debezium_json")
    (chunk,) = made.chunks(None)
    found = [(row[WEIGHT], row[SEQUENCE]) for row in chunk.rows.to_pylist()]
    assert found == [(1, 1), (-1, 2), (1, 3)]


def test_a_bad_record_is_told_with_its_place(tape):
    made = tape([b'{"id": 1}'], [b"{no"])
    chunks = made.chunks(None)
    assert next(chunks).rows["id"].to_pylist() == [1]
    with pytest.raises(RunProblem, match=r"orders\[1\] offset 1: invalid JSON"):
        next(chunks)


def test_bad_records_are_left_out_and_counted(tape):
    (chunk,) = tape([b"{no", b"[]", b'{"id": 1}'], bad_data="drop").chunks(None)
    assert chunk.rows["id"].to_pylist() == [1]
    assert chunk.dropped_rows == 2
    assert str(chunk.bad[0]).startswith("orders[0] offset 0: invalid JSON: ")


def test_who_goes_on_reads_what_was_left(tape):
    made = tape([b'{"id": 1}'], [b'{"id": 2}'], [b'{"id": 3}'])
    first, *_ = made.chunks(None)
    left = [chunk.rows["id"].to_pylist() for chunk in made.chunks(first.position)]
    assert left == [[2], [3]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"type": "sink"},
            "invalid value for 'type': `sink`; expected",
        ),
        ({"format": "parquet"}, "does not take the format 'parquet'"),
        ({"topic": "a"}, "unknown option"),
        ({"format": "raw_string"}, "a single field called `value`"),
    ],
)
def test_what_a_tape_cannot_be_is_refused_by_name(tape, options, said):
    with pytest.raises(ArroyoError) as told:
        tape.read(**options)
    assert said.lower() in str(told.value).lower()


def test_a_tape_is_not_looked_up():
    with pytest.raises(ArroyoError, match="has no lookup"):
        Session().run(
            "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY) WITH (connector = 'tape', "
            "path = 'a', format = 'json')"
        )


def test_what_is_no_tape_of_records_is_told(tape, tmp_path, monkeypatch):
    TapeWriter(tmp_path / "rows", Header("n INT", "here", bounded=True))
    with pytest.raises(RunProblem, match="does not hold records of a topic"):
        tape.read(path=tmp_path / "rows")
    monkeypatch.setenv("PLACE", str(tmp_path / "secret"))
    with pytest.raises(RunProblem) as told:
        tape.read(path="{{ PLACE }}")
    assert str(told.value) == "there is no tape '{{ PLACE }}'"
