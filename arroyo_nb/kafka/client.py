"""librdkafka's clients: every admin client, consumer and producer is made here.

No other module imports ``confluent_kafka``: it is an optional package, which is
imported when the first client is needed. A client gets its settings in this order, a
later one wins: what is common to all (:data:`BASE`), what its role needs, those of the
table (:class:`arroyo_nb.kafka.config.Access`), and what correctness rests on.

Spark's Python workers load this module, so it loads neither the planner nor pyspark.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.kafka.errors import ErrorSubject, missing_client, refused_settings

if TYPE_CHECKING:
    from arroyo_nb.kafka.config import Access

BASE: Mapping[str, Any] = {
    # It would write to the kernel's standard error each time that it cannot connect.
    "log_level": 0,
    # By default ten seconds: a broker that is back is found sooner.
    "reconnect.backoff.max.ms": 1000,
}
"""Settings of every client, before those of the table."""

CONSUMER: Mapping[str, Any] = {
    # A run keeps its offsets in its checkpoint, and a look at a topic must leave no
    # trace: no client of ours commits by itself.
    "enable.auto.commit": False,
    # Records that retention has deleted are an error, never skipped in silence.
    "auto.offset.reset": "error",
}
"""Settings of every consumer, which a table cannot change."""

PRODUCER: Mapping[str, Any] = {
    # The partition of a key is that of Java's clients, and so of Spark's sink.
    "partitioner": "murmur2_random",
    # A record that is sent again comes once, and in its order.
    "enable.idempotence": True,
}
"""Settings of every producer, before those of the table."""

BUFFER_FULL_S = 0.1
"""How long a sender waits before it tries again, where the client's buffer is full."""

ANY_PARTITION, NOW = -1, 0
"""The client's values for a record without a partition, and without a time."""

NO_OFFSET = -1001
"""The client's value for a group that has no offset."""

ProducedRecord: TypeAlias = "tuple[bytes | None, Any, int, int]"
"""The value, key, partition and time in milliseconds of a record."""

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())


def library(module: str = "confluent_kafka") -> Any:
    """The client's package, or a module of it, imported when it is first needed.

    Raises
    ------
    RunProblem
        When it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise missing_client() from None


def admin_client(
    access: Access, subject: ErrorSubject, on_error: Callable[[Any], None]
) -> Any:
    """A client that asks about topics and creates them.

    Parameters
    ----------
    access
        How the brokers are reached.
    subject
        What errors are about.
    on_error
        Is given each error of a connection, when the client is polled. A method would
        keep its object alive as long as the client.

    Raises
    ------
    RunProblem
        When the package is not installed, or the client refuses its settings.
    """
    kind = library("confluent_kafka.admin").AdminClient
    settings = {**BASE, **access.for_librdkafka(), "error_cb": on_error}
    return _make_client(kind, settings, access, subject)


@contextmanager
def consumer(
    access: Access, subject: ErrorSubject, group: str, settings: Mapping[str, Any]
) -> Iterator[Any]:
    """A client that reads partitions or the offsets of a group; it joins no group.

    Parameters
    ----------
    access, subject
        As of :func:`admin_client`.
    group
        The group that it names. librdkafka demands one.
    settings
        Further ones, such as the isolation level; they win over those of the table.
    """
    own = {**CONSUMER, **settings, "group.id": group}
    kind = library().Consumer
    client = _make_client(
        kind, {**BASE, **access.for_librdkafka(), **own}, access, subject
    )
    try:
        yield client
    finally:
        client.close()


def producer(access: Access, subject: ErrorSubject, settings: Mapping[str, Any]) -> Any:
    """A client that sends; it connects by itself.

    Parameters
    ----------
    access, subject
        As of :func:`admin_client`.
    settings
        Those of its role; the table's win over them.
    """
    given = {**BASE, **PRODUCER, **settings, **access.for_librdkafka()}
    return _make_client(library().Producer, given, access, subject)


def _make_client(
    kind: Callable[..., Any],
    settings: Mapping[str, Any],
    access: Access,
    subject: ErrorSubject,
) -> Any:
    kafka_exception = library().KafkaException
    try:
        return kind(settings, logger=_log)
    except (kafka_exception, TypeError, ValueError) as error:
        raise refused_settings(subject, access.for_librdkafka(), error) from None


def committed(client: Any, places: Sequence[Any], within_s: float) -> Sequence[Any]:
    """The offsets that the group of a consumer has committed.

    A broker may answer and still fail for one partition. That answer has no offset
    either, and would read like a group that has committed nothing: it is raised.
    """
    found: Sequence[Any] = client.committed(places, within_s)
    for each in found:
        if each.error is not None:
            raise library().KafkaException(each.error)
    return found


def produce(
    client: Any,
    topic: str,
    records: Iterable[ProducedRecord],
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Hand records to a producer, which sends them in the background.

    Parameters
    ----------
    is_stopped
        Asked while the client's buffer is full: whether to wait for it no longer.
    """
    send = client.produce
    for value, key, partition, at_ms in records:
        while True:
            try:
                send(topic, value, key, partition, timestamp=at_ms)
            except BufferError:
                if is_stopped():
                    return
                client.poll(BUFFER_FULL_S)
            else:
                break
    client.poll(0)
