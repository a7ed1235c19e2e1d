"""The conductor: order, look-ahead, pause and step, errors, and being killed."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.tape import ARRIVAL, BadRow, Chunk, Clock
from arroyo_nb.tape.conductor import LISTED_CHUNKS, Conductor, ConductorLimits
from arroyo_nb.tape.format import Tape, chunk_numbers, chunk_path, read_mark
from arroyo_nb.tape.read_chunks import found_numbers, link_all, put_back
from arroyo_nb.tape.speed import MAX, Pace

SCHEMA = Schema((Field("n", BIGINT),))
DEADLINE_S = 20.0


class Counting:
    """``chunks`` chunks of ``rows`` rows; a live one then yields empty chunks."""

    def __init__(self, chunks, rows=3, *, bounded=True, fail_at=None, problem=None):
        self.bounded = bounded
        self.live = not bounded
        self.made = 0
        self.closed = False
        self._chunks, self._rows = chunks, rows
        self._fail_at, self._problem = fail_at, problem

    def chunks(self, after):
        first = after["chunk"] if after else 0
        try:
            for number in range(first + 1, self._chunks + 1):
                if number == self._fail_at:
                    raise self._problem
                self.made = number
                yield self._chunk(number)
            while not self.bounded:
                yield Chunk(self._chunk(1).rows.slice(0, 0), {"chunk": self._chunks})
        finally:
            self.closed = True

    def _chunk(self, number):
        values = range((number - 1) * self._rows, number * self._rows)
        times = pa.array([n * 1_000_000 for n in values], pa.timestamp("us", "UTC"))
        numbers = pa.array(values, pa.int64())
        table = pa.table({"n": numbers, ARRIVAL: times, "_timestamp": times})
        bad = (BadRow(f"f:{number}", "{", "invalid JSON"),)
        return Chunk(table, {"chunk": number}, dropped_rows=2, bad=bad)


class Playing:
    """A conductor and a way to wait for it."""

    def __init__(self, recorder, folder, **options):
        self._heard = threading.Condition()
        self.conductor = Conductor(
            recorder,
            folder,
            schema=SCHEMA,
            source="numbers",
            on_change=self._hear,
            **options,
        )

    def _hear(self):
        with self._heard:
            self._heard.notify_all()

    def until(self, holds):
        """Wait until a condition on the state holds; the state."""
        with self._heard:
            assert self._heard.wait_for(lambda: holds(self.state), DEADLINE_S), (
                self.state
            )
        return self.state

    def consume_all(self):
        """Commit chunk by chunk until the stream has ended."""
        while not self.until(lambda s: s.chunks > s.consumed_chunks).ended:
            self.conductor.consumed(self.state.consumed_chunks + 1)
        return self.state

    @property
    def state(self):
        return self.conductor.state

    def __enter__(self):
        self.conductor.start()
        return self

    def __exit__(self, *_):
        self.conductor.stop()
        assert self.conductor.join(DEADLINE_S)


def numbers_in(folder):
    put_back(folder)
    return Tape.open(folder).table()["n"].to_pylist()


def test_all_rows_in_order_then_the_end(tmp_path):
    with Playing(Counting(20), tmp_path) as playing:
        state = playing.consume_all()
    assert (state.chunks, state.rows, state.dropped_rows) == (22, 60, 40)
    assert (len(state.bad), state.max_event_time.timestamp()) == (20, 59)
    assert state.error is None
    assert numbers_in(tmp_path) == list(range(60))
    assert [read_mark(tmp_path, number).end for number in (20, 21, 22)] == [0, 1, 2]


def test_it_never_runs_further_ahead_than_it_may(tmp_path):
    recorder = Counting(50)
    limits = ConductorLimits(lookahead_chunks=3)
    with Playing(recorder, tmp_path, limits=limits) as playing:
        for consumed in range(10):
            state = playing.until(lambda s, c=consumed: s.chunks == c + 3)
            # One more chunk is in hand, waiting for its turn.
            assert recorder.made <= state.chunks + 1
            playing.conductor.consumed(consumed + 1)
        assert len(chunk_numbers(tmp_path)) <= 13


def test_a_live_source_is_cut_for_who_reads_also_where_it_ends(tmp_path):
    recorder = Counting(50)
    recorder.live = True
    with Playing(recorder, tmp_path) as playing:
        for consumed in range(10):
            state = playing.until(lambda s, c=consumed: s.chunks == c + 2)
            assert recorder.made <= state.chunks + 1
            playing.conductor.consumed(consumed + 1)


def test_chunks_of_a_killed_run_do_not_fill_the_look_ahead(tmp_path):
    limits = ConductorLimits(lookahead_chunks=3)
    for chunks in (3, 6, 9):
        # Spark may have read them all; it says so only when there is one more.
        with Playing(Counting(50), tmp_path, limits=limits) as playing:
            playing.until(lambda s, c=chunks: s.chunks == c)
    assert len(chunk_numbers(tmp_path)) == 9


def test_look_ahead_in_bytes_lets_one_chunk_through(tmp_path):
    limits = ConductorLimits(lookahead_chunks=8, lookahead_bytes=1)
    with Playing(Counting(5), tmp_path, limits=limits) as playing:
        playing.until(lambda s: s.chunks == 1)
        playing.conductor.consumed(1)
        playing.until(lambda s: s.chunks == 2)
        state = playing.consume_all()
    assert state.rows == 15


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        # A chunk has three rows, each of the two at the end one.
        (ConductorLimits(keep_rows=9), (9, 10, 11, 12)),
        (ConductorLimits(keep_chunks=3), (10, 11, 12)),
        (ConductorLimits(keep_rows=0), (12,)),
        (ConductorLimits(keep_chunks=0), (12,)),
        (ConductorLimits(keep_rows=None), tuple(range(1, 13))),
    ],
)
def test_of_consumed_chunks_the_newest_stay(tmp_path, limits, kept):
    with Playing(Counting(10), tmp_path, limits=limits) as playing:
        last = playing.consume_all().chunks
        playing.conductor.consumed(last)
    assert chunk_numbers(tmp_path) == kept
    with Playing(Counting(10), tmp_path, limits=limits) as again:
        assert again.state.ended
        assert again.state.rows == 30


def test_spark_lists_the_newest_of_the_chunks_that_it_has_read(tmp_path):
    limits = ConductorLimits(keep_chunks=40)
    with Playing(Counting(60), tmp_path, limits=limits) as playing:
        last = playing.consume_all().chunks
        playing.conductor.consumed(last)
    assert last == 62
    assert found_numbers(tmp_path) == tuple(range(last - 39, last + 1))
    assert chunk_numbers(tmp_path) == tuple(range(last - LISTED_CHUNKS + 1, last + 1))
    # Resumed: all are where they were, and none is read again.
    put_back(tmp_path)
    assert chunk_numbers(tmp_path) == tuple(range(last - 39, last + 1))
    with Playing(Counting(60), tmp_path, limits=limits) as again:
        again.conductor.consumed(last)
        assert again.state.rows == 180
    assert found_numbers(tmp_path) == tuple(range(last - 39, last + 1))
    assert len(chunk_numbers(tmp_path)) == LISTED_CHUNKS
    # What a what-if reads has all of them in one place, in the order of their times.
    copy = tmp_path / "what_if" / "source"
    link_all(tmp_path, copy)
    assert chunk_numbers(copy) == found_numbers(tmp_path)
    files = [chunk_path(copy, number) for number in chunk_numbers(copy)]
    assert files == sorted(files, key=lambda file: file.stat().st_mtime_ns)
    assert Tape.open(copy).table().num_rows == 38 * 3


def test_chunks_are_copied_where_they_cannot_be_linked(tmp_path, monkeypatch):
    with Playing(Counting(3), tmp_path / "a") as playing:
        playing.consume_all()

    def refuse(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    link_all(tmp_path / "a", tmp_path / "b")
    for number in range(1, 6):
        one, other = (chunk_path(tmp_path / name, number) for name in "ab")
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_mtime_ns == other.stat().st_mtime_ns


def test_a_chunk_that_cannot_be_put_aside_is_still_there(tmp_path, monkeypatch):
    refused = []

    def rename(path, target):
        refused.append(path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", rename)
    with Playing(Counting(30), tmp_path) as playing:
        last = playing.consume_all().chunks
        playing.conductor.consumed(last)
    assert len(refused) == last - LISTED_CHUNKS
    assert chunk_numbers(tmp_path) == tuple(range(1, last + 1))


def test_what_spark_has_not_read_stays_and_numbers_go_on(tmp_path):
    limits = ConductorLimits(lookahead_chunks=4, keep_chunks=1)
    with Playing(Counting(50), tmp_path, limits=limits) as playing:
        playing.until(lambda s: s.chunks == 4)
        playing.conductor.consumed(2)
        playing.until(lambda s: s.chunks == 6)
    assert chunk_numbers(tmp_path) == (2, 3, 4, 5, 6)
    # Killed there: Spark has the first six still to say that it has read.
    with Playing(Counting(50), tmp_path, limits=limits) as playing:
        playing.until(lambda s: s.chunks == 10)
        assert chunk_numbers(tmp_path) == tuple(range(2, 11))
        playing.conductor.consumed(9)
        playing.until(lambda s: s.chunks == 13)
    assert chunk_numbers(tmp_path) == (9, 10, 11, 12, 13)


def test_pause_step_resume(tmp_path):
    with Playing(Counting(9), tmp_path, paused=True) as playing:
        playing.conductor.step()
        assert playing.until(lambda s: s.chunks == 1).paused
        playing.conductor.step(2)
        playing.until(lambda s: s.chunks == 3)
        playing.conductor.resume()
        playing.until(lambda s: s.chunks == 8)
        playing.conductor.pause()
        playing.conductor.consumed(8)
        playing.conductor.step(3)
        state = playing.until(lambda s: s.ended)
    assert (state.chunks, state.paused) == (11, True)
    assert numbers_in(tmp_path) == list(range(27))


def test_small_chunks_are_merged_but_a_step_is_one_chunk(tmp_path):
    with Playing(Counting(20), tmp_path, pace=Pace(merge=True), paused=True) as playing:
        playing.conductor.step()
        playing.until(lambda s: s.chunks == 1)
        playing.conductor.step(2)
        playing.until(lambda s: s.rows == 9)
        playing.conductor.resume()
        playing.consume_all()
    rows = [read_mark(tmp_path, n).rows for n in chunk_numbers(tmp_path)]
    # The fourth may have been in hand when it was resumed.
    assert rows in (
        [3, 3, 3, 3, 12, 24, 12, 1, 1],
        [3, 3, 3, 9, 18, 24, 1, 1],
    )
    assert numbers_in(tmp_path) == list(range(60))


def test_what_a_live_source_gives_is_never_merged(tmp_path):
    limits = ConductorLimits(lookahead_chunks=99)
    recorder = Counting(8, bounded=False)
    with Playing(recorder, tmp_path, pace=Pace(merge=True), limits=limits) as playing:
        playing.until(lambda s: s.chunks == 8)


def test_a_speed_that_is_set_while_merged_rows_wait_is_that_of_what_follows(tmp_path):
    """The piece behind them was cut by the speed before: it must not set the clock."""
    repaced = threading.Event()

    class Today(Counting):
        """A millisecond from row to row, long after the epoch."""

        def chunks(self, after):
            for chunk in super().chunks(after):
                if self.made == 7:  # the fifth and the sixth are held
                    playing.conductor.set_pace(Pace(Clock.EVENT_TIME, 1, 0.01))
                    repaced.set()
                times = pa.array(
                    [
                        1_700_000_000_000_000 + n * 1_000
                        for n in chunk.rows["n"].to_pylist()
                    ],
                    pa.timestamp("us", "UTC"),
                )
                at = chunk.rows.column_names.index("_timestamp")
                yield replace(
                    chunk, rows=chunk.rows.set_column(at, "_timestamp", times)
                )

    limits = ConductorLimits(lookahead_chunks=1)
    playing = Playing(Today(12), tmp_path, pace=Pace(merge=True), limits=limits)
    with playing:
        for chunks in (1, 2):
            playing.until(lambda s, c=chunks: s.chunks == c)
            playing.conductor.consumed(chunks)
        playing.until(lambda s: s.chunks == 3)
        assert repaced.wait(DEADLINE_S)
        playing.conductor.set_pace(Pace(Clock.EVENT_TIME, 0.5, 0.01))
        assert playing.consume_all().rows == 36


def test_a_paced_tape_takes_its_time_and_a_step_does_not(tmp_path):
    # A tick is a second of the rows and 40 ms of the wall.
    pace = Pace(Clock.EVENT_TIME, speed=25, tick_s=0.04)
    limits = ConductorLimits(lookahead_chunks=99)
    began = monotonic()
    with Playing(Counting(1, 6), tmp_path, pace=pace, limits=limits) as playing:
        playing.until(lambda s: s.ended)
    assert monotonic() - began >= 5 * 0.04
    assert len(chunk_numbers(tmp_path)) == 8

    slow = Pace(Clock.EVENT_TIME, speed=0.001)
    folder = tmp_path / "slow"
    with Playing(Counting(1, 6), folder, pace=slow, paused=True) as playing:
        playing.conductor.step(2)
        playing.until(lambda s: s.chunks == 2)
    assert numbers_in(folder) == [0, 1]


def test_it_says_when_the_next_rows_of_a_slow_tape_are_due(tmp_path):
    # A second of the rows takes a thousand of the wall.
    slow = Pace(Clock.EVENT_TIME, speed=0.001, tick_s=1.0)
    with Playing(Counting(1, 6), tmp_path, pace=slow) as playing:
        playing.until(lambda s: s.chunks == 1)
        deadline = monotonic() + DEADLINE_S
        while not playing.conductor.due_s and monotonic() < deadline:
            pass
        assert 900 < playing.conductor.due_s <= 1000
        playing.conductor.pause()
        playing.conductor.step(1)
        playing.until(lambda s: s.chunks == 2)
        # It waits for a step, and for no time.
        while playing.conductor.due_s and monotonic() < deadline:
            pass
        assert playing.conductor.due_s == 0


def test_bad_records_show_before_a_good_one_comes(tmp_path):
    with Playing(Counting(2, 0, bounded=False), tmp_path) as playing:
        state = playing.until(lambda s: s.dropped_rows == 4)
        assert [row.place for row in state.bad] == ["f:1", "f:2"]
        assert state.chunks == 0


@pytest.mark.parametrize("paused", [False, True])
def test_live_sources_share_the_machine(tmp_path, monkeypatch, eventually, paused):
    monkeypatch.setattr("arroyo_nb.tape.conductor.SHARED_S", 60.0)
    roomy = ConductorLimits(lookahead_chunks=9)
    with Playing(Counting(3, bounded=False), tmp_path / "a", limits=roomy) as first:
        first.until(lambda state: state.chunks == 3)
        if paused:
            first.conductor.pause()
        second = Playing(Counting(3, bounded=False), tmp_path / "b", limits=roomy)
        with second:
            if paused:
                second.until(lambda state: state.chunks == 3)
            else:
                eventually(lambda: second.conductor.due_s > 50, DEADLINE_S)
                assert second.state.chunks == 1


def test_a_live_source_hears_the_stop_and_has_no_end(tmp_path):
    recorder = Counting(2, bounded=False)
    with Playing(recorder, tmp_path) as playing:
        playing.until(lambda s: s.chunks == 2)
    assert recorder.closed
    assert not playing.state.ended
    assert chunk_numbers(tmp_path) == (1, 2)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (RunProblem("f:7: invalid JSON"), "f:7: invalid JSON"),
        (ZeroDivisionError("a bug"), "the source 'numbers' stopped: a bug"),
        (OSError(28, "No space left on device"), "the state folder is full"),
    ],
)
def test_what_ends_the_thread_is_the_conductors_error(tmp_path, problem, message):
    recorder = Counting(9, fail_at=3, problem=problem)
    with Playing(recorder, tmp_path) as playing:
        state = playing.until(lambda s: s.error is not None)
    assert message in state.error.message
    assert problem in (state.error, state.error.__cause__)
    assert (state.chunks, state.ended) == (2, False)


def test_a_full_disk_stops_it_and_room_lets_it_go_on(tmp_path, monkeypatch):
    from arroyo_nb.tape import writer

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(writer.os, "utime", full)
        with Playing(Counting(4), tmp_path) as playing:
            state = playing.until(lambda s: s.error is not None)
    assert "disk of the state folder is full" in state.error.message
    assert str(tmp_path) in state.error.message
    assert "make space" in state.error.hint
    assert chunk_numbers(tmp_path) == ()
    with Playing(Counting(4), tmp_path) as playing:
        playing.consume_all()
    assert numbers_in(tmp_path) == list(range(12))
    assert not list(tmp_path.glob(".*"))


def test_a_folder_that_cannot_be_made_is_told_at_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    playing = Playing(Counting(1), tmp_path / "file" / "tape")
    with pytest.raises(RunProblem, match="the source 'numbers' stopped"):
        playing.conductor.start()


def test_merged_and_stopped_anywhere_it_goes_on_with_the_same_chunks(tmp_path):
    limits = ConductorLimits(lookahead_chunks=99)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    with Playing(Counting(40), whole, limits=limits, pace=Pace(merge=True)) as playing:
        last = playing.until(lambda s: s.ended).chunks
    assert last == 9  # 3, 3, 6, 12, 24, 48 rows, what is left, and the end
    for chunks in range(1, last + 1):
        only = ConductorLimits(lookahead_chunks=1)
        with Playing(
            Counting(40), parts, limits=only, pace=Pace(merge=True)
        ) as playing:
            playing.until(lambda s, c=chunks: s.chunks == c)
    assert playing.state.ended
    names = [path.name for path in sorted(whole.iterdir())]
    assert names == [path.name for path in sorted(parts.iterdir())]
    assert all((whole / n).read_bytes() == (parts / n).read_bytes() for n in names)


@pytest.mark.parametrize("pace", [MAX, Pace(Clock.EVENT_TIME, speed=4e6)])
def test_stopped_anywhere_it_goes_on_with_the_same_chunks(tmp_path, pace):
    limits = ConductorLimits(lookahead_chunks=99)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    with Playing(Counting(12), whole, pace=pace, limits=limits) as playing:
        playing.until(lambda s: s.ended)
    for chunks in range(1, 15):
        recorder = Counting(12)
        with Playing(recorder, parts, pace=pace, limits=limits, paused=True) as playing:
            assert playing.state.chunks == chunks - 1
            playing.conductor.step()
            playing.until(lambda s, c=chunks: s.chunks == c)
    assert playing.state.ended
    names = [path.name for path in sorted(whole.iterdir())]
    assert names == [path.name for path in sorted(parts.iterdir())]
    assert all((whole / n).read_bytes() == (parts / n).read_bytes() for n in names)


def test_killed_while_writing_it_goes_on_without_loss_or_repetition(tmp_path):
    done = 0
    for kill in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path)],
            cwd=Path(__file__).parent,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        # The kill falls somewhere in the writing of the chunks that follow.
        for line in range(1, 8 + kill):
            assert int(child.stdout.readline()) == done + line
        child.send_signal(signal.SIGKILL)
        child.communicate()
        done = len(chunk_numbers(tmp_path))
    limits = ConductorLimits(lookahead_chunks=99_999)
    with Playing(Counting(done + 9), tmp_path, limits=limits) as playing:
        state = playing.until(lambda s: s.ended)
    assert (state.rows, state.dropped_rows) == (3 * done + 27, 2 * done + 18)
    assert state.dropped_before == 2 * done
    assert numbers_in(tmp_path) == list(range(3 * done + 27))
    assert not list(tmp_path.glob(".*"))


HANDLED = (
    lambda conductor: conductor.state,
    lambda conductor: conductor.error,
    Conductor.pause,
    Conductor.resume,
    Conductor.step,
    Conductor.stop,
)


@pytest.mark.parametrize("handle", HANDLED)
def test_an_interrupt_leaves_nothing_locked_for_the_worker(tmp_path, handle):
    main = threading.main_thread().ident
    conductor = Conductor(Counting(1), tmp_path, schema=SCHEMA, source="numbers")

    def loop():
        # The signal may come before start returns.
        threading.Timer(0.002, signal.pthread_kill, (main, signal.SIGINT)).start()
        while True:
            handle(conductor)

    for _ in range(40):
        with pytest.raises(KeyboardInterrupt):
            loop()
        worker = threading.Thread(target=conductor.consumed, args=(1,), daemon=True)
        worker.start()
        worker.join(DEADLINE_S)
        assert not worker.is_alive(), "a lock is held for ever"


CHILD = """
import sys, threading
from pathlib import Path
from test_conductor import ConductorLimits, Counting, Playing

folder = Path(sys.argv[1])
last = len(list(folder.glob("chunk-*")))

def tell():
    global last
    if playing.state.chunks > last:
        last = playing.state.chunks
        print(last, flush=True)

playing = Playing(Counting(99_999), folder, limits=ConductorLimits(99_999))
playing.conductor._on_change = tell
playing.conductor.start()
threading.Event().wait()
"""
