"""``nexmark``: the events of an auction house, made at a rate (arroyo-semantics b.4).

Event *n* is released ``n / event_rate`` seconds after the start, as rows of ``impulse``
are. With ``start_time`` the events are a recording instead: their times begin there,
and they come as fast as they are read, or with ``--speed`` as event time goes on. One
seed makes the same events each time, whichever chunks they come in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from arroyo_nb.connectors import ConnectorInfo, Direction, SourceOnly, TableSpec
from arroyo_nb.connectors.nexmark._events import SCHEMA, EventGenerator
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import EPOCH, MICROSECOND, Schema
from arroyo_nb.tape import END_OF_TIME_US, Chunk, Position, Recorder
from arroyo_nb.with_options import Option, OptionKind, OptionValue

_TICK_S = 0.1
_FIRST_CHUNK_ROWS, _LARGEST_CHUNK_ROWS = 1_000, 131_072


class Nexmark:
    """Recorder of generated events; a position is how many have come, and the start.

    Parameters
    ----------
    generator
        Makes the generator for a start of event time.
    rate
        Events a second.
    start
        Event time of the first, of events that come as fast as they are read; None:
        they come at the rate, from now on.
    count
        Events in all; None: without end.
    clock, sleep, now_s
        A monotonic clock, waiting, and the wall clock, in seconds.
    """

    def __init__(
        self,
        generator: Callable[[datetime], EventGenerator],
        rate: float,
        *,
        start: datetime | None = None,
        count: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.bounded = count is not None
        self.live = start is None
        self._generator = generator
        self._rate = rate
        self._start = start
        self._last = math.inf if count is None else count
        self._clock = clock
        self._sleep = sleep
        self._now_s = now_s

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """Those that are due, ten times a second; a recording's as they are asked
        for."""
        start = self._start or datetime.fromtimestamp(self._now_s(), UTC)
        start_us = (start - EPOCH) // MICROSECOND
        place = after or {"events": 0, "start_us": start_us}
        generator = self._generator(EPOCH + place["start_us"] * MICROSECOND)
        done = place["events"]
        due = self._all if self._start is not None else self._paced(done)
        while done < self._last:
            first, end = done, int(min(due(done), self._last))
            if generator.time_us(end + _LARGEST_CHUNK_ROWS) >= END_OF_TIME_US:
                raise RunProblem(
                    f"the event time of event {end} is after the year 9998"
                )
            done = end
            # Events are counted from 1.
            rows = generator.rows(first + 1, end + 1)
            yield Chunk(rows, {**place, "events": done})
            if self._start is None and done < self._last and due(done) == done:
                self._sleep(_TICK_S)

    def _all(self, done: int) -> int:
        """Chunks follow from the position alone: one that is resumed cuts the same."""
        return done + min(max(done, _FIRST_CHUNK_ROWS), _LARGEST_CHUNK_ROWS)

    def _paced(self, first: int) -> Callable[[int], int]:
        began_s = self._clock()

        def due(done: int) -> int:
            passed = math.floor((self._clock() - began_s) * self._rate)
            return min(first + passed + 1, done + _LARGEST_CHUNK_ROWS)

        return due


class NexmarkConnector(SourceOnly):
    """The connector ``nexmark``: people, auctions and bids."""

    info = ConnectorInfo(
        name="nexmark",
        doc="people, auctions and bids of the Nexmark benchmark, at a rate",
        directions=frozenset({Direction.SOURCE}),
        typed=False,
        has_event_time=True,
        bounded_by="runtime",
        synthetic="events that are generated",
        options=(
            Option(
                "event_rate",
                OptionKind.DOUBLE,
                "events per second",
                required=True,
                example="10",
            ),
            Option(
                "runtime",
                OptionKind.DOUBLE,
                "seconds of events; without it there is no end",
            ),
            Option(
                "seed",
                OptionKind.UINT,
                "which events there are: equal seeds make equal events",
                default=0,
                in_arroyo=False,
            ),
            Option(
                "start_time",
                OptionKind.STRING,
                "event time of the first event, as '2026-01-01T00:00:00' in UTC; the "
                "events then come as fast as they are read, or at --speed; without it "
                "they come at event_rate, from now on",
                in_arroyo=False,
            ),
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema:
        """Three structs, of which each event has one.

        Raises
        ------
        CatalogProblem
            When a number is not above 0, or the start is no time.
        """
        for name, unit in (("event_rate", "events per second"), ("runtime", "seconds")):
            value = options.get(name)
            if value is not None and not 0 < float(str(value)) < math.inf:
                raise CatalogProblem(
                    f"{name} must be above 0, but it was {value}",
                    hint=f"it is in {unit}",
                )
        _start(options)
        return SCHEMA

    def recorder(self, spec: TableSpec) -> Recorder:
        """A recorder that makes as many events a second as the options say."""
        rate = float(str(spec.options["event_rate"]))
        runtime_s = spec.options.get("runtime")
        return Nexmark(
            partial(EventGenerator, rate, seed=int(str(spec.options.get("seed", 0)))),
            rate,
            start=_start(spec.options),
            count=None if runtime_s is None else int(rate * float(str(runtime_s))),
        )


def _start(options: Mapping[str, OptionValue]) -> datetime | None:
    text = options.get("start_time")
    if text is None:
        return None
    with suppress(ValueError):
        start = datetime.fromisoformat(str(text))
        start = start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
        if start >= EPOCH:
            return start
    raise CatalogProblem(
        f"start_time must be a time from 1970 on, but it was '{text}'",
        hint="write it as '2026-01-01T00:00:00'; it is in UTC",
    )


CONNECTOR = NexmarkConnector()
