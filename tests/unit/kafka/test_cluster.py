"""Requests to a broker, of a client that stands in for librdkafka's."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.cluster import Cluster, do_nothing
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import ErrorSubject


class Client:
    """Answers each request to create a topic with the next code; None: it is made."""

    def __init__(self, codes):
        self._codes = iter(codes)

    def create_topics(self, topics, request_timeout):
        future, code = Future(), next(self._codes)
        if code is None:
            future.set_result(None)
        else:
            future.set_exception(KafkaException(KafkaError(code, "its own words")))
        return {topic.topic: future for topic in topics}

    def list_offsets(self, places, **_):
        future = Future()
        future.set_result(SimpleNamespace(offset=0))
        return dict.fromkeys(places, future)

    def poll(self, timeout_s):
        return 0


LATE, THERE = KafkaError._TIMED_OUT, KafkaError.TOPIC_ALREADY_EXISTS


def create(monkeypatch, *codes):
    client = Client(codes)
    monkeypatch.setattr("arroyo_nb.kafka.cluster.admin_client", lambda *_: client)
    cluster = Cluster(Access("h:1"), ErrorSubject("h:1", "t", action="create"))
    cluster.create_topic(1, {}, do_nothing)


@pytest.mark.parametrize("codes", [(None,), (LATE, LATE, None), (LATE, THERE)])
def test_a_request_for_a_topic_that_is_late_is_made_again(monkeypatch, codes):
    create(monkeypatch, *codes)


def test_a_topic_that_was_there_is_told(monkeypatch):
    with pytest.raises(RunProblem, match="already"):
        create(monkeypatch, THERE)


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr("arroyo_nb.kafka.cluster.TOPIC_S", 0)
    with pytest.raises(RunProblem, match="does not answer"):
        create(monkeypatch, LATE, LATE)
