"""Disorder: bounds, shares, gaps and bursts, the same each time."""

from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.tape.disorder import Arrival, Disorder

SECOND = 1_000_000
ROWS = [n * SECOND for n in range(1_000)]
NONE = [False] * len(ROWS)


def rows(arrivals):
    return [arrival.row for arrival in arrivals]


def test_nothing_changes_nothing():
    assert Disorder().apply(ROWS, NONE) == list(map(Arrival, range(1_000), ROWS))
    assert Disorder(10, 10, 0.5, 10, 10).apply([], []) == []


def test_a_shuffle_is_bounded_and_in_earnest():
    found = Disorder(shuffle_us=10 * SECOND).apply(ROWS, NONE)
    late = [us - ROWS[row] for row, us in found]
    assert sorted(rows(found)) == list(range(1_000))
    assert 0 <= min(late) < SECOND
    assert 9 * SECOND < max(late) < 10 * SECOND
    # So no row is overtaken by one that is ten seconds behind it.
    assert max(row - place for place, row in enumerate(rows(found))) < 10
    assert rows(found) != list(range(1_000))


def test_the_same_seed_is_the_same_disorder_and_options_do_not_meddle():
    shuffled = Disorder(shuffle_us=10 * SECOND, seed=3)
    assert shuffled.apply(ROWS, NONE) == shuffled.apply(ROWS, NONE)
    other = Disorder(shuffle_us=10 * SECOND, seed=4)
    assert shuffled.apply(ROWS, NONE) != other.apply(ROWS, NONE)

    def repeated(disorder):
        found = rows(disorder.apply(ROWS, NONE))
        return {row for row in found if found.count(row) == 2}

    twice = repeated(Disorder(duplicate=0.1, seed=3))
    assert 60 < len(twice) < 140
    assert repeated(Disorder(shuffle_us=SECOND, duplicate=0.1, seed=3)) == twice


def test_the_random_numbers_are_those_of_every_version():
    found = Disorder(shuffle_us=SECOND, seed=7).apply([0, 0, 0], [False] * 3)
    assert found == [Arrival(0, 10650), Arrival(2, 73780), Arrival(1, 279190)]


def test_the_rows_of_a_key_are_delayed():
    delayed = [row in (1, 4) for row in range(6)]
    found = Disorder(delay_us=2 * SECOND + 1).apply(ROWS[:6], delayed)
    assert rows(found) == [0, 2, 3, 1, 5, 4]
    assert found[3] == Arrival(1, 3 * SECOND + 1)


def test_a_repeated_row_comes_with_the_next_one():
    found = Disorder(duplicate=1.0).apply([0, SECOND, 2 * SECOND], [False] * 3)
    assert found == [
        *(Arrival(0, 0), Arrival(1, SECOND), Arrival(0, SECOND)),
        *(Arrival(2, 2 * SECOND), Arrival(1, 2 * SECOND), Arrival(2, 2 * SECOND)),
    ]


def test_in_a_gap_nothing_arrives():
    found = Disorder(gap_us=3 * SECOND).apply(ROWS[:8], [False] * 8)
    assert [us // SECOND for _, us in found] == [0, 1, 2, 3, 7, 7, 7, 7]
    assert rows(found) == list(range(8))


def test_bursts():
    found = Disorder(burst_us=3 * SECOND).apply(ROWS[:8], [False] * 8)
    assert [us // SECOND for _, us in found] == [0, 3, 3, 3, 6, 6, 6, 9]


TIMES = st.lists(st.integers(-(10**12), 10**12), max_size=30).map(sorted)
LENGTHS = st.sampled_from([0, 1, 1000, 10**9])


@given(TIMES, LENGTHS, LENGTHS, st.floats(0, 1), LENGTHS, LENGTHS, st.integers())
def test_no_row_is_lost_or_early_and_time_never_goes_back(
    times, shuffle, delay, share, gap, burst, seed
):
    disorder = Disorder(shuffle, delay, share, gap, burst, seed)
    found = disorder.apply(times, [n % 3 == 0 for n in range(len(times))])
    assert set(rows(found)) == set(range(len(times)))
    assert all(us >= times[row] for row, us in found)
    assert [us for _, us in found] == sorted(us for _, us in found)
