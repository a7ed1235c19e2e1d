"""How many records of a topic a micro-batch reads: few at first, then what it can in a
bounded time.

A batch that was planned comes again, the same, after a kill. So one may be no larger
than what is committed soon after a start, on this machine with what else it does; and
the first one after each start is small. A quick machine reads the largest ones from the
fifth batch on.
"""

from __future__ import annotations

from dataclasses import dataclass

from arroyo_nb.connectors import FIRST_BATCH_RECORDS

LEAST_RECORDS = 2_000
MOST_RECORDS = 500_000
"""Who reads a long topic from its beginning sees rows all along."""

TARGET_S = 3.0
"""How long a batch may take."""

FULL = 0.9
"""From which part on a batch is full: partitions are rounded, each by itself."""


@dataclass(frozen=True)
class BatchSize:
    """The most records of each topic that the next micro-batch reads."""

    records: int = FIRST_BATCH_RECORDS

    def after(self, records: int, seconds: float) -> BatchSize:
        """What follows a batch that read so many and took so long.

        A full one that was quick doubles it; a full one that was slow makes it what
        would have been done in time. Of another one the time tells nothing.

        >>> BatchSize(50_000).after(50_000, 0.5)
        BatchSize(records=100000)
        >>> BatchSize(500_000).after(500_000, 30.0)
        BatchSize(records=50000)
        """
        if records < FULL * self.records:
            return self
        in_time = int(records * TARGET_S / max(seconds, 1e-3))
        if seconds > TARGET_S:
            return BatchSize(max(min(self.records, in_time), LEAST_RECORDS))
        larger = min(in_time, 2 * self.records, MOST_RECORDS)
        return BatchSize(max(self.records, larger))
