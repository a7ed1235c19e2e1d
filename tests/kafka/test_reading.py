"""What is read of a topic: each format, what is beside a record, where to begin."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from machine import allowed

from arroyo_nb.errors import DataProblem
from arroyo_nb.views.truncation_notes import dropped_rows

ALL = "SELECT * FROM t"


def test_json_is_read_with_what_stands_beside_a_record(new_topic, rows):
    made = new_topic(2)
    made.send({"id": 1}, partition=0, key=b"k", timestamp=1_700_000_000_123)
    headers = [("trace", b"\x01"), ("empty", None)]
    made.send({"id": 2}, partition=1, headers=headers, timestamp=1_700_000_000_456)
    columns = """id INT, part INT METADATA FROM 'partition',
        at BIGINT METADATA FROM 'offset_id', name TEXT METADATA FROM 'topic',
        ms BIGINT METADATA FROM 'timestamp', key BYTEA METADATA FROM 'key',
        "the `h`." STRUCT<key TEXT, value BYTEA>[] METADATA FROM 'headers'"""
    found = rows(made.declared(columns) + ALL, 2)
    first, second = sorted(found)
    assert first == (1, 0, 0, made.name, 1_700_000_000_123, b"k", None)
    assert second[:6] == (2, 1, 0, made.name, 1_700_000_000_456, None)
    assert second[6] == [
        {"key": "trace", "value": b"\x01"},
        {"key": "empty", "value": None},
    ]


def test_a_generated_column_is_made_of_what_stands_beside(new_topic, rows):
    made = new_topic()
    made.send({"id": 1}, {"id": 2})
    columns = """id INT, at BIGINT METADATA FROM 'offset_id',
        twice BIGINT GENERATED ALWAYS AS (at * 2 + id) STORED"""
    assert rows(made.declared(columns) + "SELECT twice FROM t", 2) == [(1,), (4,)]


@pytest.mark.parametrize(
    ("format", "column", "value"),
    [("raw_string", "TEXT", "é\n"), ("raw_bytes", "BYTEA", b"\xff\0")],
)
def test_a_record_is_a_value(new_topic, rows, format, column, value):  # noqa: A002
    made = new_topic()
    made.send(value.encode() if isinstance(value, str) else value)
    assert rows(made.declared(f"value {column}", format=format) + ALL, 1) == [(value,)]


def test_a_message_may_hold_several_records(new_topic, rows):
    made = new_topic()
    made.send(b'{"id": 1}\n{"id": 2}\n', b'{"id": 3}')
    columns = "id INT, at BIGINT METADATA FROM 'offset_id'"
    framed = made.declared(columns, framing="newline")
    assert rows(framed + ALL, 3) == [(1, 0), (2, 0), (3, 1)]


def test_a_record_may_have_its_schema_in_front_or_beside(new_topic, rows):
    made = new_topic()
    made.send(b"\0\0\0\0\x07" + b'{"id": 5}')
    framed = made.declared("id INT", json__confluent_schema_registry="true")
    assert rows(framed + ALL, 1) == [(5,)]
    made = new_topic()
    made.send({"schema": {"type": "struct"}, "payload": {"id": 6}})
    wrapped = made.declared("id INT", json__include_schema="true")
    assert rows(wrapped + ALL, 1) == [(6,)]


def change(op, before=None, after=None):
    return {"before": before, "after": after, "op": op}


def test_changes_are_read_and_tombstones_passed_over(new_topic, session, eventually):
    made = new_topic(2)
    one, two, three = {"id": 1, "n": 5}, {"id": 2, "n": 7}, {"id": 1, "n": 6}
    made.send(change("c", after=one), change("u", one, three), partition=0)
    made.send(change("r", after=two), change("d", two), None, partition=1)
    columns = "id INT PRIMARY KEY, n BIGINT, o BIGINT METADATA FROM 'offset_id'"
    script = made.declared(columns, format="debezium_json")
    run = session.run(
        script + "SELECT n, count(*) AS ids, max(o) AS o FROM t GROUP BY n"
    )
    eventually(lambda: run.state.ended or run.table().num_rows == 1, 60)
    assert run.table().to_pylist() == [{"n": 6, "ids": 1, "o": 1}]
    made.send(change("d", three), None)
    eventually(lambda: run.table().num_rows == 0)


def test_the_time_of_a_row_is_that_of_its_record(new_topic, rows):
    made = new_topic()
    instant = datetime(2024, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)
    made.send(None, {"id": 1}, timestamp=int(instant.timestamp() * 1000))
    script = made.declared("id INT") + "SELECT id, row_time() AS at FROM t"
    assert rows(script, 1) == [(1, instant.replace(tzinfo=None))]


def ids(*numbers):
    return [{"id": number} for number in numbers]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"source__offset": "earliest"}, {1, 2, 3, 4, 9}),
        ({"source__offset": None}, {9}),
        ({"source__offset": "latest"}, {9}),
        ({"source__offset": None, "source__start_offsets": "0:1"}, {2, 9}),
        ({"source__start_offsets": "0:1"}, {2, 3, 4, 9}),
        (
            {"source__offset": None, "source__start_timestamp": "1970-01-01 00:00:04"},
            {4, 9},
        ),
    ],
)
def test_where_a_run_begins(new_topic, session, eventually, options, expected):
    made = new_topic(2)
    for number, partition in ((1, 0), (2, 0), (3, 1), (4, 1)):
        made.send({"id": number}, partition=partition, timestamp=number * 1000)
    run = session.run(made.declared("id INT", **options) + ALL)
    eventually(lambda: run.state.value == "running", 60)
    made.send({"id": 9}, partition=1, timestamp=9000)
    eventually(lambda: 9 in run.table()["id"].to_pylist())
    assert set(run.table()["id"].to_pylist()) == expected


def test_a_run_begins_where_a_group_stands(new_topic, session, eventually):
    made = new_topic(2)
    made.send(*ids(1, 2), partition=0)
    made.send(*ids(3, 4), partition=1)
    place = ConsumerGroupTopicPartitions("readers", [TopicPartition(made.name, 0, 1)])

    def is_committed():
        # A broker that has just made the topic of all groups refuses for a moment.
        told = made.admin.alter_consumer_group_offsets([place])["readers"].result(20)
        return all(each.error is None for each in told.topic_partitions)

    eventually(is_committed)
    options = {"source__offset": "group", "source__group_id": "readers"}
    run = session.run(made.declared("id INT", **options) + ALL)
    eventually(lambda: run.state.value == "running", 60)
    made.send({"id": 9}, partition=1)
    eventually(lambda: run.table().num_rows == 2)
    # Of the other partition the group says nothing: it begins at the end.
    assert set(run.table()["id"].to_pylist()) == {2, 9}


def test_two_tables_of_one_topic_begin_where_each_says(new_topic, session, eventually):
    made = new_topic()
    made.send(*ids(1, 2))
    script = made.declared("id INT", "a") + made.declared(
        "value TEXT", "b", format="raw_string", source__offset="latest"
    )
    run = session.run(script + "SELECT id FROM a; SELECT value FROM b;")
    eventually(lambda: run.state.value == "running", 60)
    made.send({"id": 3})
    eventually(lambda: [run.table(n).num_rows for n in (0, 1)] == [3, 1])
    assert run.table(1)["value"].to_pylist() == ['{"id": 3}']


def test_only_what_is_committed_is_read(broker, new_topic, session, eventually):
    made = new_topic()
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    producer = Producer({**settings, "transactional.id": made.name})
    producer.init_transactions(20)
    for number, ends in ((1, "commit"), (2, "abort"), (3, "commit")):
        producer.begin_transaction()
        producer.produce(made.name, b'{"id": %d}' % number)
        producer.flush(20)
        getattr(producer, f"{ends}_transaction")(20)
    producer.begin_transaction()
    producer.produce(made.name, b'{"id": 4}')
    producer.flush(20)
    committed = {"source__read_mode": "read_committed"}
    script = made.declared("id INT", "a", **committed) + made.declared("id INT", "b")
    run = session.run(script + "SELECT id FROM a; SELECT id FROM b;")
    eventually(lambda: [run.table(n).num_rows for n in (0, 1)] == [2, 4], 60)
    assert run.table()["id"].to_pylist() == [1, 3]
    producer.commit_transaction(20)
    eventually(lambda: run.table()["id"].to_pylist() == [1, 3, 4])


def test_bad_data_ends_the_run_with_its_place(new_topic, rows):
    made = new_topic()
    made.send({"id": 1}, b"{no", {"id": 3})
    with pytest.raises(DataProblem, match=r"offset 1: invalid JSON") as told:
        rows(made.declared("id INT") + ALL, 3)
    assert told.value.message.startswith(f"{made.name}[0] offset 1: invalid JSON: ")
    assert "bad_data = 'drop'" in told.value.hint


def test_bad_data_is_left_out_counted_and_shown(new_topic, session, eventually):
    made = new_topic(2)
    made.send({"id": 1}, b"{no", {"id": 3}, partition=0)
    made.send({"id": "x"}, None, {"id": 4}, partition=1)
    run = session.run(made.declared("id INT", bad_data="drop") + ALL)
    eventually(lambda: run.state.ended or run.table().num_rows == 3, 60)
    assert set(run.table()["id"].to_pylist()) == {1, 3, 4}
    eventually(lambda: run.snapshot().sources[0].dropped_rows == 2)
    (bad, *_) = run.snapshot().sources[0].bad
    assert bad.startswith(f"{made.name}[0] offset 1: invalid JSON: ")
    assert bad.endswith(": {no")
    made.send(b"nor this")
    eventually(lambda: run.snapshot().sources[0].dropped_rows == 3)
    assert any("offset 3: " in text for text in run.snapshot().sources[0].bad)
    found = run.bad().sort_by([("partition", "ascending"), ("offset", "ascending")])
    assert found.select(["source", "origin", "record"]).to_pylist() == [
        {"source": "t", "origin": made.name, "record": text}
        for text in ("{no", "nor this", '{"id": "x"}')
    ]
    assert found["partition"].to_pylist() == [0, 0, 1]
    assert found["offset"].to_pylist() == [1, 3, 0]


def test_a_thousand_bad_records_of_a_micro_batch_are_kept(new_topic, session):
    made = new_topic()
    made.send(*(b"{no %d" % number for number in range(1_100)), {"id": 1})
    script = made.declared("id INT", bad_data="drop") + ALL
    run = session.run(script, until="end", wait=True)
    assert run.table()["id"].to_pylist() == [1]
    with pytest.warns(UserWarning, match=r"^1,000 of 1,100 dropped records: .*raw_str"):
        found = run.bad()
    assert len(set(found["offset"].to_pylist())) == 1_000


def test_a_time_that_no_window_can_hold_is_bad_data(new_topic, session, eventually):
    made = new_topic()
    made.send({"at": "1969-01-01T00:00:00Z"}, {"at": "2024-01-01T00:00:00Z"})
    made.send({"at": "2024-01-01T01:00:00Z"}, {"at": None})
    columns = "at TIMESTAMP, WATERMARK FOR at"
    counts = "SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM t GROUP BY w"
    run = session.run(made.declared(columns, bad_data="drop") + counts)
    eventually(lambda: run.state.ended or dropped_rows(run.snapshot()) == 2, 60)
    made.send({"at": "2024-01-01T01:00:01Z"})
    eventually(lambda: run.table().num_rows == 1)
    (bad, *_) = run.snapshot().sources[0].bad
    assert "lies before 1970, where windows cannot be" in bad


def test_where_it_stands_is_told_for_each_partition(new_topic, session, eventually):
    made = new_topic(3)
    made.send(*ids(1, 2, 3), partition=0)
    made.send(*ids(4), partition=2)
    run = session.run(made.declared("id INT") + ALL)

    def partitions():
        return [(p.number, p.offset, p.end) for p in source().partitions]

    def source():
        return next(iter(run.snapshot().sources), None)

    eventually(lambda: source() and source().rows == 4, 60)
    assert partitions() == [(0, 3, 3), (1, 0, 0), (2, 1, 1)]
    assert source().lag == 0
    assert run.snapshot().can_pause


def test_a_record_is_seen_soon(new_topic, session, eventually):
    made = new_topic()
    run = session.run(made.declared("id INT", source__offset="latest") + ALL)
    eventually(lambda: run.state.value == "running", 60)
    took = []
    for number in range(30):
        began_s = time.monotonic()
        made.send({"id": number})
        eventually(lambda n=number: run.outputs[0].preview.total_rows > n)
        took.append(time.monotonic() - began_s)
    took = sorted(took[10:])
    print(f"from a producer to a run's rows: {took[len(took) // 2] * 1000:.0f} ms")
    assert took[len(took) // 2] < allowed(1)


def test_columns_that_the_records_do_not_have_are_noted(new_topic, session, eventually):
    made = new_topic(2)
    for n in range(40):
        made.send({"id": n, "status": "paid", "at": 1_700_000_000_000}, partition=n % 2)
    columns = "id INT, statuss TEXT, at TIMESTAMP, part INT METADATA FROM 'partition'"
    expected = (
        "no record of 40 had 'statuss'; did you mean 'status'?",
        "all times of 'at' lie in January 1970: milliseconds? declare it BIGINT and "
        "write `to_timestamp_millis(at)`",
    )
    for more in ({}, {"bad_data": "drop"}):
        script = made.declared(columns, **more) + "SELECT * FROM t; SELECT id FROM t"
        run = session.run(script, until="end", wait=True)
        assert all(note in run.explain() for note in expected)
        eventually(lambda r=run: r.snapshot().sources[0].notes == expected)
        assert run.table().num_rows == 40
    right = made.declared("id INT, status TEXT, at TIMESTAMP(3)") + ALL
    run = session.run(right, until="end", wait=True)
    assert run.snapshot().sources[0].notes == ()


SECONDS = 1_700_000_000
TIMED = (
    "id INT, time BIGINT NOT NULL METADATA FROM 'timestamp', event_time TIMESTAMP NOT "
    "NULL GENERATED ALWAYS AS (to_timestamp_micros(time)) STORED, "
    "WATERMARK FOR event_time"
)


def test_record_times_in_microseconds_are_read_as_a_column(
    new_topic, rows, session, eventually
):
    made = new_topic()
    made.take_any_time()
    made.send(*ids(1, 2), timestamp=SECONDS * 10**6)
    expected = datetime(2023, 11, 14, 22, 13, 20)
    script = made.declared(TIMED) + "SELECT id, row_time() AS at FROM t"
    assert rows(script, 2) == [(1, expected), (2, expected)]
    run = session.run(made.declared("id INT") + ALL)
    eventually(lambda: run.state.ended, 120)
    assert "not in milliseconds, but in micro" in run.error.message
    assert "(to_timestamp_micros(time))" in run.error.hint


def test_a_record_time_in_nanoseconds_is_told_as_such(new_topic, session, eventually):
    made = new_topic()
    made.take_any_time()
    made.send(*ids(1), timestamp=SECONDS * 10**9)
    run = session.run(made.declared("id INT") + ALL)
    eventually(lambda: run.state.ended, 120)
    assert "not in milliseconds, but in nano" in run.error.message
    assert "%arroyo record" in run.error.hint


def test_empty_records_are_no_rows_and_are_told(new_topic, session, eventually):
    made = new_topic()
    made.send(None, b"", {"id": 1}, b" \n")
    run = session.run(made.declared("id INT") + ALL)

    def notes():
        return [note for source in run.snapshot().sources for note in source.notes]

    eventually(lambda: notes() == ["3 records were empty and gave no row"], 60)
    assert run.table().to_pylist() == [{"id": 1}]
    # A batch without a row is counted, too.
    made.send(b"", b"\t")
    eventually(lambda: notes() == ["5 records were empty and gave no row"], 60)
    assert run.table().num_rows == 1
    run.stop()
