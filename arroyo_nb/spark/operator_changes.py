"""Changelog operators on Spark: state in buckets, Arrow in and out.

::

    rows --mapInArrow: partial, split by bucket--> (bucket, Arrow IPC bytes)
         --groupBy(bucket).transformWithState: step--> Arrow IPC bytes
         --mapInArrow: decode--> typed columns and the weight

One state access per bucket and batch, whatever the number of keys: Spark's own keyed
Python operators take several socket round trips per key. The state is Spark's: kept in
RocksDB, checkpointed, restored and distributed by it. timeMode None, so operators
follow each other in one query, and Spark runs no empty batches.

The changes of an operator become rows of Spark where Spark is to do something with
them. Where the next operator reads them as they are, they stay in the worker
(:class:`~arroyo_nb.spark.stateful_operators.Chain`), as Flink chains operators of one
task: only what the next operator makes of them is sent, which is often a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.lazy_imports import pa
from arroyo_nb.schema import quoted
from arroyo_nb.spark.state_config import StateConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.spark.stateful_operators import (
        Chain,
        StatefulOperator,
        UnaryOperator,
    )

Decode: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"
"""Reads what an operator has told, in a worker."""

Relation: TypeAlias = "DataFrame | OperatorChanges"
"""A lowered relation: rows of Spark, or changes that are none yet."""


@dataclass(frozen=True)
class OperatorChanges:
    """The changes of an operator.

    Parameters
    ----------
    parts
        The partial states of its input, of the columns :data:`PARTS`.
    operator
        What to keep up to date.
    keeping
        How the state is kept.
    items
        The columns of the relation: Spark SQL text over the operator's output and the
        weight, by name.
    appends
        Whether rows only come: each as often as it comes, in place of a weight. What is
        taken back, such as the pairs of a forgotten key, is sent to nobody.
    """

    parts: DataFrame
    operator: StatefulOperator
    keeping: StateConfig
    items: Mapping[str, str]
    appends: bool = False

    @cached_property
    def rows(self) -> DataFrame:
        """The changes as rows of Spark."""
        from arroyo_nb.spark.stateful_operators import appended, decoded

        changes = self.operator.output.append(pa.field(WEIGHT, pa.int64()))
        steps = self._steps("changes binary")
        decode = appended if self.appends else decoded
        told = decode_changes(steps, changes, decode)
        return told.selectExpr(*select_list(self.items))

    def renamed(self, names: Mapping[str, str]) -> OperatorChanges:
        """The same with other columns: the old name of each, by its new name."""
        items = {new: self.items[old] for new, old in names.items()}
        return replace(self, items=items)

    def read_by(self, texts: Mapping[str, str]) -> dict[str, str] | None:
        """The operator's columns that a next one reads, by the names that it has for
        them; None where Spark has to compute one.

        Parameters
        ----------
        texts
            What is read, as Spark SQL text over the items, by name.
        """
        # An item that is a column of the operator has the name of it as its text.
        known = {*self.operator.output.names, WEIGHT}
        plain = {quoted(n): text for n, text in self.items.items() if text in known}
        if not all(text in plain for text in texts.values()):
            return None
        return {name: plain[text] for name, text in texts.items()}

    def chained(self, chain: Chain) -> DataFrame:
        """What a next operator makes of the changes, of the columns :data:`PARTS`."""
        from arroyo_nb.spark.stateful_operators import PARTS

        return self._steps(PARTS, chain)

    def _steps(self, columns: str, chain: Chain | None = None) -> DataFrame:
        from arroyo_nb.spark.bucket_numbers import bucket_number_sql
        from arroyo_nb.spark.processors import Step
        from arroyo_nb.spark.stateful_operators import BUCKET, NOW

        keeping, parts = self.keeping, self.parts
        if keeping.beats is not None:
            every = f"explode(sequence(0, {keeping.buckets - 1})) AS {BUCKET}"
            nothing = "CAST(NULL AS BINARY) AS part"
            # A beat goes to every bucket, as each looks for idle keys of its own only.
            parts = parts.union(keeping.beats().selectExpr(every, nothing))
        # Spark logs the time of a batch, and a batch that it runs again has it again:
        # what a batch forgets must not depend on when it is run.
        now = f"unix_micros(current_timestamp()) AS {NOW}"
        parts = parts.selectExpr(bucket_number_sql(keeping.buckets), "part", now)
        # timeMode None: with processing time Spark would run empty batches without end,
        # only to look for timers.
        return parts.groupBy(BUCKET).transformWithState(
            Step(self.operator, keeping.ttl_us, chain), columns, "Append", "None"
        )


@dataclass(frozen=True)
class OperatorInput:
    """What an operator reads.

    Parameters
    ----------
    relation
        Of which relation.
    texts
        The columns, as Spark SQL text over the relation's, by the names that the
        operator has for them.
    retracts
        Whether the weight is read as well.
    """

    relation: Relation
    texts: Mapping[str, str]
    retracts: bool

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns as Python is given them, without the weight."""
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        if self._chained is None:
            read = to_arrow_schema(self.rows.schema, timezone="UTC")
            return pa.schema([field for field in read if field.name != WEIGHT])
        changes, columns = self._chained
        fields = (
            changes.operator.output.field(columns[name]).with_name(name)
            for name in self.texts
        )
        # As they would be if they went through Spark.
        given = from_arrow_schema(pa.schema(fields))
        return to_arrow_schema(given, timezone="UTC")

    @cached_property
    def rows(self) -> DataFrame:
        """What is read, as rows of Spark."""
        return rows_of(self.relation).selectExpr(*select_list(self._read))

    def parts(self, operator: UnaryOperator, buckets: int) -> DataFrame:
        """What the operator makes of the rows, of the columns :data:`PARTS`."""
        from arroyo_nb.spark.stateful_operators import PARTS, Chain, Partials

        partials = Partials(operator, buckets)
        if self._chained is None:
            # Summed up before the shuffle, so that it carries one piece for each bucket
            # and batch of rows.
            return self.rows.mapInArrow(partials, PARTS)
        changes, columns = self._chained
        read = tuple((column, name) for name, column in columns.items())
        return changes.chained(Chain(partials, read, changes.appends))

    @property
    def _read(self) -> dict[str, str]:
        weight = {WEIGHT: quoted(WEIGHT)} if self.retracts else {}
        return {**self.texts, **weight}

    @cached_property
    def _chained(self) -> tuple[OperatorChanges, dict[str, str]] | None:
        if not isinstance(self.relation, OperatorChanges):
            return None
        columns = self.relation.read_by(self._read)
        return None if columns is None else (self.relation, columns)


def operator_changes(
    read: OperatorInput,
    operator: UnaryOperator,
    keeping: StateConfig,
    items: Mapping[str, str],
) -> OperatorChanges:
    """The changes of an operator of one input.

    Parameters
    ----------
    read
        Its input.
    operator
        What to keep up to date.
    keeping
        How the state is kept.
    items
        The columns of the relation, as :class:`OperatorChanges` has them.
    """
    parts = read.parts(operator, keeping.buckets)
    return OperatorChanges(parts, operator, keeping, items)


def rows_of(relation: Relation) -> DataFrame:
    """A lowered relation as rows of Spark."""
    return relation.rows if isinstance(relation, OperatorChanges) else relation


def select_list(texts: Mapping[str, str]) -> list[str]:
    """Spark SQL text under its names."""
    named = ((text, quoted(name)) for name, text in texts.items())
    return [text if text == name else f"{text} AS {name}" for text, name in named]


def decode_changes(steps: DataFrame, schema: pa.Schema, decode: Decode) -> DataFrame:
    """The rows that steps have told as Arrow IPC bytes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return steps.mapInArrow(decode, from_arrow_schema(schema))
