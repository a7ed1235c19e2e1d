"""What a preview keeps of an updating output: the newest changes, and the rows that
they leave.

Changes of one micro-batch that speak of one row are one change, as in Arroyo's preview
and in debezium's envelope (:mod:`arroyo_nb.changelog.debezium`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.preview import PREVIEW_ROWS, Preview, nullable
from arroyo_nb.run.preview_state import PreviewState, last_rows
from arroyo_nb.run.snapshot import Change
from arroyo_nb.schema import TEXT, Field, Schema, StructOf, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SEEN = "_seen"

RELATION_ROWS = 100_000
"""Most rows of a relation that are held in memory."""


class ChangesPreview(Preview):
    """A writer that keeps changes (see :class:`arroyo_nb.connectors.Writer`).

    Its rows are documents: ``op`` (c, u or d), ``before``, ``after``.

    Parameters
    ----------
    schema
        Columns of the output.
    limit_rows
        How many of the newest changes are kept.
    """

    def __init__(self, schema: Schema, *, limit_rows: int = PREVIEW_ROWS) -> None:
        import pyarrow as pa

        row = StructOf(nullable(schema).fields)
        super().__init__(
            Schema((Field("op", TEXT), Field("before", row), Field("after", row))),
            limit_rows=limit_rows,
        )
        self._row = arrow_schema(nullable(schema))
        hidden = [pa.field(n, pa.int64()) for n in (WEIGHT, ROW_ID, _SEEN)]
        empty = pa.schema([*self._row, *hidden]).empty_table()
        self._settled = self._relation = _Relation(empty)
        self._batch_id = -1

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Take one micro-batch of rows with weights and ids."""
        rows = batch.toArrow()
        columns = rows.select(self._row.names).cast(self._row)
        for name in (WEIGHT, ROW_ID):
            columns = columns.append_column(name, rows[name])
        self.take(columns, batch_id)

    def take(self, changes: pa.Table, batch_id: int) -> None:
        """Take the changes of one micro-batch; a replayed one takes the place of its
        first try."""
        from arroyo_nb.changelog.debezium import newest_documents

        schema = arrow_schema(self.schema)
        documents, count = newest_documents(changes, self._limit_rows)
        self.put(documents.select(schema.names).cast(schema), batch_id, count)
        with self._lock:
            # A batch that comes again begins where it began.
            if batch_id != self._batch_id:
                self._settled, self._batch_id = self._relation, batch_id
            self._relation = self._settled.after(changes)

    def table(self) -> pa.Table:
        """The rows that all changes leave, in the order in which they first came.

        Raises
        ------
        RunProblem
            When they are more than fit here.
        """
        from arroyo_nb.changelog.zset import fold

        relation = self._relation
        if relation.is_cut:
            raise RunProblem(
                f"the result has more than {RELATION_ROWS:,} rows, which are not held",
                hint="INSERT INTO a table, or look at changelog()",
            )
        return fold(relation.in_place()).select(self._row.names)

    def changelog(self) -> pa.Table:
        """The kept changes: op, batch, before, after."""
        table, ids = self._numbered()
        return table.add_column(1, "batch", ids)

    def state(self) -> PreviewState:
        """What a picture shows of it at this moment."""
        state, relation = super().state(), self._relation
        return _ChangesState(
            state.batches,
            state.total_rows,
            state.kept_rows,
            None if relation.is_cut else relation.count,
            relation,
            tuple(self._row.names),
        )

    @property
    def result_rows(self) -> int | None:
        """How many rows the changes leave; None where they are too many to hold."""
        return None if self._relation.is_cut else self._relation.count


@dataclass(frozen=True)
class _Relation:
    """The rows that changes leave, those that changed last behind the others.

    Parameters
    ----------
    rows
        The visible columns, the weight and the id of each row; and in ``_SEEN`` the
        place of its id among all that are there.
    """

    rows: pa.Table

    @cached_property
    def count(self) -> int:
        """How many rows there are, each as often as it is there."""
        from arroyo_nb.changelog.zset import weights

        return int(weights(self.rows).clip(0).sum())

    @property
    def is_cut(self) -> bool:
        """Whether there were too many rows; what is held is then not the result."""
        return max(self.count, int(self.rows.num_rows)) > RELATION_ROWS

    def after(self, changes: pa.Table) -> _Relation:
        """With the changes of one more batch."""
        import pyarrow as pa

        from arroyo_nb.changelog.zset import consolidate

        if self.is_cut:  # it will not fit again
            return self
        known = self.rows.drop_columns([_SEEN])
        rows = consolidate(pa.concat_tables([known, changes]))
        return _Relation(rows.append_column(_SEEN, self._places(rows)))

    def in_place(self) -> pa.Table:
        """The rows in the order in which they first came, each with its weight."""
        return self.rows.sort_by(_SEEN).drop_columns([_SEEN, ROW_ID])

    def last(self, count: int) -> _Relation:
        """Those that changed last, each as often as it is among them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from arroyo_nb.changelog.zset import newest_copies, weights, with_column

        copies = pa.array(newest_copies(weights(self.rows), count))
        there = with_column(self.rows, WEIGHT, copies)
        return _Relation(there.filter(pc.greater(copies, 0)))

    def _places(self, rows: pa.Table) -> pa.ChunkedArray:
        """The place that a row's id has had; behind all others for one that is new."""
        import pyarrow as pa
        import pyarrow.compute as pc

        had = self.rows[_SEEN].take(
            pc.index_in(rows[ROW_ID], value_set=self.rows[ROW_ID].combine_chunks())
        )
        first = (pc.max(self.rows[_SEEN]).as_py() or 0) + 1
        fresh = pa.array(range(first, first + rows.num_rows), pa.int64())
        return pc.coalesce(had, fresh)


@dataclass(frozen=True)
class _ChangesState(PreviewState):
    """Changes of an output, and the rows that they leave."""

    relation: _Relation | None = None
    columns: tuple[str, ...] = ()

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """The rows of the result that changed last, in the order in which they first
        came, so that a row which changes stays where it is; none where it is large."""
        from arroyo_nb.changelog.zset import fold

        assert self.relation is not None
        if self.relation.is_cut:
            return []
        rows = fold(self.relation.last(count).in_place()).select(list(self.columns))
        return list(reversed(last_rows(rows, count)))

    def _change(self, batch_id: int, row: tuple[Any, ...]) -> Change:
        op, before, after = row
        return Change(op, batch_id, _values(before), _values(after))


def _values(row: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row.values())
