"""Objects of a class as records of a topic, as rows of a table, and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest

from arroyo_nb import events
from arroyo_nb.errors import ArroyoError


class Kind(Enum):
    RIDE = "ride"
    DELIVERY = "delivery"


@dataclass
class Stop:
    town: str
    minutes: int


@dataclass
class Trip:
    trip: int
    at: datetime
    kind: Kind
    stops: list[Stop]
    price: Annotated[Decimal, "DECIMAL(9, 2)"]
    best: Stop | None = None
    day: date | None = None


@dataclass
class Count:
    kind: Kind
    n: int


def trip(number):
    return Trip(
        number,
        datetime(2026, 1, 1, 12, number),
        [*Kind][number % 2],
        [Stop("Cork", number)] * (number % 3),
        Decimal("1.25") * number,
        Stop("Delft", 3) if number % 2 else None,
        date(2026, 1, 2) if number % 2 else None,
    )


@pytest.fixture(autouse=True)
def local(broker, session):
    session.broker = broker


@pytest.fixture
def declared(new_topic):
    made = new_topic()
    statement = events.create_table(
        Trip,
        "trips",
        connector="kafka",
        bootstrap_servers=made.broker.bootstrap_servers,
        topic=made.name,
        type="source",
        format="json",
        **{"source.offset": "earliest"},
    )
    return statement + "\n"


def test_events_come_back_from_a_topic_as_they_went(declared, session):
    session.run(declared)
    trips = [trip(number) for number in range(30)]
    assert session.emit("trips", iter(trips), key="trip", wait=True).rows == 30
    run = session.run("SELECT * FROM trips", until="end", wait=True)
    assert sorted(run.events(Trip), key=lambda found: found.trip) == trips
    counted = session.run(
        "SELECT kind, count(*) AS n FROM trips GROUP BY kind", until="end", wait=True
    )
    found = sorted(counted.events(Count), key=lambda count: count.kind.value)
    assert found == [Count(Kind.DELIVERY, 15), Count(Kind.RIDE, 15)]
    with pytest.raises(ArroyoError, match="no column 'trip' for Trip"):
        counted.events(Trip).__next__()


def test_a_wrong_event_is_named_before_it_is_sent(declared, session):
    session.run(declared)
    trips = [trip(number) for number in range(5)]
    trips[3].stops.append(Stop("Bergen", "ten"))
    trips[3].stops[:] = trips[3].stops[-1:]
    told = r"row 4: Trip\.stops\[0\]\.minutes: 'ten' is no int$"
    with pytest.raises(ArroyoError, match=told):
        session.emit("trips", trips)


def test_events_go_onto_a_tape(session, tmp_path):
    trips = [trip(number) for number in range(12)]
    path = tmp_path / "trips.tape"
    session.emit(path, trips)
    statement = events.create_table(
        Trip, "taped", connector="tape", path=str(path), format="json"
    )
    run = session.run(f"{statement}\nSELECT * FROM taped", wait=True)
    assert list(run.events(Trip)) == trips
