"""Timestamps and durations of Protocol Buffers, which count seconds and nanoseconds, as
microseconds: what is finer is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.message import Message

from arroyo_nb.codecs.shapes import Misfit
from arroyo_nb.schema import Type, arrow_type

_SECOND_US, _MICROSECOND_NS = 10**6, 1000
_SECONDS, _NANOS = attrgetter("seconds"), attrgetter("nanos")


@dataclass(frozen=True)
class Limits:
    """What such a message may be.

    Parameters
    ----------
    name
        What it is called.
    first_s, last_s
        Between which its seconds lie.
    first_ns
        The least number of its nanoseconds; a billion is too many.
    """

    name: str
    first_s: int
    last_s: int
    first_ns: int


TIMESTAMP = Limits("Timestamp", -62_135_596_800, 253_402_300_799, 0)
"""From the year 1 to the year 9999."""
DURATION = Limits("Duration", -315_576_000_000, 315_576_000_000, -999_999_999)
"""Ten thousand years."""


@dataclass(frozen=True)
class Instants:
    """Messages with seconds and nanoseconds.

    Parameters
    ----------
    cls
        Their class.
    limits
        What they may be.
    type
        The column's: times, intervals, or numbers of microseconds.
    """

    cls: type[Message] = field(repr=False)
    limits: Limits
    type: Type

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As :meth:`arroyo_nb.codecs.shapes.Shape.array`."""
        missing = np.fromiter((v is None for v in values), np.bool_, len(values))
        there = [v for v in values if v is not None] if missing.any() else values
        seconds = np.fromiter(map(_SECONDS, there), np.int64, len(there))
        nanos = np.fromiter(map(_NANOS, there), np.int64, len(there))
        self._check(seconds, nanos, np.flatnonzero(~missing))
        us = np.zeros(len(values), np.int64)
        # Towards zero, as the nanoseconds of a negative duration are negative too.
        us[~missing] = seconds * _SECOND_US + np.fix(nanos / _MICROSECOND_NS).astype(
            np.int64
        )
        mask = missing if missing.any() else None
        return pa.array(us, pa.int64(), mask=mask).cast(arrow_type(self.type))

    def values(self, array: pa.Array) -> list[Any]:
        """As :meth:`arroyo_nb.codecs.shapes.Shape.values`."""
        found = array.cast(pa.int64()).to_pylist()
        return [
            None if us is None else self._message(at, us) for at, us in enumerate(found)
        ]

    def _message(self, at: int, us: int) -> Message:
        seconds, rest_us = divmod(us, _SECOND_US)
        if seconds < 0 and rest_us and self.limits.first_ns < 0:
            # Both parts of a negative duration are negative.
            seconds, rest_us = seconds + 1, rest_us - _SECOND_US
        if not self.limits.first_s <= seconds <= self.limits.last_s:
            raise Misfit(at, "", f"{us} microseconds are no {self.limits.name}")
        made: Message = self.cls(seconds=seconds, nanos=rest_us * _MICROSECOND_NS)
        return made

    def _check(
        self,
        seconds: np.ndarray[Any, Any],
        nanos: np.ndarray[Any, Any],
        places: np.ndarray[Any, Any],
    ) -> None:
        limits = self.limits
        odd = (seconds < limits.first_s) | (seconds > limits.last_s)
        odd |= (nanos < limits.first_ns) | (nanos >= 10**9)
        if odd.any():
            first = int(odd.argmax())
            reason = f"{seconds[first]} s and {nanos[first]} ns are no {limits.name}"
            raise Misfit(int(places[first]), "", reason)
