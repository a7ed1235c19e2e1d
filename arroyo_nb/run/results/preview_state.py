"""What a picture shows of the kept rows, as they were after one micro-batch.

Rows come on Spark's callback thread before the progress of their batch is known. So
that a picture shows the rows, counts and watermark of one batch, the state after each
batch is held until its progress has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Reversible
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from arroyo_nb.run.observe.snapshot import Change, KeyHistory

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_ROWS = 2_000
"""Newest rows that any picture may show."""


class ShownRows(NamedTuple):
    """The newest rows, the key of each where rows have keys, the newest changes, and
    what happened to the rows of both."""

    rows: tuple[tuple[Any, ...], ...] = ()
    row_keys: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    histories: tuple[KeyHistory, ...] = ()


@dataclass(frozen=True)
class PreviewState:
    """Rows of an output that appends.

    Parameters
    ----------
    batches
        The newest rows, and the number of the batch that each part came with.
    total_rows
        How many rows (or changes) came in all.
    kept_rows
        How many of them are kept.
    result_rows
        How many rows the output has; None where that is not known.
    cut_text
        Which rows are not kept, and why; empty: all are.
    first_rows
        The first rows of the result, in the order of its query; None: it has none.
    """

    batches: tuple[tuple[int, pa.Table], ...] = ()
    total_rows: int = 0
    kept_rows: int = 0
    result_rows: int | None = 0
    cut_text: str = ""
    first_rows: pa.Table | None = None

    @property
    def cut_rows(self) -> int:
        """How many older rows are no longer kept."""
        return self.total_rows - self.kept_rows

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """The newest rows as Python values, newest first."""
        if self.first_rows is not None:
            return list(reversed(last_rows(self.first_rows.slice(0, count), count)))
        return [row for _, row in self._numbered(count)]

    def newest_keyed(self, count: int) -> tuple[list[tuple[Any, ...]], tuple[int, ...]]:
        """The rows of :meth:`newest` and, where rows have keys, the key of each."""
        return self.newest(count), ()

    def histories(self, keys: Iterable[int]) -> tuple[KeyHistory, ...]:  # noqa: ARG002
        """What happened to the rows of these keys: nothing, where rows only come."""
        return ()

    def pictured(self, count: int) -> ShownRows:
        """What a picture shows of the newest rows and changes."""
        rows, keys = self.newest_keyed(count)
        changes = self.newest_changes(count)
        histories = self.histories((*keys, *(change.key for change in changes)))
        return ShownRows(tuple(rows), keys, changes, histories)

    def newest_changes(self, count: int) -> tuple[Change, ...]:
        """The newest rows as changes, newest first."""
        return tuple(self._change(batch, row) for batch, row in self._numbered(count))

    def _numbered(self, count: int) -> list[tuple[int, tuple[Any, ...]]]:
        taken: list[tuple[int, tuple[Any, ...]]] = []
        for batch_id, rows in reversed(self.batches):
            newest = last_rows(rows, count - len(taken))
            taken.extend((batch_id, row) for row in newest)
            if len(taken) >= count:
                break
        return taken

    def _change(self, batch_id: int, row: tuple[Any, ...]) -> Change:
        return Change("c", batch_id, None, row)


def batches_that_hold(
    batches: Reversible[tuple[int, pa.Table]], count: int = SHOWN_ROWS
) -> tuple[tuple[int, pa.Table], ...]:
    """The newest batches that have so many rows together, oldest first."""
    taken: list[tuple[int, pa.Table]] = []
    for batch_id, rows in reversed(batches):
        taken.append((batch_id, rows))
        count -= rows.num_rows
        if count <= 0:
            break
    return tuple(reversed(taken))


def last_rows(rows: pa.Table, count: int) -> list[tuple[Any, ...]]:
    """The last rows of a table as Python values, last first."""
    tail = rows.slice(max(0, rows.num_rows - count))
    columns: Iterable[list[Any]] = [column.to_pylist() for column in tail.columns]
    return list(reversed(list(zip(*columns, strict=True))))
