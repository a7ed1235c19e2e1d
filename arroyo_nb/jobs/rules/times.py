"""Rules about event time: watermarks, windows, and when they close."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlglot import exp

from arroyo_nb.catalog import DEFAULT_DELAY, ConnectorTable
from arroyo_nb.connectors import CONNECTORS, is_streamed
from arroyo_nb.jobs.rules.rule import Hit, LintedJob
from arroyo_nb.plan.expressions.intervals import in_words
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.idle_keys import ends
from arroyo_nb.plan.nodes import Hop, Node, Source, Tumble, WindowAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import DATE

_DAY = timedelta(days=1)
_OF_DAYS = frozenset(("date_part", "date_trunc", "to_char", "to_date"))


def no_watermark(job: LintedJob) -> Iterator[Hit]:
    """Windows go by a time that nobody chose.

    Without `WATERMARK FOR` a source has the time that its connector gives: that of the
    record, or of its arrival; and whatever is more than a second behind the newest row
    is late. On a recording that is harmless. On a live stream rows are lost, or they
    are counted in the window in which they happened to arrive.

    Declare the column that says when it happened, and how far behind it may be:
    `WATERMARK FOR at AS at - INTERVAL '1 minute'`.
    """
    for table in _windowed(job):
        clause = table.watermark
        if clause.column is None and clause.expression is None:
            named = CONNECTORS.get(table.connector).info.has_event_time
            time = "the time of the connector" if named else "the time of arrival"
            yield Hit(
                f"'{table.name}' has no WATERMARK: its windows go by {time}, "
                f"{in_words(DEFAULT_DELAY)} behind",
                job.declared(table),
            )


def idle_partitions(job: LintedJob) -> Iterator[Hit]:
    """A source that falls silent can hold all windows back.

    Windows close when the watermark has passed their end, and the watermark is that of
    the slowest source. A source without rows stops it: nothing more comes out, and
    state grows. On Arroyo that holds for every partition of a topic as well.

    See to it that each source has rows again and again, such as heartbeats, or give
    each its own job.
    """
    for window in job.of(WindowAggregate):
        sources = _sources(window)
        names = sorted({source.table.name for source in sources})
        if len(names) > 1:
            said = " and ".join(f"'{name}'" for name in names)
            yield Hit(f"its windows wait for the slowest of {said}", window.span)
        elif any(_is_topic_of_arroyo(source.table) for source in sources):
            yield Hit(
                f"on Arroyo, a partition of '{names[0]}' without records holds its "
                "windows back",
                window.span,
            )


def micro_batch_lateness(job: LintedJob) -> Iterator[Hit]:
    """Which rows are late depends on how rows are batched.

    Here the watermark moves between two micro-batches, so a row is never late for what
    stands beside it in its batch. A job with another trigger, more load, or on Arroyo,
    where the watermark moves with each batch of a source, finds others late: about
    those that are as far behind as the delay.

    Choose a delay that covers the rows that you need, with the histogram of the
    watermark view; then the batches make no difference.
    """
    for window in job.of(WindowAggregate):
        if window.assign is not None:
            said = "whether a row as old as the delay is late depends on its batch"
            yield Hit(said, window.span)


def flushed_at_end(job: LintedJob) -> Iterator[Hit]:
    """The last windows are there only because the source ends.

    When a bounded source ends, every open window is sent. A stream does not end: there
    a window comes out when a row that is later than its end and the delay has come,
    which in a quiet hour can take long.

    Expect the newest window to be missing; compare with what the notebook showed
    before its end.
    """
    for window in job.of(WindowAggregate):
        sources = _sources(window)
        if window.assign is not None and sources and all(map(ends, sources)):
            yield Hit("its last windows are sent as the source ends", window.span)


def time_zone(job: LintedJob) -> Iterator[Hit]:
    """Days and hours are those of UTC.

    Timestamps have no zone, here and on Arroyo: a day begins at midnight UTC, whatever
    the zone of the machine or of those who read the answer.

    Add the offset to the time before it is cut, as in
    `date_trunc('day', at + INTERVAL '1 hour')`, or say in the column's name that it is
    UTC.
    """
    for window in job.of(WindowAggregate):
        assign = window.assign
        if isinstance(assign, Tumble | Hop) and assign.width % _DAY == timedelta():
            yield Hit("its days begin at midnight UTC", window.span)
    for part in job.calls():
        is_call = isinstance(part, exp.Anonymous) and part.name in _OF_DAYS
        if is_call or (isinstance(part, exp.Cast) and type_of(part) == DATE):
            yield Hit("its days and hours are those of UTC", part.meta.get("span"))


def _windowed(job: LintedJob) -> list[ConnectorTable]:
    """The tables whose rows are put into windows."""
    sources = (s for window in job.of(WindowAggregate) for s in _sources(window))
    return list({source.table.name: source.table for source in sources}.values())


def _sources(node: Node) -> list[Source]:
    return [below for below in walk(node) if isinstance(below, Source)]


def _is_topic_of_arroyo(table: ConnectorTable) -> bool:
    name = table.connector
    return is_streamed(name) and CONNECTORS.get(name).info.in_arroyo
