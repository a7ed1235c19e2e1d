"""What a preview keeps of an updating output: the newest changes, and the rows that
they leave.

Changes of one micro-batch that speak of one row are one change, as in Arroyo's preview
and in debezium's envelope (:mod:`arroyo_nb.changelog.debezium_changes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.types import is_number
from arroyo_nb.run.observe.snapshot import Change, KeyHistory
from arroyo_nb.run.results.key_histories import KeyHistories
from arroyo_nb.run.results.preview import Preview, PreviewOptions
from arroyo_nb.run.results.preview_state import SHOWN_ROWS, PreviewState, last_rows
from arroyo_nb.schema import TEXT, Field, Schema, StructOf, arrow_schema, nullable

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.results.row_store import Changes

_SEEN = "_seen"

RELATION_ROWS = 100_000
"""Most rows of a relation that are held in memory; a larger one is made of the kept
changes when it is asked for."""

REBUILT_BYTES = 128 * 2**20
"""Up to this size a run that goes on reads the changes since the newest result that is
kept, to hold their relation."""

MOST_COPIES = 100_000_000
"""Most rows that a table is made of, equal ones counted."""

FOLDED_ROWS = 500_000
"""Changes that are folded at once, where a relation is made of the kept changes."""


class ChangesPreview(Preview):
    """A writer that keeps changes (see :class:`arroyo_nb.connectors.Writer`).

    Its rows are documents: ``op`` (c, u or d), ``before``, ``after``.

    Parameters
    ----------
    schema
        Columns of the output.
    chosen
        What is kept, and in which order the result is.
    """

    is_updating = True

    def __init__(self, schema: Schema, **chosen: Unpack[PreviewOptions]) -> None:
        import pyarrow as pa

        row = StructOf(nullable(schema).fields)
        super().__init__(
            Schema((Field("op", TEXT), Field("before", row), Field("after", row))),
            **chosen,
        )
        self._row = arrow_schema(nullable(schema))
        hidden = [pa.field(n, pa.int64()) for n in (WEIGHT, ROW_ID)]
        self._changes = pa.schema([*self._row, *hidden])
        # In memory a change has the id of its row, by which views find its history.
        self._kept_schema = arrow_schema(self.schema).append(hidden[1])
        numbers = [f.name for f in schema if is_number(f.type)]
        self._histories = KeyHistories(self._kept, numbers)
        self._relation = self._nothing
        self._count = 0
        # The relation and its count before the newest batch; None: not known.
        self._settled: tuple[_ChangedRows, int] | None = None
        self._batch_id = -1

    @property
    def _nothing(self) -> _ChangedRows:
        import pyarrow as pa

        return _ChangedRows(
            self._changes.append(pa.field(_SEEN, pa.int64())).empty_table()
        )

    def keep_in(self, folder: Path, budget_bytes: int) -> None:
        """Keep all changes in a folder from now on; those that it has come first."""
        from arroyo_nb.run.results.row_store import RowStore

        if self._store is not None and self._store.folder == folder:
            return
        store = self._store = RowStore(folder, self._changes, budget_bytes)
        self._take_up(store)
        for frame in store.newest(self._limit_rows):
            self._batches.append((frame.batch_id, self._with_ids(frame.rows)))
        self._cut()
        self._batch_id, self._count = store.last_batch, store.result_rows
        self._relation = self._rebuilt(self._batch_id + 1)

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Take the changes of one micro-batch, rows with weights and ids; a replayed
        one takes the place of its first try."""
        from arroyo_nb.changelog.debezium_changes import newest_documents
        from arroyo_nb.changelog.zset import weights

        changes = rows.select(self._changes.names).cast(self._changes)
        newest, count = newest_documents(changes, self._limit_rows)
        told = newest.select(self._kept_schema.names).cast(self._kept_schema)
        # Asked before anything is remembered: of a batch that comes again, the relation
        # has its changes already.
        before, count_before = self._before(batch_id)
        after, count_after = (
            before.after(changes),
            count_before + weights(changes).sum(),
        )
        if self._store is not None:
            result_rows = int(count_after)
            self._store.append(changes, batch_id, count, result_rows, before.as_changes)
        self._remember(told, batch_id, count)
        with self._lock:
            # One batch back is held: Spark commits a batch before it begins the next,
            # so that usually only the newest can come again. What is older is rebuilt.
            self._settled, self._batch_id = (before, count_before), batch_id
            self._relation, self._count = after, int(count_after)
        self._tell(told.drop_columns([ROW_ID]), batch_id)
        return count

    def _before(self, batch_id: int) -> tuple[_ChangedRows, int]:
        """The relation and its count before a batch, which may come again."""
        if batch_id == self._batch_id + 1:
            return self._relation, self._count
        if batch_id > self._batch_id:  # those between are not here
            return self._unknown, self._count
        if batch_id == self._batch_id and self._settled is not None:
            return self._settled
        recent = self._store.recent if self._store is not None else ()
        counts = {number: rows for number, _, rows in recent}
        relation = self._rebuilt(batch_id)
        return relation, counts.get(batch_id, relation.count)

    def _rebuilt(self, batch_id: int) -> _ChangedRows:
        """The relation before a batch, of the kept changes; none where it is large, or
        where they are not all kept."""
        store = self._store
        if store is None:
            return self._nothing if batch_id == 0 else self._unknown
        changes = store.changes(batch_id)
        if (
            changes is None
            or changes.size_bytes > REBUILT_BYTES
            or max(store.result_rows, 0) > RELATION_ROWS
        ):
            return self._unknown
        relation = self._folded(changes)
        return self._unknown if relation.is_too_large else relation

    @property
    def _unknown(self) -> _ChangedRows:
        return _ChangedRows(self._nothing.rows, is_large=True)

    def _folded(self, changes: Changes) -> _ChangedRows:
        """The relation that changes make."""
        import pyarrow as pa

        relation, parts, rows = self._nothing, [], 0
        for part in changes.parts:
            parts.append(part)
            rows += part.num_rows
            if rows >= FOLDED_ROWS:
                # In large pieces: consolidating costs what the relation has, whatever
                # comes to it.
                relation = relation.with_changes(pa.concat_tables(parts))
                parts, rows = [], 0
        return relation.with_changes(pa.concat_tables(parts)) if parts else relation

    def table(self) -> pa.Table:
        """The rows that all changes leave, in the order in which they first came.

        Raises
        ------
        RunProblem
            When they are more than memory holds, or of a run that was resumed, and
            not all changes are kept that make them.
        """
        relation = self._relation
        if relation.is_large:
            changes = None
            if self._store is not None and not self._result_is_cut:
                changes = self._store.changes()
            if changes is None:
                raise RunProblem(
                    f"the result is not known: one of more than {RELATION_ROWS:,} "
                    "rows, or of a resumed run, is made of its changes, and not all of "
                    "these are kept" + (f": {self.cut_text}" if self.cut_text else ""),
                    hint="INSERT INTO a table, give a larger budget, or look at "
                    "changelog()",
                )
            relation = self._folded(changes)
        return self._rows_of(relation)

    def _rows_of(self, relation: _ChangedRows) -> pa.Table:
        from arroyo_nb.changelog.zset import fold

        return self._shaped(fold(relation.in_place()).select(self._row.names))

    def table_at(self, batch_id: int) -> pa.Table:
        """The rows that the changes up to an earlier micro-batch leave.

        Raises
        ------
        RunProblem
            When not all changes are kept that make them.
        """
        relation = self._relation_at(batch_id)
        if relation is None:
            raise RunProblem(
                f"the result after batch {batch_id} is not known: not all changes that "
                "make it are kept" + (f": {self.cut_text}" if self.cut_text else ""),
                hint="give a larger budget for kept rows, or ask for a later batch",
            )
        return self._rows_of(relation)

    def _newest_until(
        self, batch_id: int
    ) -> tuple[int, tuple[tuple[int, pa.Table], ...]]:
        store = self._readable
        if store is None:
            return super()._newest_until(batch_id)
        frames = [f for f in store.frames() if f.batch_id <= batch_id]
        # Only what is shown is put together: most of the changes are older.
        newest: list[tuple[int, pa.Table]] = []
        missing = SHOWN_ROWS
        for frame in reversed(frames):
            newest.insert(0, (frame.batch_id, self._with_ids(frame.rows)))
            missing -= frame.count
            if missing <= 0:
                break
        return sum(f.count for f in frames), tuple(newest)

    def _relation_at(self, batch_id: int) -> _ChangedRows | None:
        if self._store is None:
            return self._relation if batch_id >= self._batch_id else None
        changes = self._store.changes(batch_id + 1)
        return None if changes is None else self._folded(changes)

    def state_at(self, batch_id: int, total_rows: int) -> PreviewState:
        """What a picture showed of it after an earlier micro-batch, as far as its
        changes are kept."""
        kept, newest = self._newest_until(batch_id)
        relation = self._relation_at(batch_id)
        count = None if relation is None else relation.count
        if relation is None or relation.is_too_large:
            relation = self._unknown
        return _ChangesState(
            newest,
            total_rows,
            min(kept, total_rows),
            count,
            "" if kept >= total_rows else self.cut_text,
            self._first_rows_of(relation),
            relation,
            self._histories,
        )

    def _first_rows(self) -> pa.Table | None:
        return self._first_rows_of(self._relation)

    def _first_rows_of(self, relation: _ChangedRows) -> pa.Table | None:
        shaped = self.order or self.limit is not None
        if not shaped or relation.is_large:
            return None
        # With their ids, which :meth:`table` has no use for.
        return self._shaped(relation.with_ids())

    def batches(self) -> pa.RecordBatchReader:
        """The kept changes, oldest first: op, batch, before, after."""
        import pyarrow as pa

        found = (b for rows in self._numbered() for b in rows.to_batches())
        return pa.RecordBatchReader.from_batches(self._numbered_schema, found)

    def changelog(self) -> pa.Table:
        """The kept changes: op, batch, before, after."""
        import pyarrow as pa

        empty = self._numbered_schema.empty_table()
        return pa.concat_tables([empty, *self._numbered()])

    _what = "changes"

    @property
    def _result_is_cut(self) -> bool:
        store = self._store
        kept = store is not None and store.leaves_result and self._count <= MOST_COPIES
        return self._relation.is_large and not kept

    @property
    def _numbered_schema(self) -> pa.Schema:
        import pyarrow as pa

        return arrow_schema(self.schema).insert(1, pa.field("batch", pa.int64()))

    def _numbered(self) -> Iterator[pa.Table]:
        """The kept changes by micro-batch, with its number."""
        import pyarrow as pa

        for batch_id, rows in self._frames():
            many = pa.repeat(pa.scalar(batch_id, pa.int64()), rows.num_rows)
            yield rows.add_column(1, "batch", many).cast(self._numbered_schema)

    def _frames(self) -> Iterator[tuple[int, pa.Table]]:
        return (
            (number, rows.drop_columns([ROW_ID]))
            for number, rows in self._shown_frames()
        )

    def _shown_frames(self) -> Iterator[tuple[int, pa.Table]]:
        store = self._readable
        if store is None:
            return iter(self._kept())
        frames = store.frames()
        return ((frame.batch_id, self._with_ids(frame.rows)) for frame in frames)

    @property
    def frame_schema(self) -> pa.Schema:
        """Those of the result, the weight and the id of the row."""
        return self._changes

    def frames(self) -> Iterator[tuple[int, pa.Table]]:
        """The changes by micro-batch, rows with weights and ids."""
        store = self._readable
        frames = store.frames() if store is not None else ()
        return ((frame.batch_id, frame.rows) for frame in frames)

    def _with_ids(self, changes: pa.Table) -> pa.Table:
        """Changes as documents, each with the id of its row."""
        from arroyo_nb.changelog.debezium_changes import newest_documents

        documents, _ = newest_documents(changes, MOST_COPIES)
        return documents.select(self._kept_schema.names).cast(self._kept_schema)

    def state(self) -> PreviewState:
        """What a picture shows of it at this moment."""
        state = super().state()
        return _ChangesState(
            state.batches,
            state.total_rows,
            state.kept_rows,
            self.result_rows,
            state.cut_text,
            state.first_rows,
            self._relation,
            self._histories,
        )

    @property
    def result_rows(self) -> int | None:
        """How many rows the changes leave; None where :meth:`table` cannot tell."""
        return None if self._result_is_cut else self._count


@dataclass(frozen=True)
class _ChangedRows:
    """The rows that changes leave, those that changed last behind the others.

    Parameters
    ----------
    rows
        The visible columns, the weight and the id of each row; and in ``_SEEN`` the
        place of its id among all that are there.
    is_large
        Whether they are not held, as they were too many, or are not known.
    """

    rows: pa.Table
    is_large: bool = False

    @cached_property
    def count(self) -> int:
        """How many rows there are, each as often as it is there."""
        from arroyo_nb.changelog.zset import weights

        return int(weights(self.rows).clip(0).sum())

    def after(self, changes: pa.Table) -> _ChangedRows:
        """With the changes of one more batch."""
        if self.is_large:  # it stays so
            return self
        after = self.with_changes(changes)
        if after.is_too_large:
            return _ChangedRows(after.rows.slice(0, 0), is_large=True)
        return after

    @property
    def is_too_large(self) -> bool:
        """Whether it has more rows than are held."""
        return max(self.count, int(self.rows.num_rows)) > RELATION_ROWS

    def with_changes(self, changes: pa.Table) -> _ChangedRows:
        """With more changes, however many rows they leave."""
        import pyarrow as pa

        from arroyo_nb.changelog.zset import consolidate

        known = self.rows.drop_columns([_SEEN])
        rows = consolidate(pa.concat_tables([known, changes]))
        return _ChangedRows(rows.append_column(_SEEN, self._places(rows, changes)))

    def in_place(self) -> pa.Table:
        """The rows in the order in which they first came, each with its weight."""
        return self.rows.sort_by(_SEEN).drop_columns([_SEEN, ROW_ID])

    def with_ids(self) -> pa.Table:
        """The rows, each as often as it is there, in the order in which they first
        came: the visible columns, then the id."""
        import pyarrow as pa

        from arroyo_nb.changelog.zset import fold, weights

        if (weights(self.rows) < 0).any():
            # A row was taken back under another id than it came with: only the values
            # say what is left.
            rows = fold(self.in_place())
            return rows.append_column(ROW_ID, pa.nulls(rows.num_rows, pa.int64()))
        rows = fold(self.rows.sort_by(_SEEN).drop_columns([_SEEN]))
        names = [name for name in rows.column_names if name != ROW_ID]
        return rows.select([*names, ROW_ID])

    def as_changes(self) -> pa.Table | None:
        """The changes that make these rows of nothing, in the order in which they first
        came; None: they are not held."""
        return None if self.is_large else self.rows.sort_by(_SEEN).drop_columns([_SEEN])

    def last(self, count: int) -> _ChangedRows:
        """Those that changed last, each as often as it is among them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from arroyo_nb.changelog.zset import newest_copies, weights, with_column

        copies = pa.array(newest_copies(weights(self.rows), count))
        there = with_column(self.rows, WEIGHT, copies)
        return _ChangedRows(there.filter(pc.greater(copies, 0)))

    def _places(self, rows: pa.Table, changes: pa.Table) -> pa.ChunkedArray:
        """The place that a row's id has had; of one that is new, behind all others, in
        the order in which the changes first speak of them."""
        import pyarrow.compute as pc

        # By the row's id and not by its values: a row that is updated stays where it
        # was.
        had = self.rows[_SEEN].take(
            pc.index_in(rows[ROW_ID], value_set=self.rows[ROW_ID].combine_chunks())
        )
        behind = (pc.max(self.rows[_SEEN]).as_py() or 0) + 1
        first = pc.index_in(rows[ROW_ID], value_set=pc.unique(changes[ROW_ID]))
        return pc.coalesce(had, pc.add(pc.cast(first, "int64"), behind))


@dataclass(frozen=True)
class _ChangesState(PreviewState):
    """Changes of an output, and the rows that they leave."""

    relation: _ChangedRows | None = None
    known: KeyHistories | None = None

    def newest_keyed(self, count: int) -> tuple[list[tuple[Any, ...]], tuple[int, ...]]:
        """The rows of the result that changed last, in the order in which they first
        came, so that a row which changes stays where it is; none where it is large."""
        assert self.relation is not None
        if self.first_rows is not None:
            rows = self.first_rows.slice(0, count)
        elif self.relation.is_large:
            return [], ()
        else:
            rows = self.relation.last(count).with_ids()
        # Views want the newest first.
        found = list(reversed(last_rows(rows, count)))
        return [row[:-1] for row in found], tuple(row[-1] or 0 for row in found)

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """The rows of :meth:`newest_keyed`."""
        return self.newest_keyed(count)[0]

    def histories(self, keys: Iterable[int]) -> tuple[KeyHistory, ...]:
        """What happened to the rows of these keys, as far as changes are in memory."""
        if self.known is None or not self.batches:
            return ()
        return self.known.of(keys, last_batch=self.batches[-1][0])

    def _change(self, batch_id: int, row: tuple[Any, ...]) -> Change:
        op, before, after, key = row
        return Change(op, batch_id, _values(before), _values(after), key or 0)


def _values(row: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row.values())
