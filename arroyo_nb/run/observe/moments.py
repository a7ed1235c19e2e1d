"""A run as it was after each of its micro-batches.

The state of its windows is made by counting the traced batches again, up to the one
that is asked for; its rows are those that it keeps, up to that batch. Nothing is asked
of Spark, so a run that has ended, or whose trace was loaded from a file, can be looked
at as one that goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.arrival_moments import arrivals_of, snapshot_within
from arroyo_nb.run.observe.idle_sources import periods_until
from arroyo_nb.run.observe.plan_steps import without_counts
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    Moment,
    RunState,
    Snapshot,
    SourceProgress,
)
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.run.option_values import utc_time

if TYPE_CHECKING:
    from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
    from arroyo_nb.run.observe.row_trace import TracedArrivals
    from arroyo_nb.run.results.preview import Preview


@dataclass(frozen=True)
class TracedWindow:
    """The windows of an output, and what was put into them.

    Parameters
    ----------
    window
        What rows are put into.
    has_key
        Whether they are grouped by something else, too.
    batches
        What came, batch by batch.
    delay
        What the watermark subtracts; None: that is not one length.
    """

    window: nodes.Window
    has_key: bool
    batches: Sequence[TracedBatch]
    delay: timedelta | None = None


@dataclass(frozen=True)
class OutputTrace:
    """What is recorded of one output.

    Parameters
    ----------
    totals
        What had been counted after each batch.
    window
        Its first window aggregate; None: it has none, or was not traced.
    preview
        The rows that it keeps; None: none are.
    sources_at
        The sources, as they had been read after a batch.
    rows_read
        What each batch has read, where there is no window.
    """

    totals: BatchLog
    window: TracedWindow | None
    preview: Preview | None
    sources_at: Callable[[BatchTotals], tuple[SourceProgress, ...]]
    rows_read: Sequence[TracedArrivals] = ()


class Moments:
    """The batches of one output of a run, each as a snapshot.

    One is used by one thread at a time: it remembers where it was, so that going
    forward costs what the batches between have.

    Attributes
    ----------
    trace
        What it is made of.
    """

    def __init__(self, trace: OutputTrace) -> None:
        self.trace = trace
        self._counts: Trace | None = None
        self._counted = 0
        self._times: list[tuple[int, float]] = []

    @property
    def first(self) -> int:
        """The first batch that can be shown; -1: there is none yet."""
        totals = self.trace.totals
        return totals[0].batch_id if totals else -1

    @property
    def last(self) -> int:
        """The last one."""
        totals = self.trace.totals
        return totals[-1].batch_id if totals else -1

    @property
    def times(self) -> Sequence[tuple[int, float]]:
        """Each recorded batch, and the seconds since the start at which it ended."""
        totals = self.trace.totals
        for known in totals.since(len(self._times)):
            self._times.append((known.batch_id, known.elapsed_s))
        return self._times

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        """The run as it was after a batch.

        Parameters
        ----------
        newest
            A snapshot of now, for what does not change.
        batch_id
            The batch; one that had no progress of its own is the one before it.
        rows
            How many of the newest result rows to include.
        """
        totals = self.trace.totals.before_or_at(batch_id)
        if totals is None:
            raise RunProblem("no micro-batch has ended yet")
        trace, at = self.trace, totals.batch_id
        moment = Moment(at, self.first, self.last, is_newest=False)
        made = replace(
            newest,
            state=RunState.RUNNING,
            note="",
            error=None,
            elapsed_s=totals.elapsed_s,
            rows_out=totals.rows_out,
            output_rows=totals.rows_out,
            late_rows=totals.late_rows,
            late_results=0,  # these are of this output alone
            batch_id=at,
            batch_ms=totals.batch_ms,
            watermark=totals.watermark,
            max_event_time=totals.max_event_time,
            open_sessions=totals.open_sessions,
            closed_sessions=totals.closed_sessions,
            history=tuple(p for p in newest.history if p.batch_id <= at),
            arrivals=tuple(a for a in newest.arrivals if a.batch_id <= at),
            sources=trace.sources_at(totals),
            # What operators had put out and kept then is not recorded.
            plan=tuple(without_counts(newest.plan)),
            hints=(),
            output_counts=(),
            silent_s=0.0,
            idle_periods=periods_until(newest.idle_periods, at),
            moment=moment,
        )
        made = self._with_windows(made, at)
        made = replace(
            made,
            rows_in=sum(
                max(0, s.rows - totals.dropped_rows.get(s.name, 0))
                for s in made.sources
                if not s.looked_up
            ),
            rows_per_s=self._rows_per_s(totals),
        )
        return made if trace.preview is None else self._with_rows(made, totals, rows)

    def arrivals(self, batch_id: int) -> BatchArrivals | None:
        """The sampled rows of a batch; None: it had none, or is not recorded."""
        return arrivals_of(self.trace, batch_id)

    def within(
        self, newest: Snapshot, batch_id: int, taken: int, rows: int
    ) -> Snapshot:
        """The run after some of the rows of a batch: see
        :func:`~arroyo_nb.run.observe.arrival_moments.snapshot_within`."""
        return snapshot_within(self, newest, batch_id, taken, rows)

    def _rows_per_s(self, totals: BatchTotals) -> float:
        return totals.rows_in / max(totals.elapsed_s, 1e-3)

    def _with_windows(self, snapshot: Snapshot, batch_id: int) -> Snapshot:
        traced = self.trace.window
        if traced is None:
            return snapshot
        counts = self._counts_at(traced, batch_id)
        return replace(
            snapshot,
            windows=counts.windows(),
            density=counts.density() if traced.has_key else (),
            windows_cut=counts.forgotten,
            late=counts.late,
            lateness=counts.lateness,
        )

    def _counts_at(self, traced: TracedWindow, batch_id: int) -> Trace:
        batches = traced.batches
        done = self._counted
        if self._counts is None or (done and batches[done - 1].batch_id > batch_id):
            self._counts, self._counted = Trace(traced.window, traced.delay), 0
        for batch in batches[self._counted :]:
            if batch.batch_id > batch_id:
                break
            self._counts.add(batch)
            self._counted += 1
        return self._counts

    def _with_rows(
        self, snapshot: Snapshot, totals: BatchTotals, rows: int
    ) -> Snapshot:
        assert self.trace.preview is not None
        shown = self.trace.preview.state_at(totals.batch_id, totals.rows_out)
        rows_of_batch = shown.pictured(rows)
        return replace(
            snapshot,
            rows=rows_of_batch.rows,
            row_keys=rows_of_batch.row_keys,
            changes=rows_of_batch.changes,
            histories=rows_of_batch.histories,
            result_rows=shown.result_rows,
            rows_kept=shown.kept_rows,
            rows_cut=shown.cut_rows,
            cut_text=shown.cut_text,
        )

    def find(
        self, batch_id: int | None = None, watermark: datetime | str | None = None
    ) -> BatchTotals:
        """The totals after a batch, or after the first one whose watermark had reached
        a time.

        Parameters
        ----------
        batch_id
            Its number.
        watermark
            A time, as text in UTC where it has no zone.

        Raises
        ------
        RunProblem
            When neither or both are given, or there is no such batch.
        """
        if (batch_id is None) == (watermark is None):
            raise RunProblem(
                "name a micro-batch or a watermark",
                hint="at(batch=3) or at(watermark='2013-02-08 12:00')",
            )
        if watermark is not None:
            return self._at_watermark(instant(watermark))
        if not isinstance(batch_id, int):
            raise RunProblem(
                f"'{batch_id}' is no micro-batch", hint="they are numbered: at(batch=3)"
            )
        found = self.trace.totals.of_batch(batch_id)
        if found is None:
            known = f"{self.first} to {self.last}" if self.last >= 0 else "none yet"
            raise RunProblem(
                f"micro-batch {batch_id} is not recorded",
                hint=f"recorded are: {known}",
            )
        return found

    def _at_watermark(self, watermark: datetime) -> BatchTotals:
        totals = self.trace.totals
        found = totals.first_with(watermark)
        if found is None:
            newest = totals[-1].watermark if totals else None
            raise RunProblem(
                f"the watermark has not reached {watermark}",
                hint=f"it is at {newest}" if newest else "there is no watermark yet",
            )
        return found


def instant(value: datetime | str) -> datetime:
    """A time as naive UTC.

    Raises
    ------
    RunProblem
        When the text is no time.

    >>> instant("2013-02-08T12:00:00+02:00")
    datetime.datetime(2013, 2, 8, 10, 0)
    """
    text = value.strip() if isinstance(value, str) else value
    return utc_time(text, "write it as '2013-02-08 12:00:00'")
