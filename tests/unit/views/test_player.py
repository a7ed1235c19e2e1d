"""Which micro-batch a panel shows, as its page asks for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from scenes import TUMBLE
from time_scenes import TIMES

from arroyo_nb.run.observe.snapshot import Arrival, BatchArrivals, Moment, Snapshot
from arroyo_nb.views import player
from arroyo_nb.views.panel import body
from arroyo_nb.views.player import Player
from arroyo_nb.views.scrubber import scrubber


class Recorded:
    """Batches 3 to 22, one a second."""

    times = tuple((batch, float(batch - 3)) for batch in range(3, 23))

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        return replace(newest, batch_id=batch_id, rows=newest.rows[:rows])

    def arrivals(self, batch_id: int) -> BatchArrivals | None:
        """Of each batch but every fifth as many rows as its number."""
        times = (TUMBLE.watermark,) * (batch_id if batch_id % 5 else 0)
        return BatchArrivals(batch_id, 1.0, 99, times, None) if times else None

    def within(self, newest: Snapshot, batch_id: int, taken: int, rows: int):
        return replace(self.snapshot(newest, batch_id, rows), note=f"row {taken}")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes when it is told to."""
    now = [100.0]
    monkeypatch.setattr(player.time, "monotonic", lambda: now[0])
    return now


def shown(one: Player) -> int | None:
    return one.snapshot(replace(TUMBLE, batch_id=22), 5).batch_id


@pytest.mark.parametrize(
    ("commands", "place"),
    [
        ("row back", (22, 21)),
        ("row on", (None, None)),
        ("at 4, row back", (4, 3)),
        ("at 4, row first", (4, 1)),
        ("at 4, row first, row back", (3, 3)),
        ("at 4, row on", (6, 1)),  # batch 5 has no rows
        ("at 5, row back", (4, 4)),
        ("at 6, row first, row back", (4, 4)),
        ("at 4, row back, row on", (4, 4)),
        ("at 4, row back, row on, row on", (6, 1)),
        ("first, row first, row back", (3, 1)),
        ("at 22, row on", (None, None)),
        ("at 7, row back, forward", (8, None)),
        ("at 7, row back, back", (6, None)),
        ("at 7, row back, play", (7, None)),
        ("at 7, row back, hold", (7, None)),
    ],
)
def test_commands_move_over_rows(commands, place):
    one = Player(Recorded())
    for command in commands.split(", "):
        assert one.press(command)
    assert (one.batch_id, one.taken) == place
    made = one.snapshot(TUMBLE, 5)
    assert (made.note == f"row {one.taken}") == (one.taken is not None)


def test_the_row_that_has_just_come_is_told_and_ringed():
    batch = TIMES["tumble"].snapshot().arrivals[-1]
    row = Arrival(2, 60, 90, batch.times[1], batch.times[1] + timedelta(hours=1))
    moment = Moment(batch.batch_id, 0, 99, is_newest=False, arrival=row)
    shown = replace(TIMES["tumble"].snapshot(), moment=moment)
    told = f"Row 2 of 60 drawn of 90 of batch {batch.batch_id}: event time "
    for late, sign in (
        (True, "late: the watermark was at"),
        (False, "but in time for"),
    ):
        moment = replace(moment, arrival=replace(row, late=late))
        bar = scrubber(replace(shown, moment=moment))
        assert told in bar
        assert sign in bar
        assert 'data-do="row back"' in bar
    assert body(shown, view="arrivals").count('class="arrived"') == 1
    alone = replace(shown, moment=Moment(0, 0, 0), arrivals=())
    assert scrubber(alone) == ""


@pytest.mark.parametrize(
    ("commands", "batch"),
    [
        ("at 7", 7),
        ("at 7.4", 7),
        ("at -5", 3),
        ("at 99", 22),
        ("first", 3),
        ("back", 21),
        ("back 10", 12),
        ("at 5, back 10", 3),
        ("at 5, forward", 6),
        ("at 5, forward 10", 15),
        ("at 20, forward 10", None),
        ("at 20, newest", None),
        ("hold", 22),
    ],
)
def test_commands_move_over_batches(commands, batch):
    one = Player(Recorded())
    for command in commands.split(", "):
        assert one.press(command)
    assert one.batch_id == batch
    assert one.follows == (batch is None)
    assert shown(one) == batch or 22


@pytest.mark.parametrize("command", ["", "alive", "at x", "stop", "play x", "at nan"])
def test_what_is_no_command_moves_nothing(command):
    one = Player(Recorded())
    assert not one.press(command)
    assert one.follows


@pytest.mark.parametrize("speed", player.SPEEDS)
def test_plays_as_fast_as_it_is_told_to(clock, speed):
    one = Player(Recorded())
    one.press("at 5")
    one.press(f"play {speed}")
    clock[0] += 4 / speed
    assert shown(one) == 9
    clock[0] += 2 / speed
    one.press("hold")
    assert shown(one) == 9  # what is seen is held, not what would come next
    one.press(f"play {speed}")
    clock[0] += 100 / speed
    assert shown(one) == 22
    assert one.follows


def test_from_the_newest_it_plays_from_the_beginning(clock):
    one = Player(Recorded())
    one.press("play")
    assert shown(one) == 3
    clock[0] += 2
    assert shown(one) == 5


def test_the_bar_says_which_batch_is_shown():
    one = Player(Recorded())
    assert scrubber(TUMBLE) == ""
    bar = scrubber(one.snapshot(TUMBLE, 5))
    assert 'min="3" max="22" value="22"' in bar
    assert 'data-do="newest"' not in bar
    one.press("at 7")
    bar = scrubber(one.snapshot(TUMBLE, 5))
    assert 'value="7"' in bar
    assert "batch 7 of 22" in bar
    assert 'data-do="newest"' in bar
    one.press("play 4")
    bar = scrubber(one.snapshot(TUMBLE, 5))
    assert 'data-do="hold"' in bar
    assert '<option value="4" selected>' in bar


def test_one_batch_has_no_bar():
    recorded = Recorded()
    recorded.times = ((0, 1.0),)
    assert scrubber(Player(recorded).snapshot(TUMBLE, 5)) == ""
