"""Records with fields that the table's schema lacks are counted, whoever reads them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from proto_schemas import FLIGHT, HEAD

from arroyo_nb.formats import FORMATS, count_columns
from arroyo_nb.records import Records
from arroyo_nb.schema import BIGINT, TIMESTAMP, Field, Schema
from arroyo_nb.tape import UNREAD, BadRow, Chunk, RecordCounts
from arroyo_nb.tape.fit import SEEN, Fit, FittedRecorder

UNKNOWN, EMPTY = "_unknown", "_empty"
COLUMNS = Schema((Field("id", BIGINT),))
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
OLD = datetime(1969, 1, 1, tzinfo=UTC)
KNOWN, NEWER = b"\x10\x05", b"\x10\x05\xf8\x06\x01"


def worker(*beside, text=FLIGHT, message="t.Flight", **options):
    made = Records(
        topic="t",
        format="protobuf",
        record=COLUMNS,
        held=pa.schema([("id", pa.int64())]),
        options={"protobuf.schema": text, "protobuf.message": message, **options},
        event_time=None,
        primary_key=(),
        metadata={},
        beside=(TIMESTAMP, *beside),
        windowed=True,
    )
    # Spark sends it to its workers so.
    return pickle.loads(pickle.dumps(made))


def rows(made, *payloads, times=None):
    batch = pa.record_batch(
        {
            "value": pa.array(payloads, pa.binary()),
            "timestamp": pa.array(
                times or [NOON] * len(payloads), pa.timestamp("us", "UTC")
            ),
            "partition": pa.array([0] * len(payloads), pa.int32()),
            "offset": pa.array(range(len(payloads)), pa.int64()),
        }
    )
    return [row for one in made(iter([batch])) for row in one.to_pylist()]


def test_the_first_row_of_a_batch_has_the_number():
    made = worker(SEEN, UNKNOWN)
    found = rows(made, KNOWN, NEWER, KNOWN, NEWER, NEWER)
    assert [row[UNKNOWN] for row in found] == [3, 0, 0, 0, 0]
    assert {row[SEEN] for row in found} == {1}
    assert [row[UNKNOWN] for row in rows(made, KNOWN, KNOWN)] == [0, 0]
    # Each batch has its own.
    assert [row[UNKNOWN] for row in rows(made, NEWER)] == [1]


def test_a_batch_without_rows_has_none():
    assert rows(worker(SEEN, UNKNOWN)) == []


def test_who_does_not_ask_gets_no_number():
    (row,) = rows(worker(SEEN), NEWER)
    assert set(row) == {"c_0", TIMESTAMP, SEEN}


def test_bad_records_are_counted_too_though_no_row_is_left():
    made = worker(UNREAD, SEEN, UNKNOWN)
    # Too old for any window, so not a row; and a row among bad ones.
    found = rows(made, NEWER, NEWER, b"\xff", times=[OLD, OLD, NOON])
    assert [row[UNKNOWN] for row in found] == [2, 0, 0]
    assert all(row[UNREAD] for row in found)
    assert [row[SEEN] for row in found] == [None] * 3
    found = rows(made, NEWER, KNOWN, b"\xff", times=[OLD, NOON, NOON])
    assert [row[UNKNOWN] for row in found] == [1, 0, 0]
    assert [row["c_0"] for row in found] == [5, None, None]
    assert [BadRow.from_json(row[UNREAD]).offset for row in found[1:]] == [0, 2]


def test_each_message_of_a_record_with_several_is_counted():
    made = worker(UNKNOWN, framing="length")
    payload = b"".join(bytes([len(one)]) + one for one in (NEWER, KNOWN, NEWER))
    assert [row[UNKNOWN] for row in rows(made, payload, payload)] == [4, *[0] * 5]


@pytest.mark.parametrize(
    ("payload", "count"), [(b"\x10\x05", 0), (b"\x1a\x02\x18\x01", 1)]
)
def test_fields_of_inner_messages_are_unknown_too(payload, count):
    text = HEAD + "message Leg {} message Flight { int64 id = 2; Leg leg = 3; }"
    (row,) = rows(worker(UNKNOWN, text=text), payload)
    assert row[UNKNOWN] == count


def test_only_formats_that_can_tell_pay_for_it():
    found = {name: count_columns(name) for name in FORMATS.names}
    assert [n for n, columns in found.items() if UNKNOWN in columns] == ["protobuf"]
    assert found["raw_string"] == found["raw_bytes"] == count_columns(None) == ()
    assert found["json"] == (EMPTY,)


def test_a_record_without_a_byte_is_none_where_one_has_some():
    # A message whose fields all have their defaults has no byte.
    assert [row["c_0"] for row in rows(worker(), KNOWN, b"", None)] == [5, 0]
    made = replace(worker(UNREAD, EMPTY), format="json", options={})
    found = rows(made, None, b"", b'{"id": 1}', b"no", b" ", b'{"id": 2}')
    assert [row["c_0"] for row in found] == [1, 2, None]
    assert [row[EMPTY] for row in found] == [3, 0, 0]
    assert BadRow.from_json(found[2][UNREAD]).offset == 3
    # Where there is no other row, one that is none has the number.
    assert [row[EMPTY] for row in rows(made, b"", None)] == [2]
    made = replace(worker(SEEN, EMPTY), format="json", options={})
    assert [row[SEEN] for row in rows(made, b"")] == [None]


def test_chunks_of_bad_records_only_are_counted_too():
    class Recorder:
        bounded, live = True, False

        def chunks(self, _):
            rows = pa.table({"id": pa.array([1, 2], pa.int64())})
            yield Chunk(rows, {}, counts=RecordCounts(1))
            yield Chunk(rows.slice(0, 0), {}, dropped_rows=3, counts=RecordCounts(3))
            yield Chunk(rows.slice(0, 0), {}, dropped_rows=3)

    recorder = FittedRecorder(Recorder(), COLUMNS)
    assert len(list(recorder.chunks(None))) == 3
    assert recorder.fit == Fit(2, 1, RecordCounts(4), are_all=True)
