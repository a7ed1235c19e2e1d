"""What a preview keeps of an updating output: the newest changes, and the rows that
they leave.

Changes of one micro-batch that speak of one row are one change, as in Arroyo's preview
and in debezium's envelope (:mod:`arroyo_nb.changelog.debezium`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.preview import PREVIEW_ROWS, Preview, last_rows, nullable
from arroyo_nb.schema import TEXT, Field, Schema, StructOf, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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
        row = StructOf(nullable(schema).fields)
        super().__init__(
            Schema((Field("op", TEXT), Field("before", row), Field("after", row))),
            limit_rows=limit_rows,
        )
        self._row = arrow_schema(nullable(schema))
        self._settled = self._relation = None
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
        from arroyo_nb.changelog.debezium import documents

        schema = arrow_schema(self.schema)
        self.put(documents(changes).select(schema.names).cast(schema), batch_id)
        with self._lock:
            if batch_id != self._batch_id:
                self._settled, self._batch_id = self._relation, batch_id
            self._relation = self._after(changes.drop_columns([ROW_ID]))

    def table(self) -> pa.Table:
        """The rows that all changes leave, in the order in which they first came.

        Raises
        ------
        RunProblem
            When they are more than fit here.
        """
        from arroyo_nb.changelog.zset import fold

        relation = self._relation
        if relation is None:
            return self._row.empty_table()
        if relation.num_rows > RELATION_ROWS:
            raise RunProblem(
                f"the result has more than {RELATION_ROWS:,} rows, which are not held",
                hint="INSERT INTO a table, or look at changelog()",
            )
        return fold(relation)

    def changelog(self) -> pa.Table:
        """The kept changes: op, batch, before, after."""
        table, ids = self._numbered()
        return table.add_column(1, "batch", ids)

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """Rows of the result, those that came last first; none where it is large."""
        relation = self._relation
        if relation is None or relation.num_rows > RELATION_ROWS:
            return []
        return last_rows(relation.select(self._row.names), count)

    def _after(self, changes: pa.Table) -> pa.Table:
        import pyarrow as pa

        from arroyo_nb.changelog.zset import consolidate

        if self._settled is None:
            return consolidate(changes)
        if self._settled.num_rows > RELATION_ROWS:  # it will not fit again
            return self._settled
        return consolidate(pa.concat_tables([self._settled, changes]))
