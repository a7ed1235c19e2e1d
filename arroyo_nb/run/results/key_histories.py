"""What happened to each row of an updating result, from the changes in memory.

Nothing is done for it as a batch is written. A picture that asks gathers the few
numbers that it needs of each batch, once; what a batch gave is let go with the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import ROW_ID
from arroyo_nb.run.observe.snapshot import KeyHistory

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

NUMBERS = 60
"""Values of a row that are shown at most: the newest."""


@dataclass(frozen=True)
class _Batch:
    """The changes of a micro-batch, and of each its key and the number before and after
    it; NaN where there is none."""

    number: int
    rows: pa.Table
    keys: npt.NDArray[np.int64]
    before: npt.NDArray[np.float64]
    after: npt.NDArray[np.float64]


class KeyHistories:
    """The histories of the rows of one output; from any thread.

    Parameters
    ----------
    kept
        Gives the changes in memory by micro-batch, oldest first: documents, each with
        the id of its row.
    numbers
        Names of the number columns, from left to right.
    """

    def __init__(
        self, kept: Callable[[], list[tuple[int, pa.Table]]], numbers: Sequence[str]
    ) -> None:
        self._read_kept, self._numbers = kept, numbers
        self._known: dict[int, _Batch] = {}
        self._column = numbers[0] if numbers else ""
        self._is_chosen = len(numbers) < 2
        self._lock = Lock()

    def of(self, keys: Iterable[int], *, last_batch: int) -> tuple[KeyHistory, ...]:
        """The histories of these rows, as they were after a micro-batch; none of a key
        whose changes are no longer in memory.

        Parameters
        ----------
        keys
            Ids of rows; 0 is none.
        last_batch
            Changes of later batches are left out.
        """
        import numpy as np

        wanted = [key for key in dict.fromkeys(keys) if key]
        if not wanted:
            return ()
        with self._lock:
            batches = self._batches(last_batch)
        if not batches:
            return ()
        all_keys = np.concatenate([batch.keys for batch in batches])
        at = np.flatnonzero(np.isin(all_keys, np.array(wanted)))
        if not len(at):
            return ()
        # Stable: the changes of a key stay in their order.
        at = at[np.argsort(all_keys[at], kind="stable")]
        found = all_keys[at]
        before = np.concatenate([batch.before for batch in batches])[at]
        after = np.concatenate([batch.after for batch in batches])[at]
        first = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
        ends = np.r_[first[1:], len(found)]
        images = _rows_before(batches, at[ends - 1])
        starts = np.cumsum([0, *(len(batch.keys) for batch in batches)])
        made = {}
        for start, end in zip(first.tolist(), ends.tolist(), strict=True):
            newest = int(at[end - 1])
            batch, _ = _row_at(batches, starts, newest)
            oldest, row = _row_at(batches, starts, int(at[start]))
            is_created = oldest.rows["op"][row].as_py() == "c"
            # What it was before the oldest change that is kept is a value of it too.
            numbers = after[max(start, end - NUMBERS) : end].tolist()
            if len(numbers) < NUMBERS and not is_created:
                numbers.insert(0, float(before[start]))
            key = int(found[start])
            made[key] = KeyHistory(
                key=key,
                changes=end - start,
                is_created=is_created,
                batch_id=batch.number,
                column=self._column,
                numbers=tuple(map(_known, numbers)) if self._column else (),
                before=images[newest],
            )
        return tuple(made[key] for key in wanted if key in made)

    def _batches(self, last_batch: int) -> list[_Batch]:
        """The batches in memory; of each that is new its numbers are gathered."""
        kept = [(number, rows) for number, rows in self._read_kept() if len(rows)]
        if not self._is_chosen:
            self._choose_column(rows for _, rows in kept)
        known = {}
        for number, rows in kept:
            batch = self._known.get(number)
            # Another table of the same batch: it came again, or was cut.
            if batch is None or batch.rows is not rows:
                batch = self._gathered(number, rows)
            known[number] = batch
        self._known = known
        return [batch for number, batch in known.items() if number <= last_batch]

    def _choose_column(self, all_rows: Iterator[pa.Table]) -> None:
        """The first number column that changes: a number that a key has never does."""
        import pyarrow.compute as pc

        for rows in all_rows:
            updates = rows.filter(pc.equal(rows["op"], "u"))
            for name in self._numbers if len(updates) else ():
                before, after = (
                    pc.struct_field(updates[side], name) for side in ("before", "after")
                )
                same = pc.or_(
                    pc.fill_null(pc.equal(before, after), False),
                    pc.and_(pc.is_null(before), pc.is_null(after)),
                )
                if not pc.all(same).as_py():
                    self._column, self._is_chosen, self._known = name, True, {}
                    return

    def _gathered(self, number: int, rows: pa.Table) -> _Batch:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = pc.fill_null(rows[ROW_ID], 0).to_numpy()
        if not self._column:
            nothing = np.full(len(rows), np.nan)
            return _Batch(number, rows, keys, nothing, nothing)
        sides = []
        for side in ("before", "after"):
            values = pc.struct_field(rows[side], self._column)
            values = pc.cast(values, pa.float64(), safe=False)
            sides.append(pc.fill_null(values, np.nan).to_numpy())
        return _Batch(number, rows, keys, *sides)


def _rows_before(
    batches: Sequence[_Batch], places: npt.NDArray[np.int64]
) -> dict[int, tuple[Any, ...] | None]:
    """Of the changes at these places the row before them, decoded batch by batch."""
    import numpy as np

    starts = np.cumsum([0, *(len(batch.keys) for batch in batches)])
    ordered = np.sort(places)
    of_batch = np.searchsorted(starts, ordered, "right") - 1
    found: dict[int, tuple[Any, ...] | None] = {}
    pairs = zip(of_batch.tolist(), ordered.tolist(), strict=True)
    for index, group in groupby(pairs, key=lambda pair: pair[0]):
        each = [place for _, place in group]
        rows = batches[index].rows["before"].take([p - starts[index] for p in each])
        for place, row in zip(each, rows.to_pylist(), strict=True):
            found[place] = None if row is None else tuple(row.values())
    return found


def _row_at(
    batches: Sequence[_Batch], starts: npt.NDArray[np.int64], place: int
) -> tuple[_Batch, int]:
    """The batch that a place among all changes lies in, and which row of it it is."""
    index = int(starts.searchsorted(place, "right")) - 1
    return batches[index], place - int(starts[index])


def _known(number: float) -> float | None:
    return None if number != number else number
