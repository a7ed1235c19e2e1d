"""Which source of a run was idle at which micro-batch, and when it came back.

A source is idle while the newest event times of others go on and its own does not. It
is decided batch by batch, so that a run that is looked at again says of each batch what
it said then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

IDLE_S = 5.0
"""A source whose newest event has not changed for so long is idle."""

IDLE_BATCHES = 10
"""Or for more micro-batches than these, while another's has."""

KEPT_PERIODS = 1_000
"""The newest periods of a run that are kept."""


@dataclass(frozen=True)
class SourceAtBatch:
    """What was known of a source after one micro-batch.

    Parameters
    ----------
    max_event_time
        The newest of its rows so far, naive UTC; None: there is none, or it is not
        known by source.
    idle_s
        For how many seconds it had been idle; 0: it was not.
    idle_partitions
        Of a topic the partitions that got no record for a while.
    """

    max_event_time: datetime | None = None
    idle_s: float = 0.0
    idle_partitions: tuple[int, ...] = ()


@dataclass(frozen=True)
class IdlePeriod:
    """A time in which a source was idle: two events of a trace.

    Parameters
    ----------
    source
        Its name.
    batch_id, elapsed_s
        The micro-batch that found it idle, and the seconds since the start at which
        that ended.
    idle_s
        For how many seconds nothing newer had come by then.
    back_batch_id, back_elapsed_s
        The first micro-batch after that with a newer event, and when that ended; None:
        there is none.
    """

    source: str
    batch_id: int
    elapsed_s: float
    idle_s: float
    back_batch_id: int | None = None
    back_elapsed_s: float | None = None

    def until(self, batch_id: int) -> IdlePeriod:
        """As it was known after a batch."""
        if self.back_batch_id is None or self.back_batch_id <= batch_id:
            return self
        return replace(self, back_batch_id=None, back_elapsed_s=None)


def periods_until(
    periods: Iterable[IdlePeriod], batch_id: int
) -> tuple[IdlePeriod, ...]:
    """The periods that had begun by a batch, as they were known then."""
    return tuple(p.until(batch_id) for p in periods if p.batch_id <= batch_id)


class IdlePeriods:
    """The periods of a run, from what its batches say; oldest first.

    >>> periods = IdlePeriods()
    >>> for batch, idle in enumerate([{}, {"a": 6.0}, {"a": 7.0}, {}]):
    ...     periods.add(batch, float(batch), idle)
    >>> [(p.source, p.batch_id, p.back_batch_id) for p in periods.known]
    [('a', 1, 3)]
    """

    def __init__(self) -> None:
        self.known: tuple[IdlePeriod, ...] = ()

    def add(
        self,
        batch_id: int,
        elapsed_s: float,
        idle_s: Mapping[str, float],
        ended: Collection[str] = (),
    ) -> None:
        """Take the next batch: which sources are idle, and which have ended, as those
        never come back."""
        going = {p.source for p in self.known if p.back_batch_id is None}
        back = going - idle_s.keys() - set(ended)
        if back:
            self.known = tuple(
                replace(p, back_batch_id=batch_id, back_elapsed_s=elapsed_s)
                if p.source in back and p.back_batch_id is None
                else p
                for p in self.known
            )
        news = (
            IdlePeriod(name, batch_id, elapsed_s, idle_s[name])
            for name in idle_s
            if name not in going
        )
        self.known = (*self.known, *news)[-KEPT_PERIODS:]


class _Moved(NamedTuple):
    """The newest event time of a source, and the batch that brought it."""

    newest: datetime
    number: int
    elapsed_s: float


class IdleSources:
    """Finds the sources that are idle, batch by batch."""

    def __init__(self) -> None:
        self._moved: dict[str, _Moved] = {}
        self._batches = 0

    def advance(
        self, elapsed_s: float, newest: Mapping[str, datetime]
    ) -> Mapping[str, float]:
        """Take the next batch; returns for how many seconds each idle source has been.

        Parameters
        ----------
        elapsed_s
            When it ended, in seconds since the start.
        newest
            The newest event time of each source that has one and has not ended.
        """
        self._batches += 1
        for name, time in newest.items():
            before = self._moved.get(name)
            if before is None or time > before.newest:
                self._moved[name] = _Moved(time, self._batches, elapsed_s)
        last = max((moved.number for moved in self._moved.values()), default=0)
        return {
            name: elapsed_s - moved.elapsed_s
            for name in newest
            # Where no source goes on none is idle: the run waits for all of them.
            if (moved := self._moved[name]).number < last
            and self._is_long(moved, elapsed_s)
        }

    def _is_long(self, moved: _Moved, elapsed_s: float) -> bool:
        batches = self._batches - moved.number
        return elapsed_s - moved.elapsed_s >= IDLE_S or batches > IDLE_BATCHES
