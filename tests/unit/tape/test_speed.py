"""Paces: a tape is cut by stream time, whatever the wall clock does."""

import json
from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import RunProblem
from arroyo_nb.tape import ARRIVAL, Chunk, Clock, speed
from arroyo_nb.tape.format import Mark, Totals
from arroyo_nb.tape.speed import MAX, Pace, Schedule, merged, released

INSTANT = pa.timestamp("us", "UTC")
SECOND = 1_000_000


class Listed:
    """A recorder of chunks given as lists of (event time, arrival) in seconds."""

    bounded = True
    live = False

    def __init__(self, chunks):
        self._chunks = chunks

    def chunks(self, after):
        first = after["chunk"] if after else 0
        for number, times in enumerate(self._chunks[first:], first + 1):
            event, arrival = zip(*times, strict=True) if times else ((), ())
            yield Chunk(
                pa.table(
                    {
                        ARRIVAL: pa.array([a * SECOND for a in arrival], INSTANT),
                        "_timestamp": pa.array([e * SECOND for e in event], INSTANT),
                    }
                ),
                {"chunk": number},
                dropped_rows=1,
            )


def seconds(chunk):
    return [t.timestamp() for t in chunk.rows["_timestamp"].to_pylist()]


def test_event_time_pace_keeps_order_and_holds_old_rows_to_their_turn():
    pace = Pace(Clock.EVENT_TIME, speed=40, tick_s=0.25)  # ten seconds a tick
    recorder = Listed([[(1, 0), (9, 1), (10, 2), (3, 3), (31, 4)], [(29, 5), (40, 6)]])
    pieces = list(released(recorder, pace, None))
    # 3 waits behind 10; 29 comes after 31 and does not go back to an earlier tick.
    assert [(tick, seconds(chunk)) for tick, chunk in pieces] == [
        (0, [1, 9]),
        (1, [10, 3]),
        (3, [31]),
        (3, [29]),
        (4, [40]),
    ]
    assert [chunk.dropped_rows for _, chunk in pieces] == [0, 0, 1, 0, 1]


def test_a_row_without_a_time_goes_with_its_neighbour():
    def ticks(*seconds):
        times = [None if s is None else s * SECOND for s in seconds]
        rows = pa.table({"_timestamp": pa.array(times, INSTANT)})
        slices = Pace(Clock.EVENT_TIME, speed=4, tick_s=0.25).slices(rows)
        return [(cut.rows, cut.tick) for cut in slices]

    assert ticks(None, 5, None, 6) == [(3, 5), (1, 6)]
    assert ticks(None, None) == [(2, None)]


def test_arrival_pace_follows_the_arrival():
    pace = Pace(Clock.ARRIVAL, speed=4, tick_s=0.25)  # one second a tick
    recorder = Listed([[(9, 1), (1, 1), (5, 2)]])
    pieces = [(tick, seconds(chunk)) for tick, chunk in released(recorder, pace, None)]
    assert pieces == [(1, [9, 1]), (2, [5])]


def test_at_max_speed_chunks_stay_whole():
    pieces = list(released(Listed([[(1, 1), (99, 2)], []]), MAX, None))
    assert [(tick, seconds(chunk)) for tick, chunk in pieces] == [
        (None, [1, 99]),
        (None, []),
    ]


def rows_of(recorder, *, after=None, rows=0, may_merge=lambda: True):
    """The rows and the position of each piece that is merged."""
    last = after and Mark(1, 0, 0, after, Totals(rows=rows))
    pieces = merged(released(recorder, MAX, last), rows, may_merge)
    return [(seconds(piece), piece.position) for _, piece in pieces]


def test_small_chunks_are_merged_until_they_are_as_many_rows_as_all_before():
    recorder = Listed([[(second, second)] for second in range(20)])
    sizes = [len(rows) for rows, _ in rows_of(recorder)]
    assert sizes == [1, 1, 2, 4, 8, 4]
    wide = Listed([[(second, second)] * 3 for second in range(3)])
    assert [len(rows) for rows, _ in rows_of(wide)] == [3, 3, 3]


def test_chunks_are_merged_up_to_some_bytes(monkeypatch):
    recorder = Listed([[(second, second)] for second in range(20)])
    monkeypatch.setattr(speed, "MERGED_BYTES", 3 * 16)
    assert [len(rows) for rows, _ in rows_of(recorder)] == [1, 1, 2, 3, 3, 3, 3, 3, 1]


def test_many_tiny_chunks_are_not_held_for_long(monkeypatch):
    recorder = Listed([[(second, second)] for second in range(20)])
    monkeypatch.setattr(speed, "MERGED_CHUNKS", 3)
    assert [len(rows) for rows, _ in rows_of(recorder)] == [1, 1, 2, 3, 3, 3, 3, 3, 1]


def test_chunks_of_which_one_says_that_it_has_no_null_are_merged():
    def chunk(number, *, nullable):
        fields = [pa.field("_timestamp", INSTANT, nullable=nullable)]
        fields.append(pa.field("n", pa.uint8(), nullable=nullable))
        rows = pa.table([[number], [number]], schema=pa.schema(fields))
        return None, Chunk(rows, {"chunk": number})

    pieces = (chunk(number, nullable=number % 2 == 0) for number in range(1, 5))
    merges = list(merged(pieces, 0, lambda: True))
    assert [piece.rows["n"].to_pylist() for _, piece in merges] == [[1], [2], [3, 4]]


def test_a_chunk_without_rows_is_a_piece_of_its_own():
    recorder = Listed([[(1, 1)], [], [(2, 2)], [(3, 3)], [(4, 4)], [], [(5, 5)]])
    assert [rows for rows, _ in rows_of(recorder)] == [[1], [], [2], [3, 4], [], [5]]


def test_chunks_that_may_not_be_merged_stay_whole():
    recorder = Listed([[(second, second)] for second in range(9)])
    asked = iter([False, False, False, True, True, True, True, False, False])
    sizes = [len(rows) for rows, _ in rows_of(recorder, may_merge=lambda: next(asked))]
    assert sizes == [1, 1, 1, 3, 1, 1, 1]
    paced = released(recorder, Pace(Clock.EVENT_TIME, speed=4), None)
    assert len(list(merged(paced, 0, lambda: True))) == 9


def test_rows_before_an_error_are_released_and_the_error_is_told():
    class Failing(Listed):
        def chunks(self, after):
            yield from super().chunks(after)
            raise RunProblem("f:9: invalid JSON")

    pieces = merged(
        released(Failing([[(n, n)] for n in range(7)]), MAX, None), 0, lambda: True
    )
    assert [len(seconds(piece)) for _, piece in islice(pieces, 4)] == [1, 1, 2, 3]
    with pytest.raises(RunProblem, match="f:9"):
        next(pieces)


times = st.tuples(st.integers(-30, 60), st.integers(0, 60))
tapes = st.lists(st.lists(times, max_size=8), max_size=4)
paces = st.sampled_from(
    [
        MAX,
        Pace(Clock.EVENT_TIME, 8),
        Pace(Clock.EVENT_TIME, 37.5),
        Pace(Clock.ARRIVAL, 20),
    ]
)


@given(tapes, paces)
def test_at_any_pace_nothing_is_lost_and_any_slice_can_be_gone_on_from(tape, pace):
    for chunk in tape:
        chunk.sort(key=lambda both: both[1])
    recorder = Listed(tape)
    pieces = list(released(recorder, pace, None))
    assert [t for _, p in pieces for t in seconds(p)] == [e for c in tape for e, _ in c]
    assert sum(piece.dropped_rows for _, piece in pieces) == len(tape)
    totals = Totals()
    for done, (_, piece) in enumerate(pieces, 1):
        if piece.rows.num_rows:
            totals = totals.after(piece.rows)
        position = json.loads(json.dumps(piece.position))
        rest = released(recorder, pace, Mark(done, 0, 0, position, totals))
        assert [(t, p.rows, p.position) for t, p in rest] == [
            (t, p.rows, p.position) for t, p in pieces[done:]
        ]


@given(st.lists(st.lists(times, max_size=4), max_size=30))
def test_merged_nothing_is_lost_and_any_piece_can_be_gone_on_from(tape):
    recorder = Listed(tape)
    pieces = list(merged(released(recorder, MAX, None), 0, lambda: True))
    assert [t for _, p in pieces for t in seconds(p)] == [e for c in tape for e, _ in c]
    assert sum(piece.dropped_rows for _, piece in pieces) == len(tape)
    rows = 0
    for done, (_, piece) in enumerate(pieces, 1):
        rows += piece.rows.num_rows
        rest = rows_of(recorder, after=piece.position, rows=rows)
        assert rest == [(seconds(p), p.position) for _, p in pieces[done:]]


def test_the_schedule_counts_from_the_first_slice_and_again_after_a_break():
    schedule = Schedule(Pace(Clock.EVENT_TIME, tick_s=0.25))
    assert schedule.wait_s(1_000_000, now_s=50.0) == 0
    assert schedule.wait_s(1_000_004, now_s=50.25) == 0.75
    assert schedule.wait_s(1_000_004, now_s=99.0) == 0  # late: caught up
    schedule.restart()
    assert schedule.wait_s(1_000_008, now_s=200.0) == 0
    assert schedule.wait_s(1_000_009, now_s=200.0) == 0.25
    assert schedule.wait_s(None, now_s=0.0) == 0


@pytest.mark.parametrize("wrong", [{"speed": 0}, {"speed": -1}, {"tick_s": 0}])
def test_time_goes_forward(wrong):
    with pytest.raises(ValueError, match="above 0"):
        Pace(Clock.EVENT_TIME, **wrong)


def test_what_is_left_is_cut_by_another_pace_from_the_next_slice_on():
    pace = Pace(Clock.EVENT_TIME, speed=4, tick_s=0.25)  # one second a tick
    recorder = Listed([[(second, 0) for second in range(5)], [(5, 0), (6, 0)]])
    pieces = released(recorder, lambda: pace, None)
    assert [(tick, seconds(chunk)) for tick, chunk in islice(pieces, 2)] == [
        (0, [0]),
        (1, [1]),
    ]
    pace = Pace(Clock.EVENT_TIME, speed=8, tick_s=0.25)
    rest = list(pieces)
    assert [(tick, seconds(chunk)) for tick, chunk in rest] == [
        (1, [2, 3]),
        (2, [4]),
        (2, [5]),
        (3, [6]),
    ]
    assert [chunk.position for _, chunk in rest[:2]] == [
        {"at": None, "skip": 4},
        {"at": {"chunk": 1}, "skip": 0},
    ]


def test_the_last_slice_of_a_chunk_is_cut_anew_too():
    pace = Pace(Clock.EVENT_TIME, speed=4, tick_s=0.25)
    pieces = released(Listed([[(6, 0), (7, 0)]]), lambda: pace, None)
    assert [(tick, seconds(chunk)) for tick, chunk in islice(pieces, 1)] == [(6, [6])]
    pace = Pace(Clock.EVENT_TIME, speed=8, tick_s=0.25)
    assert [(tick, seconds(chunk)) for tick, chunk in pieces] == [(3, [7])]
