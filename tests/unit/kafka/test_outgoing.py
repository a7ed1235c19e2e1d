"""What a topic's client says when rows are sent, in our words."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.emit.destination import Outgoing, TopicTarget
from arroyo_nb.kafka.emit.targets import EmitOptions, to_topic
from arroyo_nb.kafka.errors import ErrorSubject

SUBJECT = ErrorSubject("h:1", "t", action="write to")
ROW = Outgoing(b"v", None, None, 0)


class Failing:
    """A client that refuses each record, at once or later."""

    def __init__(self, target, code, *, at_once):
        self._target, self._error = target, KafkaError(code, "its own words")
        self._at_once = at_once

    def produce(self, *args, **given):
        if self._at_once:
            raise KafkaException(self._error)
        self._target._delivered(self._error, None)

    def poll(self, timeout_s):
        pass


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            "does not allow this user to write to the topic 't'",
        ),
        (KafkaError.MSG_SIZE_TOO_LARGE, "a record is larger than the topic 't' takes"),
        (
            KafkaError._UNKNOWN_TOPIC,
            "the topic 't' was deleted, or has lost partitions",
        ),
        (KafkaError._MSG_TIMED_OUT, "the broker at h:1 did not take the records for"),
        (KafkaError.INVALID_RECORD, "cannot write to the topic 't': INVALID_RECORD"),
    ],
)
def test_what_fails_is_told(code, said, at_once):
    target = TopicTarget(Access("h:1"), SUBJECT)
    target._producer = Failing(target, code, at_once=at_once)
    with pytest.raises(RunProblem, match=said) as told:
        target.send([ROW], lambda: False)
    assert "its own words" not in str(told.value)


def test_settings_that_the_client_refuses_are_told_before_the_first_row():
    with pytest.raises(RunProblem, match="the topic 't' refuses its settings: acks"):
        TopicTarget(Access("h:1", configs={"acks": "1"}), SUBJECT).__enter__()


@pytest.mark.parametrize("name", ["a\ud800", "a b", "", "x" * 250])
def test_a_name_that_no_topic_can_have(name):
    with pytest.raises(RunProblem, match="no topic can have the name") as told:
        to_topic("h:1", name, EmitOptions(), None, lambda: None)
    str(told.value).encode()
