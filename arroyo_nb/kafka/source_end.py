"""The end of a topic for a query that reads it, which Spark's source has no option for.

The source can be given an end: its trigger ``availableNow`` does, to all sources of a
query at once, so that it suits no query that reads something else beside the topic.
Here each topic of a query gets its end by the same means::

    hold -> the batch that was planned has been read -> fix_end

Between the two nothing of the topic is planned. An end that is fixed while a batch is
planned beyond it is an error to Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.connectors import Offsets

_TOPIC = re.compile(
    r"KafkaV2\[(?:Subscribe\[(?P<whole>.*)\]|Assign\[(?P<parts>[^,]+)-\d+(?:,.*)?\])\]"
)
"""How Spark describes a source that reads all partitions of a topic, or some."""

_LIMITS = "org.apache.spark.sql.connector.read.streaming.ReadLimit"

_FIXED = "allDataForTriggerAvailableNow"
"""Where Spark's ``KafkaMicroBatchStream`` keeps its end."""


def topic_of(description: str) -> str | None:
    """The topic that one of Spark's sources reads; None: it reads none.

    >>> topic_of("KafkaV2[Subscribe[clicks]]")
    'clicks'
    >>> topic_of("KafkaV2[Assign[clicks-0, clicks-1]]")
    'clicks'
    """
    name = _TOPIC.fullmatch(description)
    return None if name is None else name["whole"] or name["parts"]


def hold(query: StreamingQuery, topic: str) -> bool:
    """Plan no more records of a topic; False: the query has no sources yet."""
    return limit(query, topic, 0)


def fix_end(query: StreamingQuery, topic: str, end: Offsets | None, most: int) -> None:
    """Plan records again, those before an end.

    Parameters
    ----------
    query
        It is held, and what was planned of the topic before has been read.
    topic
        Its name.
    end
        Where each partition ends that is read; None: where it does now.
    most
        How many records a batch may read.
    """
    for source in _sources(query, topic):
        if end is not None:
            written = json.dumps({topic: {str(n): at for n, at in end.items()}})
            fixed = source.deserializeOffset(written).partitionToOffsets()
            # The field is private, and no method sets it to offsets of ours.
            field = source.getClass().getDeclaredField(_FIXED)
            field.setAccessible(True)
            field.set(source, fixed)
        # From here on Spark plans up to the end in that field; an empty one it fills
        # with where the topic ends.
        source.prepareForTriggerAvailableNow()
    limit(query, topic, most)


def limit(query: StreamingQuery, topic: str, most: int) -> bool:
    """Let the batches to come read so many records of a topic; False: the query has no
    sources yet."""
    from py4j.java_gateway import JavaClass

    wrapper: Any = query._jsq
    execution = wrapper.streamingQuery()
    rows = JavaClass(_LIMITS, wrapper._gateway_client).maxRows(most)
    # Spark reads the limits of its sources anew for each batch that it plans.
    limits, sources = execution.uniqueSources(), list(_sources(query, topic))
    for source in sources:
        limits = limits.updated(source, rows)
    if sources:
        # Scala's setter: its name is none that Python could write.
        getattr(execution, "uniqueSources_$eq")(limits)
    return bool(sources)


def release(query: StreamingQuery, topic: str) -> None:
    """Free a thread that waits for the brokers of a topic, or closes its client of
    them: the client gives up its requests at once."""
    from py4j.java_gateway import JavaClass

    wrapper: Any = query._jsq
    at_once = JavaClass("java.time.Duration", wrapper._gateway_client).ZERO
    for source in _sources(query, topic):
        client = source.kafkaOffsetReader()._admin()
        if client is not None:
            client.close(at_once)


def _sources(query: StreamingQuery, topic: str) -> Iterator[Any]:
    """The sources of a query that read a topic; none before it has begun."""
    wrapper: Any = query._jsq
    sources = wrapper.streamingQuery().uniqueSources().keysIterator()
    while sources.hasNext():
        source = sources.next()
        if topic_of(source.toString()) == topic:
            yield source
