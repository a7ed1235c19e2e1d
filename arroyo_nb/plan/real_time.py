"""Whether Spark's real-time mode could run a query, and why not.

In that mode (``trigger(realTime=...)``) a record takes milliseconds from topic to
topic, as all stages run at once and hand on rows one by one. Spark 4.3 has it for what
it lists by name (``RealTimeModeAllowlist``): from Kafka to its own sink for Kafka,
without what hands rows to Python, where they would wait until a batch of them is full.
"""

from __future__ import annotations

from collections.abc import Iterator

from arroyo_nb.connectors import is_streamed
from arroyo_nb.plan.nodes import LookupJoin, Node, Sink, Source, Stateful
from arroyo_nb.plan.nodes import WindowAggregate as Windowed
from arroyo_nb.plan.tree import walk

_TRANSACTIONS = ("sink.commit_mode", "exactly_once")


def real_time(sink: Sink) -> str | None:
    """One line about it; None of a query that has nothing to do with topics."""
    nodes = list(walk(sink))
    sources = [node for node in nodes if isinstance(node, Source)]
    if not _is_topic(sink) and not any(map(_is_topic, sources)):
        return None
    reasons = dict.fromkeys((*_ends(sink, sources), *filter(None, map(_reason, nodes))))
    return (
        f"'{sink.name}' cannot run in Spark's real-time mode, which takes a task slot "
        f"for each partition: {'; '.join(reasons)}"
    )


def _is_topic(node: Sink | Source) -> bool:
    return node.table is not None and is_streamed(node.table.connector)


def _ends(sink: Sink, sources: list[Source]) -> Iterator[str]:
    """What is wrong with where rows come from and go to."""
    for source in sources:
        if not _is_topic(source):
            yield f"'{source.table.name}' is not a topic"
        else:
            yield f"the records of '{source.table.name}' are decoded in Python"
    if sink.table is None:
        yield "its rows are previewed"
    elif not _is_topic(sink):
        yield f"'{sink.table.name}' is not a topic"
    elif _TRANSACTIONS in sink.table.spec.options.items():
        yield f"'{sink.table.name}' is written in transactions"


def _reason(node: Node) -> str | None:
    """What is wrong with an operator."""
    if isinstance(node, Stateful | Windowed):
        return f"{type(node).__name__} keeps state"
    if isinstance(node, LookupJoin):
        return f"'{node.table.name}' is looked up"
    return None
