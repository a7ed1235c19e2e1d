"""Messages of Protocol Buffers, of classes that protoc makes, as events."""

from __future__ import annotations

import importlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from arroyo_nb import events
from arroyo_nb.errors import ArroyoError, CatalogProblem, DataProblem

TEXT = """
syntax = "proto3";
package arroyo_nb_tests;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/empty.proto";
enum Kind { NONE = 0; BUS = 2; }
message Stop { string name = 1; optional double km = 2; }
message Tree { int32 n = 1; Tree left = 2; }
message Trip {
  string id = 1;
  google.protobuf.Timestamp at = 2;
  google.protobuf.Duration lasts = 3;
  Kind kind = 4;
  repeated Stop stops = 5;
  map<string, Stop> by_name = 6;
  uint64 big = 7;
  google.protobuf.Struct extra = 8;
  optional int32 seats = 9;
  oneof by { string card = 10; int32 cash = 11; }
  google.protobuf.Int64Value count = 12;
  google.protobuf.Empty express = 13;
  Tree tree = 14;
  bytes raw = 15;
  Stop best = 16;
}
message Hidden { int32 _timestamp = 1; }
"""


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """The module that protoc makes."""
    folder = tmp_path_factory.mktemp("protos")
    (folder / "trip_events.proto").write_text(TEXT)
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}"),
            *(f"--python_out={folder}", "trip_events.proto"),
        ],
        check=True,
    )
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("trip_events_pb2")
    finally:
        sys.path.remove(str(folder))


def trip(trips, n):
    made = trips.Trip(id=f"t{n}", kind=2 * (n % 2), big=2**64 - 1 - n, raw=bytes(n))
    if n:
        made.at.FromDatetime(datetime(2024, 1, 2, 3, 4, 5, n, UTC))
        made.lasts.FromTimedelta(timedelta(seconds=-n, microseconds=n))
        made.stops.add(name="x", km=0)
        made.stops.add()
        made.by_name["b"].name = "B"
        made.by_name["a"].SetInParent()
        made.extra.update({"k": [1, None, {"x": "é"}]})
        made.seats, made.cash = 0, 0
        made.count.value = 0
        made.express.SetInParent()
        made.tree.left.left.n = 3
        made.best.SetInParent()
    return made


def test_messages_come_back_as_they_went(trips):
    made = [trip(trips, n) for n in range(4)]
    found = list(events.batches(trips.Trip, iter(made), rows=3))
    assert [len(batch) for batch in found] == [3, 1]
    table = pa.Table.from_batches(found)
    table.validate(full=True)
    assert table.schema == events.schema(trips.Trip)
    assert list(events.objects(trips.Trip, table)) == made
    assert list(events.objects(trips.Trip, table.slice(2, 1))) == made[2:3]


def test_what_is_not_set_is_null_where_that_is_told_from_a_default(trips):
    (batch,) = events.batches(trips.Trip, [trip(trips, 0), trip(trips, 1)])
    first, second = batch.to_pylist()
    unset = {name for name, value in first.items() if value is None}
    assert unset == {
        *("at", "lasts", "extra", "seats", "card", "cash", "count", "express"),
        *("tree", "best"),
    }
    assert (first["stops"], first["by_name"], first["kind"]) == ([], [], "NONE")
    assert second["at"] == datetime(2024, 1, 2, 3, 4, 5, 1)
    assert second["lasts"] == timedelta(seconds=-1, microseconds=1)
    assert second["stops"] == [{"name": "x", "km": 0}, {"name": "", "km": None}]
    assert [pair["key"] for pair in second["by_name"]] == ["a", "b"]
    assert (second["cash"], second["card"], second["express"]) == (0, None, True)


def test_a_class_of_messages_is_a_table(trips):
    text = events.create_table(
        trips.Stop, "stops", connector="kafka", topic="stops", format="json",
        type="source", bootstrap_servers="localhost:9092",
    )  # fmt: skip
    assert "name TEXT NOT NULL" in text
    assert "km DOUBLE" in text
    with pytest.raises(CatalogProblem, match="lasts is an INTERVAL"):
        events.create_table(trips.Trip, "trips", connector="kafka")


def test_the_decorator_gives_the_class_back_and_refuses_hidden_columns(trips):
    assert events.event(trips.Stop) is trips.Stop
    with pytest.raises(ArroyoError, match="'_timestamp' is a hidden column"):
        events.event(trips.Hidden)


def test_a_time_that_python_has_not_is_told_with_its_place(trips):
    odd = trips.Trip(id="x")
    odd.at.seconds = 2**60
    with pytest.raises(DataProblem, match=r"events\[1\]\.at: .* are no Timestamp"):
        list(events.batches(trips.Trip, [trip(trips, 1), odd]))


def test_an_object_of_another_class_is_told(trips):
    with pytest.raises(DataProblem, match=r"events\[1\].* is no Trip"):
        list(events.batches(trips.Trip, [trip(trips, 1), trips.Stop()]))


def test_rows_that_no_message_can_be_are_refused(trips):
    (batch,) = events.batches(trips.Trip, [trip(trips, 1)])
    both = batch.set_column(
        batch.schema.get_field_index("card"), "card", pa.array(["x"])
    )
    with pytest.raises(DataProblem, match="both set, and one at most"):
        list(events.objects(trips.Trip, both))
    odd = batch.set_column(
        batch.schema.get_field_index("kind"), "kind", pa.array(["TRAM"])
    )
    with pytest.raises(DataProblem, match="'TRAM' is no Kind"):
        list(events.objects(trips.Trip, odd))


def test_a_number_is_an_unknown_member_of_an_enum(trips):
    (batch,) = events.batches(trips.Trip, [trips.Trip(kind=77)])
    assert batch["kind"].to_pylist() == ["77"]
    assert next(events.objects(trips.Trip, batch)).kind == 77
