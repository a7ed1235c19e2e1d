"""What happens to the tables of :mod:`random_queries`, batch by batch, and what DuckDB
says about the rows so far."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from random import Random
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
from random_queries import KINDS, PRIMARY, duckdb_text

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.schema import TIMESTAMP

Row: TypeAlias = tuple[Any, ...]
Batch: TypeAlias = dict[str, list[tuple[int, Row]]]
"""By table what is told of it, in order: -1 takes the row of a key away, 1 brings a
row."""

_TYPES = {
    "T": pa.string(),
    "I": pa.int64(),
    "D": pa.float64(),
    "B": pa.bool_(),
    "S": pa.struct({"x": pa.int64(), "y": pa.string()}),
    "L": pa.list_(pa.int64()),
    "C": pa.decimal128(10, 2),
    "U": pa.decimal128(20, 0),
    "M": pa.timestamp("us", tz="UTC"),
}
SCHEMAS = {
    name: pa.schema([(column, _TYPES[kind]) for column, kind in columns])
    for name, columns in KINDS.items()
}
_VALUES = {
    "T": ["a", "b", "c", "a", "", None],
    "I": [1, 2, 3, 1, 2, -1, None],
    "D": [0.5, 2.0, 0.5, -1.5, 0.0, -0.0, math.nan, None],
    "B": [True, False, None],
    "S": [{"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": None, "y": None}, None],
    "L": [[1], [1, None], [], [2, 1], None],
    "C": [*map(Decimal, ("1.25", "-0.5", "99999999.99", "1.25")), None],
    "U": [*map(Decimal, (0, 1, 2, 2**40)), None],
    "M": [datetime(2024, 2, 29, 12), datetime(1969, 12, 31, 23, 59, 59, 999999), None],
}


def history(random: Random, query: str) -> list[Batch]:
    """One to five batches of what the query reads."""
    names = [name for name in KINDS if re.search(rf"FROM {name}\b", query)]
    rows = {name: _Rows(random, name) for name in names}
    return [
        {name: rows[name].told() for name in names}
        for _ in range(random.choice((1, 2, 3, 4, 5)))
    ]


class _Rows:
    """A table whose rows are drawn from a few, so that many are equal."""

    def __init__(self, random: Random, name: str) -> None:
        self._random, self._name = random, name
        self._keys = [n in PRIMARY.get(name, ()) for n, _ in KINDS[name]]
        self._pool = [self._row() for _ in range(random.randint(1, 8))]
        self._there: dict[Row, Row] = {}

    def told(self) -> list[tuple[int, Row]]:
        """A batch: empty, of all kinds, or of deletes alone."""
        changes = range(self._random.choice((0, 3, 5, 8)))
        if self._name not in PRIMARY:
            return [(1, self._random.choice(self._pool)) for _ in changes]
        ops = self._random.choice(["ccuud", "ccuud", "ccuud", "ccuud", "d"])
        told = (self._change(self._random.choice(ops)) for _ in changes)
        return [*chain.from_iterable(told)]

    def _change(self, op: str) -> list[tuple[int, Row]]:
        """A create, an update or a delete. What is told of the row before is its key at
        most; a create may come twice, an update change the key, a delete find nothing.
        """
        new = self._random.choice(self._pool)
        some = self._random.choice([*self._there.values(), new])
        told = [] if op == "c" else [(-1, self._key_alone(some))]
        if op == "u" and self._random.random() < 0.5:
            images = zip(some, new, self._keys, strict=True)
            new = tuple(old if key else value for old, value, key in images)
        if op != "d":
            told.append((1, new))
        take_in(self._there, self._name, told)
        return told

    def _key_alone(self, row: Row) -> Row:
        return tuple(
            value if key else None for value, key in zip(row, self._keys, strict=True)
        )

    def _row(self) -> Row:
        kinds = [kind for _, kind in KINDS[self._name]]
        return tuple(
            self._random.choice(_VALUES[kind][: -1 if key else None])
            for kind, key in zip(kinds, self._keys, strict=True)
        )


def take_in(there: dict[Row, Row], name: str, told: list[tuple[int, Row]]) -> None:
    """What a database's table is after some changes; by key."""
    for weight, row in told:
        key = tuple(
            value
            for value, (column, _) in zip(row, KINDS[name], strict=True)
            if column in PRIMARY[name]
        )
        there.pop(key, None)
        if weight > 0:
            there[key] = row


def as_read(history: list[Batch]) -> Iterator[dict[str, pa.Table]]:
    """The batches as sources give them."""
    sequence = 0
    for number, batch in enumerate(history):
        found = {}
        for name, told in batch.items():
            rows = arrow(name, [row for _, row in told])
            moment = pa.array([number + 1] * len(told), pa.timestamp("us", tz="UTC"))
            rows = rows.append_column(TIMESTAMP, moment)
            if name in PRIMARY:
                rows = rows.append_column(
                    WEIGHT, pa.array([w for w, _ in told], pa.int64())
                )
                order = range(sequence, sequence + len(told))
                rows = rows.append_column(SEQUENCE, pa.array(order, pa.int64()))
                sequence += len(told)
            found[name] = rows
        yield found


def stored(name: str) -> pa.Schema:
    """Columns of a table as a source gives them."""
    moment = pa.field(TIMESTAMP, pa.timestamp("us", tz="UTC"))
    told = [pa.field(n, pa.int64()) for n in (WEIGHT, SEQUENCE)]
    return pa.schema([*SCHEMAS[name], moment, *(told if name in PRIMARY else ())])


def answers(
    db: duckdb.DuckDBPyConnection, query: str, history: list[Batch]
) -> Iterator[Counter[Hashable]]:
    """DuckDB's answer after each batch."""
    db.execute("SET TimeZone = 'UTC'")
    rows: dict[str, list[Row]] = {name: [] for name in history[0]}
    there: dict[str, dict[Row, Row]] = {name: {} for name in history[0]}
    for batch in history:
        for name, told in batch.items():
            if name in PRIMARY:
                take_in(there[name], name, told)
                rows[name] = list(there[name].values())
            else:
                rows[name] += [row for _, row in told]
            db.register(name, arrow(name, rows[name]))
        yield Counter(map(plain, db.sql(duckdb_text(query)).fetchall()))


def arrow(name: str, rows: list[Row]) -> pa.Table:
    """Rows of a table."""
    schema = SCHEMAS[name]
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def plain(value: Any) -> Hashable:
    """A value that is equal where SQL says so; to nine digits after the point."""
    match value:
        case bool():
            return value
        case datetime():
            return value.replace(tzinfo=UTC)
        case Decimal() | float() | int():
            return "NaN" if math.isnan(value) else round(float(value), 9) + 0.0
        case Mapping():
            return tuple(map(plain, value.values()))
        case list() | tuple():
            return tuple(map(plain, value))
    return value
