"""Lookup joins on Spark.

A table that is read whole is broadcast, and joined by Spark. Where there is a
watermark, the join is an outer one also where rows that find nothing are dropped: of an
inner join Spark infers that the key is not NULL, and moves that below the watermark,
where it would lose the row that ends the stream.

A store is asked from Python workers, one question an Arrow batch::

    rows --mapInArrow: the distinct keys that are not cached are asked for-->
         rows with the columns of what was found

Event time, window and weight go through as they came; that a column carries the
watermark is said of it in Spark's schema, which is handed on.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.codecs.bad_records import refusal
from arroyo_nb.connectors import CONNECTORS, LookupClient
from arroyo_nb.formats import FORMATS, payload_format
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import Schema, quoted, spark_type
from arroyo_nb.spark.arrow_schema import spark_arrow_schema
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.lookup_cache import LookupCache
from arroyo_nb.tape import UNREAD, BadRow, shown_text
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOUND = "_found"
"""Whether a row of a table that is read whole was found; NULL where it was not."""

KEY = "_key"
"""What is looked up, on its way to a worker."""

CACHES = 16
"""Caches of a worker process: those of runs that ended go when others come."""


def broadcast(
    frame: DataFrame, node: nodes.LookupJoin, row_time: str, table: DataFrame, how: str
) -> DataFrame:
    """Each row with the columns of what was found, and :data:`FOUND`.

    Parameters
    ----------
    frame
        The lowered input.
    node
        What is looked up.
    row_time
        The event time of an input row, as Spark SQL text.
    table
        The table's rows, each key once.
    how
        ``"left_outer"``, or ``"inner"`` where Spark may filter the rows before.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ours, theirs, equal = ["*"], [], []
    taken = {*frame.columns, *(name for name, _ in node.columns)}
    for number, (key, name) in enumerate(node.keys):
        left, right = (free(f"{side}_{number}", taken) for side in ("left", "right"))
        ours.append(f"{spark_sql(key, row_time=row_time)} AS {left}")
        # A key may be a narrower number than what it is compared with.
        theirs.append(f"CAST({quoted(name)} AS {spark_type(type_of(key))}) AS {right}")
        equal.append(f"{left} = {right}")
    named = [f"{quoted(column)} AS {quoted(name)}" for name, column in node.columns]
    rows = F.broadcast(table.selectExpr(*named, *theirs, f"TRUE AS {FOUND}"))
    both = frame.selectExpr(*ours).join(rows, F.expr(" AND ".join(equal)), how)
    kept = (*frame.columns, *(name for name, _ in node.columns), FOUND)
    return both.select(*map(quoted, kept))


def static_frame(spark: SparkSession, rows: pa.Table, schema: Schema) -> DataFrame:
    """The rows of a table that is read whole."""
    return spark.createDataFrame(rows.cast(spark_arrow_schema(schema)))


def query_store(frame: DataFrame, node: nodes.LookupJoin, row_time: str) -> DataFrame:
    """Each row with the columns of what was found, and ``_unread``; of an inner join
    those that find something, if only a bad record.

    Parameters
    ----------
    frame
        The lowered input.
    node
        What is looked up.
    row_time
        The event time of an input row, as Spark SQL text.

    Raises
    ------
    RunProblem
        When an environment variable is not set, or the store's client not installed.
    """
    from pyspark.sql.types import StructType

    ((key, _),) = node.keys
    # Plain names: Spark stumbles over dots and backticks in what Python is given.
    plain = [f"c_{number}" for number in range(len(frame.columns))]
    given = [
        f"{quoted(name)} AS {word}"
        for name, word in zip(frame.columns, plain, strict=True)
    ]
    rows = frame.selectExpr(*given)
    found = [f"found_{number}" for number in range(len(node.columns))]
    types = [node.table.schema[column].type for _, column in node.columns]
    added = ", ".join(
        f"{word} {spark_type(type_)}" for word, type_ in zip(found, types, strict=True)
    )
    added = f"{added}, {UNREAD} string"
    columns = StructType([*rows.schema.fields, *StructType.fromDDL(added).fields])
    keyed = frame.selectExpr(*given, f"{spark_sql(key, row_time=row_time)} AS {KEY}")
    named = [
        f"{word} AS {quoted(name)}"
        for word, name in zip(
            (*plain, *found),
            (*frame.columns, *(name for name, _ in node.columns)),
            strict=True,
        )
    ]
    made = keyed.mapInArrow(_worker(node, found), columns)
    return made.selectExpr(*named, UNREAD)


def _worker(node: nodes.LookupJoin, names: Sequence[str]) -> BatchLookup:
    table = node.table
    spec = table.spec.resolved(node.span)
    asker = CONNECTORS.get(table.connector).asker(spec)
    assert asker is not None, "a table that is asked has an asker"
    format_ = FORMATS.get(str(spec.options["format"]))
    wanted = {"bad_data", *(option.name for option in format_.options)}
    apart = {field.name for field in table.metadata}
    return BatchLookup(
        uuid.uuid4().hex,
        asker,
        table.name,
        format_.name,
        spec.physical,
        spark_arrow_schema(spec.physical),
        {name: value for name, value in spec.options.items() if name in wanted},
        table.cache_bytes,
        None if table.cache_ttl is None else table.cache_ttl.total_seconds(),
        node.how == "inner",
        tuple(
            (name, None if column in apart else column)
            for name, (_, column) in zip(names, node.columns, strict=True)
        ),
    )


@dataclass(frozen=True)
class BatchLookup:
    """What a worker does to the rows of a batch; pickled.

    Parameters
    ----------
    name
        Tells the lookups of a worker's life apart: what one has cached is no other's.
    asker
        Asks the store.
    table
        What errors call the table.
    format, physical, options
        What a record is read with.
    held
        What Spark makes of a record's columns.
    cache_bytes, cache_ttl_s
        What is kept of what was found.
    drops
        Whether rows that find nothing go.
    columns
        What is added to a row: a name, and the column of the record; None is the key.
    """

    name: str
    asker: LookupClient
    table: str
    format: str
    physical: Schema
    held: pa.Schema
    options: Mapping[str, OptionValue]
    cache_bytes: int
    cache_ttl_s: float | None
    drops: bool
    columns: tuple[tuple[str, str | None], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cache = self._cache()
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            yield from self.looked_up(rows, cache).to_batches()

    def looked_up(self, rows: pa.Table, cache: LookupCache) -> pa.Table:
        """The rows with what was found for their :data:`KEY`, and ``_unread``."""
        keys = rows[KEY].combine_chunks()
        # One question for each key of the batch; a NULL key finds nothing, as in any
        # join.
        distinct = keys.unique().drop_null()
        texts = distinct.to_pylist()
        found, places, bad = self.records(texts, cache.find(texts, self.asker.ask))
        found = found.cast(self.held)
        number = pc.index_in(keys, distinct)
        # NULL where a key is NULL or has no record.
        at = pa.array(places, pa.int64()).take(number)
        unread = pa.array(bad, pa.string()).take(number)
        made = rows.drop(KEY)
        for name, column in self.columns:
            values = (
                pc.if_else(at.is_valid(), keys, pa.scalar(None, keys.type))
                if column is None
                else found[column].take(at)
            )
            made = made.append_column(name, values)
        made = made.append_column(UNREAD, unread)
        if not self.drops:
            return made
        return made.filter(pc.or_(self._is_found(found, at), unread.is_valid()))

    def records(
        self, keys: Sequence[str], documents: Sequence[bytes | None]
    ) -> tuple[pa.Table, list[int | None], list[str | None]]:
        """The records as rows; where that of each key stands, None where there is none,
        or one that is bad and dropped; and what is wrong with that.

        Raises
        ------
        RunProblem
            When a record is bad, and such are not dropped.
        """
        there = [n for n, document in enumerate(documents) if document is not None]
        payloads = pa.array([documents[n] for n in there], pa.binary())
        decoder = payload_format(self.format).payload_decoder(
            self.physical, self.options, None
        )
        decoded = decoder.decode(payloads)
        places: list[int | None] = [None] * len(keys)
        for place, number in enumerate(decoded.numbers.to_pylist()):
            places[there[number]] = place
        bad: list[str | None] = [None] * len(keys)
        for number, reason in decoded.bad:
            key, text = keys[there[number]], shown_text(payloads[number].as_py())
            # Told by its key: who reads the error looks for it in the store.
            row = BadRow.in_file(f"{self.table}['{key}']", 1, text, reason)
            if self.options.get("bad_data") != "drop":
                raise refusal(row)
            bad[there[number]] = row.to_json()
        return decoded.rows, places, bad

    def _is_found(self, found: pa.Table, at: pa.Array) -> pa.Array:
        """As in Arroyo, a record without a value is none to an inner join."""
        said = np.zeros(found.num_rows, bool)
        for column in found.columns:
            said |= column.is_valid().to_numpy()
        return pc.fill_null(pa.array(said, pa.bool_()).take(at), False)

    def _cache(self) -> LookupCache:
        # Popped and put back: the dictionary's order is that of last use.
        cache = _CACHES.pop(self.name, None)
        if cache is None:
            cache = LookupCache(self.cache_bytes, self.cache_ttl_s)
        _CACHES[self.name] = cache
        while len(_CACHES) > CACHES:
            _CACHES.popitem(last=False)
        return cache


_CACHES: OrderedDict[str, LookupCache] = OrderedDict()
"""Those of this process: it outlives a batch."""
