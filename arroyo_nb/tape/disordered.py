"""A tape whose rows arrive otherwise than they were recorded, chunk by chunk.

Rows keep their event times; only when they arrive, in which order and in which chunk,
is new. What is random is made of the seed and a row's number on the tape, so a tape
gives the same disorder each time, also where a killed run goes on: from the oldest
chunk of which a row was still held back.

Held in memory are the rows of a stretch of the tape as long as the shuffle, the delay,
a burst, and the gap while it lasts.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import ARRIVAL, Chunk, Position, Recorder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_END_US = 2**62
"""After every moment."""

_BEFORE_US = -(2**62)


@dataclass(frozen=True)
class TapeDisorder:
    """What happens to the rows of a tape on their way, in this order; 0 is nothing.

    Parameters
    ----------
    shuffle_us
        Each row arrives later by a random time below this bound.
    delay_us, column, value
        The rows with this value, as a text, arrive later by this.
    duplicate
        Which share of the rows, from 0 to 1, arrives twice, the second time not before
        the next row of the tape.
    gap_us, gap_after_us
        From so long after the first row's arrival on nothing arrives for the gap; what
        would, arrives when it ends.
    burst_us
        What arrives within each span of so long arrives at its end, in one chunk.
    seed
        What is random is made of it.
    """

    shuffle_us: int = 0
    delay_us: int = 0
    column: str = ""
    value: str = ""
    duplicate: float = 0.0
    gap_us: int = 0
    gap_after_us: int = 0
    burst_us: int = 0
    seed: int = 0


@dataclass(frozen=True)
class _Begin:
    """Where a chunk of the tape begins: the recorder's position, the number of its
    first row, and the newest moment before it."""

    at: Position | None
    row: int
    base_us: int


@dataclass
class _Held:
    """Rows that have been read and not released, in no order.

    ``order`` numbers them by the tape, a second arrival behind the row that it comes
    with; ``chunk`` is the number of the chunk that must be read again for them.
    """

    rows: pa.Table | None = None
    moments: Any = field(default=None)
    order: Any = field(default=None)
    chunk: Any = field(default=None)


class Disordered:
    """A recorder of a tape, its rows in disorder.

    Parameters
    ----------
    recorder
        Makes the chunks of the tape; not a live one, as rows are held back until those
        behind them are there.
    disorder
        What happens to rows.
    by_arrival
        Whether rows arrive as was recorded; else each arrives with the newest event
        time up to it.
    """

    live = False

    def __init__(
        self, recorder: Recorder, disorder: TapeDisorder, *, by_arrival: bool
    ) -> None:
        self.bounded = recorder.bounded
        self._recorder = recorder
        self._disorder = disorder
        self._by_arrival = by_arrival

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The chunks in their new order.

        A position is where to read from again (``at``, ``row``, ``base``), how many
        chunks from there had been read (``read``), up to which moment rows have been
        released (``done``), and when the first row arrived (``first``).
        """
        return _Pass(self._recorder, self._disorder, self._by_arrival, after).chunks()


class _Pass:
    """One reading of the tape."""

    def __init__(
        self,
        recorder: Recorder,
        disorder: TapeDisorder,
        by_arrival: bool,
        after: Position | None,
    ) -> None:
        place = after or {
            "at": None, "row": 0, "base": _BEFORE_US, "read": 0, "done": _BEFORE_US,
            "first": None,
        }  # fmt: skip
        self._recorder, self._disorder = recorder, disorder
        self._by_arrival = by_arrival
        self._next = _Begin(place["at"], place["row"], place["base"])
        self._done_us: int = place["done"]
        self._first_us: int | None = place["first"]
        # Chunks whose bad records were counted before the run was killed.
        self._counted: int = place["read"]
        # Where each chunk begins that must be read again for what is held.
        self._begins: deque[_Begin] = deque()
        self._first_chunk = 0
        self._held = _Held()
        # The last row, where it comes twice: what it comes with is not there yet.
        self._carried: tuple[pa.Table, int] | None = None

    def chunks(self) -> Iterator[Chunk]:
        dropped, bad = 0, tuple[Any, ...]()
        for chunk in self._recorder.chunks(self._next.at):
            horizon_us = self._take(chunk)
            if self._counted:
                self._counted -= 1
                chunk = replace(chunk, dropped_rows=0, bad=())
            dropped, bad = chunk.dropped_rows, chunk.bad
            for piece in self._released(horizon_us):
                yield replace(piece, dropped_rows=dropped, bad=bad)
                dropped, bad = 0, ()
            if dropped:
                # Without rows it is no batch; what was dropped is counted at once.
                empty = chunk.rows.slice(0, 0)
                yield Chunk(empty, self._position(), dropped, bad)
        self._carry_last()
        yield from self._released(_END_US)

    def _take(self, chunk: Chunk) -> int:
        """Hold the rows of a chunk; up to which moment all rows are there now."""
        import numpy as np

        begin, rows = self._next, chunk.rows
        self._begins.append(begin)
        number = self._first_chunk + len(self._begins) - 1
        count = rows.num_rows
        bases = self._bases(rows, begin.base_us)
        base_us = int(bases[-1]) if count else begin.base_us
        if count and self._first_us is None:
            self._first_us = int(bases[0])
        moments = bases + self._lateness(rows, begin.row)
        if self._carried is not None and count:
            before, moment = self._carried
            self._hold(before, [max(moment, int(moments[0]))], [2 * begin.row + 1],
                       number - 1)  # fmt: skip
            self._carried = None
        self._hold(rows, moments, 2 * (begin.row + np.arange(count)), number)
        self._repeat(rows, moments, begin.row, number)
        self._next = _Begin(chunk.position, begin.row + count, base_us)
        return self._mapped_one(base_us)

    def _bases(self, rows: pa.Table, before_us: int) -> np.ndarray[Any, Any]:
        """When rows arrive, never going back."""
        import numpy as np
        import pyarrow as pa

        column = ARRIVAL if self._by_arrival else TIMESTAMP
        times = rows[column].cast(pa.int64()).fill_null(before_us).to_numpy()
        return np.maximum.accumulate(np.maximum(times, before_us))

    def _lateness(self, rows: pa.Table, first: int) -> np.ndarray[Any, Any]:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        made = self._disorder
        late = np.zeros(rows.num_rows, np.int64)
        if made.shuffle_us:
            parts = _random(made.seed, "shuffle", first, rows.num_rows)
            late += (parts * made.shuffle_us).astype(np.int64)
        if made.delay_us:
            texts = rows[made.column].cast(pa.string())
            chosen = pc.fill_null(pc.equal(texts, made.value), False)
            late += made.delay_us * chosen.to_numpy().astype(np.int64)
        return late

    def _repeat(
        self, rows: pa.Table, moments: np.ndarray[Any, Any], first: int, number: int
    ) -> None:
        """Hold the rows that come twice once more, with the row after them."""
        import numpy as np

        if not self._disorder.duplicate or not rows.num_rows:
            return
        parts = _random(self._disorder.seed, "duplicate", first, rows.num_rows)
        chosen = np.flatnonzero(parts < self._disorder.duplicate)
        if len(chosen) and chosen[-1] == rows.num_rows - 1:
            self._carried = rows.slice(rows.num_rows - 1), int(moments[-1])
            chosen = chosen[:-1]
        later = np.maximum(moments[chosen], moments[chosen + 1])
        self._hold(rows.take(chosen), later, 2 * (first + chosen + 1) + 1, number)

    def _carry_last(self) -> None:
        """The last row of the tape comes twice at once: no other follows it."""
        if self._carried is not None:
            rows, moment = self._carried
            number = self._first_chunk + len(self._begins) - 1
            self._hold(rows, [moment], [2 * self._next.row + 1], number)
            self._carried = None

    def _hold(self, rows: pa.Table, moments: Any, order: Any, chunk: int) -> None:
        import numpy as np
        import pyarrow as pa

        mapped = self._mapped(np.asarray(moments, np.int64))
        # Those were released before the run was killed.
        there = mapped >= self._done_us
        rows, mapped = rows.filter(pa.array(there)), mapped[there]
        order = np.asarray(order, np.int64)[there]
        chunks = np.full(len(mapped), chunk, np.int64)
        held = self._held
        if held.rows is None:
            self._held = _Held(rows, mapped, order, chunks)
            return
        self._held = _Held(
            pa.concat_tables([held.rows, rows], promote_options="permissive"),
            np.concatenate([held.moments, mapped]),
            np.concatenate([held.order, order]),
            np.concatenate([held.chunk, chunks]),
        )

    def _mapped_one(self, us: int) -> int:
        import numpy as np

        return int(self._mapped(np.array([us], np.int64))[0])

    def _mapped(self, moments: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """When rows arrive after the gap, and in a burst."""
        import numpy as np

        made = self._disorder
        if made.gap_us and self._first_us is not None:
            begin = self._first_us + made.gap_after_us
            end = begin + made.gap_us
            moments = np.where((moments >= begin) & (moments < end), end, moments)
        if made.burst_us:
            moments = -(-moments // made.burst_us) * made.burst_us
        return moments

    def _released(self, horizon_us: int) -> Iterator[Chunk]:
        """The held rows of before a moment, as chunks."""
        import numpy as np
        import pyarrow as pa

        held = self._held
        if held.rows is None or horizon_us <= self._done_us:
            return
        going = np.flatnonzero(held.moments < horizon_us)
        sorted_ = going[np.lexsort((held.order[going], held.moments[going]))]
        moments = held.moments[sorted_]
        rows = held.rows.take(pa.array(sorted_))
        waiting = np.flatnonzero(held.moments >= horizon_us)
        left = held.chunk[waiting]
        self._held = _Held(
            held.rows.take(pa.array(waiting)),
            held.moments[waiting],
            held.order[waiting],
            left,
        )
        if self._by_arrival:
            rows = _arriving(rows, moments)
        # A burst is one chunk; else what a chunk of the tape has released is.
        ends = np.flatnonzero(np.diff(moments)) + 1
        cuts = map(int, ends) if self._disorder.burst_us else ()
        edges = [0, *cuts, len(sorted_)]
        # Of which chunk the oldest row is that is not released after each row.
        later = np.append(held.chunk[sorted_], left.min(initial=_END_US))
        oldest = np.minimum.accumulate(later[::-1])[::-1]
        for start, end in itertools.pairwise(edges):
            if start == end:
                continue
            is_last = end == len(sorted_)
            done = horizon_us if is_last else int(moments[end - 1]) + 1
            self._done_us = done
            self._forget(int(oldest[end]))
            yield Chunk(rows.slice(start, end - start), self._position())

    def _forget(self, oldest: int) -> None:
        # The newest chunk stays: its last row may come twice.
        while len(self._begins) > 1 and self._first_chunk < oldest:
            self._begins.popleft()
            self._first_chunk += 1

    def _position(self) -> Position:
        begin = self._begins[0]
        return {
            "at": begin.at,
            "row": begin.row,
            "base": begin.base_us,
            "read": len(self._begins),
            "done": self._done_us,
            "first": self._first_us,
        }


def _arriving(rows: pa.Table, moments: np.ndarray[Any, Any]) -> pa.Table:
    import pyarrow as pa

    where = rows.schema.get_field_index(ARRIVAL)
    kind = rows.schema.field(where)
    return rows.set_column(where, kind, pa.array(moments).cast(kind.type))


def _random(seed: int, option: str, first: int, count: int) -> np.ndarray[Any, Any]:
    """Numbers from 0 to 1, below 1, for rows from one on; of each row always the same,
    and other ones for another option (splitmix64)."""
    import numpy as np

    key = blake2b(f"{seed} {option}".encode(), digest_size=8).digest()
    start = np.uint64(int.from_bytes(key, "little"))
    with np.errstate(over="ignore"):
        step = np.uint64(0x9E3779B97F4A7C15)
        mixed = start + step * (np.arange(first, first + count, dtype=np.uint64) + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
