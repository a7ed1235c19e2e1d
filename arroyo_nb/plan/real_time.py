"""Whether Spark's real-time mode can run a query, and why not.

In that mode (``trigger(realTime=...)``) a record takes milliseconds from topic to
topic, as all stages run at once and hand on rows one by one. Spark 4.3 has it for what
it lists by name (``RealTimeModeAllowlist``): from Kafka to its own sink for Kafka,
without what hands rows to Python, where they would wait until a batch of them is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem, raise_all
from arroyo_nb.formats import FRAMING, payload_format
from arroyo_nb.plan.expressions.functions import in_datafusion
from arroyo_nb.plan.nodes import (
    LookupJoin,
    Node,
    Sink,
    Source,
    Stateful,
    WindowJoin,
)
from arroyo_nb.plan.nodes import WindowAggregate as Windowed
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.user_functions import calls_of
from arroyo_nb.plan.verify import expressions
from arroyo_nb.sql.syntax_tree import parts_of

_TRANSACTIONS = ("sink.commit_mode", "exactly_once")
_TIME = "sink.timestamp_field"


def real_time_note(sink: Sink) -> str | None:
    """One line about it; None of a query that has nothing to do with topics."""
    sources = [node for node in walk(sink) if isinstance(node, Source)]
    if not _is_topic(sink) and not any(map(_is_topic, sources)):
        return None
    return _refusal(sink) or (
        f"{_what(sink)} can run in Spark's real-time mode, which takes a task slot for "
        "each partition: `real_time: true` among the options of a job"
    )


def check_real_time(sinks: Iterable[Sink]) -> None:
    """Refuse queries that cannot be run in real-time mode.

    Raises
    ------
    RunProblem
        With every reason, of each.
    """
    found = ((sink.span, _refusal(sink)) for sink in sinks)
    raise_all([RunProblem(said, span=span) for span, said in found if said])


def _refusal(sink: Sink) -> str | None:
    reasons = dict.fromkeys(_reasons(sink))
    if not reasons:
        return None
    return f"{_what(sink)} cannot run in Spark's real-time mode: {'; '.join(reasons)}"


def _what(sink: Sink) -> str:
    return "this SELECT" if sink.table is None else f"'{sink.name}'"


def _reasons(sink: Sink) -> Iterator[str]:
    for node in walk(sink):
        if isinstance(node, Source):
            yield from _of_source(node)
    yield from _of_sink(sink)
    yield from filter(None, map(_of_operator, walk(sink)))


def _is_topic(node: Sink | Source) -> bool:
    table = node.table
    return table is not None and CONNECTORS.get(table.connector).info.real_time


def _of_source(source: Source) -> Iterator[str]:
    table, spec = source.table, source.table.spec
    if not _is_topic(source):
        yield f"'{table.name}' is not a topic"
        return
    if FRAMING.name in spec.options:
        yield f"the messages of '{table.name}' are split in Python"
        return
    format_ = payload_format(str(table.format))
    decoder = format_.sql_decoder(spec.record, spec.options, spec.event_time)
    if isinstance(decoder, str):
        yield f"the records of '{table.name}' are decoded in Python: {decoder}"


def _of_sink(sink: Sink) -> Iterator[str]:
    if sink.table is None:
        yield "its rows are previewed"
    elif not _is_topic(sink):
        yield f"'{sink.table.name}' is not a topic"
    elif _TRANSACTIONS in sink.table.spec.options.items():
        yield f"'{sink.table.name}' is written in transactions"
    elif payload_format(str(sink.table.format)).encoded_in_python:
        yield f"the records of '{sink.table.name}' are encoded in Python"
    elif _TIME in sink.table.spec.options:
        yield f"the records of '{sink.table.name}' have a time of their own"


def _of_operator(node: Node) -> str | None:
    if isinstance(node, Stateful | Windowed | WindowJoin):
        return f"{type(node).__name__} keeps state"
    if isinstance(node, LookupJoin):
        return f"'{node.table.name}' is looked up"
    if (call := next(calls_of(node), None)) is not None:
        return f"{call.name}() is a UDF, which Python calls"
    for _, expression in expressions(node):
        if any(map(in_datafusion, parts_of(expression))):
            return f"DataFusion evaluates {expression.sql()}, in Python"
    return None
