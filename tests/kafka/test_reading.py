"""What is read of a topic: each format, what is beside a record, where to begin."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

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


class Read(NamedTuple):
    """A topic of one form: its records, the table that reads them, and its rows."""

    values: tuple[Any, ...]
    columns: str
    rows: list[tuple[Any, ...]]
    text: str = "CAST(NULL AS TEXT)"
    data: str = "CAST(NULL AS BYTEA)"
    number: str = "CAST(NULL AS BIGINT)"
    place: str = "CAST(NULL AS BIGINT)"
    options: Mapping[str, str] = {}


PLACE = "at BIGINT METADATA FROM 'offset_id'"
FORMS = {
    "generated": Read(
        ({"id": 1}, {"id": 2}),
        f"id INT, {PLACE}, twice BIGINT GENERATED ALWAYS AS (at * 2 + id) STORED",
        [(None, None, 1, None), (None, None, 4, None)],
        number="twice",
    ),
    "raw_string": Read(
        ("é\n".encode(),),
        "value TEXT",
        [("é\n", None, None, None)],
        text="value",
        options={"format": "raw_string"},
    ),
    "raw_bytes": Read(
        (b"\xff\0",),
        "value BYTEA",
        [(None, b"\xff\0", None, None)],
        data="value",
        options={"format": "raw_bytes"},
    ),
    "several_in_a_message": Read(
        (b'{"id": 1}\n{"id": 2}\n', b'{"id": 3}'),
        f"id BIGINT, {PLACE}",
        [(None, None, 1, 0), (None, None, 2, 0), (None, None, 3, 1)],
        number="id",
        place="at",
        options={"framing": "newline"},
    ),
    "schema_in_front": Read(
        (b"\0\0\0\0\x07" + b'{"id": 5}',),
        "id BIGINT",
        [(None, None, 5, None)],
        number="id",
        options={"json__confluent_schema_registry": "true"},
    ),
    "schema_beside": Read(
        ({"schema": {"type": "struct"}, "payload": {"id": 6}},),
        "id BIGINT",
        [(None, None, 6, None)],
        number="id",
        options={"json__include_schema": "true"},
    ),
}


def test_each_form_of_a_record_has_its_rows(new_topic, session):
    script, selects = "", []
    for name, form in FORMS.items():
        made = new_topic()
        made.send(*form.values)
        script += made.declared(form.columns, name, **form.options)
        selects.append(
            f"SELECT '{name}' AS form, {form.text} AS text, {form.data} AS data, "
            f"{form.number} AS number, {form.place} AS place FROM {name}"
        )
    query = "\nUNION ALL ".join(selects)
    run = session.run(script + query, until="end", wait=True)
    found = defaultdict(list)
    for form, *row in map(tuple, map(dict.values, run.table().to_pylist())):
        found[form].append(tuple(row))
    assert {form: sorted(rows, key=str) for form, rows in found.items()} == {
        name: form.rows for name, form in FORMS.items()
    }


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


BEGINS = {
    "earliest": ({"source__offset": "earliest"}, {1, 2, 3, 4, 9}),
    "unsaid": ({"source__offset": None}, {9}),
    "latest": ({"source__offset": "latest"}, {9}),
    "offsets": ({"source__offset": None, "source__start_offsets": "0:1"}, {2, 9}),
    "offsets_and_earliest": ({"source__start_offsets": "0:1"}, {2, 3, 4, 9}),
    "timestamp": (
        {"source__offset": None, "source__start_timestamp": "1970-01-01 00:00:04"},
        {4, 9},
    ),
    # Of the other partition the group says nothing: it begins at the end.
    "group": ({"source__offset": "group", "source__group_id": "readers"}, {2, 9}),
}


def test_where_each_table_of_a_topic_begins(new_topic, session, eventually):
    made = new_topic(2)
    for number, partition in ((1, 0), (2, 0), (3, 1), (4, 1)):
        made.send({"id": number}, partition=partition, timestamp=number * 1000)
    place = ConsumerGroupTopicPartitions("readers", [TopicPartition(made.name, 0, 1)])

    def is_committed():
        # A broker that has just made the topic of all groups refuses for a moment.
        told = made.admin.alter_consumer_group_offsets([place])["readers"].result(20)
        return all(each.error is None for each in told.topic_partitions)

    eventually(is_committed)
    declared = "".join(
        made.declared("id INT", f"from_{name}", **options)
        for name, (options, _) in BEGINS.items()
    )
    query = "\nUNION ALL ".join(
        f"SELECT '{name}' AS name, id FROM from_{name}" for name in BEGINS
    )
    run = session.run(declared + query)
    eventually(lambda: run.state.value == "running", 60)
    made.send({"id": 9}, partition=1, timestamp=9000)

    def found():
        read = defaultdict(list)
        for row in run.table().to_pylist():
            read[row["name"]].append(row["id"])
        return read

    eventually(lambda: [9 in found()[name] for name in BEGINS] == [True] * len(BEGINS))
    assert {name: sorted(read) for name, read in found().items()} == {
        name: sorted(expected) for name, (_, expected) in BEGINS.items()
    }


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
    # Three rows, and the record without a value.
    assert (run.rows_in, run.snapshot().rows_in) == (4, 4)
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
    for number in range(12):
        began_s = time.monotonic()
        made.send({"id": number})
        eventually(lambda n=number: run.outputs[0].preview.total_rows > n)
        took.append(time.monotonic() - began_s)
    took = sorted(took[4:])
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
    script = (
        made.declared(columns)
        + made.declared(columns, "dropping", bad_data="drop")
        + made.declared("id INT, status TEXT, at TIMESTAMP(3)", "fitting")
    )
    script += "SELECT * FROM t; SELECT id FROM t; "
    script += "SELECT * FROM dropping; SELECT * FROM fitting;"
    run = session.run(script, until="end", wait=True)
    notes = {"t": expected, "dropping": expected, "fitting": ()}
    eventually(lambda: {s.name: s.notes for s in run.snapshot().sources} == notes)
    assert all(note in run.explain() for note in expected)
    assert [run.table(n).num_rows for n in range(4)] == [40] * 4


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
