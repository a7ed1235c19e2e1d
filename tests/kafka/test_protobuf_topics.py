"""Topics of messages of Protocol Buffers: read, written, both in one script."""

from __future__ import annotations

from datetime import datetime

import pytest
from google.protobuf.message_factory import GetMessageClass
from schema_registry import serving

from arroyo_nb.errors import CatalogProblem, DataProblem, RunProblem
from arroyo_nb.formats.protobuf.source import read_schema
from arroyo_nb.jobs.runner.counts import Counts
from arroyo_nb.kafka.sink import TransactionWriter
from arroyo_nb.views.sources import listed
from arroyo_nb.views.static_html import bundle
from arroyo_nb.views.truncation_notes import dropped_rows

TEXT = """
syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
enum Kind { NONE = 0; BUS = 2; }
message Stop { string name = 1; optional double km = 2; }
message Trip {
  int64 id = 1; Kind kind = 2; google.protobuf.Timestamp at = 3;
  repeated Stop stops = 4; uint64 big = 5;
  map<string, int32> counts = 6; optional bool open = 7;
}
"""
COLUMNS = """id BIGINT, kind TEXT, at TIMESTAMP, stops STRUCT<name TEXT, km DOUBLE>[],
    big BIGINT UNSIGNED, counts STRUCT<key TEXT, value INT>[], open BOOLEAN"""


@pytest.fixture
def schema(tmp_path):
    """The options of tables of trips, whose schema is in a file."""
    path = tmp_path / "trips.proto"
    path.write_text(TEXT)
    return {
        "format": "protobuf",
        "protobuf__file": str(path),
        "protobuf__message": "Trip",
    }


@pytest.fixture
def trip(schema):
    """Makes the payload of a trip."""
    options = {name.replace("__", "."): value for name, value in schema.items()}
    cls = GetMessageClass(read_schema("t", options).descriptor)

    def make(n, **more):
        made = cls(id=n, kind=2 * (n % 2), big=2**64 - 1 - n, **more)
        made.at.FromDatetime(datetime(2024, 1, 1, 0, 0, n))
        made.stops.add(name=f"s{n}", km=0)
        made.counts["a"] = n
        return made.SerializeToString()

    return make


def row(n):
    return (
        n,
        "BUS" if n % 2 else "NONE",
        datetime(2024, 1, 1, 0, 0, n),
        [{"name": f"s{n}", "km": 0.0}],
        2**64 - 1 - n,
        [{"key": "a", "value": n}],
        None,
    )


def test_messages_are_rows(new_topic, rows, schema, trip):
    made = new_topic(2)
    made.send(*map(trip, range(4)))
    made.send(*map(trip, range(4, 8)), partition=1)
    found = rows(made.declared(COLUMNS, **schema) + "SELECT * FROM t", 8)
    assert sorted(found) == [row(n) for n in range(8)]


def test_a_message_may_hold_several_and_begin_with_its_schema(
    new_topic, rows, schema, trip
):
    made = new_topic()
    payloads = [b"\0\0\0\0\x07\x02\x02" + trip(n) for n in (1, 2)]
    made.send(b"".join(bytes([len(one)]) + one for one in payloads))
    table = made.declared(
        "id BIGINT",
        framing="length",
        protobuf__confluent_schema_registry="true",
        **schema,
    )
    assert sorted(rows(table + "SELECT * FROM t", 2)) == [(1,), (2,)]


def test_which_message_a_record_has_is_said_by_its_own_schema(
    new_topic, rows, schema, trip
):
    made, other = new_topic(), 'syntax = "proto3"; message Other { int64 id = 1; }'
    with serving(("me", "hush")) as (url, known):
        ids = [
            known.add(text, "PROTOBUF") for text in (TEXT, f"{other} message B {{}}")
        ]
        payloads = (b"\0\0\0\0%c\x02\x02" % number + trip(5) for number in (*ids, 77))
        made.send(*payloads)
        given = {
            "protobuf__confluent_schema_registry": "true",
            "schema_registry__endpoint": url,
            "schema_registry__api_key": "me",
            "schema_registry__api_secret": "hush",
            **schema,
        }
        query = "SELECT * FROM t"
        dropping = made.declared("id BIGINT", bad_data="drop", **given)
        assert rows(dropping + query, 1) == [(5,)]
        with pytest.raises(DataProblem, match=r"its message is 'B', and not 't\.Trip'"):
            rows(made.declared("id BIGINT", **given) + query, 2)


def test_a_sink_registers_what_its_schema_imports(
    new_topic, session, rows, schema, trip, tmp_path
):
    head, path = 'syntax = "proto3"; ', tmp_path / "line.proto"
    (tmp_path / "stop.proto").write_text(head + "message Stop { string name = 1; }")
    line = 'import "stop.proto"; message Line { int64 id = 1; Stop first = 2; }'
    path.write_text(head + line)
    source, made = new_topic(), new_topic()
    source.send(*map(trip, range(3)))
    columns = "id BIGINT, first STRUCT<name TEXT>"
    with serving() as (url, known):
        given = {
            "format": "protobuf",
            "protobuf__confluent_schema_registry": "true",
            "schema_registry__endpoint": url,
        }
        own = {"protobuf__file": str(path), "protobuf__message": "Line"}
        script = source.declared(COLUMNS, **schema) + made.sink(columns, **given, **own)
        script += (
            "INSERT INTO out SELECT id, named_struct('name', kind) AS first FROM t"
        )
        session.run(script, until="end", wait=True)
        subject = f"{made.name}-value"
        assert known.subjects == {"stop.proto": [1], subject: [2]}
        assert known.schemas[1]["references"] == [
            {"name": "stop.proto", "subject": "stop.proto", "version": 1}
        ]
        # Who reads it takes the schema of the registry, with its import.
        given["protobuf__message"] = "Line"
        found = rows(made.declared(columns, "u", **given) + "SELECT * FROM u", 3)
    assert sorted(found, key=str) == [
        (n, {"name": "BUS" if n % 2 else "NONE"}) for n in range(3)
    ]


def test_bad_messages_fail_a_run_or_are_dropped(
    new_topic, session, rows, eventually, schema, trip
):
    made = new_topic()
    made.send(trip(1), b"\xff", trip(2))
    table = made.declared("id BIGINT", **schema)
    with pytest.raises(DataProblem, match=r"offset 1: it is no message 't\.Trip'"):
        rows(table + "SELECT * FROM t", 2)
    table = made.declared("id BIGINT", "u", bad_data="drop", **schema)
    run = session.run(table + "SELECT * FROM u")
    eventually(lambda: run.outputs[0].preview.total_rows >= 2)
    eventually(lambda: "1" in str(dropped_rows(run.snapshot())))
    run.stop().wait_quietly(30)


NEW = b"\xf8\x06\x01"
"""A field that the schema lacks."""


def unknown_records(run):
    """How many records of each source are told to have unknown fields."""
    return [source.unknown_records for source in run.snapshot().sources]


def test_records_of_a_newer_producer_are_counted(
    new_topic, session, eventually, schema, trip
):
    made = new_topic(2)
    made.send(*(trip(n) + NEW for n in range(12)))
    made.send(*map(trip, range(8)), partition=1)
    # Each output reads the topic: a record is counted once.
    script = made.declared("id BIGINT, big BIGINT UNSIGNED", **schema)
    run = session.run(script + "SELECT id FROM t; SELECT big FROM t WHERE id > 5;")
    eventually(lambda: unknown_records(run) == [12])
    made.send(trip(8), trip(9) + NEW, partition=1)
    eventually(lambda: unknown_records(run) == [13])
    run.stop().wait_quietly(30)
    told = run.snapshot()
    assert unknown_records(run) == [13]
    note = "13 records have fields that the schema of the table lacks"
    assert told.sources[0].notes[0].startswith(note)
    assert note in run.explain()
    assert note in listed(told.sources)
    assert note in bundle(told)["text/html"]


def test_records_that_are_dropped_are_counted_though_no_row_is_left(
    new_topic, session, eventually, schema
):
    made = new_topic()
    made.send(*[b"\x08\x01" + NEW] * 3)  # without the event time
    columns = "id BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at"
    table = made.declared(columns, bad_data="drop", **schema)
    run = session.run(table + "SELECT id FROM t")
    eventually(lambda: unknown_records(run) == [3])
    assert [source.dropped_rows for source in run.snapshot().sources] == [3]
    run.stop().wait_quietly(30)


class Crash(Exception):
    """What the writer of a process that is killed raises."""


def test_a_batch_that_comes_again_is_counted_once(
    new_topic, session, monkeypatch, tmp_path, eventually, schema, trip
):
    source, made = new_topic(), new_topic()
    source.send(*(trip(n) + NEW * (n % 2) for n in range(20)))
    script = source.declared("id BIGINT", **schema)
    script += made.sink("id BIGINT", sink__commit_mode="exactly_once")
    script += "INSERT INTO out SELECT id FROM t"
    send, failed = TransactionWriter._send, []

    def crash_once(self, batch, sender, tasks):
        send(self, batch, sender, tasks)
        if sender.transaction.batch_id == 1 and not failed:
            failed.append(batch.count())
            raise Crash

    monkeypatch.setattr(TransactionWriter, "_send", crash_once)
    monkeypatch.setattr("arroyo_nb.kafka.source.BATCH_RECORDS", 10)
    first = session.run(script, name="job", state_dir=tmp_path)
    eventually(lambda: first.state.ended, 60)
    assert failed == [10]
    assert Counts.of(first.snapshot()) == Counts(10, 10, unknown_records=5)
    # Only what this run has read, the batch that comes again too.
    second = session.run(script, name="job", state_dir=tmp_path)
    eventually(lambda: second.rows_in >= 10, 60)
    source.send(trip(20) + NEW)
    eventually(lambda: second.rows_in >= 11, 60)
    second.stop().wait_quietly(30)
    assert Counts.of(second.snapshot()) == Counts(11, 11, unknown_records=6)
    third = session.run(script, name="job", state_dir=tmp_path)
    eventually(lambda: third.snapshot().sources, 60)
    assert unknown_records(third) == [0]
    third.stop().wait_quietly(30)


def test_rows_are_messages(new_topic, session, schema, trip):
    source = new_topic(2)
    source.send(*map(trip, range(8)))
    script, written = source.declared(COLUMNS, **schema), []
    for mode in ("at_least_once", "exactly_once"):
        written.append(new_topic())
        script += written[-1].sink(COLUMNS, mode, sink__commit_mode=mode, **schema)
        script += f"INSERT INTO {mode} SELECT * FROM t;\n"
    session.run(script, until="end", wait=True)
    for made in written:
        values = [record.value() for record in made.records()]
        assert sorted(values) == sorted(map(trip, range(8)))


def test_what_no_message_can_be_ends_the_run(new_topic, session, schema, trip):
    source, made = new_topic(), new_topic()
    source.send(trip(1))
    script = source.declared(COLUMNS, **schema)
    script += made.sink("id BIGINT, kind TEXT", **schema)
    query = "INSERT INTO out SELECT id, 'TRAM' AS kind FROM t"
    with pytest.raises(DataProblem, match="'kind': 'TRAM' is no Kind") as told:
        session.run(script + query, until="end", wait=True)
    assert told.value.message.startswith(
        "a row of 'out' cannot be written as a message"
    )
    assert told.value.hint == "the row is: id = 1, kind = TRAM"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("big BIGINT", "-id AS big", "'big': -1 is no uint64"),
        ("id BIGINT UNSIGNED", "big AS id", "'id': 18446744073709551614 is no int64"),
    ],
)
def test_a_number_out_of_range_ends_the_run(
    new_topic, session, schema, trip, column, value, said
):
    source, made = new_topic(), new_topic()
    source.send(trip(1))
    script = source.declared("id BIGINT, big BIGINT UNSIGNED", **schema)
    script += made.sink(column, **schema)
    query = f"INSERT INTO out SELECT {value} FROM t"
    with pytest.raises(DataProblem) as told:
        session.run(script + query, until="end", wait=True)
    assert told.value.message.startswith(
        "a row of 'out' cannot be written as a message"
    )
    assert said in told.value.message


def test_a_column_that_the_message_lacks_is_told_before_anything_runs(
    new_topic, session, schema
):
    made = new_topic()
    with pytest.raises(CatalogProblem, match=r"no field for the column 'idd'.*'id'"):
        session.run(made.declared("idd BIGINT", **schema) + "SELECT * FROM t")
    script = made.declared("id BIGINT", **schema)
    script += made.sink("", **schema)
    with pytest.raises(CatalogProblem, match="no field for the column 'more'"):
        session.run(script + "INSERT INTO out SELECT id AS more FROM t")


def test_emitted_rows_are_messages(new_topic, session, rows, schema):
    made = new_topic()
    table = made.declared(COLUMNS, **schema)
    session.run(f"{table}SELECT * FROM t").stop().wait_quietly(30)
    names = ("id", "kind", "at", "stops", "big", "counts", "open")
    session.emit("t", [dict(zip(names, row(n), strict=True)) for n in range(3)])
    found = rows("SELECT * FROM t", 3)
    assert sorted(found) == [row(n) for n in range(3)]


def test_a_schema_that_cannot_be_read_is_told_as_a_run_starts(
    new_topic, session, rows, schema, tmp_path
):
    made, gone = new_topic(), {**schema, "protobuf__file": str(tmp_path / "gone.proto")}
    said = "there is no file at 'protobuf.file' of"
    with pytest.raises(RunProblem, match=f"{said} 't'"):
        rows(made.declared("id BIGINT", **gone) + "SELECT * FROM t", 1)
    script = made.declared("id BIGINT", "u", **schema)
    script += new_topic().sink("id BIGINT", "far", **gone)
    with pytest.raises(RunProblem, match=f"{said} 'far'"):
        session.run(script + "INSERT INTO far SELECT id FROM u", wait=True)
