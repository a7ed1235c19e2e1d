"""The frame clause of OVER: which rows around a row a function sees.

>>> str(OverFrame("rows", Edge("preceding", 2), CURRENT_ROW))
'ROWS BETWEEN 2 PRECEDING AND CURRENT ROW'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal, TypeAlias

Unit = Literal["rows", "range", "groups"]
Side = Literal["preceding", "following"]
Exclusion = Literal["no others", "current row", "group", "ties"]

Offset: TypeAlias = int | float | Decimal | timedelta
"""How far an edge is: rows, groups of peers, or a distance in the order."""


@dataclass(frozen=True)
class Edge:
    """Where a frame begins or ends.

    Parameters
    ----------
    side
        Before the current row or behind it.
    offset
        How far, 0 or more; None: up to the end of the partition. At 0 it is the
        current row, and by RANGE and GROUPS its peers too.
    """

    side: Side
    offset: Offset | None

    def __str__(self) -> str:
        if self == CURRENT_ROW:
            return "CURRENT ROW"
        if self.offset is None:
            return f"UNBOUNDED {self.side.upper()}"
        return f"{_distance(self.offset)} {self.side.upper()}"


def _distance(offset: Offset) -> str:
    if not isinstance(offset, timedelta):
        return str(offset)
    micros = offset // timedelta(microseconds=1)
    whole = micros % 1_000_000 == 0
    text = f"{micros // 1_000_000} seconds" if whole else f"{micros} microseconds"
    return f"INTERVAL '{text}'"


CURRENT_ROW = Edge("preceding", 0)
FIRST_ROW = Edge("preceding", None)
LAST_ROW = Edge("following", None)


@dataclass(frozen=True)
class OverFrame:
    """``UNIT BETWEEN start AND end EXCLUDE exclude``."""

    unit: Unit
    start: Edge
    end: Edge
    exclude: Exclusion = "no others"

    def __str__(self) -> str:
        text = f"{self.unit.upper()} BETWEEN {self.start} AND {self.end}"
        if self.exclude == "no others":
            return text
        return f"{text} EXCLUDE {self.exclude.upper()}"


PARTITION = OverFrame("rows", FIRST_ROW, LAST_ROW)
"""All rows: what OVER means without ORDER BY."""

UP_TO_PEERS = OverFrame("range", FIRST_ROW, CURRENT_ROW)
"""From the first row to the last peer of the current one: what OVER means with ORDER
BY."""


def usual_frame(*, ordered: bool) -> OverFrame:
    """The frame of an OVER that says nothing of it."""
    return UP_TO_PEERS if ordered else PARTITION
