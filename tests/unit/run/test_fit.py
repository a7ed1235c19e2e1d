"""What is told of rows whose columns have other names or units than their records."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.peek.guess import rows_of_records
from arroyo_nb.plan.nodes import Source
from arroyo_nb.run.sources.fit_notes import (
    FitNotes,
    fit_of,
    fitted,
    recorded_notes,
    sampled_payloads,
)
from arroyo_nb.run.sources.sources import _feed
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema, Timestamp
from arroyo_nb.session import Session
from arroyo_nb.spark.observe import read_fits
from arroyo_nb.tape import RecordCounts
from arroyo_nb.tape.fit import Fit, columns_seen
from arroyo_nb.tape.records import RecordWriter, TapeRecord
from arroyo_nb.tape.speed import Pace

MS = 1_700_000_000_000
FILE = """CREATE TABLE t ({columns}) WITH (connector = 'single_file', type = 'source',
path = '{path}', format = '{format}')"""


@pytest.fixture
def session():
    with Session() as session:
        yield session


@pytest.fixture
def notes(session, tmp_path):
    def of(columns, *records, format="json"):  # noqa: A002
        path = tmp_path / "rows"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        session.run(FILE.format(columns=columns, path=path, format=format))
        return recorded_notes(session.catalog.get("t"))

    return of


ROWS = [{"id": n, "status": "paid", "at": MS + n} for n in range(1960)]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("id INT, status TEXT", ()),
        (
            "id INT, statuss TEXT",
            ("no record of 1,960 had 'statuss'; did you mean 'status'?",),
        ),
        (
            'id INT, "Status" TEXT',
            ("no record of 1,960 had 'Status'; did you mean 'status'?",),
        ),
        (
            "id INT, paid_by TEXT",
            ("no record of 1,960 had 'paid_by'; not declared: 'status', 'at'",),
        ),
        (
            "at TIMESTAMP",
            (
                "all times of 'at' lie in January 1970: milliseconds? declare it "
                "BIGINT and write `to_timestamp_millis(at)`",
            ),
        ),
        ("at TIMESTAMP(3)", ()),
    ],
)
def test_what_is_odd_in_a_file(notes, columns, said):
    assert notes(columns, *ROWS) == said


@pytest.mark.parametrize(
    ("unit", "word", "digits"),
    [(1000, "seconds", 3), (1, "milliseconds", 6), (1, "milliseconds", 9)],
)
def test_the_unit_is_that_of_the_numbers(notes, unit, word, digits):
    (note,) = notes(f"at TIMESTAMP({digits})", *({"at": MS // unit} for _ in ROWS))
    assert f"January 1970: {word}? declare it BIGINT" in note


def test_what_says_null_or_comes_seldom_is_no_other_name(notes):
    assert notes("id INT, x TEXT", *({"id": n, "x": None} for n in range(20))) == ()
    rows = [{"id": n} for n in range(500)]
    assert notes("id INT, x TEXT", *rows, {"id": 501, "x": "late"}) == ()


def test_few_rows_say_something_only_where_they_are_all(notes, session):
    wanted = "no record of 9 had 'nope'; not declared: 'id', 'status', 'at'"
    assert notes("nope TEXT", *ROWS[:9]) == (wanted,)
    table = session.catalog.get("t")
    for fit in (Fit(9), Fit(0, are_all=True)):
        assert FitNotes(table).notes(fit, 5.0) == ()
    assert FitNotes(table).notes(Fit(9) + Fit(are_all=True), 5.0) == (wanted,)


def test_of_a_source_that_is_read_on_the_rows_before_are_not_known(session, tmp_path):
    session.emit(tmp_path / "tape", ROWS[:2], wait=True)
    session.run(
        "CREATE TABLE t (nope TEXT) WITH ("
        f"connector = 'tape', path = '{tmp_path / 'tape'}', format = 'json')"
    )
    table = session.catalog.get("t")
    recorder = fitted(CONNECTORS.get("tape").recorder(table.spec), table)
    for _ in recorder.chunks({"chunk": 1}):
        pass
    assert not fit_of(recorder).are_all


def test_of_a_changelog_the_rows_are_looked_at(notes):
    changes = [{"before": None, "after": row, "op": "c"} for row in ROWS[:20]]
    said = notes("id INT PRIMARY KEY, statu TEXT", *changes, format="debezium_json")
    assert said == ("no record of 20 had 'statu'; did you mean 'status'?",)


def test_a_schema_beside_each_record_is_named(notes, session):
    wrapped = [{"schema": {"type": "struct"}, "payload": row} for row in ROWS[:12]]
    (note,) = notes("id INT, status TEXT", *wrapped)
    assert "write 'json.include_schema' = 'true'" in note
    # Of a few that are so nothing is said: the others are rows.
    assert notes("id INT, status TEXT", *wrapped, ROWS[0]) == ()


def test_days_since_1970_are_named(notes):
    (note,) = notes("at TIMESTAMP(3)", *({"at": 19675 + n} for n in range(12)))
    assert (
        "days? declare it BIGINT and write `to_timestamp_seconds(at * 86400)`" in note
    )


def test_of_a_recording(session, tmp_path):
    session.emit(tmp_path / "tape", ROWS[:50], wait=True)
    session.run(
        "CREATE TABLE t (id INT, stat TEXT, o BIGINT METADATA FROM 'offset_id') WITH ("
        f"connector = 'tape', path = '{tmp_path / 'tape'}', format = 'json')"
    )
    said = recorded_notes(session.catalog.get("t"))
    assert said == ("no record of 50 had 'stat'; did you mean 'status'?",)


def test_empty_records_of_a_recording_are_told(session, tmp_path):
    payloads = [None, b"", b" \n", b'{"id": 1}', b"\t"]
    with RecordWriter(tmp_path / "tape", "t") as writer:
        for number, payload in enumerate(payloads):
            writer.append(TapeRecord(0, number, 0, None, payload), number)
        writer.finish()
    session.run(
        "CREATE TABLE t (id INT, o BIGINT METADATA FROM 'offset_id') WITH ("
        f"connector = 'tape', path = '{tmp_path / 'tape'}', format = 'json')"
    )
    table = session.catalog.get("t")
    said = recorded_notes(table)
    assert said == ("4 records were empty and gave no row",)
    (chunk,) = CONNECTORS.get("tape").recorder(table.spec).chunks(None)
    assert (chunk.rows["id"].to_pylist(), chunk.rows["o"].to_pylist()) == ([1], [3])
    assert (chunk.dropped_rows, chunk.counts) == (0, RecordCounts(empty=4))


@pytest.mark.parametrize("unit", ["micros", "nanos"])
@pytest.mark.parametrize("windowed", [False, True])
def test_record_times_in_another_unit_are_read_as_a_column(
    session, tmp_path, unit, windowed
):
    per_second = {"micros": 10**6, "nanos": 10**9}[unit]
    with RecordWriter(tmp_path / "tape", "t") as writer:
        for n in range(3):
            at = (1_700_000_000 + n) * per_second
            writer.append(TapeRecord(0, n, at, None, b'{"id": %d}' % n), n)
        writer.finish()
    options = f"connector = 'tape', path = '{tmp_path / 'tape'}', format = 'json'"
    session.run(f"CREATE TABLE t (id INT) WITH ({options})")
    with pytest.raises(RunProblem, match="not in milliseconds") as told:
        list(feed_chunks(session, windowed))
    assert "GENERATED ALWAYS AS (to_timestamp_micros(time))" in told.value.hint
    session.run(
        "CREATE TABLE t (id INT, time BIGINT NOT NULL METADATA FROM 'timestamp', "
        "event_time TIMESTAMP NOT NULL GENERATED ALWAYS AS "
        f"(to_timestamp_{unit}(time)) STORED, WATERMARK FOR event_time) "
        f"WITH ({options})"
    )
    (chunk,) = feed_chunks(session, windowed)
    assert chunk.rows["id"].to_pylist() == [0, 1, 2]
    assert chunk.rows["time"][0].as_py() == 1_700_000_000 * per_second


def feed_chunks(session, windowed):
    """The chunks of the table t, as a run reads them."""
    table = session.catalog.get("t")
    feed = _feed("t", Source(table), Pace(), None, windowed=windowed)
    return [chunk for chunk in feed.recorder.chunks(None) if chunk.rows.num_rows]


def test_texts_of_decimals_that_are_numbers_are_told(session, tmp_path):
    change = '{"op": "c", "after": {"id": 1, "fee": "%s"}}'
    (tmp_path / "rows").write_text(change % "19.99")
    session.run(
        "CREATE TABLE t (id INT PRIMARY KEY, fee DECIMAL(9, 2)) WITH ("
        f"connector = 'single_file', path = '{tmp_path / 'rows'}', "
        "format = 'debezium_json', type = 'source')"
    )
    (note,) = recorded_notes(session.catalog.get("t"))
    assert note.startswith("texts of DECIMAL columns are numbers, such as '19.99'")
    (tmp_path / "rows").write_text(change % "B88=")
    assert recorded_notes(session.catalog.get("t")) == ()


def test_what_is_packed_and_what_is_bad_is_looked_into_too(session, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "_hidden").write_text("no")
    lines = b'{"a": 1}\n[1]\n{half\n{"b": 2}\n'
    (folder / "one.json").write_bytes(gzip.compress(lines))
    session.run(
        f"CREATE TABLE t (a INT) WITH (connector = 'filesystem', path = '{folder}', "
        "type = 'source', format = 'json', 'source.compression' = 'gzip')"
    )
    payloads = sampled_payloads(session.catalog.get("t"))
    assert list(rows_of_records(payloads)) == [{"a": 1}, {"b": 2}]


def test_without_a_sample_it_is_told_all_the_same(session, tmp_path):
    gone = FILE.format(columns="x TEXT", path=tmp_path / "gone", format="json")
    session.run(gone)
    notes = FitNotes(session.catalog.get("t"))
    assert notes.notes(Fit(20, 0), 5.0) == ("'x' is NULL in all of 20 rows",)
    assert notes.notes(Fit(9, 0, are_all=True), 5.0) == ()


def test_what_columns_had_is_put_together():
    schema = Schema((Field("n", BIGINT), Field("at", Timestamp()), Field("s", TEXT)))
    time = pa.timestamp("us")
    none = [pa.nulls(3, pa.int64()), pa.nulls(3, time), pa.nulls(3, pa.string())]
    early = [none[0], pa.array([5, None, 7], time), none[2]]
    found = Fit(30, columns_seen(none)) + Fit(30, columns_seen(early))
    assert found.empty_columns(schema) == ("n", "s")
    assert found.epoch_columns(schema) == ("at",)
    for us in (-1, MS * 1000):
        other = found + Fit(1, columns_seen([none[0], pa.array([us], time), none[2]]))
        assert (other.rows, other.epoch_columns(schema)) == (61, ())


def test_what_spark_observed_of_topics_is_read():
    observed = {
        "fit:0:a": {"rows": 3, "seen": 5},
        "fit:1:b:c": {"rows": 2, "seen": 1, "unknown": 7},
        # Only bad records came, and none at all.
        "fit:2:d": {"rows": 0, "seen": None, "unknown": 4},
        "fit:3:e": {"rows": 0, "seen": None, "unknown": None},
        "dropped:0:a": {"rows": 9, "bad": []},
    }
    assert dict(read_fits(observed)) == {
        "a": Fit(3, 5),
        "b:c": Fit(2, 1, RecordCounts(7)),
        "d": Fit(0, 0, RecordCounts(4)),
    }


@pytest.mark.parametrize(
    ("unknown", "said"),
    [(1, "1 record has fields"), (1234, "1,234 records have fields")],
)
def test_a_note_counts_records_with_unknown_fields(session, tmp_path, unknown, said):
    session.run(FILE.format(columns="a INT", path=tmp_path / "rows", format="json"))
    notes = FitNotes(session.catalog.get("t"))
    assert notes.notes(Fit()) == ()
    (note,) = notes.notes(Fit(3, 1, RecordCounts(unknown)))
    assert note.startswith(f"{said} that the schema of the table lacks")


def test_what_is_gone_since_it_was_read_is_no_sample(session, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    session.run(FILE.format(columns="a INT", path=folder, format="json").replace(
        "single_file", "filesystem"))  # fmt: skip
    with RecordWriter(tmp_path / "tape", "t") as writer:
        writer.finish()
    session.run(
        "CREATE TABLE r (a INT) WITH (connector = 'tape', format = 'json', "
        f"path = '{tmp_path / 'tape'}')"
    )
    for name in "tr":
        notes = FitNotes(session.catalog.get(name))
        # An exception in its thread would be an error of this test.
        assert notes.notes(Fit(20, 0), 5.0) == ("'a' is NULL in all of 20 rows",)
