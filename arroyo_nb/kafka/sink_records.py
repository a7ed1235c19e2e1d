"""The rows of a sink as the records of a topic: their values, keys, times and places.

A topic keeps the order of the records of one partition. So what must stay in order goes
to one partition from one task: the rows that have one key; of changes without a key
those of one primary key, where the sink declares one, else those that speak of one row.
Other rows go where the client sends them. Of a batch the deletes come first: who knows
rows by a key, and reads the end of one row behind the beginning of the next that has
its key, would lose that.

Where a batch is dealt out to tasks, a row must come to the same task whenever the batch
is computed: its place is made of what is settled
(:func:`arroyo_nb.plan.determinism.deterministic_columns`), and never of a random key.

A worker loads this module, so it loads no planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.debezium_changes import AFTER, BEFORE, OP, documents
from arroyo_nb.formats import IMAGE, Envelope, change_format, payload_format
from arroyo_nb.kafka.table_options import KEY_FIELD, TIMESTAMP_FIELD
from arroyo_nb.schema import TEXT, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from arroyo_nb.connectors import TableSpec

VALUE, KEY, AT, PARTITION = "value", "key", "at_ms", "partition"
RECORD = f"{VALUE} binary, {KEY} string, {AT} bigint, {PARTITION} int"
"""A record. Without a key it has none; without a time or a partition the client finds
one."""

_PLACE = "place"


@dataclass(frozen=True)
class SinkRows:
    """What Spark makes of the rows of a table.

    Parameters
    ----------
    spec
        The table.
    envelope
        What is around each payload.
    partitions
        Of the topic.
    """

    spec: TableSpec
    envelope: Envelope
    partitions: int

    def appended(self, batch: DataFrame, tasks: int | None = None) -> DataFrame:
        """Rows that are only appended, as :data:`RECORD`.

        Parameters
        ----------
        batch
            The sink's columns.
        tasks
            Into how many parts they are dealt by their place; None: they stay where
            they are.
        """
        spec = self.spec
        format_ = payload_format(str(spec.options["format"]))
        rows = batch.select(
            format_.encoded(spec.physical, spec.options),
            *_columns(self._key, self._at, self._place(_hash(self._settled))),
        )
        # By the place and not by chance: a batch that comes again must deal out each
        # row as before, to the task that knows whether it is written.
        if tasks is not None:
            rows = rows.repartition(tasks, _PLACE)
        value = f"{self.envelope.sql(VALUE)} AS {VALUE}"
        return rows.selectExpr(value, KEY, AT, f"CAST(NULL AS INT) AS {PARTITION}")

    def changed(self, batch: DataFrame, tasks: int | None = None) -> DataFrame:
        """Changes, dealt out by their place to be :func:`merged`.

        Parameters
        ----------
        batch
            The sink's columns, the weight and the row's id.
        tasks
            Into how many parts; None: as many as Spark has for any shuffle.
        """
        spec = self.spec
        format_ = change_format(str(spec.options["format"]))
        row = f"{format_.image(spec.physical, spec.options)} AS {IMAGE}"
        place = self._place(self._change)
        rows = batch.selectExpr(row, self._key, self._at, place, WEIGHT, ROW_ID)
        # All changes of a place come to one task, which merges those of a row.
        rows = rows.repartition(*(() if tasks is None else (tasks,)), _PLACE)
        # Of the partitions that the topic had at first: with the number that it has
        # now, a row's changes would move once a partition is added.
        number = f"CAST(pmod({_PLACE}, {self.partitions}) AS INT)"
        # A row that moves to another place ends here and begins there.
        row_id = f"IF({ROW_ID} IS NULL, NULL, xxhash64({_PLACE}, {ROW_ID}))"
        return rows.selectExpr(
            *(IMAGE, KEY, AT, f"IF({KEY} IS NULL, {number}, NULL) AS {PARTITION}"),
            *(WEIGHT, f"{row_id} AS {ROW_ID}"),
        )

    @property
    def merged(self) -> Merged:
        """What a worker makes of :meth:`changed`."""
        return Merged(str(self.spec.options["format"]), self.envelope)

    @property
    def _settled(self) -> tuple[str, ...]:
        settled = self.spec.settled
        return self.spec.physical.names if settled is None else settled

    @property
    def _key_column(self) -> str | None:
        """As in Arroyo, a column of another type is no key."""
        name = self.spec.options.get(KEY_FIELD)
        columns = (field.name for field in self.spec.physical if field.type == TEXT)
        return next((column for column in columns if column == name), None)

    @property
    def _key(self) -> str:
        key = self._key_column
        return f"CAST({'NULL' if key is None else quoted(key)} AS STRING) AS {KEY}"

    @property
    def _at(self) -> str:
        at = self.spec.options.get(TIMESTAMP_FIELD)
        time = "NULL" if at is None else f"unix_millis({quoted(str(at))})"
        return f"CAST({time} AS BIGINT) AS {AT}"

    @property
    def _change(self) -> str:
        """The place of a change without a key."""
        declared = self.spec.primary_key
        if declared and set(declared) <= set(self._settled):
            return _hash(declared)
        return f"coalesce({ROW_ID}, {_hash(self._settled)})"

    def _place(self, keyless: str) -> str:
        key = self._key_column
        if key is None or key not in self._settled:
            return f"{keyless} AS {_PLACE}"
        return f"IF({quoted(key)} IS NULL, {keyless}, {_hash([key])}) AS {_PLACE}"


def _hash(columns: Sequence[str]) -> str:
    """A number for the columns' values, as Spark SQL text."""
    return f"xxhash64({', '.join(map(quoted, columns))})" if columns else "0L"


def _columns(*texts: str) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.expr(text) for text in texts]


@dataclass(frozen=True)
class Merged:
    """What a worker makes of the changes of a batch that came to it; pickled.

    Parameters
    ----------
    format
        The name of the table's format.
    envelope
        What is around each document.
    """

    format: str
    envelope: Envelope

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        changes = list(batches)
        if changes:
            yield from self.records(pa.Table.from_batches(changes)).to_batches()

    def records(self, changes: pa.Table) -> pa.Table:
        """The changes of each row as one document, the deletes first."""
        changed = documents(changes)
        # Stable: the documents stay in their order otherwise.
        order = np.argsort(changed[OP].to_numpy() != "d", kind="stable")
        changed = changed.take(order)
        # A delete has no row after it: its key and place are those of the row before.
        new = changed[AFTER].is_valid()
        beside = {
            name: pc.if_else(
                new,
                pc.struct_field(changed[AFTER], name),
                pc.struct_field(changed[BEFORE], name),
            )
            for name in (KEY, AT, PARTITION)
        }
        texts = change_format(self.format).change_texts(changed)
        return pa.table({VALUE: self.envelope.around(texts), **beside})
