"""Late rows by the micro-batch that they came with and the window that they missed.

They are told by the panes of a trace, so by exact counts and without their values,
which :mod:`arroyo_nb.run.observe.late_table` reads again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.snapshot import LateRows
from arroyo_nb.schema import EPOCH, MICROSECOND

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

    A row of a hop that missed several windows is told once, with the last of them. Of
    sessions, which end when their rows say, it is the session that the row alone would
    have made, by the piece of time that it lies in.

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
            end = start + gap
            # Spark's session of a row ends a microsecond before its gap does.
            return (start, end) if end - MICROSECOND <= mark else None


def _fixed(
    slide: timedelta, width: timedelta, start: datetime, mark: datetime
) -> tuple[datetime, datetime] | None:
    # A window holds the pane where it begins after (start - width) and up to start.
    newest = min(start, mark - width)
    first = EPOCH + (newest - EPOCH) // slide * slide
    return (first, first + width) if first > start - width else None
