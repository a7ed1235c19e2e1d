"""How many of the rows that came into windows were late, by source and partition.

It costs a few numbers for each partition, so a job counts them for as long as it runs.
Which rows these were, and for which window, a trace tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from arroyo_nb.engine.pane_counts import table_number
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.late_ledger import last_missed
from arroyo_nb.run.observe.snapshot import LateShare
from arroyo_nb.schema import EPOCH
from arroyo_nb.spark.observe import Observed


class LateShares:
    """The rows of one window aggregate.

    Parameters
    ----------
    aggregate
        What puts them into windows.

    Attributes
    ----------
    late_rows
        Rows that missed at least one of their windows; of sessions at most so many.
    """

    def __init__(self, aggregate: nodes.WindowAggregate) -> None:
        assert aggregate.assign is not None, "it puts rows into windows"
        self._window = aggregate.assign
        below = (node for node in walk(aggregate) if isinstance(node, nodes.Source))
        self._tables = list(dict.fromkeys(source.table.name for source in below))
        self.late_rows = 0
        # By the table and the partition; None: all of the table.
        self._rows: Counter[tuple[str, int | None]] = Counter()
        self._late: Counter[tuple[str, int | None]] = Counter()

    def add(self, observed: Observed, late_watermark: datetime) -> None:
        """Count the rows of a batch.

        Parameters
        ----------
        late_watermark
            Rows of windows that end up to there are late.
        """
        late = self._late_of(observed.pane_rows, late_watermark)
        self.late_rows += late
        names = {table_number(name): name for name in self._tables}
        if len(self._tables) == 1:
            self._count((self._tables[0], None), observed.rows, late)
        for (number, partition), panes in observed.of_partitions.items():
            if (name := names.get(number)) is None:
                continue
            rows, late = sum(panes.values()), self._late_of(panes, late_watermark)
            self._count((name, partition), rows, late)
            if len(self._tables) > 1:
                self._count((name, None), rows, late)

    def _late_of(self, panes: Mapping[datetime, int], mark: datetime) -> int:
        if mark <= EPOCH:
            return 0
        return sum(
            rows
            for start, rows in panes.items()
            if last_missed(self._window, start, mark) is not None
        )

    def _count(self, place: tuple[str, int | None], rows: int, late: int) -> None:
        self._rows[place] += rows
        self._late[place] += late

    def of_table(self, name: str) -> Iterator[LateShare]:
        """What was counted of a table, and of its partitions where they are known."""
        for (table, partition), rows in tuple(self._rows.items()):
            if table == name:
                yield LateShare(partition, rows, self._late[table, partition])


def of_source(counted: Iterable[LateShares], name: str) -> tuple[LateShare, ...]:
    """The rows of a table, all of it first, then each partition.

    Several windows may be over the same rows. Those of the one that missed most of them
    are told: a row is late once, however many results lack it.
    """
    found: dict[int | None, LateShare] = {}
    for shares in counted:
        for share in shares.of_table(name):
            before = found.get(share.partition, share)
            found[share.partition] = max(before, share, key=_late_then_rows)
    return tuple(sorted(found.values(), key=_whole_then_number))


def _late_then_rows(share: LateShare) -> tuple[int, int]:
    return share.late_rows, share.rows


def _whole_then_number(share: LateShare) -> int:
    return -1 if share.partition is None else share.partition
