"""A source that Spark reads itself: what is noted of it, without Spark or a broker."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import TopicOffsets
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.errors import deleted_topic
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.progress import read_progress, slower
from arroyo_nb.run.options import FLUSH
from arroyo_nb.run.sources import stream as topics
from arroyo_nb.run.sources.reader import SourcePosition, topic_key
from arroyo_nb.run.sources.sources import Sources
from arroyo_nb.run.sources.stream import Looked, StreamReader

SCRIPT = """CREATE TABLE clicks (n INT) WITH (connector = 'kafka', topic = 't',
bootstrap_servers = 'h:1', type = 'source', format = 'json');
SELECT n FROM clicks"""


class Stream:
    """A topic of two partitions, as far as its broker tells."""

    format = "kafka"
    topic = "t"
    metadata = {}  # noqa: RUF012

    def __init__(self):
        self.begun = {0: 5, 1: 7}
        self.end = {0: 5, 1: 7}
        self.oldest = {0: 0, 1: 0}
        self.id = "first"

    def check(self):
        pass

    def begin(self):
        return TopicOffsets(self.id, self.begun)

    older_records = "'source.offset' = 'earliest'"

    def deleted(self, table):
        return deleted_topic(self.topic, table)

    def beginnings(self):
        return TopicOffsets(self.id, self.oldest)

    def ends(self):
        if isinstance(self.end, Exception):
            raise self.end
        return None if self.end is None else TopicOffsets(self.id, self.end)


@pytest.fixture
def stream():
    return Stream()


@pytest.fixture
def feed(stream, tmp_path):
    (sink,) = plan_script(SCRIPT, Catalog()).sinks
    table = sink.input.input.input.table
    feed = StreamReader("0-clicks", table, stream, windowed=False)
    feed.open(
        SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False),
        paused=False,
        steps=0,
    )
    return feed


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "0-clicks").mkdir()


def test_a_run_that_is_resumed_began_where_it_did(feed, stream, tmp_path):
    stream.begun = {0: 100, 1: 100}
    # One was added meanwhile, and its oldest record is not its first.
    stream.oldest = {0: 50, 1: 50, 2: 3}
    folder = SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False)
    feed.open(folder, paused=False, steps=0)
    assert feed._begun == {0: 5, 1: 7, 2: 3}


def test_how_far_it_lags_is_told_by_partition(feed, stream):
    stream.end = {0: 9, 1: 7, 2: 4}
    feed._look()
    feed.consumed(
        [SourcePosition({0: 8, 1: 7}, rows=3), SourcePosition({0: 6, 1: 7}, rows=1)]
    )
    source = feed.progress(feed._reach)
    assert [(p.number, p.offset, p.lag) for p in source.partitions] == [
        (0, 6, 3),
        (1, 7, 0),
        (2, 0, 4),
    ]
    assert (source.rows, source.lag, source.bounded) == (1, 7, False)


def test_a_run_with_an_end_is_behind_nothing_that_came_since(feed, stream, tmp_path):
    stream.end = {0: 9, 1: 7}
    ending = StreamReader(
        *("0-clicks", feed.table, stream), windowed=False, ends_after=timedelta()
    )
    folder = SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False)
    ending.open(folder, paused=False, steps=0)
    stream.end = {0: 900, 1: 70, 2: 4}
    ending._look()
    for read, lag in (({0: 8, 1: 7}, 1), ({0: 9, 1: 7}, 0)):
        assert ending.progress(SourcePosition(read)).lag == lag


def test_a_reader_is_not_ahead_of_what_the_broker_said_before(feed):
    feed._look()
    feed.consumed([SourcePosition({0: 50, 1: 7})])
    assert feed.progress(feed._reach).lag == 0


def test_a_partition_without_new_records_is_idle_after_a_while(feed, stream):
    looked = Looked().found({0: 5, 1: 7}, 100.0).found({0: 6, 1: 7}, 109.0)
    now_s = 100.0 + topics.IDLE_S + 1
    assert [p.idle for p in feed._partitions(SourcePosition(), looked, now_s)] == [
        False,
        True,
    ]


def test_a_broker_that_is_away_is_told_until_it_is_back(feed, stream):
    stream.end = RunProblem("no answer")
    feed._look()
    feed._look()
    assert feed._looked.away_s is not None
    assert feed.progress(feed._reach).away_s > 0
    stream.end = {0: 5, 1: 7}
    feed._look()
    assert feed.progress(feed._reach).away_s == 0


def test_a_topic_is_gone_once_it_is_missed_several_times(feed, stream):
    stream.end = None
    for _ in range(topics.GONE_LOOKS - 1):
        feed._look()
    assert feed.error is None
    stream.end = {0: 5, 1: 7}
    feed._look()
    stream.end = None
    for _ in range(topics.GONE_LOOKS):
        feed._look()
    assert "the topic 't' of the table 'clicks' was deleted" in feed.error.message


def test_a_topic_that_was_made_again_is_another(feed, stream, tmp_path):
    stream.id = "second"
    assert not feed.has(({0: 5}, {0: 8}))
    feed._look()
    assert "the topic 't' of the table 'clicks' was deleted" in feed.error.message
    folder = SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False)
    again = StreamReader("0-clicks", feed.table, stream, windowed=False)
    with pytest.raises(
        RunProblem, match="the topic 't' of the table 'clicks' was deleted"
    ):
        again.open(folder, paused=False, steps=0)


def test_what_retention_took_cannot_be_read_again(feed, stream):
    stream.oldest = {0: 6, 1: 0}
    assert feed.has(({1: 7}, {1: 9}))
    assert not feed.has(({}, {0: 8}))
    assert feed.has(({0: 8}, {0: 8}))


def test_it_is_read_once_it_is_at_its_end_and_silent(feed, stream, tmp_path):
    assert not feed.bounded
    assert not feed.is_read({0: 5, 1: 9})
    stream.end = {0: 5, 1: 9}
    bounded, patient = (
        StreamReader(
            "0-clicks",
            feed.table,
            stream,
            windowed=False,
            ends_after=timedelta(hours=n),
        )
        for n in range(2)
    )
    folder = SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False)
    for made in (bounded, patient):
        made.open(folder, paused=False, steps=0)
    stream.end = {0: 50, 1: 90}
    places = (None, {0: 5, 1: 8}, {0: 5, 1: 9}, {1: 9})
    assert [bounded.is_read(place) for place in places] == [False, False, True, True]
    assert not patient.is_read({0: 5, 1: 9})
    assert bounded.bounded


def test_a_topic_that_is_made_anew_has_no_end(feed, stream, tmp_path):
    bounded = StreamReader(
        "0-clicks", feed.table, stream, windowed=False, ends_after=timedelta()
    )
    stream.end = None
    with pytest.raises(RunProblem, match="was deleted"):
        bounded.open(
            SimpleNamespace(source=lambda name: tmp_path / name, has_batches=False),
            paused=False,
            steps=0,
        )


def test_of_the_first_batch_the_beginning_is_known(feed):
    assert feed._stretch(({}, {0: 8, 1: 9, 2: 1})) == (
        {0: 5, 1: 7, 2: 0},
        {0: 8, 1: 9, 2: 1},
    )


def test_what_was_read_before_a_resume_is_not_known_yet(stream):
    feed = StreamReader("x", None, stream, windowed=False)
    assert feed.progress(SourcePosition()) is None
    with pytest.raises(RunProblem, match="has not begun to read again"):
        feed.has(({}, {0: 8}))


def test_a_topic_is_not_played_at_a_speed(monkeypatch, stream):
    monkeypatch.setattr("arroyo_nb.kafka.table.KafkaTable.stream", lambda *_: stream)
    plan = plan_script(SCRIPT, Catalog())
    with pytest.raises(RunProblem, match="'clicks' cannot be played") as told:
        Sources(
            plan.sinks,
            tick=FLUSH,
            ends_after=None,
            speed=2.0,
            merge=False,
            stepping=False,
        )
    assert told.value.hint


RAW = {
    "batchId": 1,
    "durationMs": {"addBatch": 1},
    "sources": [
        {
            "description": "KafkaV2[Subscribe[my-topic]]",
            "startOffset": {"my-topic": {"0": 3}},
            "endOffset": {"my-topic": {"0": 9, "1": 2}},
            "numInputRows": 8,
        }
    ],
}


def test_offsets_are_read_of_the_progress():
    progress = read_progress(RAW)
    key = topic_key("my-topic")
    assert progress.places == {key: {0: 9, 1: 2}}
    assert progress.first_places == {key: {0: 3}}
    assert progress.source_rows == {key: 8}


def test_of_two_readers_the_slower_counts():
    assert slower(3, 2) == 2
    assert slower({0: 5, 1: 1}, {0: 4, 1: 2, 2: 9}) == {0: 4, 1: 1}
