"""Events of the auction house, against a clock that the test moves."""

from datetime import UTC, datetime
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors.nexmark import SCHEMA, Nexmark
from arroyo_nb.connectors.nexmark._events import EventGenerator
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import arrow_schema
from arroyo_nb.tape.writer import stored

START = datetime(2026, 1, 1, tzinfo=UTC)
RECORDED = {"event_rate": 10_000.0, "runtime": 1.0, "start_time": "2026-01-01"}


def generator(seed=0, rate=10_000):
    return EventGenerator(rate, START, seed)


def recorder(**options):
    return CONNECTORS.get("nexmark").recorder(TableSpec("n", SCHEMA, options))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions():
    rows = generator().rows(50, 5050)
    counts = [len(rows) - rows[name].null_count for name in SCHEMA.names]
    assert counts == [100, 300, 4600]
    there = pc.add(pc.is_valid(rows["person"]).cast("int8"), 0)
    for name in ("auction", "bid"):
        there = pc.add(there, pc.is_valid(rows[name]).cast("int8"))
    assert pc.unique(there).to_pylist() == [1]
    assert stored(rows.select(SCHEMA.names)).schema.equals(
        stored(arrow_schema(SCHEMA).empty_table()).schema
    )


def test_events_are_released_in_another_order_than_they_happen():
    rows = generator().rows(50, 150)
    times = rows["_timestamp"].cast("int64").to_pylist()
    arrivals = rows["_arrival"].cast("int64").to_pylist()
    assert times != sorted(times)
    assert arrivals == sorted(arrivals)
    # Fifty events are shuffled among each other.
    assert sorted(times[:50]) == arrivals[:50]
    assert sorted(times[50:]) == arrivals[50:]
    told = rows["bid"].combine_chunks().field("datetime").cast("int64").to_pylist()
    assert {t for t, bid in zip(told, rows["bid"], strict=True) if bid.is_valid} <= set(
        times
    )


def test_one_seed_makes_the_same_events_wherever_they_are_cut():
    whole = generator().rows(1, 3001)
    parts = [generator().rows(a, b) for a, b in ((1, 2), (2, 777), (777, 3001))]
    assert pa.concat_tables(parts).combine_chunks().equals(whole)
    assert not generator(seed=1).rows(1, 3001).equals(whole)


def test_ids_name_people_and_auctions_that_there_are_or_soon_will_be():
    rows = generator().rows(1, 100_001)
    person, auction, bid = (
        pa.table(pc.drop_null(rows[name]).combine_chunks().flatten(), schema_of(name))
        for name in SCHEMA.names
    )
    assert pc.count_distinct(person["id"]).as_py() == len(person)
    assert pc.count_distinct(auction["id"]).as_py() == len(auction)
    lead = 10
    for column, ids in (
        (auction["seller"], person["id"]),
        (bid["bidder"], person["id"]),
        (bid["auction"], auction["id"]),
    ):
        assert pc.min(column).as_py() >= 1000
        assert pc.max(column).as_py() <= pc.max(ids).as_py() + lead
    assert set(pc.unique(auction["category"]).to_pylist()) == set(range(10, 15))
    assert pc.all(pc.greater(auction["expires"], auction["datetime"])).as_py()
    assert pc.all(pc.greater(auction["reserve"], auction["initial_bid"])).as_py()
    assert pc.min(bid["price"]).as_py() >= 100
    assert pc.max(bid["price"]).as_py() < 100_000_000


def schema_of(name):
    return [field.name for field in arrow_schema(SCHEMA).field(name).type]


def test_half_of_the_bids_are_for_hot_auctions_and_channels():
    bids = pc.drop_null(generator().rows(10_000, 60_000)["bid"]).combine_chunks()
    ids, channels = bids.field("auction"), bids.field("channel")
    hot = pc.sum(pc.equal(pc.subtract(ids, pc.multiply(pc.divide(ids, 100), 100)), 0))
    assert 0.48 < hot.as_py() / len(bids) < 0.54
    named = pc.invert(pc.starts_with(channels, "channel-"))
    assert 0.48 < pc.sum(named).as_py() / len(bids) < 0.52
    assert pc.count_distinct(channels.filter(named)).as_py() == 4


def test_a_recording_comes_as_fast_as_it_is_read_and_goes_on_where_it_was():
    source = recorder(**RECORDED)
    assert source.bounded
    assert not source.live
    chunks = list(source.chunks(None))
    sizes = [chunk.rows.num_rows for chunk in chunks]
    assert sizes == [1000, 1000, 2000, 4000, 2000]
    again = list(recorder(**RECORDED).chunks(chunks[1].position))
    assert [chunk.rows for chunk in again] == [chunk.rows for chunk in chunks[2:]]


class Clock:
    """Time moves by what the recorder sleeps."""

    def __init__(self):
        self.now_s = 0.0

    def events(self, rate, **options):
        return Nexmark(
            lambda start: EventGenerator(rate, start),
            rate,
            clock=lambda: self.now_s,
            sleep=self.sleep,
            now_s=lambda: START.timestamp() + self.now_s,
            **options,
        )

    def sleep(self, seconds):
        assert seconds <= 0.1  # a stop must be heard
        self.now_s += seconds


def test_live_events_come_at_their_rate_and_end():
    clock = Clock()
    source = clock.events(100, count=250)
    assert source.live
    chunks = list(source.chunks(None))
    assert clock.now_s == pytest.approx(2.5, abs=0.2)
    assert sum(chunk.rows.num_rows for chunk in chunks) == 250
    # One that goes on has the times of its first start, and waits for nothing twice.
    (first,) = islice(clock.events(100).chunks(chunks[-1].position), 1)
    assert first.position["events"] == 251
    assert first.rows["_arrival"][0].as_py().timestamp() == pytest.approx(
        START.timestamp() + 2.51
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("event_rate", 0.0, "event_rate must be above 0, but it was 0.0"),
        ("runtime", -1.0, "runtime must be above 0, but it was -1.0"),
        ("start_time", "noon", "start_time must be a time from 1970 on"),
        ("start_time", "1969-12-31", "start_time must be a time from 1970 on"),
    ],
)
def test_what_makes_no_sense_is_refused(option, value, message):
    with pytest.raises(CatalogProblem, match=message) as problem:
        CONNECTORS.get("nexmark").columns({**RECORDED, option: value})
    assert problem.value.hint


def test_events_end_where_time_does():
    with pytest.raises(RunProblem, match="is after the year 9998"):
        list(recorder(**{**RECORDED, "start_time": "9999-01-01"}).chunks(None))
