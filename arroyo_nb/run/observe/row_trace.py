"""The rows that a query without a window has read, batch by batch: a bounded sample of
each table, with exact counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from arroyo_nb.run.observe.history import History
from arroyo_nb.run.observe.sampled_rows import ValuesBudget
from arroyo_nb.run.observe.snapshot import BatchArrivals, SourceArrivals
from arroyo_nb.run.observe.trace import TRACE_BATCHES, pictured
from arroyo_nb.spark.table_rows import read_rows


@dataclass(frozen=True)
class TracedArrivals:
    """What one micro-batch has read.

    Parameters
    ----------
    batch_id
        Spark's.
    elapsed_s
        Since the run started, when its progress was seen.
    late_watermark
        The watermark at their arrival, else the epoch. That of the batch itself: where
        no window is, nothing is dropped by the one of the batch before.
    sources
        How many rows of each table, and how many of these are in the sample.
    sample_us
        The sample of each table after that of the one before, in microseconds since the
        epoch.
    sample_values
        The key and the first values of each row of the sample, a line of JSON; nothing
        where they are not known.
    """

    batch_id: int
    elapsed_s: float
    late_watermark: datetime
    sources: tuple[SourceArrivals, ...]
    sample_us: Sequence[int]
    sample_values: Sequence[str] = ()

    @property
    def arrivals(self) -> BatchArrivals:
        """What a picture shows of its rows."""
        return pictured(
            self.batch_id,
            self.elapsed_s,
            sum(source.rows for source in self.sources),
            sample_us=self.sample_us,
            sample_values=self.sample_values,
            late_watermark=self.late_watermark,
            sources=self.sources,
        )


class RowTrace:
    """The batches of one query that had rows; appended by one thread, read by any.

    Parameters
    ----------
    names
        Of the tables, in the order of
        :func:`arroyo_nb.spark.table_rows.observed_tables`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._batches: list[TracedArrivals] = []
        self._arrivals: History[BatchArrivals] = History()
        self._values = ValuesBudget()

    @property
    def record(self) -> Sequence[TracedArrivals]:
        """What is recorded, and will be: it grows up to
        :data:`~arroyo_nb.run.observe.trace.TRACE_BATCHES`."""
        return self._batches

    @property
    def arrivals(self) -> tuple[BatchArrivals, ...]:
        """Samples of the rows by batch, evenly thinned, the newest one among them."""
        return self._arrivals.points

    def add(
        self,
        batch_id: int,
        elapsed_s: float,
        late_watermark: datetime,
        observed: Mapping[str, Any],
    ) -> None:
        """Record what a batch has observed; one without rows leaves nothing."""
        sources, sample = [], array("q")
        values: list[str] = []
        for number, name in enumerate(self._names):
            found = read_rows(observed, number)
            if found.rows:
                drawn = len(found.sample_us)
                sources.append(SourceArrivals(name, found.rows, drawn))
                sample.extend(found.sample_us)
                # Of each row there is a line, empty where nothing is known of it.
                values += found.sample_values or [""] * drawn
        if not sources:
            return
        batch = TracedArrivals(
            batch_id, elapsed_s, late_watermark, tuple(sources), sample, values
        )
        self._arrivals.add(batch.arrivals)
        if len(self._batches) < TRACE_BATCHES:
            kept = self._values.kept(values)
            self._batches.append(replace(batch, sample_values=kept))
