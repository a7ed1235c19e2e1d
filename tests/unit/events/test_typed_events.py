"""Classes of events as columns of Arrow, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field

from arroyo_nb import events
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.kafka.emit.rows import RowRecords
from arroyo_nb.kafka.emit.targets import _plain
from arroyo_nb.plan.planner import plan_script


class Status(Enum):
    OK = 1
    LATE = 2


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Leg:
    origin: str
    miles: int | None = None


@dataclass
class Car:
    seats: int


@dataclass
class Bus:
    lines: list[str]


@events.event
@dataclass
class Trip:
    id: UUID
    at: datetime
    status: Status
    color: Color
    kind: Literal["in", "out"]
    price: Annotated[Decimal, "DECIMAL(12, 2)"]
    small: Annotated[int, "SMALLINT"]
    legs: list[Leg]
    corners: tuple[Leg, ...]
    grid: list[list[int]]
    tags: dict[str, int | None]
    by: Car | Bus | None
    best: Leg | None
    more: Any
    raw: bytes
    day: date | None = None
    clock: time | None = None
    rest: Decimal = Decimal("0.5")
    share: float = 1.5
    open: bool = True
    seen: Sequence[str | None] = field(default_factory=list)


def trip(n):
    return Trip(
        UUID(int=n),
        datetime(2024, 1, 1, n),
        Status.LATE if n else Status.OK,
        Color.BLUE,
        "out" if n else "in",
        Decimal("1.50") * n,
        n,
        [Leg("JFK", n), Leg("LAX")][:n],
        (Leg("é\N{GRINNING FACE}"),) * n,
        [[1, 2], [], [3]][:n],
        {"a": n, "b": None} if n else {},
        [Car(4), Bus(["x", ""]), None][n % 3],
        Leg("SFO") if n else None,
        {"k": [1, 2.5, None]} if n else None,
        bytes(n),
        date(2024, 1, 2) if n else None,
        time(1, 2, 3, 4) if n else None,
        seen=["x", None][:n],
    )


def test_events_come_back_as_they_went():
    trips = [trip(n) for n in range(4)]
    found = list(events.batches(Trip, iter(trips), rows=3))
    assert [len(batch) for batch in found] == [3, 1]
    assert all(batch.schema == events.schema(Trip) for batch in found)
    table = pa.Table.from_batches(found)
    table.validate(full=True)
    assert list(events.objects(Trip, table)) == trips
    assert list(events.objects(Trip, table.slice(2, 1))) == trips[2:3]
    assert list(events.objects(Trip, found[1])) == trips[3:]
    assert list(events.batches(Trip, [])) == []


def test_a_class_is_a_table():
    text = events.create_table(
        Trip, "trips", connector="kafka", topic="trips", format="json",
        type="source", bootstrap_servers="localhost:9092", event_time="at",
        watermark="1 minute",
    )  # fmt: skip
    plan = plan_script(f"{text}\nSELECT * FROM trips;", Catalog())
    made = plan.catalog.get("trips").schema
    assert str(made["day"].type) == "TEXT"
    assert str(made["price"]) == "price DECIMAL(12, 2) NOT NULL"
    assert str(made["small"].type) == "INT"
    assert str(made["legs"].type) == "STRUCT<origin TEXT, miles BIGINT>[]"
    assert str(made["tags"].type) == "STRUCT<key TEXT, value BIGINT>[]"
    assert str(made["more"].type) == "JSON"
    assert made["day"].nullable
    assert "WATERMARK FOR at AS at - INTERVAL '1 minute'" in text


def wrong(change, n=2):
    trips = [trip(number) for number in range(4)]
    change(trips[n])
    return trips


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: setattr(t.legs[1], "origin", 5), "[2].legs[1].origin: 5 is no str"),
        (lambda t: setattr(t, "small", 2**15), "[2].small: 32768 is no int"),
        (lambda t: setattr(t, "price", Decimal("0.001")), "[2].price: "),
        (lambda t: setattr(t, "status", 1), "[2].status: 1 is no Status"),
        (lambda t: setattr(t, "kind", "up"), "[2].kind: 'up' is no one of in, out"),
        (lambda t: t.tags.update(c="x"), "[2].tags[2].value: 'x' is no int"),
        (lambda t: t.grid.append([1, "a"]), "[2].grid[2][1]: 'a' is no int"),
        (lambda t: setattr(t, "grid", 5), "[2].grid: 5 is no list"),
        (lambda t: setattr(t, "legs", "ab"), "[2].legs: 'ab' is no list"),
        (lambda t: setattr(t, "legs", [None]), "[2].legs[0]: None is no value of it"),
        (lambda t: setattr(t, "at", None), "[2].at: None is no value of it"),
        (lambda t: setattr(t, "at", 5), "[2].at: 5 is no datetime"),
        (lambda t: setattr(t, "by", 5), "[2].by: 5 is no Car and no Bus"),
        (lambda t: setattr(t, "best", Car(1)), "[2].best: Car(seats=1) is no Leg"),
        (lambda t: setattr(t, "tags", [1]), "[2].tags: [1] is no mapping"),
        (lambda t: setattr(t, "id", "x"), "[2].id: 'x' is no UUID"),
        (lambda t: delattr(t, "raw"), "[2]: 'Trip' object has no attribute 'raw'"),
    ],
)
def test_a_wrong_value_is_named(change, said):
    with pytest.raises(ArroyoError) as told:
        list(events.batches(Trip, wrong(change), rows=2))
    assert f"events{said}" in str(told.value)


def test_what_is_no_event_is_named():
    with pytest.raises(ArroyoError, match=r"events\[1\]: \{'a': 1\} is no Trip"):
        list(events.batches(Trip, [trip(0), {"a": 1}]))


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (complex, "Odd.a is complex, for which SQL has no type"),
        (int | str, "Odd.a is int | str"),
        (tuple[int, str], "Odd.a is a tuple of fixed length"),
        (Annotated[int, "TEXT"], "Odd.a is int, and no TEXT"),
        (dict[int | None, int], "its keys"),
    ],
)
def test_a_class_that_is_none(hint, said):
    made = dataclass(type("Odd", (), {"__annotations__": {"a": hint}}))
    with pytest.raises(ArroyoError) as told:
        events.event(made)
    assert said in str(told.value)


def test_a_class_without_annotations_is_none():
    with pytest.raises(ArroyoError, match="int is no class of events"):
        events.event(int)


class Order(BaseModel):
    id: int
    at: datetime
    price: Annotated[Decimal, Field(max_digits=8, decimal_places=3)]
    note: str | None = Field(None, alias="Note")


def test_models_of_pydantic():
    orders = [
        Order(id=n, at=datetime(2024, 1, 1), price=Decimal("1.125"), Note="x")
        for n in range(3)
    ]
    assert events.schema(Order).names == ["id", "at", "price", "Note"]
    assert events.schema(Order).field("price").type == pa.decimal128(8, 3)
    (batch,) = events.batches(Order, orders)
    assert list(events.objects(Order, batch)) == orders


def test_rows_that_do_not_fit_a_class():
    rows = pa.table({"seats": pa.array([1, None])})
    with pytest.raises(ArroyoError, match=r"rows\[1\].seats: None is no value of it"):
        list(events.objects(Car, rows))
    with pytest.raises(ArroyoError, match="no column 'seats' for Car"):
        list(events.objects(Car, pa.table({"seat": [1]})))
    with pytest.raises(ArroyoError, match="the column 'seats' is string"):
        list(events.objects(Car, pa.table({"seats": ["a"]})))
    ticks = pa.table({"seats": pa.array([3], pa.int16()), "more": [1]})
    assert list(events.objects(Car, ticks)) == [Car(3)]


def test_times_are_those_of_utc():
    @dataclass
    class Tick:
        at: datetime
        x: float

    aware = datetime(2024, 1, 1, 12, tzinfo=UTC) + timedelta(0)
    (batch,) = events.batches(Tick, [Tick(aware, math.nan)])
    assert batch["at"].to_pylist() == [datetime(2024, 1, 1, 12)]
    assert math.isnan(batch["x"][0].as_py())
    zoned = batch.set_column(0, "at", batch["at"].cast(pa.timestamp("us", "UTC")))
    assert next(events.objects(Tick, zoned)).at == datetime(2024, 1, 1, 12)


def test_a_decimal_has_all_digits_of_its_type():
    @dataclass
    class Share:
        part: Annotated[Decimal, "DECIMAL(38, 20)"]

    exact = Share(Decimal("0.12345678901234567891"))
    (batch,) = events.batches(Share, [exact])
    assert list(events.objects(Share, batch)) == [exact]


def test_two_classes_of_a_choice_with_one_name():
    upper = dataclass(type("BUS", (), {"__annotations__": {"a": int}}))
    made = dataclass(type("Odd", (), {"__annotations__": {"a": Bus | upper}}))
    with pytest.raises(ArroyoError, match="two classes whose fields would both be"):
        events.event(made)


def test_a_model_says_the_digits_of_a_decimal_behind_its_annotation():
    class Item(BaseModel):
        price: Decimal = Field(max_digits=12, decimal_places=2)
        tax: Decimal | None = Field(None, max_digits=6, decimal_places=4)

    found = events.schema(Item)
    assert found.field("price").type == pa.decimal128(12, 2)
    assert found.field("tax").type == pa.decimal128(6, 4)


def test_batches_come_back_as_they_were_given():
    trips = [trip(n) for n in range(4)]
    found = events.objects(Trip, events.batches(Trip, trips, rows=3))
    assert list(found) == trips


def test_one_event_is_no_list_of_them():
    with pytest.raises(ArroyoError, match="one Car is given where a list") as told:
        list(events.batches(Car, Car(3)))
    assert told.value.hint == "write [car]"


def test_json_is_no_text_in_a_record_that_nobody_declared():
    @dataclass
    class Note:
        n: int
        more: Any
        all: list[Any]

    notes = [Note(1, {"j": [1]}, [5]), Note(2, "txt", []), Note(3, None, ["a", None])]
    assert [value for value, _, _ in RowRecords(_plain)(notes)] == [
        b'{"n":1,"more":{"j":[1]},"all":[5]}',
        b'{"n":2,"more":"txt","all":[]}',
        b'{"n":3,"more":null,"all":["a",null]}',
    ]
