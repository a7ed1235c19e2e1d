"""Kafka's client for Python, as this project uses it: quiet, and never for ever."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from arroyo_nb.errors import RunProblem

ANSWER_S = 5.0
"""How long a broker may take to answer."""


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
    servers: str, name: str, partitions: int, config: Mapping[str, str]
) -> None:
    """Make a topic of one copy.

    Raises
    ------
    RunProblem
        When the broker refuses, as where there is one of that name.
    """
    new_topic = library("confluent_kafka.admin").NewTopic
    wanted = new_topic(name, partitions, 1, config=dict(config))
    asker = admin(servers)  # what it was asked ends with it
    made = asker.create_topics([wanted], request_timeout=ANSWER_S)
    try:
        made[name].result(2 * ANSWER_S)
    except library().KafkaException as error:
        raise problem(f"cannot make the topic '{name}'", error) from error


def problem(message: str, error: Any) -> RunProblem:
    """An error of the client, as one sentence."""
    return RunProblem(f"{message}: {error.args[0].str()}")
