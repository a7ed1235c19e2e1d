"""The counter, against a clock that the test moves."""

from itertools import islice

import pytest

from arroyo_nb.connectors import CONNECTORS, Direction, TableSpec
from arroyo_nb.connectors.impulse import SCHEMA, Impulse
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import BIGINT, Field, Schema

START_S = 1_700_000_000


class Clock:
    """Time moves by what the recorder sleeps, and by what the test adds."""

    def __init__(self):
        self.now_us = 0

    @property
    def now_s(self):
        return self.now_us / 1e6

    def impulse(self, rate, **options):
        return Impulse(
            rate,
            clock=lambda: self.now_s,
            sleep=self.sleep,
            now_s=lambda: START_S + self.now_s,
            **options,
        )

    def sleep(self, seconds):
        assert seconds <= 0.1  # a stop must be heard
        self.now_us += round(seconds * 1e6)


def counters(chunks):
    return [chunk.rows["counter"].to_pylist() for chunk in chunks]


def micros(chunk, name):
    return chunk.rows[name].cast("int64").to_pylist()


def test_rows_come_at_the_rate():
    clock = Clock()
    chunks = list(islice(clock.impulse(50).chunks(None), 11))
    assert clock.now_s == pytest.approx(1)
    assert counters(chunks)[0] == [0]
    assert [n for chunk in counters(chunks) for n in chunk] == list(range(51))
    assert chunks[-1].rows["subtask_index"].to_pylist() == [0] * 5
    # Row n at start + n / rate, evenly, though rows come in tenths of a second.
    assert micros(chunks[1], "_timestamp") == [
        START_S * 1_000_000 + n * 20_000 for n in range(1, 6)
    ]
    assert micros(chunks[1], "_arrival") == micros(chunks[1], "_timestamp")


def test_a_slow_rate_yields_empty_chunks_in_between():
    chunks = islice(Clock().impulse(2).chunks(None), 12)
    rows = [chunk.rows.num_rows for chunk in chunks]
    assert sum(rows) == 3
    assert rows.count(0) == 9


def test_a_slow_reader_gets_all_that_is_due():
    clock = Clock()
    chunks = clock.impulse(1000).chunks(None)
    next(chunks)
    clock.now_us += 5_000_000
    assert next(chunks).rows.num_rows == pytest.approx(5_000 + 100, abs=1)


def test_event_time_by_interval_and_an_end():
    source = Clock().impulse(10, interval_us=60_000_000, count=4)
    assert source.bounded
    assert not Clock().impulse(10).bounded
    chunks = list(source.chunks(None))
    assert [n for chunk in counters(chunks) for n in chunk] == [0, 1, 2, 3]
    times = [t for chunk in chunks for t in micros(chunk, "_timestamp")]
    assert times == [(START_S + 60 * n) * 1_000_000 for n in range(4)]


def test_it_goes_on_at_its_counter_without_a_burst():
    clock = Clock()
    first = list(islice(clock.impulse(10, interval_us=1_000_000).chunks(None), 6))
    clock.now_us = 3_600_000_000
    again = clock.impulse(10, interval_us=1_000_000)
    rest = list(islice(again.chunks(first[-1].position), 3))
    done = first[-1].position["counter"]
    assert counters(rest)[0] == [done]
    # Two tenths of a second passed: a row each, or one less where a float falls short.
    assert sum(map(len, counters(rest))) in (2, 3)
    # Event time counts from the very first start, arrival is now.
    assert micros(rest[0], "_timestamp") == [(START_S + done) * 1_000_000]
    assert micros(rest[0], "_arrival") == [(START_S + 3600) * 1_000_000]


def test_finished_is_finished():
    position = {"counter": 4, "start_us": 0}
    assert list(Clock().impulse(10, count=4).chunks(position)) == []
    assert list(Clock().impulse(10, count=0).chunks(None)) == []


def test_the_connector_checks_rate_and_columns():
    impulse = CONNECTORS.get("impulse")
    assert impulse.columns({"event_rate": 1.5}) == SCHEMA
    for rate in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(CatalogProblem, match="event_rate must be above 0"):
            impulse.columns({"event_rate": rate})
    options = {"event_rate": 1e6, "message_count": 3}
    source = impulse.recorder(TableSpec("i", SCHEMA, options))
    assert sum(chunk.rows.num_rows for chunk in source.chunks(None)) == 3
    other = Schema((Field("counter", BIGINT),))
    with pytest.raises(RunProblem, match="invalid schema for impulse source"):
        impulse.recorder(TableSpec("i", other, options))
    assert impulse.info.directions == {Direction.SOURCE}


@pytest.mark.parametrize("interval_us", [2**62, -(2**62)])
def test_an_event_time_that_no_timestamp_holds_is_told(interval_us):
    chunks = Clock().impulse(1, interval_us=interval_us, count=3).chunks(None)
    next(chunks)
    with pytest.raises(RunProblem, match="the event time of row 1 is outside"):
        list(chunks)
