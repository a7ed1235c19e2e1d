"""How far rows came behind the newest event, and which delay would have kept them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class LatenessBin:
    """Rows that came at least ``low`` and less than ``high`` behind the newest event
    of the micro-batches before theirs."""

    low: timedelta
    high: timedelta
    rows: int


@dataclass(frozen=True)
class Lateness:
    """The lateness of the rows of a window aggregate: how far each came behind the
    newest event of the micro-batches before its own; 0 where it was newer.

    ``rows`` are all of them, ``late_rows`` those that missed a window with the
    ``delay`` that the watermark has. ``p50``, ``p99`` and ``longest`` are of all rows.
    ``keep_99``, ``keep_999`` and ``keep_all`` are the delays with which 99 %, 99.9 %
    and all rows would have come in time, in the same micro-batches.
    """

    rows: int
    late_rows: int
    bins: tuple[LatenessBin, ...]
    p50: timedelta
    p99: timedelta
    longest: timedelta
    keep_99: timedelta
    keep_999: timedelta
    keep_all: timedelta
    delay: timedelta
