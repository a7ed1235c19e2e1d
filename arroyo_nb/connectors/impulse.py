"""``impulse``: a counter at a fixed rate (arroyo-semantics b.3).

Row *n* is released ``n / event_rate`` seconds after the start. What is due is sent
about every 100 ms, in one chunk, and when the reader is slow the chunks grow instead
of falling behind. A run that goes on after a kill goes on at its counter, at the
rate, without catching up the time it was gone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import ConnectorInfo, Direction, SourceOnly, TableSpec
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import BIGINT, TIMESTAMP, Field, Schema
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US, Chunk, Position, Recorder
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = Schema(
    (
        Field("counter", BIGINT, nullable=False),
        Field("subtask_index", BIGINT, nullable=False),
    )
)
_TICK_S = 0.1
_LARGEST_CHUNK_ROWS = 262_144


class Impulse:
    """Recorder of a counter; a position is the next counter and the start.

    Parameters
    ----------
    rate
        Rows per second, above 0.
    interval_us
        Microseconds of event time between two rows, the first at the start; None:
        event time is the moment of release.
    count
        Rows in all; None: without end.
    clock, sleep, now_s
        A monotonic clock, waiting, and the wall clock, in seconds.
    """

    def __init__(
        self,
        rate: float,
        *,
        interval_us: int | None = None,
        count: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.bounded = count is not None
        self.live = True
        self._rate = rate
        self._interval_us = interval_us
        self._last = math.inf if count is None else count
        self._clock = clock
        self._sleep = sleep
        self._now_s = now_s

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """What is due, ten times a second; an empty chunk when nothing is."""
        now_us = round(self._now_s() * 1e6)
        place = after or {"counter": 0, "start_us": now_us}
        first = counter = place["counter"]
        # When row 0 would have been released at this rate, had there been no break.
        origin_us = now_us - round(first / self._rate * 1e6)
        began_s = self._clock()
        while counter < self._last:
            passed = math.floor((self._clock() - began_s) * self._rate)
            due = min(first + passed + 1, self._last)
            end = int(min(due, counter + _LARGEST_CHUNK_ROWS))
            rows = self._rows(counter, end, origin_us, place["start_us"])
            counter = end
            yield Chunk(rows, {**place, "counter": counter})
            if due == counter < self._last:
                self._sleep(_TICK_S)

    def _rows(self, begin: int, end: int, origin_us: int, start_us: int) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        counter = np.arange(begin, end, dtype=np.int64)
        arrival = event_time = origin_us + (counter * 1e6 / self._rate).astype(np.int64)
        if self._interval_us is not None:
            last_us = start_us + (end - 1) * self._interval_us
            if end > begin and not 0 <= last_us < END_OF_TIME_US:
                raise RunProblem(
                    f"the event time of row {end - 1} is outside the years 1970 to "
                    "9998",
                    hint="event_time_interval is in microseconds",
                )
            event_time = start_us + counter * self._interval_us
        instant = pa.timestamp("us", "UTC")
        return pa.table(
            {
                "counter": counter,
                "subtask_index": np.zeros_like(counter),
                ARRIVAL: pa.array(arrival, instant),
                TIMESTAMP: pa.array(event_time, instant),
            }
        )


class ImpulseConnector(SourceOnly):
    """The connector ``impulse``: a generator of counted rows at a rate."""

    info = ConnectorInfo(
        name="impulse",
        doc="a counter at a fixed rate",
        elsewhere=MappingProxyType(
            dict.fromkeys(
                ("datagen", "faker", "rate", "generator", "load_generator"),
                "for a counter write connector = 'impulse', event_rate = 10, and no "
                "columns; for recorded rows see the connector 'sample'",
            )
        ),
        directions=frozenset({Direction.SOURCE}),
        typed=False,
        has_event_time=True,
        bounded_by="message_count",
        synthetic="rows that are generated",
        options=(
            Option(
                "event_rate",
                OptionKind.DOUBLE,
                "rows per second",
                required=True,
                example="10",
            ),
            Option(
                "event_time_interval",
                OptionKind.INT,
                "microseconds of event time between two rows; without it event time is "
                "the moment of release",
            ),
            Option(
                "message_count",
                OptionKind.UINT,
                "rows in all; without it there is no end",
            ),
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema:
        """A counter and the number of the subtask, which is always 0.

        Raises
        ------
        CatalogProblem
            When the rate is not above 0.
        """
        if not 0 < float(str(options["event_rate"])) < math.inf:
            raise CatalogProblem(
                f"event_rate must be above 0, but it was {options['event_rate']}",
                hint="it is in rows per second; 0.1 is a row every ten seconds",
            )
        return SCHEMA

    def recorder(self, spec: TableSpec) -> Recorder:
        """A recorder that counts rows up, as many a second as the options say."""
        if spec.physical != SCHEMA:
            raise RunProblem(
                "invalid schema for impulse source",
                hint=f"leave the columns out, or declare: {SCHEMA}",
            )
        interval = spec.options.get("event_time_interval")
        count = spec.options.get("message_count")
        return Impulse(
            float(str(spec.options["event_rate"])),
            interval_us=None if interval is None else int(str(interval)),
            count=None if count is None else int(str(count)),
        )


CONNECTOR = ImpulseConnector()
