"""What feeds a run: when it is asked before it has begun, and what it cannot do."""

import shutil
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.runner.counts import Counts
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run import ending
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.run.options import FLUSH, JOB_FLUSH, RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.query_starter import Heart, output_trigger
from arroyo_nb.run.run import Run
from arroyo_nb.run.sources.reader import SourcePosition
from arroyo_nb.run.sources.sources import Sources
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.tape import speed as pace
from arroyo_nb.tape.format import chunk_numbers, chunk_path
from arroyo_nb.tape.records import EMITTED, RecordWriter, TapeRecord

SCRIPT = """
CREATE TABLE ticks (
  counter BIGINT NOT NULL, {column}
  WATERMARK FOR {time}
) WITH (connector = 'single_file', type = 'source', format = 'json', path = '{path}');
SELECT counter FROM ticks;
"""
GENERATED = (
    "made TIMESTAMP NOT NULL GENERATED ALWAYS AS (to_timestamp(counter)) STORED,"
)
COMPUTED = "date_trunc('minute', to_timestamp(counter))"
PHYSICAL = "t TIMESTAMP NOT NULL,"
DEADLINE_S = 20


@pytest.fixture
def feeds(tmp_path):
    """Makes the feeds of a query over a file of a row each second, and ends them."""
    path = tmp_path / "ticks.json"
    made = []

    def make(
        *, column=PHYSICAL, time="t", speed="max", tick=FLUSH, stepping=False, rows=1
    ):
        line = '{{"counter": {0}, "t": "2013-03-04T05:06:0{0}"}}\n'
        path.write_text("".join(map(line.format, range(rows))))
        text = SCRIPT.format(column=column, time=time, path=path)
        sinks = plan_script(text, Catalog()).sinks
        made.append(
            Sources(
                sinks,
                speed=speed,
                tick=tick,
                stepping=stepping,
                merge=False,
                ends_after=None,
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()
        one.join(DEADLINE_S)


@pytest.fixture
def claim(tmp_path):
    folder = StateFolder(tmp_path / "state", identity="", name="r")
    yield folder
    folder.release()


def released(one):
    (feed,) = one._feeds
    return len(chunk_numbers(feed._folder))


def test_what_is_asked_for_while_it_starts_is_done_when_it_has_started(
    feeds, claim, eventually
):
    one = feeds()
    one.step()
    one.step()
    assert one.paused
    one.start(claim)
    # Of three chunks, the row's and two at the end, the third is not stepped to.
    eventually(lambda: released(one) == 2)
    eventually(lambda: any(source.paused for source in sources_of(one)))
    one.resume()
    eventually(lambda: released(one) == 3)
    assert not one.paused


def sources_of(one):
    """The only source, as a query sees it that has read all that was released; none
    while the conductor has not noted what it released."""
    (feed,) = one._feeds
    return one.sources({feed.key: SourcePosition(released(one))})


def test_a_resumed_query_counts_ends_once_its_chunks_are_found_again(
    feeds, claim, eventually
):
    first = feeds()
    first.start(claim)
    eventually(lambda: any(source.ended for source in sources_of(first)))
    first.close()
    assert first.join(DEADLINE_S)
    places = {first._feeds[0].key: released(first)}
    again = feeds()
    (feed,) = again._feeds
    feed.open(claim, paused=False, steps=0)
    counts = [again.ends_read(places)]
    feed._conductor._on_change = lambda: counts.append(again.ends_read(places))
    assert again.sources({feed.key: SourcePosition(places[feed.key])}) == ()
    feed.start()
    eventually(lambda: any(source.ended for source in sources_of(again)))
    assert counts == [0, 0, 0, 2], "after each of its three chunks"


def test_a_restart_counts_no_dropped_row_twice(tmp_path, claim, eventually):
    rows, names = tmp_path / "rows.json", tmp_path / "names.json"
    rows.write_text('{"id": 1}\n{"id": \n{"id": 2}\n')
    names.write_text('{"id": 1, "name": "a"}\n{"id": \n')
    json = "connector = 'single_file', format = 'json', bad_data = 'drop'"
    sql = f"""
    CREATE TABLE t (id BIGINT) WITH ({json}, type = 'source', path = '{rows}');
    CREATE TABLE n (id BIGINT PRIMARY KEY, name TEXT)
    WITH ({json}, type = 'lookup', path = '{names}');
    SELECT t.id, n.name FROM t JOIN n ON t.id = n.id;"""
    sinks = plan_script(sql, Catalog()).sinks
    job = Counts()
    for _ in range(3):  # each a process of the job, on the same folder
        pace = {"speed": "max", "tick": FLUSH, "merge": False}
        one = Sources(sinks, **pace, stepping=False, ends_after=None)
        one.start(claim)
        eventually(lambda found=one: any(not s.looked_up for s in sources_of(found)))
        eventually(lambda found=one: sources_of(found)[0].dropped_rows == 1)
        found = Snapshot("job", RunState.RUNNING, sources=sources_of(one))
        one.close()
        assert one.join(DEADLINE_S)
        assert [s.dropped_rows for s in found.sources] == [1, 1]
        job += Counts.of(found)
        assert job.dropped_rows == 2


@pytest.mark.parametrize(("tick_s", "slices"), [(0.01, 4), (0.02, 2), (1, 1)])
def test_a_slice_at_a_speed_is_what_a_tick_releases(
    feeds, claim, eventually, tick_s, slices
):
    one = feeds(speed=100.0, tick=timedelta(seconds=tick_s), rows=4)
    one.start(claim)
    (feed,) = one._feeds
    conductor = feed._conductor

    def is_drained():
        conductor.consumed(conductor.state.chunks)
        return conductor.state.ended

    eventually(is_drained)
    assert released(one) == slices + 2  # two at the end


IMPULSE = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '10'{more});"
COUNTS = "SELECT counter % 2 AS odd, count(*) AS n FROM ticks GROUP BY odd;"
WINDOWS = "SELECT tumble(INTERVAL '1s') AS w, count(*) AS n FROM ticks GROUP BY w;"


@pytest.mark.parametrize(
    ("query", "more", "options", "trigger"),
    [
        (COUNTS, "", RunOptions(), FLUSH),
        (COUNTS, "", RunOptions(printed=True), JOB_FLUSH),
        (COUNTS, "", RunOptions(trigger=timedelta(minutes=1)), timedelta(minutes=1)),
        (COUNTS, ", message_count = 5", RunOptions(), None),
        (WINDOWS, "", RunOptions(printed=True), None),
    ],
)
def test_live_changes_are_told_so_often(tmp_path, query, more, options, trigger):
    plan = plan_script(IMPULSE.format(more=more) + query, Catalog())
    prepared = prepare("r", plan, options)
    assert output_trigger(prepared, prepared.outputs[0]) == trigger


def test_a_heart_waits_for_the_batch_that_reads_its_beat(tmp_path):
    plan = plan_script(IMPULSE.format(more="") + COUNTS + WINDOWS, Catalog())
    prepared = prepare("r", plan, RunOptions())
    heart = Heart.of(
        prepared, SimpleNamespace(heartbeat=lambda: tmp_path, forgets=True)
    )
    counts, windows = prepared.outputs

    def beats():
        heart.beat()
        return len(list(tmp_path.glob("*.txt")))

    assert [beats(), beats()] == [1, 1]
    counts.observation.progress = SimpleNamespace(batch_id=0)
    assert [beats(), beats()] == [2, 2]
    windows.observation.progress = SimpleNamespace(batch_id=0)  # does not hear it
    assert beats() == 2
    counts.observation.progress = SimpleNamespace(batch_id=7)
    assert beats() == 3


class Hanging:
    """A source that does not answer until it may go."""

    bounded = False
    live = True

    def __init__(self):
        self.asked, self.go = threading.Event(), threading.Event()

    def chunks(self, _after):
        self.asked.set()
        assert self.go.wait(DEADLINE_S)
        yield from ()


def test_the_run_keeps_its_folder_while_a_source_hangs(
    tmp_path, monkeypatch, eventually
):
    monkeypatch.setattr(ending, "RECORDER_S", 0.01)
    plan = plan_script(IMPULSE.format(more="") + COUNTS, Catalog())
    run = Run(prepare("r", plan, RunOptions()), None, RunFolder(tmp_path))
    source = Hanging()
    (feed,) = run.sources._feeds
    feed.recorder = source
    end = run._execution._ending
    end.claim = claim = StateFolder(tmp_path / "state", identity="", name="r")
    run.sources.start(claim)
    assert source.asked.wait(DEADLINE_S)
    run.sources.close()
    end.release()

    def is_free():
        try:
            StateFolder(tmp_path / "state", identity="", name="next").release()
        except RunProblem:
            return False
        return True

    assert not is_free()
    source.go.set()
    eventually(is_free)


def test_a_pause_that_was_taken_back_while_it_starts_is_none(feeds, claim, eventually):
    one = feeds(stepping=True)
    one.step()
    one.resume()
    one.start(claim)
    eventually(lambda: any(source.ended for source in sources_of(one)))
    assert not one.paused


def test_a_converted_time_sets_the_pace(feeds, claim, eventually):
    one = feeds(column=GENERATED, time="made", speed=60.0, rows=3, stepping=True)
    one.start(claim)
    (feed,) = one._feeds
    # A slice is 15 s of event time at 4 a second: three seconds lie in one.
    times = [chunk.rows["_timestamp"] for chunk in feed.recorder.chunks(None)]
    assert [str(t)[:19] for t in times[0].to_pylist()] == [
        f"1970-01-01 00:00:0{second}" for second in range(3)
    ]
    one.resume()
    eventually(lambda: feed._playing.state.rows == 3)
    assert feed._playing.state.chunks - feed._playing.state.end_chunks == 1


def test_a_time_that_is_more_than_a_conversion_cannot_set_the_pace(
    feeds, claim, eventually
):
    computed = GENERATED.replace("to_timestamp(counter)", COMPUTED)
    with pytest.raises(RunProblem, match="'ticks' cannot be played at a speed") as told:
        feeds(column=computed, time="made", speed=60.0)
    assert "its event time 'made' is computed by more than" in str(told.value)
    assert "to_timestamp_millis(column)" in told.value.hint
    assert told.value.span is not None
    feeds(speed=60.0)
    one = feeds(column=computed, time="made")
    one.start(claim)
    eventually(lambda: any(source.ended for source in sources_of(one)))
    # The newest arrival is not the newest event time.
    (source,) = sources_of(one)
    assert source.max_event_time is None


def test_chunks_that_are_gone_are_told(feeds, claim, eventually):
    one = feeds()
    one.start(claim)
    eventually(lambda: any(source.ended for source in sources_of(one)))
    (feed,) = one._feeds
    key = feed.key
    assert one.has({key: (0, 3)})
    assert one.has({})
    chunk_path(feed._folder, 1).unlink()
    assert one.has({key: (1, 3)})
    assert not one.has({key: (0, 1)})
    node = type("Node", (), {"table": feed.table})()
    with pytest.raises(RunProblem, match="rows that 'ticks' gave are gone"):
        one.read_again(None, {key: (0, 3)}, node)


def test_chunks_of_a_run_that_reads_no_more_are_asked_for(feeds):
    key = feeds().has
    assert key({})
    with pytest.raises(RunProblem, match="has not begun to read again"):
        key({"0-ticks": (0, 2)})


TAPE = """
CREATE TABLE clicks (id INT NOT NULL, {columns})
WITH (connector = 'tape', format = 'json', path = '{path}');
SELECT id FROM clicks;
"""


@pytest.fixture
def tape_feed(tmp_path):
    """The feed of a tape of ten minutes of events, a minute apart, that arrived so far
    apart; at a speed."""

    def make(arrives_us, columns, time_ms=0, **written):
        path = tmp_path / "clicks.tape"
        with RecordWriter(path, "clicks", **written) as writer:
            for minute in range(10):
                value = f'{{"id": {minute}, "ts": {minute * 60_000}}}'.encode()
                record = TapeRecord(0, minute, minute * time_ms, None, value)
                writer.append(record, minute * arrives_us)
            writer.finish()
        text = TAPE.format(columns=columns, path=path)
        sinks = plan_script(text, Catalog()).sinks
        fed = Sources(
            sinks, speed=60.0, tick=FLUSH, stepping=False, merge=False, ends_after=None
        )
        (feed,) = fed._feeds
        return feed

    make.path = tmp_path / "clicks.tape"
    return make


EPOCH_TIME = """ts BIGINT NOT NULL,
  at TIMESTAMP NOT NULL GENERATED ALWAYS AS (to_timestamp_millis(ts)),
  WATERMARK FOR at"""


def ticks(feed):
    pieces = pace.released(feed.recorder, feed._pace, None)
    return [tick for tick, piece in pieces if piece.rows.num_rows]


def test_a_tape_that_arrived_at_once_is_played_by_its_event_time(tape_feed):
    # A tick is 15 s of event time.
    assert ticks(tape_feed(10, EPOCH_TIME)) == [4 * minute for minute in range(10)]


def test_a_tape_that_arrived_at_once_is_played_by_its_records_times(tape_feed):
    found = ticks(tape_feed(10, "ts BIGINT", time_ms=60_000))
    assert found == [4 * minute for minute in range(10)]


def test_a_tape_that_arrived_by_and_by_is_played_by_its_arrival(tape_feed):
    feed = tape_feed(20_000_000, EPOCH_TIME)
    assert ticks(feed) == [20 * n // 15 for n in range(10)]
    assert feed._pace.whole


def test_a_fast_topic_keeps_its_chunks_and_fast_rows_of_a_program_do_not(
    tape_feed, monkeypatch
):
    monkeypatch.setattr("arroyo_nb.kafka.connectors.tape.AT_ONCE_RECORD_US", 10**6)
    assert tape_feed(200_000, EPOCH_TIME)._pace.whole
    shutil.rmtree(tape_feed.path)
    assert not tape_feed(200_000, EPOCH_TIME, made_by=EMITTED)._pace.whole


def test_a_tape_without_times_is_not_played_at_a_speed(tape_feed):
    with pytest.raises(RunProblem, match="its records arrived all at once") as told:
        tape_feed(10, "ts BIGINT")
    assert "WATERMARK FOR" in told.value.hint


def test_a_speed_is_changed_while_it_plays(feeds, claim, eventually):
    # A second of event time takes a day, so the second row waits.
    one = feeds(speed=1 / 86_400, rows=3, tick=timedelta(seconds=86_400))
    one.start(claim)
    (feed,) = one._feeds
    eventually(lambda: feed._playing.state.rows == 1)
    # What is read makes room for the rest.
    feed._playing.consumed(1)
    one.set_speed("max")
    eventually(lambda: feed._playing.state.rows == 3)


def test_a_run_without_a_speed_gets_none(feeds):
    with pytest.raises(RunProblem, match="started without one") as told:
        feeds().set_speed(60.0)
    assert "--speed 60" in told.value.hint
