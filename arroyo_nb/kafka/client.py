"""Kafka's client for Python, as this project uses it: quiet, and never for ever."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from arroyo_nb.engine.jars import Check
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.sending import AWAY

ANSWER_S = 5.0
"""How long a broker may take to answer."""

TOPIC_S = 30.0
"""How long a new topic may take to be made, and then to be there, on a busy machine."""

LOOK_S = 0.1
"""How often who waits looks whether it should go on."""

_PASSING = (
    *("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART"),
    *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "_NOENT"),
)
"""What a broker says of a partition that it is just about to open."""


def library(module: str = "confluent_kafka") -> Any:
    """The client, or a module of it, imported when it is first needed.

    Raises
    ------
    RunProblem
        When it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise RunProblem(
            "Kafka's topics need the package confluent-kafka",
            hint="pip install 'arroyo-nb[kafka]'",
        ) from None


def settings(servers: str) -> dict[str, Any]:
    """What every client of ours is told."""
    # It would write to the kernel's standard error each time that it cannot connect.
    return {"bootstrap.servers": servers, "log_level": 0}


def admin(servers: str) -> Any:
    """A client that asks about topics and makes them."""
    return library("confluent_kafka.admin").AdminClient(settings(servers))


def create_topic(
    servers: str, name: str, partitions: int, config: Mapping[str, str], check: Check
) -> None:
    """Make a topic of one copy; returns when it can be read and written.

    Parameters
    ----------
    check
        Is called again and again; what it raises ends the wait.

    Raises
    ------
    RunProblem
        When the broker refuses, as where there is one of that name.
    """
    module = library("confluent_kafka.admin")
    wanted = module.NewTopic(name, partitions, 1, config=dict(config))
    asker = admin(servers)  # what it was asked ends with it
    made = asker.create_topics([wanted], request_timeout=TOPIC_S)
    try:
        _waited(made[name], check)
    except library().KafkaException as error:
        raise problem(f"cannot make the topic '{name}'", error) from error
    parts = [(name, number) for number in range(partitions)]
    latest = module.OffsetSpec.latest()
    offsets(asker, parts, latest, check, within_s=TOPIC_S)


def offsets(
    asker: Any,
    parts: Sequence[tuple[str, int]],
    which: Any,
    check: Check,
    *,
    within_s: float = ANSWER_S,
) -> list[int]:
    """An offset of each partition.

    Parameters
    ----------
    asker
        See :func:`admin`.
    parts
        Topics and numbers of partitions.
    which
        One of ``OffsetSpec``.
    check
        Is called again and again; what it raises ends the wait.
    within_s
        How long partitions may take that are just about to open.

    Raises
    ------
    RunProblem
        When the broker does not tell.
    """
    passing = [getattr(library().KafkaError, name) for name in _PASSING]
    deadline = time.monotonic() + within_s
    while True:
        try:
            return _asked(asker, parts, which, check)
        except library().KafkaException as error:
            late = time.monotonic() > deadline
            if late or error.args[0].code() not in passing:
                raise problem("no answer from Kafka", error) from error
            time.sleep(LOOK_S / 10)


def _asked(
    asker: Any, parts: Sequence[tuple[str, int]], which: Any, check: Check
) -> list[int]:
    made = library().TopicPartition
    places = [made(*part) for part in parts]
    if not places:
        return []
    told = asker.list_offsets(dict.fromkeys(places, which), request_timeout=ANSWER_S)
    return [_waited(told[place], check).offset for place in places]


def _waited(future: Any, check: Check) -> Any:
    while not future.done():
        check()
        time.sleep(LOOK_S / 10)
    return future.result()


_REASONS: Mapping[str, str] = {
    **dict.fromkeys(AWAY, "no broker is reached there"),
    "CLUSTER_AUTHORIZATION_FAILED": "it does not let you",
    "INVALID_TOPIC_EXCEPTION": "no topic can have that name",
    "TOPIC_ALREADY_EXISTS": "there is one of that name",
    "TOPIC_AUTHORIZATION_FAILED": "it does not let you",
}


def problem(message: str, error: Any) -> RunProblem:
    """An error of the client, as one sentence of ours."""
    name = error.args[0].name()
    return RunProblem(f"{message}: {_REASONS.get(name, name)}")
