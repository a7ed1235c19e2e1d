"""A stand-in for Spark's streaming DataFrames: what the lowering of updating plans uses
of them, on DuckDB and Arrow, one micro-batch after another in one process.

The planner, the lowering, what is handed to Python workers and the kernels are the real
ones; what Spark does with them is short and plain here. Rows are dealt out to tasks at
random, as a cluster would, and a query can be built anew on the states of another, as a
restart does. That Spark itself does the same is for tests/spark to show.
"""

from __future__ import annotations

import atexit
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import count, pairwise
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from pyspark.sql import Row
from pyspark.sql.pandas.types import (
    from_arrow_schema,
    from_arrow_type,
    to_arrow_schema,
)
from pyspark.sql.types import DataType, StructType
from sqlglot import exp

from arroyo_nb.changelog.zset import consolidate
from arroyo_nb.plan import nodes

_DDL = {"int": pa.int32(), "binary": pa.binary()}
_NAMES = count()


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all: to open one takes longer than most queries."""
    opened = duckdb.connect()
    opened.execute("SET threads = 1; SET TimeZone = 'UTC'")
    opened.execute("SET order_by_non_integer_literal = true")
    opened.execute("CREATE MACRO signed(n) AS CAST(n // 2 AS BIGINT)")
    opened.execute("CREATE MACRO pmod(a, b) AS (a % b + b) % b")
    opened.execute("CREATE MACRO raise_error(text) AS error(text)")
    # The numbers here are small: none leaves its type.
    opened.execute("CREATE MACRO wrapping_add(a, b) AS a + b")
    opened.execute("CREATE MACRO wrapping_subtract(a, b) AS a - b")
    opened.execute("CREATE MACRO wrapping_multiply(a, b) AS a * b")
    opened.execute("CREATE MACRO wrapping_negate(a) AS -a")
    opened.execute("CREATE MACRO low_bits(n) AS CAST(n AS BIGINT)")
    opened.execute("CREATE MACRO timestamp_micros(us) AS make_timestamptz(us)")
    # One that is still referred to when Python ends is reported as a leak.
    atexit.register(database.cache_clear)
    return opened


@lru_cache(20_000)
def duck(text: str) -> str:
    """Spark SQL text as DuckDB's."""
    parsed = sqlglot.parse_one(text, read="spark")
    for node in reversed(list(parsed.walk())):
        if isinstance(node, exp.TryCast):  # how sqlglot reads Spark's CAST
            node.replace(exp.Cast(this=node.this, to=node.args["to"]))
        elif isinstance(node, exp.Anonymous) and node.name == "xxhash64":
            hashed = exp.Anonymous(this="hash", expressions=node.expressions)
            node.replace(exp.func("signed", hashed))
    if isinstance(parsed, exp.Aliases):
        # Where a list has no elements Spark has one row, which is filtered out above.
        given = parsed.this.this.sql("duckdb")
        place, element = (name.sql("duckdb") for name in parsed.expressions)
        return f"unnest(range(len({given}))) AS {place}, unnest({given}) AS {element}"
    return parsed.sql("duckdb")


def type_from_ddl(ddl: str) -> DataType:
    """What ``DataType.fromDDL`` asks the JVM for."""
    nothing = database().sql(f"SELECT {duck(f'CAST(NULL AS {ddl})')} AS nothing")
    return from_arrow_type(nothing.to_arrow_table().schema[0].type)


class Query:
    """A streaming query: the batch that it is at, and its states.

    Parameters
    ----------
    random
        Deals rows out to tasks.
    states
        By operator and bucket: those that another query left.
    """

    def __init__(
        self, random: Random, states: Mapping[int, Mapping[Any, Any]] | None = None
    ) -> None:
        self.random = random
        self.batch: Mapping[str, pa.Table] = {}
        self.states: dict[int, dict[Any, Any]] = defaultdict(dict)
        self.states.update({n: dict(of) for n, of in (states or {}).items()})
        self.operators = count()

    def reader(self, schemas: Mapping[str, pa.Schema]) -> Callable[..., Frame]:
        """Reads of each table what the batch has of it; schemas by table."""

        def read(source: nodes.Source) -> Frame:
            name = source.table.name
            return Frame.of(self, schemas[name], lambda: self.batch[name])

        return read

    def tasks(self, rows: pa.Table) -> Iterator[list[pa.RecordBatch]]:
        """The rows of each of a few tasks, in small batches."""
        number = self.random.choice((0, 0, 1, 2))
        cuts = [self.random.randint(0, len(rows)) for _ in range(number)]
        for start, end in pairwise([0, *sorted(cuts), len(rows)]):
            chunk = self.random.choice((2, 1000))
            yield rows.slice(start, end - start).to_batches(max_chunksize=chunk)


@dataclass(frozen=True)
class _Rows:
    """Rows that come from outside of DuckDB."""

    schema: pa.Schema
    now: Callable[[], pa.Table]


@dataclass(frozen=True)
class Frame:
    """A DataFrame: a text of DuckDB's over named rows."""

    query: Query
    text: str
    inputs: Mapping[str, _Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, schema: pa.Schema, now: Callable[[], pa.Table]) -> Frame:
        """Whatever rows ``now`` gives for a batch."""
        name = f"rows_{next(_NAMES)}"
        return cls(query, f"FROM {name}", {name: _Rows(schema, now)})

    @cached_property
    def schema(self) -> StructType:
        """Columns as Spark has them."""
        empty = {name: rows.schema.empty_table() for name, rows in self.inputs.items()}
        return from_arrow_schema(self._answer(empty).schema)

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def selectExpr(self, *items: str) -> Frame:  # noqa: N802
        return self._over(f"SELECT {', '.join(map(duck, items))}")

    select = selectExpr

    def filter(self, predicate: str) -> Frame:
        return self._over("SELECT *", f" WHERE {duck(predicate)}")

    def toDF(self, *names: str) -> Frame:  # noqa: N802
        pairs = zip(self.schema.names, names, strict=True)
        return self.selectExpr(*(f"`{old}` AS `{new}`" for old, new in pairs))

    def union(self, other: Frame) -> Frame:
        both = {**self.inputs, **other.inputs}
        return Frame(self.query, f"({self.text}) UNION ALL ({other.text})", both)

    def mapInArrow(  # noqa: N802
        self, function: Callable[..., Any], schema: str | StructType
    ) -> Frame:
        made = _arrow(schema)
        function = pickle.loads(pickle.dumps(function))

        def now() -> pa.Table:
            tasks = self.query.tasks(self.toArrow())
            batches = [batch for task in tasks for batch in function(iter(task))]
            return pa.Table.from_batches(batches, made)

        return Frame.of(self.query, made, now)

    def groupBy(self, key: str) -> _Grouped:  # noqa: N802
        return _Grouped(self, key, next(self.query.operators))

    def toArrow(self) -> pa.Table:  # noqa: N802
        """The rows of the batch."""
        rows = self._answer({name: of.now() for name, of in self.inputs.items()})
        return rows.cast(_arrow(from_arrow_schema(rows.schema)))

    def _over(self, select: str, rest: str = "") -> Frame:
        return Frame(self.query, f"{select} FROM ({self.text}){rest}", self.inputs)

    def _answer(self, inputs: Mapping[str, pa.Table]) -> pa.Table:
        for name, rows in inputs.items():
            database().register(name, rows)
        try:
            return database().sql(self.text).to_arrow_table()
        finally:
            for name in inputs:
                database().unregister(name)


def _arrow(schema: str | StructType) -> pa.Schema:
    if isinstance(schema, StructType):
        return to_arrow_schema(schema, timezone="UTC")
    fields = (column.split() for column in schema.split(","))
    return pa.schema([(name, _DDL[type_]) for name, type_ in fields])


@dataclass(frozen=True)
class _Grouped:
    frame: Frame
    key: str
    number: int

    def transformWithState(  # noqa: N802
        self, processor: Any, schema: str, mode: str, time_mode: str
    ) -> Frame:
        assert (mode, time_mode) == ("Append", "None")
        made = _arrow(schema)
        processor = pickle.loads(pickle.dumps(processor))
        states = _States(self.frame.query.states[self.number])
        processor.init(states)

        def now() -> pa.Table:
            rows_of = defaultdict(list)
            for row in self.frame.toArrow().to_pylist():
                rows_of[row[self.key]].append(Row(**row))
            keys = self.frame.query.random.sample(list(rows_of), len(rows_of))
            given = []
            for states.key in keys:
                self.frame.query.random.shuffle(rows_of[states.key])
                made_here = processor.handleInputRows(
                    (states.key,), iter(rows_of[states.key]), None
                )
                given += [row.asDict() for row in made_here]
            for row in given:
                # What a next operator reads in the worker is no change any more.
                if "changes" in row:
                    _check_useful(row["changes"])
            return pa.Table.from_pylist(given, made)

        return Frame.of(self.frame.query, made, now)


class _States:
    """The handle of a processor, and its states: a value and a log for each key."""

    def __init__(self, values: dict[Any, Any]) -> None:
        self._values = values
        self.key: Any = None

    def getValueState(self, name: str, schema: object) -> _States:  # noqa: N802
        return self

    def getMapState(self, name: str, *schemas: object) -> _Log:  # noqa: N802
        return _Log(self._values, self)

    def get(self) -> Any:
        return self._values.get(self.key)

    def update(self, value: tuple[Any, ...]) -> None:
        self._values[self.key] = value

    def clear(self) -> None:
        self._values.pop(self.key, None)


@dataclass(frozen=True)
class _Log:
    """The log of the key that the states are at, beside their values."""

    values: dict[Any, Any]
    states: _States

    def getValue(self, number: tuple[int]) -> Any:  # noqa: N802
        return self.values[self.states.key, number]

    def updateValue(self, number: tuple[int], value: Any) -> None:  # noqa: N802
        self.values[self.states.key, number] = value

    def clear(self) -> None:
        mine = (key for key in self.values if isinstance(key, tuple))
        for key in [key for key in mine if key[0] == self.states.key]:
            del self.values[key]


def _check_useful(changes: bytes) -> None:
    """No operator sends what folds to nothing."""
    sent = pa.ipc.open_stream(changes).read_all()
    useful = consolidate(sent)
    total = sum(map(abs, sent["_weight"].to_pylist()))
    assert total == sum(map(abs, useful["_weight"].to_pylist())), sent.to_pylist()
