"""How topics are listed: whatever is in them is text."""

from __future__ import annotations

import pytest

from arroyo_nb.kafka.peek.guess import Guess, guess
from arroyo_nb.kafka.peek.topics import Partition, Topic, TopicRecord
from arroyo_nb.views.topics import Peek, peek, topics

ODD = "<img src=x onerror=alert(1)>\x1b[2J"
TOPIC = Topic("flights", (Partition(0, 2, 12), Partition(1, 0, 0)))


def record(
    value: bytes | None, timestamp_ms: int | None = 1_700_000_000_123
) -> TopicRecord:
    return TopicRecord(0, 11, timestamp_ms, b"key", value)


def test_topics_are_listed_with_their_partitions_and_records() -> None:
    lines = topics([TOPIC])["text/plain"].splitlines()
    assert [line.split() for line in lines] == [
        ["topic", "partitions", "records"],
        ["flights", "2", "10"],
    ]


def test_no_topic_is_said() -> None:
    assert topics([]) == {"text/plain": "no topic yet"}


def test_a_topic_without_records_has_no_table_yet() -> None:
    text = peek(Peek(TOPIC, [], Guess("raw_bytes", ()), ""))["text/plain"]
    assert "looks like" not in text
    assert text.splitlines()[1].split() == ["0", "2", "12", "10"]


def test_a_record_is_shown_with_its_time_and_the_table() -> None:
    text = peek(Peek(TOPIC, [record(b"hello")], Guess("json", ()), "CREATE TABLE t"))[
        "text/plain"
    ]
    assert "0:11    2023-11-14 22:13:20.123  key  hello" in text
    assert text.endswith("it looks like json; as a table:\nCREATE TABLE t")


def test_only_the_newest_are_shown() -> None:
    records = [record(f"value-{number}".encode()) for number in range(9)]
    text = peek(Peek(TOPIC, records, Guess("json", ()), ""))["text/plain"]
    assert "value-3" not in text
    assert "value-4" in text


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (record(None), "key"),
        (record(b"\xff\x01"), "0xff01"),
        (record(b"x", None), "x"),
        (record(b"x", 10**17), str(10**17)),
    ],
)
def test_odd_records(shown: TopicRecord, says: str) -> None:
    assert says in peek(Peek(TOPIC, [shown], Guess("raw_bytes", ()), ""))["text/plain"]


def test_everything_is_escaped() -> None:
    topic = Topic(ODD, TOPIC.partitions)
    shown = TopicRecord(0, 1, 0, ODD.encode(), ODD.encode())
    for bundle in (topics([topic]), peek(Peek(topic, [shown], Guess(ODD, ()), ODD))):
        assert "<img" not in bundle["text/html"]
        assert "\x1b" not in bundle["text/html"] + bundle["text/plain"]


def test_columns_odd_records_and_one_whole_record() -> None:
    values = [b'{"n": 1, "s": "b"}', b'{"n": 12, "s": null}', b"{", None]
    records = [record(value) for value in values]
    found = guess(values)
    text = peek(Peek(TOPIC, records, found, "CREATE TABLE t", 2, True))["text/plain"]
    lines = [line.split() for line in text.splitlines()]
    assert ["n", "BIGINT", "0%", "1", "12"] in lines
    assert ["s", "TEXT", "50%", "b", "b"] in lines
    assert 'as a whole:\n{\n  "n": 12,\n  "s": null\n}' in text
    assert "json; 1 of 3 records do not, the first is 0:11; as a table, in the" in text
    assert '"s": "b"' not in text, "of the records two are listed"
