"""Late rows by the micro-batch that they came with and the window that they missed.

They are told by the panes of a trace, so by exact counts and without their values,
which :mod:`arroyo_nb.run.observe.late_table` reads again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.snapshot import LateRows
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

if TYPE_CHECKING:
    from arroyo_nb.run.observe.trace import TracedBatch

MOST_LATE = 500
"""Windows with late rows that are listed, the newest ones."""


def closed_in(batches: Sequence[TracedBatch], end: datetime) -> int | None:
    """The batch whose watermark closed the windows that end at a time (aware)."""
    at = bisect_left(batches, end, key=lambda batch: batch.watermark or EPOCH)
    return batches[at].batch_id if at < len(batches) else None


def late_rows(
    window: nodes.Window, batch: TracedBatch, closing: Sequence[TracedBatch]
) -> Iterator[LateRows]:
    """The late rows of a batch, oldest window first.

    A row of a hop that missed several windows is told once, with the last of them. A
    late row belongs to no session: what is told of it is its event time, where that of
    each row of the batch is known, else the piece of time that it lies in.

    Parameters
    ----------
    window
        What the rows are put into.
    batch
        What came.
    closing
        The batches up to this one, by which windows were closed.
    """
    mark = batch.late_watermark
    if mark <= EPOCH:
        return
    if isinstance(window, nodes.SessionWindow):
        yield from _late_for_sessions(window, batch)
        return
    for start, rows in sorted(batch.pane_rows.items()):
        missed = last_missed(window, start, mark)
        if missed is not None:
            begin, end = missed
            yield LateRows(
                batch.batch_id,
                batch.elapsed_s,
                _naive(begin),
                _naive(end),
                _naive(mark),
                rows,
                closed_in(closing, end),
            )


def _late_for_sessions(
    window: nodes.SessionWindow, batch: TracedBatch
) -> Iterator[LateRows]:
    piece, mark = pane(window), batch.late_watermark
    known = batch.times_by_pane(piece)
    for start, rows in sorted(batch.pane_rows.items()):
        times = known.get(start) or (start,)
        late = [time for time in times if is_late_for_sessions(time, window.gap, mark)]
        if not late:
            continue
        end = late[-1] + MICROSECOND if known else start + piece
        yield LateRows(
            batch.batch_id,
            batch.elapsed_s,
            _naive(late[0]),
            _naive(end),
            _naive(mark),
            len(late) if known else rows,
            gap=window.gap,
        )


def late_in_results(inputs: Iterable[tuple[nodes.Node, int]]) -> int:
    """How many rows were late, each once: the same rows may come into several windows.

    Parameters
    ----------
    inputs
        What comes into each window aggregate of a run, and how many of it were late.
    """
    most: list[tuple[list[object], int]] = []
    for node, late in inputs:
        rows = [_which_rows(below) for below in walk(node)]
        rows = [each for each in rows if each is not None]
        before = next((i for i, (same, _) in enumerate(most) if same == rows), None)
        if before is None:
            most.append((rows, late))
        else:
            # Windows differ in which rows they miss; the most that one of them did
            # cannot be too many.
            most[before] = rows, max(most[before][1], late)
    return sum(late for _, late in most)


def _which_rows(node: nodes.Node) -> object:
    """What a node of a plan says about which rows come; None: nothing."""
    match node:
        case nodes.Project() | nodes.Watermark():
            return None
        case nodes.Source():
            return node.table.name
        case nodes.Filter():
            return node.predicate
        case _:
            return node


def is_late_for_sessions(time: datetime, gap: timedelta, mark: datetime) -> bool:
    """Whether a row of an event time is dropped at a watermark, whichever sessions are
    open.

    >>> ten, second = datetime(2013, 1, 1, 10), timedelta(seconds=1)
    >>> is_late_for_sessions(ten, 8 * second, ten + 7 * second)
    False
    >>> is_late_for_sessions(ten, 8 * second, ten + 8 * second)
    True
    """
    # Spark's session of a row ends a microsecond before its gap does.
    return time + gap - MICROSECOND <= mark


def _naive(instant: datetime) -> datetime:
    return instant.replace(tzinfo=None)


def last_missed(
    window: nodes.Window, start: datetime, mark: datetime
) -> tuple[datetime, datetime] | None:
    """The last window of a pane that the watermark had closed; None: it missed none.

    Parameters
    ----------
    window
        What its rows are put into.
    start
        Of the pane.
    mark
        The watermark at their arrival.
    """
    match window:
        case nodes.Tumble(width):
            return _fixed(width, width, start, mark)
        case nodes.Hop(slide, width):
            return _fixed(slide, width, start, mark)
        case nodes.SessionWindow(gap):
            late = is_late_for_sessions(start, gap, mark)
            return (start, start + gap) if late else None


def _fixed(
    slide: timedelta, width: timedelta, start: datetime, mark: datetime
) -> tuple[datetime, datetime] | None:
    # A window holds the pane where it begins after (start - width) and up to start.
    newest = min(start, mark - width)
    first = EPOCH + (newest - EPOCH) // slide * slide
    return (first, first + width) if first > start - width else None
