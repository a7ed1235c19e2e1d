"""What all that sends records has in common: a sink's tasks, and emissions.

A worker loads this module, so it loads no planner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from arroyo_nb.errors import RunProblem

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())

FULL_S = 0.1
"""How long who sends waits before it tries again to hand on a record, where the client
has as many as it holds."""

ANY_PARTITION, NOW = -1, 0
"""The client's words for a record that says no partition, and no time."""

CLIENT: Mapping[str, Any] = {
    "log_level": 0,
    # By default ten seconds: a broker that is back is found sooner.
    "reconnect.backoff.max.ms": 1000,
}
"""Settings of each client, before those of the table."""

PRODUCER: Mapping[str, Any] = {
    **CLIENT,
    # The partition of a key is that of Java's clients, and so of Spark's sink.
    "partitioner": "murmur2_random",
    # Nothing comes twice, and nothing before what was sent before it.
    "enable.idempotence": True,
}
"""Those of each producer."""

AWAY = frozenset(("_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_TRANSPORT"))
"""What the client says while it finds no broker; it gets over that by itself."""

_NAME = re.compile(r"\w+(?:\.\w+)*")

Sent: TypeAlias = "tuple[bytes | None, Any, int, int]"
"""The value, key, partition and time in milliseconds of a record."""


class ErrorMessage(NamedTuple):
    """What is told of errors of the client, by their names. The sentence may name what
    it is filled with."""

    errors: Collection[str]
    sentence: str
    hint: str


def told(
    words: Iterable[ErrorMessage], error: Any, otherwise: str, **filled: str
) -> RunProblem:
    """An error of the client, in our words: its own may have what is secret, or change.

    Parameters
    ----------
    words
        What is told; the first that knows the error.
    error
        The client's.
    otherwise
        What is told where none does; the error's name, by which one finds out more,
        stands behind it.
    filled
        What sentences are filled with.
    """
    for each in words:
        if error.name() in each.errors:
            return RunProblem(each.sentence.format(**filled), hint=each.hint)
    return RunProblem(f"{otherwise.format(**filled)}: {error.name()}")


def producer(whose: str, given: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """A client that sends; it connects by itself.

    Parameters
    ----------
    whose
        What errors call what is written.
    given
        The settings of the table, which come before ``own``.
    own
        Those that are ours.

    Raises
    ------
    RunProblem
        When the client refuses its settings. Their values are not told.
    """
    from confluent_kafka import KafkaException, Producer

    try:
        return Producer({**own, **given}, logger=_log)
    except (KafkaException, TypeError, ValueError) as problem:
        raise refused_settings(whose, given, problem) from None


def refused_settings(
    whose: str, given: Mapping[str, Any], problem: Exception
) -> RunProblem:
    """That a client refuses its settings: which, where it says so. Its own words may
    have their values, which may be secret."""
    words = set(_NAME.findall(str(problem)))
    blamed = ", ".join(name for name in given if name in words)
    return RunProblem(
        f"the client of {whose} refuses its settings{blamed and f': {blamed}'}",
        hint="look at 'client_configs'",
    )


def put(
    producer: Any,
    topic: str,
    records: Iterable[Sent],
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Hand records to the client, which sends them in the background.

    Parameters
    ----------
    stopped
        Asked while the client has no room: whether to wait for it no longer.
    """
    produce = producer.produce
    for value, key, partition, at_ms in records:
        while True:
            try:
                produce(topic, value, key, partition, timestamp=at_ms)
            except BufferError:
                if stopped():
                    return
                producer.poll(FULL_S)
            else:
                break
    producer.poll(0)
