"""Topics with the times of their newest records."""

from __future__ import annotations

import time

from arroyo_nb.editor.overview import overview
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.peek.topics import topics_with_times
from arroyo_nb.session import Session

NEWEST_MS = int(time.time()) * 1000


def test_a_topic_has_the_time_of_its_newest_record(broker, topic, produce):
    servers = broker.bootstrap_servers
    produce(servers, topic, b"1", partition=0, timestamp=NEWEST_MS - 5_000)
    produce(servers, topic, b"2", partition=1, timestamp=NEWEST_MS)
    produce(servers, topic, b"3", partition=1, timestamp=NEWEST_MS - 9_000)
    found = topics_with_times(Access(servers), servers, check=lambda: None)
    (ours,) = [each for each in found if each.name == topic]
    assert (ours.records, ours.newest_ms) == (3, NEWEST_MS)


def test_an_empty_topic_has_none(broker, topic):
    servers = broker.bootstrap_servers
    found = topics_with_times(Access(servers), servers, check=lambda: None)
    (ours,) = [each for each in found if each.name == topic]
    assert (ours.records, ours.newest_ms) == (0, None)


def test_the_panel_has_the_topics_of_the_local_broker(
    broker, topic, produce, eventually
):
    produce(broker.bootstrap_servers, topic, b"1", timestamp=NEWEST_MS)
    with Session() as session:
        session.broker = broker

        def found():
            return [each for each in overview(session).topics if each.name == topic]

        eventually(found)
        (ours,) = found()
        session.broker = None
    expected = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NEWEST_MS / 1000))
    assert (ours.records, ours.newest) == (1, expected)
