"""When the records of a recording arrived."""

from __future__ import annotations

from itertools import count

import pytest

from arroyo_nb.kafka.recording import Arrivals
from arroyo_nb.tape.records import TapeRecord


@pytest.fixture
def arrivals(monkeypatch):
    """Each look at the clock is a millisecond later."""
    ticks = count(step=1_000_000)
    monkeypatch.setattr("time.monotonic_ns", lambda: next(ticks))

    def make(begin, ends):
        made = Arrivals(begin, ends)
        return made, lambda *place: made(TapeRecord(*place, 0, None, None))

    return make


def test_what_was_there_arrived_when_it_began(arrivals):
    made, at = arrivals({0: 0, 1: 5, 2: 0}, {0: 2, 1: 7, 2: 0})
    first = at(0, 0)
    assert not made.are_live
    assert [at(1, 5), at(0, 1)] == [first, first]
    live = at(0, 2)
    assert live > first
    # Late to be read, it does not arrive before what was there before it.
    assert [at(1, 6), at(2, 0) > live] == [live, True]
    assert made.are_live


def test_where_nothing_was_all_is_live(arrivals):
    made, at = arrivals({0: 3, 1: 0}, {0: 3, 1: 0})
    assert made.are_live
    assert at(0, 3) < at(1, 0) < at(4, 0)
