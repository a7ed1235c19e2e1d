"""What a worker makes of the records of a topic, without Spark."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.records import Records
from arroyo_nb.schema import INT, TIMESTAMP, Field, Schema, Timestamp
from arroyo_nb.tape import UNREAD, BadRow

INSTANT = pa.timestamp("us", "UTC")
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
OLD = datetime(1969, 1, 1, tzinfo=UTC)


def records(*payloads, times=None, first=10):
    count = len(payloads)
    return pa.record_batch(
        {
            "value": pa.array(payloads, pa.binary()),
            "timestamp": pa.array(times or [NOON] * count, INSTANT),
            "partition": pa.array([3] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "m_0": pa.array(range(count), pa.int32()),
        }
    )


def worker(*beside, windowed=False, event_time=None, **given):
    fields = (Field("id", INT), Field("at", Timestamp()))
    held = [("id", pa.int32()), ("at", INSTANT), ("beside", pa.int32())]
    made = Records(
        topic="t",
        format=given.get("format", "json"),
        record=Schema(fields),
        held=pa.schema(held),
        options={},
        event_time=event_time,
        primary_key=given.get("key", ()),
        metadata={"beside": "m_0"},
        beside=(TIMESTAMP, *beside),
        windowed=windowed,
    )
    # Spark sends it to its workers so.
    return pickle.loads(pickle.dumps(made))


def rows(made, *batches):
    return [row for batch in made(iter(batches)) for row in batch.to_pylist()]


def test_a_row_has_its_columns_what_stands_beside_and_its_time():
    first, second = rows(worker(), records(b'{"id": 1}', b'{"id": 2}'))
    assert first == {"c_0": 1, "c_1": None, "c_2": 0, TIMESTAMP: NOON}
    assert (second["c_0"], second["c_2"]) == (2, 1)


def test_the_time_may_be_a_column():
    payload = b'{"at": "2024-01-02T03:04:05Z"}'
    (row,) = rows(worker(event_time="at"), records(payload))
    assert row[TIMESTAMP] == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_bad_record_is_told_with_its_place():
    with pytest.raises(RunProblem, match=r"t\[3\] offset 11: invalid JSON") as told:
        rows(worker(), records(b'{"id": 1}', b"{no"))
    assert "bad_data = 'drop'" in told.value.hint


def test_a_bad_record_that_is_dropped_is_a_row_that_says_so():
    good, bad = rows(worker(UNREAD), records(b"{no", b'{"id": 1}'))
    assert good["c_0"] == 1
    assert good[UNREAD] is None
    found = BadRow.from_json(bad[UNREAD])
    assert (found.origin, found.partition, found.offset) == ("t", 3, 10)
    assert (found.text, found.reason[:14]) == ("{no", "invalid JSON: ")
    assert str(found).startswith("t[3] offset 10: invalid JSON: ")
    assert bad[TIMESTAMP] is None


def test_a_time_outside_of_all_windows_is_bad_only_where_there_are_any():
    batch = records(b'{"id": 1}', b'{"id": 2}', times=[OLD, NOON])
    assert len(rows(worker(), batch)) == 2
    good, bad = rows(worker(UNREAD, windowed=True), batch)
    assert good["c_0"] == 2
    assert "lies before 1970, where windows cannot be" in bad[UNREAD]
    with pytest.raises(RunProblem, match=r"t\[3\] offset 10: its event time"):
        rows(worker(windowed=True), batch)


@pytest.mark.parametrize("windowed", [False, True])
def test_a_time_after_the_end_of_time_is_bad(windowed):
    far = pa.scalar(2**61, INSTANT)  # microseconds, where milliseconds were to be
    batch = records(b'{"id": 1}', b'{"id": 2}', times=[far, NOON])
    good, bad = rows(worker(UNREAD, windowed=windowed), batch)
    assert good["c_0"] == 2
    found = str(BadRow.from_json(bad[UNREAD]))
    assert "t[3] offset 10: its event time lies after the year 9998" in found
    with pytest.raises(RunProblem, match="not in milliseconds, but in micro") as told:
        rows(worker(windowed=windowed), batch)
    assert "declare time BIGINT NOT NULL METADATA FROM 'timestamp'" in told.value.hint
    assert "bad_data = 'drop'" in told.value.hint


def test_a_time_that_is_not_used_may_be_any():
    far = pa.scalar(2**61, INSTANT)
    made = replace(worker(UNREAD, windowed=True), uses_time=False)
    found = rows(made, records(b'{"id": 1}', b'{"id": 2}', times=[far, OLD]))
    assert [(row["c_0"], row[UNREAD]) for row in found] == [(1, None), (2, None)]
    # The end of the stream is another.
    assert found[0][TIMESTAMP].year == 9998


def test_changes_have_the_order_of_their_records():
    made = worker(WEIGHT, SEQUENCE, format="debezium_json", key=("id",))
    update = b'{"before": {"id": 1}, "after": {"id": 2}, "op": "u"}'
    create = b'{"after": {"id": 3}, "op": "c"}'
    found = rows(made, records(update, create))
    assert [(r["c_0"], r[WEIGHT], r[SEQUENCE]) for r in found] == [
        (1, -1, 20),
        (2, 1, 21),
        (3, 1, 23),
    ]


def test_a_batch_without_records_is_one_without_rows():
    assert rows(worker(UNREAD), records()) == []
