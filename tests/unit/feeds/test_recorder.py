"""Messages as chunks of a tape."""

import os
from contextlib import closing

import pyarrow as pa
import pytest
from fake_feeds import FakeConnection, FakeFeed, message

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import FeedEnded, Message, receiver
from arroyo_nb.feeds.recorder import FeedRecorder
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema, Timestamp
from arroyo_nb.tape import ARRIVAL
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk

N = Field("n", BIGINT, nullable=False)


def recorder(feed, *columns, event_time=None, metadata=None, **options):
    options = {"format": "json", "bad_data": "fail", **options}
    schema = Schema(columns or (N,))
    spec = TableSpec("numbers", schema, options, event_time, metadata=metadata or {})
    return FeedRecorder(feed, spec, options)


def chunks(made, rows, after=None):
    """The chunks that have rows or bad records, up to so many of both."""
    found, have = [], 0
    with closing(made.chunks(after)) as stream:
        for chunk in stream:
            have += chunk.rows.num_rows + chunk.dropped_rows
            if chunk.rows.num_rows or chunk.dropped_rows:
                found.append(chunk)
            if have >= rows:
                return found
    raise AssertionError("a live source has no end")


def test_messages_are_rows_with_their_arrival_as_event_time():
    feed = FakeFeed(FakeConnection([[message(1), message(2)]]))
    (chunk,) = chunks(recorder(feed), 2)
    assert chunk.rows.column_names == ["n", ARRIVAL, "_timestamp"]
    assert chunk.rows["n"].to_pylist() == [1, 2]
    assert chunk.rows[ARRIVAL].cast(pa.int64()).to_pylist() == [1, 2]
    assert chunk.rows["_timestamp"].equals(chunk.rows[ARRIVAL])
    assert chunk.position == {"messages": 2, "position": {"n": 2}}


def test_a_run_goes_on_behind_the_last_message_and_counts_on():
    feed = FakeFeed(FakeConnection([[message(8)]]))
    after = {"messages": 7, "position": {"n": 7}}
    (chunk,) = chunks(recorder(feed), 1, after)
    assert feed.positions == [{"n": 7}]
    assert chunk.position == {"messages": 8, "position": {"n": 8}}


def test_an_empty_chunk_comes_soon_where_no_message_does():
    with closing(recorder(FakeFeed(FakeConnection([]))).chunks(None)) as stream:
        chunk = next(stream)
    assert chunk.empty
    assert chunk.rows.column_names == ["n", ARRIVAL, "_timestamp"]
    assert chunk.position == {"messages": 0, "position": None}


def test_a_feed_that_has_ended_is_a_stream_that_has():
    feed = FakeFeed(FakeConnection([[message(1)], FeedEnded("that was all")]))
    made = recorder(feed)
    assert not made.bounded
    found = list(made.chunks(None))
    assert sum(chunk.rows.num_rows for chunk in found) == 1
    assert made.bounded


def test_a_message_is_acknowledged_when_its_chunk_is_on_disk():
    connection = FakeConnection([[message(1)]])
    with closing(recorder(FakeFeed(connection)).chunks(None)) as stream:
        while next(stream).empty:
            assert connection.acknowledged == []
        assert connection.acknowledged == []
        next(stream)
        assert connection.acknowledged == [{"n": 1}]


def test_a_bad_message_ends_the_run_with_its_number():
    bad = Message(b"{no", 3, {"n": 3})
    feed = FakeFeed(FakeConnection([[message(1), bad]]))
    with pytest.raises(RunProblem, match="numbers message 2"):
        chunks(recorder(feed), 2)


def test_bad_messages_are_dropped_and_counted():
    bad = Message(b"{no", 3, {"n": 3})
    feed = FakeFeed(FakeConnection([[bad, message(1)]]))
    (chunk,) = chunks(recorder(feed, bad_data="drop"), 2)
    assert chunk.rows["n"].to_pylist() == [1]
    assert chunk.dropped_rows == 1
    assert chunk.bad[0].text == "{no"


def test_a_message_may_have_a_record_a_line():
    both = Message(b'{"n": 1}\n\n{"n": 2}\n', 7)
    feed = FakeFeed(FakeConnection([[both, message(3)]]))
    (chunk,) = chunks(recorder(feed, framing="newline"), 3)
    assert chunk.rows["n"].to_pylist() == [1, 2, 3]
    assert chunk.rows[ARRIVAL].cast(pa.int64()).to_pylist() == [7, 7, 3]
    assert chunk.position["messages"] == 2


def test_messages_may_be_changes():
    change = Message(b'{"before": {"n": 1}, "after": {"n": 2}, "op": "u"}', 7)
    feed = FakeFeed(FakeConnection([[change, change]]))
    (chunk,) = chunks(recorder(feed, format="debezium_json"), 4)
    assert chunk.rows.column_names == ["n", WEIGHT, SEQUENCE, ARRIVAL, "_timestamp"]
    assert chunk.rows["n"].to_pylist() == [1, 2, 1, 2]
    assert chunk.rows[WEIGHT].to_pylist() == [-1, 1, -1, 1]
    assert chunk.rows[SEQUENCE].to_pylist() == [0, 1, 2, 3]


def test_the_event_time_may_be_a_column():
    column = Field("at", Timestamp(), nullable=False)
    at = Message(b'{"at": "2026-01-01T00:00:00Z"}', 5)
    feed = FakeFeed(FakeConnection([[at]]))
    (chunk,) = chunks(recorder(feed, column, event_time="at"), 1)
    assert chunk.rows["_timestamp"].to_pylist()[0].isoformat() == (
        "2026-01-01T00:00:00+00:00"
    )


def test_what_is_told_beside_a_message_is_a_column():
    feed = FakeFeed(FakeConnection([[Message(b'{"n": 1}', 0, None, ("rooms",))]]))
    feed.metadata = {"topic": pa.string()}
    made = recorder(feed, N, Field("room", TEXT), metadata={"room": "topic"})
    (chunk,) = chunks(made, 1)
    assert chunk.rows["room"].to_pylist() == ["rooms"]


def test_the_connection_is_told_while_it_records(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.001)
    feed = FakeFeed(
        FakeConnection([[message(1)], Unreached("lost")]),
        FakeConnection([[message(2)]]),
    )
    made = recorder(feed)
    assert made.connection_status.connections == 0
    chunks(made, 2)
    assert made.connection_status.connections == 2
    assert made.connection_status.gaps == 1


def test_a_chunk_whose_records_are_all_bad_is_written_so_that_they_stay_counted():
    payload = Message(b"{", 1, {"n": 1})
    feed = FakeFeed(FakeConnection([[payload]]))
    (chunk,) = chunks(recorder(feed, bad_data="drop"), 1)
    assert (chunk.rows.num_rows, chunk.dropped_rows) == (0, 1)
    assert not chunk.empty


def test_messages_are_on_the_disk_before_they_are_acknowledged(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "fsync", lambda number: asked.append(os.fstat(number)))
    feed = FakeFeed(FakeConnection([[message(1)]]))
    (chunk,) = chunks(recorder(feed), 1)
    mark = write_chunk(tmp_path, 1, chunk, Totals())
    file, folder = asked
    assert file.st_size == mark.size_bytes
    assert folder.st_ino == tmp_path.stat().st_ino
