"""Rows as messages: what a sink and `session.emit` write."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from proto_schemas import FLIGHT, HEAD, compiled, usual_columns

from arroyo_nb.errors import CatalogProblem, DataProblem, RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.protobuf.encode import RowEncoder
from arroyo_nb.schema import (
    BIGINT,
    DOUBLE,
    INT,
    TEXT,
    Field,
    Schema,
    StructOf,
    Timestamp,
)

TRIP = (
    HEAD
    + """
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
enum Kind { NONE = 0; BUS = 2; }
message Stop { string name = 1; }
message Trip {
  string id = 1; google.protobuf.Timestamp at = 2; google.protobuf.Duration lasts = 3;
  Kind kind = 4; repeated Stop stops = 5; map<string, int32> counts = 6;
  uint64 big = 7; google.protobuf.Struct extra = 8; optional int32 seats = 9;
  oneof by { string card = 10; int32 cash = 11; }
}
"""
)
MESSAGE = compiled(TRIP, "Trip")
OPTIONS = {"protobuf.schema": TRIP, "protobuf.message": "Trip"}


def writer(schema=None, options=OPTIONS):
    columns = usual_columns(MESSAGE) if schema is None else schema
    return payload_format("protobuf").payload_writer("t", columns, options, read=True)


def trip(**row):
    (payload,) = writer()([row])
    return MESSAGE.message_class.FromString(payload)


def test_a_row_of_python_is_a_message():
    made = trip(
        id="a",
        at=datetime(2024, 1, 2, 3, 4, 5, 600_000),
        lasts=-1_500_000,
        kind="BUS",
        stops=[{"name": "x"}, {"name": None}],
        counts=[{"key": "b", "value": 1}, {"key": "a", "value": 2}],
        big=2**64 - 1,
        extra={"k": [1, None]},
        seats=0,
        cash=0,
    )
    assert made.at.ToJsonString() == "2024-01-02T03:04:05.600Z"
    assert made.lasts.ToJsonString() == "-1.500s"
    assert (made.kind, [s.name for s in made.stops]) == (2, ["x", ""])
    assert dict(made.counts) == {"a": 2, "b": 1}
    assert (made.big, made.extra["k"][0]) == (2**64 - 1, 1)
    assert made.HasField("seats")
    assert made.WhichOneof("by") == "cash"


def test_null_is_not_set():
    assert writer()([{}]) == [b""]
    assert not trip(seats=None).HasField("seats")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"kind": "TRAM"}, "'kind': 'TRAM' is no Kind"),
        ({"card": "x", "cash": 1}, "both set, and one at most of the oneof 'by' may"),
        ({"extra": [1]}, "'extra': "),
        ({"stops": [None]}, "Trip refuses it"),
        ({"lasts": 2**62}, "are no Duration"),
    ],
)
def test_what_a_message_cannot_have_is_refused(row, why):
    said = "^a row of 't' cannot be written as a message 't.Trip': "
    with pytest.raises(DataProblem, match=said) as told:
        writer()([{"id": "first"}, {"id": "second", **row}, {"id": "third"}])
    assert why in told.value.message
    assert told.value.hint.startswith("the row is: id = second, at = None, ")


def test_a_column_that_the_message_lacks_is_refused_before_the_first_row():
    with pytest.raises(CatalogProblem, match="no field for the column 'idd'"):
        writer(Schema((Field("idd", TEXT),)))
    with pytest.raises(CatalogProblem, match="no field for the column 'idd'"):
        payload_format("protobuf").encoded(Schema((Field("idd", TEXT),)), OPTIONS)


def test_a_missing_required_field_is_refused():
    text = (
        'syntax = "proto2"; message M { required int32 id = 1; optional int32 n = 2; }'
    )
    schema = Schema((Field("id", INT), Field("n", INT)))
    encoder = RowEncoder(compiled(text), schema, "t")
    columns = [pa.array([5, None], pa.int32()), pa.array([1, 2], pa.int32())]
    with pytest.raises(DataProblem, match="missing required fields: id") as told:
        encoder(columns, 2)
    assert told.value.hint == "the row is: id = None, n = 2"


def test_rows_of_spark_have_times_with_zones_and_decimals():
    leg = StructOf((Field("at", Timestamp()),))
    text = HEAD + 'import "google/protobuf/timestamp.proto"; message L { '
    text += "google.protobuf.Timestamp at = 1; } message M { uint64 n = 1; L leg = 2; "
    text += "int32 small = 3; }"
    message = compiled(text, "M")
    schema = Schema(
        (Field("n", usual_columns(message)["n"].type), Field("leg", leg),
         Field("small", BIGINT))
    )  # fmt: skip
    zoned = pa.timestamp("us", "UTC")
    rows = pa.StructArray.from_arrays(
        [
            pa.array([Decimal(2**64 - 1), None], pa.decimal128(20, 0)),
            pa.array(
                [{"at": datetime(2024, 1, 1, tzinfo=UTC)}, None],
                pa.struct([("at", zoned)]),
            ),
            pa.array([5, None], pa.int64()),
        ],
        names=["c_0", "c_1", "c_2"],
    )
    first, second = RowEncoder(message, schema).of_struct(rows).to_pylist()
    made = message.message_class.FromString(first)
    assert (made.n, made.small) == (2**64 - 1, 5)
    assert made.leg.at.ToJsonString() == "2024-01-01T00:00:00Z"
    assert second == b""


def test_a_number_that_does_not_fit_its_field_is_refused():
    text = HEAD + "message M { int32 small = 1; }"
    encoder = RowEncoder(compiled(text), Schema((Field("small", BIGINT),)))
    with pytest.raises(DataProblem, match="'small': 8589934592 is no int32"):
        encoder([pa.array([1, 2**33], pa.int64())], 2)


def test_a_double_that_no_float_can_be_is_refused_and_not_infinite():
    text = HEAD + "message M { float f = 1; }"
    encoder = RowEncoder(compiled(text), Schema((Field("f", DOUBLE),)))
    assert len(encoder([pa.array([1.5, float("inf")])], 2)) == 2
    with pytest.raises(DataProblem, match=r"'f': 1e\+300 is no float"):
        encoder([pa.array([1.5, 1e300])], 2)


UNSIGNED = HEAD + "message L { uint32 small = 1; } message M { uint64 big = 1; "
UNSIGNED += "uint32 small = 2; repeated L legs = 3; }"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((Decimal(-1), 1, []), "'big': -1 is out of the range of BIGINT UNSIGNED"),
        (
            (Decimal(2**64), 1, []),
            "'big': 18446744073709551616 is out of the range of BIGINT UNSIGNED",
        ),
        ((None, -5, []), "'small': -5 is out of the range of INT UNSIGNED"),
        ((None, 2**32, []), "'small': 4294967296 is out of the range of INT UNSIGNED"),
        (
            (None, 1, [{"small": 1}, {"small": -2}]),
            "'legs': [{'small': 1}, {'small': -2}] is out of the range of "
            "STRUCT<small INT UNSIGNED>[]",
        ),
    ],
)
def test_a_number_out_of_the_range_of_its_column_is_refused(row, why):
    """Spark, which has no unsigned numbers, holds them in wider types."""
    message = compiled(UNSIGNED, "M")
    encoder = pickle.loads(
        pickle.dumps(RowEncoder(message, usual_columns(message), "t"))
    )
    types = [
        pa.decimal128(20, 0),
        pa.int64(),
        pa.list_(pa.struct({"small": pa.int64()})),
    ]
    good = (Decimal(2**64 - 1), 2**32 - 1, [{"small": 0}])

    def rows(*given):
        columns = map(pa.array, zip(*given, strict=True), types)
        return pa.StructArray.from_arrays([*columns], names=["c_0", "c_1", "c_2"])

    (payload,) = encoder.of_struct(rows(good)).to_pylist()
    assert message.message_class.FromString(payload).big == 2**64 - 1
    with pytest.raises(DataProblem) as told:
        encoder.of_struct(rows(good, row))
    said = "a row of 't' cannot be written as a message 't.M': "
    assert told.value.message == said + why
    assert told.value.hint.startswith(f"the row is: big = {row[0]}, small = {row[1]}, ")


def test_a_long_row_is_cut_and_stays_one_line():
    with pytest.raises(DataProblem) as told:
        writer()([{"id": "a\nb" * 500, "kind": "TRAM"}])
    assert told.value.hint.startswith("the row is: id = a ba b")
    assert len(told.value.hint) < 220


def test_records_of_a_registry_are_only_read():
    options = {**OPTIONS, "protobuf.confluent_schema_registry": True}
    with pytest.raises(RunProblem, match="rows cannot be emitted to 't'"):
        writer(options=options)


def test_a_flight_is_written_by_any_of_its_fields():
    options = {"protobuf.schema": FLIGHT, "protobuf.message": "Flight"}
    (payload,) = writer(Schema((Field("id", BIGINT),)), options)([{"id": 7}])
    assert payload == b"\x10\x07"
