"""Batches that can never arrive are given up; those that only wait are not."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka import sink, sink_watch
from arroyo_nb.kafka.cluster import Cluster, Described
from arroyo_nb.kafka.config import table_access
from arroyo_nb.kafka.errors import AccessRefused
from arroyo_nb.kafka.sink_watch import Watch, Watched

LOST = RunProblem("it is gone")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(sink_watch, "LOOK_S", 0.0)
    monkeypatch.setattr(sink_watch, "_TICK_S", 0.0)


def watched(*told):
    """A batch that ends when it is given up, or when nothing is left to be told."""
    left, given_up = list(told), []

    def ask(look):
        if not left:
            batch.end()
            look()
        return left.pop(0)

    def give_up():
        given_up.append(1)
        batch._is_over = True  # it holds the lock

    batch = Watched(ask, give_up)
    batch.look_on()
    return batch, given_up


def test_a_batch_is_given_up_when_it_is_told_often_enough():
    batch, given_up = watched(None, LOST, LOST, LOST, LOST)
    assert (batch.lost, given_up) == (LOST, [1])


def test_a_broker_that_is_on_its_way_up_is_waited_for():
    batch, given_up = watched(LOST, LOST, None, LOST, LOST)
    assert (batch.lost, given_up) == (None, [])


def batch(cancelled):
    context = SimpleNamespace(
        getLocalProperty=lambda name: f"of {name}",
        cancelJobGroup=lambda group: cancelled.set() or cancelled_groups.append(group),
    )
    cancelled_groups = []
    context.groups = cancelled_groups
    return SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))


def test_why_it_is_given_up_is_raised_in_place_of_what_spark_says():
    cancelled = threading.Event()
    given = batch(cancelled)

    def write():
        with Watch(lambda _: LOST).over(given):
            assert cancelled.wait(20)
            raise ValueError("job cancelled")

    with pytest.raises(RunProblem, match="it is gone"):
        write()
    assert set(given.sparkSession.sparkContext.groups) == {"of spark.jobGroup.id"}


def test_what_goes_wrong_without_it_is_itself():
    with (
        pytest.raises(ValueError, match="a row"),
        Watch(lambda _: None).over(batch(threading.Event())),
    ):
        raise ValueError("a row")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Described("a", (0,)), None),
        (Described("b", (0,)), "the topic 't' of the table 'out' was deleted"),
        (None, "the topic 't' of the table 'out' was deleted"),
        (AccessRefused("wrong credentials"), "wrong credentials"),
        (RunProblem("nobody answers"), None),
    ],
)
def test_what_lasts_is_told_apart_from_an_absence(monkeypatch, answer, why):
    def described(self, look):
        if isinstance(answer, RunProblem):
            raise answer
        return answer

    monkeypatch.setattr(Cluster, "describe_topic", described)
    spec = TableSpec("out", None, {"topic": "t", "bootstrap_servers": "h:1"})
    reached = table_access(spec.options, None, {})
    found = sink._lost(spec, reached, "a", lambda: None)
    assert (found and found.message) == why
