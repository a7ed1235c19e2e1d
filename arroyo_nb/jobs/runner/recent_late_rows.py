"""The share of late rows of the last minutes, by source and partition.

A run counts from its start; a job that was fine for a week and then loses every row of
a partition is seen only by what has come since.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arroyo_nb.run.observe.snapshot import SourceProgress

RECENT_S = 300.0
"""How far the share goes back."""

_NOTED_S = 5.0
"""How often the counts are kept to compare later ones with."""

Place = tuple[str, int | None]
Counted = Mapping[Place, tuple[int, int]]


@dataclass(frozen=True)
class RecentShare:
    """Of the ``rows`` of a source, or of one ``partition`` of it, that came lately,
    ``late_rows`` missed a window."""

    source: str
    partition: int | None
    rows: int
    late_rows: int

    @property
    def share(self) -> float:
        """From 0 to 1; 0 without a row."""
        return self.late_rows / self.rows if self.rows else 0.0

    def noted(self) -> dict[str, Any]:
        """The JSON object of /readyz and of ``arroyo-nb status``."""
        place = {} if self.partition is None else {"partition": self.partition}
        counts = {"rows": self.rows, "late_rows": self.late_rows}
        share = round(self.share, 4)
        return {"source": self.source, **place, **counts, "share": share}


class RecentLateRows:
    """Compares what a run has counted with what it had counted some minutes before."""

    def __init__(self) -> None:
        self._before: deque[tuple[float, Counted]] = deque()

    def take(
        self, sources: Iterable[SourceProgress], now_s: float
    ) -> tuple[RecentShare, ...]:
        """The shares now, of all sources whose rows come into windows.

        Parameters
        ----------
        now_s
            On the monotonic clock.
        """
        counted = _counted(sources)
        before = self._before
        # A run that began again counts from zero: there is nothing to compare with.
        if before and any(
            now < then
            for place, pair in before[-1][1].items()
            for now, then in zip(counted.get(place, (0, 0)), pair, strict=True)
        ):
            before.clear()
        if not before or now_s - before[-1][0] >= _NOTED_S:
            before.append((now_s, counted if before else {}))
        while len(before) > 1 and now_s - before[1][0] >= RECENT_S:
            before.popleft()
        first = before[0][1]
        return tuple(
            RecentShare(*place, rows - then[0], late - then[1])
            for place, (rows, late) in counted.items()
            for then in (first.get(place, (0, 0)),)
        )


def _counted(sources: Iterable[SourceProgress]) -> Counted:
    # Two tables may have one name: the one that has more late rows is told.
    found: dict[Place, tuple[int, int]] = {}
    for source in sources:
        for share in source.late_shares:
            place = source.name, share.partition
            pair = share.rows, share.late_rows
            found[place] = max(found.get(place, pair), pair, key=lambda p: p[::-1])
    return found
