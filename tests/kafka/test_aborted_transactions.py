"""A broker that restarts may abort a transaction of a sink: it is tried again."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from random import Random

import pytest
from confluent_kafka import KafkaError, KafkaException
from sink_tasks import send_batch
from topics import Topic

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka import sink_task
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.kafka.sink_task import Sender, Transaction

NO_TRANSACTION = KafkaError(KafkaError._STATE)
LOADING = KafkaError(
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "loading", txn_requires_abort=True
)
REFUSED = KafkaError(
    KafkaError.TOPIC_AUTHORIZATION_FAILED, "refused", txn_requires_abort=True
)


class Unlucky:
    """A producer that fails at a request of one kind.

    Parameters
    ----------
    faults
        For each producer the kind, the error, and whether the broker has had the
        request all the same.
    """

    def __init__(self, client, faults):
        self._client = client
        self._kind, self._error, self._arrives = faults.pop(0) if faults else ("",) * 3

    def __getattr__(self, name):
        call = getattr(self._client, name)
        return partial(self._fail, call) if name == self._kind else call

    def produce(self, *given, **named):
        if self._kind == "produce":
            # As librdkafka does: the reason is told to others.
            self._kind = "send_offsets_to_transaction"
            raise KafkaException(NO_TRANSACTION)
        self._client.produce(*given, **named)

    def _fail(self, call, *given):
        if self._arrives:
            call(*given)
        raise KafkaException(self._error)


@pytest.fixture
def send(task, monkeypatch):
    """Sends values to a topic as one batch, as a task does."""

    def send(topic, batch_id, *values, is_new=True, faults=()):
        faults, make = list(faults), Sender._producer

        def unlucky(*given):
            return Unlucky(make(*given), faults)

        with monkeypatch.context() as patched:
            patched.setattr(Sender, "_producer", unlucky)
            transaction = Transaction(topic.name, batch_id, is_new=is_new)
            sent = send_batch(topic, transaction, *values)
        assert not faults
        return sent

    return send


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize(
    "kind", ["produce", "send_offsets_to_transaction", "commit_transaction"]
)
def test_an_aborted_transaction_is_tried_again(new_topic, send, kind, arrives, is_new):
    topic = new_topic(1)
    assert send(topic, 0, b"a", b"b") == 2
    faults = [(kind, LOADING, arrives)]
    # Whose commit has arrived all the same has no more to do.
    if not (arrives and kind == "commit_transaction"):
        faults += [("produce", LOADING, False), (kind, LOADING, False)]
    assert send(topic, 1, b"c", b"d", b"e", is_new=is_new, faults=faults) == 3
    assert send(topic, 2, b"f") == 1
    found = [record.value() for record in topic.records()]
    assert found == [b"a", b"b", b"c", b"d", b"e", b"f"]


@pytest.mark.parametrize("kind", ["produce", "commit_transaction"])
def test_what_is_refused_is_not_tried_again(new_topic, send, kind):
    with pytest.raises(RunProblem, match="does not allow the user of the table 'out'"):
        send(new_topic(1), 0, b"a", faults=[(kind, REFUSED, False)])


def test_a_broker_that_never_comes_to_itself_is_told(new_topic, send, monkeypatch):
    monkeypatch.setattr(sink_task, "PATIENCE_S", 0)
    with pytest.raises(RunProblem, match=r"loading|starting|not ready"):
        send(new_topic(1), 0, b"a", faults=[("commit_transaction", LOADING, False)])


def restart_beside(seed, seconds, send):
    """Batches are sent while the broker restarts again and again."""
    random, over = Random(seed), threading.Event()
    with LocalBroker() as broker:
        topic = Topic(broker, 1)

        def restart():
            while not over.wait(random.uniform(1, 6)):
                broker.stop()
                over.wait(random.uniform(0, 2))
                broker.start()

        restarts = threading.Thread(target=restart)
        restarts.start()
        timer = threading.Timer(seconds, over.set)
        timer.start()
        batch_id = 0
        try:
            while not over.is_set():
                values = [b"%d-%d" % (batch_id, n) for n in range(300)]
                assert send(topic, batch_id, *values) == 300
                batch_id += 1
        finally:
            over.set()
            timer.cancel()
            restarts.join()
        wanted = Counter(b"%d-%d" % (b, n) for b in range(batch_id) for n in range(300))
        assert Counter(record.value() for record in topic.records()) == wanted
        print(f"{batch_id} batches")


@pytest.mark.long("topics")
@pytest.mark.parametrize("seed", range(6))
def test_each_batch_is_there_once_while_the_broker_restarts(send, seed):
    restart_beside(seed, 120, send)
