"""Tapes in disorder, against moving row by row; and going on after a kill anywhere."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import ARRIVAL, Chunk
from arroyo_nb.tape.disordered import Disordered, TapeDisorder, _random

TIME = pa.timestamp("us", "UTC")


class Rows:
    """A recorder of chunks that are given as arrivals; a row is its number."""

    bounded = True
    live = False

    def __init__(self, chunks, times=None):
        self._chunks = chunks
        self._times = times

    def chunks(self, after):
        first = after["chunk"] if after else 0
        number = sum(len(chunk) for chunk in self._chunks[:first])
        for place, arrivals in enumerate(self._chunks[first:], first + 1):
            count = len(arrivals)
            numbers = list(range(number, number + count))
            times = arrivals
            if self._times is not None:
                times = [self._times[n] for n in numbers]
            number += count
            yield Chunk(
                pa.table(
                    {
                        "n": pa.array(numbers, pa.int64()),
                        "user": pa.array(["ab"[n % 2] for n in numbers], pa.string()),
                        ARRIVAL: pa.array(arrivals, TIME),
                        TIMESTAMP: pa.array(times, TIME),
                    }
                ),
                {"chunk": place},
                dropped_rows=place,
            )


def played(chunks, disorder, after=None, *, by_arrival=True, times=None):
    recorder = Disordered(Rows(chunks, times), disorder, by_arrival=by_arrival)
    return list(recorder.chunks(after))


def numbers(chunks):
    return [n for chunk in chunks for n in chunk.rows["n"].to_pylist()]


def arrivals(chunks):
    found = [chunk.rows[ARRIVAL].cast(pa.int64()).to_pylist() for chunk in chunks]
    return [us for chunk in found for us in chunk]


def by_hand(chunks, made):
    """The rows with their arrivals, one by one."""
    bases = [us for chunk in chunks for us in chunk]
    shuffle = _random(made.seed, "shuffle", 0, len(bases))
    twice = _random(made.seed, "duplicate", 0, len(bases))
    moments = [
        base + int(shuffle[n] * made.shuffle_us) + made.delay_us * ("ab"[n % 2] == "b")
        for n, base in enumerate(bases)
    ]
    rows = [(us, 2 * n, n) for n, us in enumerate(moments)]
    for n, us in enumerate(moments):
        if twice[n] < made.duplicate:
            follows = moments[n + 1] if n + 1 < len(moments) else us
            rows.append((max(us, follows), 2 * n + 3, n))

    def mapped(us):
        begin = bases[0] + made.gap_after_us
        if begin <= us < begin + made.gap_us:
            us = begin + made.gap_us
        return -(-us // made.burst_us) * made.burst_us if made.burst_us else us

    return sorted((mapped(us), order, n) for us, order, n in rows)


tapes = st.lists(st.lists(st.integers(0, 30), max_size=6), max_size=6).map(
    lambda gaps: _rising(gaps)
)
disorders = st.builds(
    TapeDisorder,
    shuffle_us=st.sampled_from([0, 0, 7, 60]),
    delay_us=st.sampled_from([0, 25]),
    column=st.just("user"),
    value=st.just("b"),
    duplicate=st.sampled_from([0.0, 0.3, 1.0]),
    gap_us=st.sampled_from([0, 40]),
    gap_after_us=st.integers(0, 100),
    burst_us=st.sampled_from([0, 10]),
    seed=st.integers(-2, 2),
)


def _rising(gaps):
    at, chunks = 1_000_000, []
    for chunk in gaps:
        rows = []
        for gap in chunk:
            at += gap
            rows.append(at)
        chunks.append(rows)
    return chunks


@given(tapes, disorders)
def test_each_row_comes_when_it_would_alone(tape, made):
    found = played(tape, made)
    expected = by_hand(tape, made)
    assert numbers(found) == [n for _, _, n in expected]
    assert arrivals(found) == [us for us, _, _ in expected]
    assert sum(chunk.dropped_rows for chunk in found) == sum(range(1, len(tape) + 1))
    if made.burst_us:
        # A burst is a chunk, and a chunk is of one burst.
        ends = [set(arrivals([chunk])) for chunk in found if chunk.rows.num_rows]
        assert all(len(end) == 1 for end in ends)
        assert len(ends) == len({us for us, _, _ in expected})


@given(tapes, disorders, st.data())
def test_a_killed_run_goes_on_with_the_next_row(tape, made, data):
    whole = played(tape, made)
    if not whole:
        return
    place = data.draw(st.integers(0, len(whole) - 1))
    rest = played(tape, made, whole[place].position)
    left = list(whole[place + 1 :])
    assert [numbers([c]) for c in rest] == [numbers([c]) for c in left]
    assert [c.dropped_rows for c in rest] == [c.dropped_rows for c in left]
    assert [c.position for c in rest] == [c.position for c in left]
    # Killed twice.
    if rest:
        again = played(tape, made, rest[0].position)
        assert numbers(again) == numbers(rest[1:])


def test_without_arrivals_a_row_arrives_with_the_newest_event_time():
    times = [10, 40, 20, 50, 60]
    made = TapeDisorder(delay_us=15, column="user", value="b")
    found = played([[1] * 5], made, by_arrival=False, times=times)
    # 20 came with 40; the rows of b (40 and 50) come 15 later: at 55 and 65.
    assert numbers(found) == [0, 2, 1, 4, 3]
    assert arrivals(found) == [1] * 5


def test_nothing_is_held_but_what_a_later_row_may_come_before():
    tape = [[n * 10, n * 10 + 5] for n in range(1000)]
    made = TapeDisorder(shuffle_us=20)
    read = []
    source = Rows(tape)
    chunks = source.chunks

    def counted(after):
        for chunk in chunks(after):
            read.append(chunk.rows.num_rows)
            yield chunk

    source.chunks = counted
    released = 0
    for chunk in Disordered(source, made, by_arrival=True).chunks(None):
        released += chunk.rows.num_rows
        assert sum(read) - released <= 8
        assert chunk.position["read"] <= 6
    assert released == 2000


def test_another_seed_is_another_disorder_and_the_same_one_the_same():
    tape = [list(range(100))]
    made = TapeDisorder(shuffle_us=50, duplicate=0.2)
    first = numbers(played(tape, made))
    assert first == numbers(played(tape, made))
    assert first != numbers(played(tape, replace(made, seed=1)))
    # Another shuffle repeats the same rows.
    other = numbers(played(tape, replace(made, shuffle_us=5)))
    assert sorted(other) == sorted(first)


def test_random_numbers_are_spread_evenly():
    parts = _random(0, "shuffle", 0, 100_000)
    assert 0 <= parts.min() < 0.001
    assert 0.999 < parts.max() < 1
    assert parts.mean() == pytest.approx(0.5, abs=0.005)
    assert (_random(0, "shuffle", 500, 10) == parts[500:510]).all()


def test_times_of_the_calendar_are_kept():
    at = datetime(2013, 2, 8, tzinfo=UTC)
    found = played([[int(at.timestamp() * 1e6)]], TapeDisorder(shuffle_us=1))
    assert found[-1].rows[ARRIVAL].to_pylist() == [at]
