"""The fast reader of Avro: a field of all datums at once, by NumPy.

Where each datum stands is an array; reading a field moves all of them on. It must never
give other rows than the exact reader: a datum that is odd in any way is only marked
here, and read again by that one, which says what is wrong with it. The items of lists
are read in turns: the first of each list, then the second. Values of JSON and types
that hold themselves are left to the exact reader as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from arroyo_nb.formats.avro.columns import conversion, fields_of, misfit
from arroyo_nb.formats.avro.datums import Datums, Take, list_items
from arroyo_nb.formats.avro.schema import AvroSchema, AvroType
from arroyo_nb.formats.avro.vector_values import (
    NotVectorized,
    scalar_taker,
    take_booleans,
    take_bytes,
    take_symbols,
)
from arroyo_nb.schema import (
    TEXT,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Type,
    arrow_schema,
    arrow_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FIELDS = 2_000
"""A schema of more, counted as often as they are written, is read datum by datum."""


class BlockReader:
    """Reads many datums of one schema.

    Parameters
    ----------
    schema
        How they were written.
    columns
        What is read.
    event_time
        The column that may not be NULL because it is the event time.

    Raises
    ------
    NotVectorized
        When they are read one by one.
    Misfit
        As of :class:`~arroyo_nb.formats.avro.strict.DatumReader`.
    """

    def __init__(
        self, schema: AvroSchema, columns: Schema, event_time: str | None
    ) -> None:
        root = schema.resolved(schema.root)
        if root.kind != "record":
            raise NotVectorized
        self._columns = columns
        self._event_time = event_time
        self._read = _Takers(schema).record(root, columns.fields, "")

    def read(self, datums: Datums) -> tuple[pa.Table, np.ndarray]:
        """The rows of those that could be read, and which these are."""
        import pyarrow as pa

        rows = np.arange(len(datums.at))
        found = self._read(datums, rows)
        schema = arrow_schema(self._columns)
        columns = [
            pa.nulls(len(rows), field.type) if column is None else column
            for column, field in zip(found, schema, strict=True)
        ]
        if self._event_time is not None:
            time = columns[self._columns.names.index(self._event_time)]
            datums.bad |= time.is_null().to_numpy(zero_copy_only=False)
        good = ~datums.bad & (datums.at == datums.end)
        if not good.all():
            kept = pa.array(good)
            columns = [column.filter(kept) for column in columns]
        return pa.Table.from_arrays(columns, schema=schema), np.flatnonzero(good)


class _Takers:
    """Makes the readers of one schema."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._open: list[str] = []
        self._fields = 0

    def record(
        self, avro: AvroType, columns: Sequence[Field], inside: str
    ) -> Callable[[Datums, np.ndarray], list[Any]]:
        """Reads the columns of records; None for one that they do not have."""
        wanted = fields_of(avro, columns, inside)
        steps: list[tuple[int, Take]] = []
        for field in avro.fields:
            at = wanted.get(field.name)
            if at is None:
                steps.append((-1, self._skip(field.type)))
                continue
            take = self._value(field.type, columns[at].type, inside + columns[at].name)
            steps.append(
                (at, take if columns[at].nullable else partial(_required, take))
            )
        return partial(_record, steps, len(columns))

    def _resolved(self, avro: AvroType) -> AvroType:
        self._fields += 1
        # A type within itself has no end that could be seen here.
        if self._fields > MAX_FIELDS or avro.name in self._open:
            raise NotVectorized
        return self._schema.resolved(avro)

    def _value(self, avro: AvroType, type_: Type, name: str) -> Take:
        avro = self._resolved(avro)
        if type_ == Primitive("JSON"):
            raise NotVectorized
        if avro.kind == "union":
            return self._union(avro, type_, name)
        if avro.kind in ("array", "map"):
            return self._list(avro, type_, name)
        if isinstance(type_, StructOf) and avro.kind == "record":
            self._open.append(avro.name)
            read = self.record(avro, type_.fields, f"{name}.")
            self._open.pop()
            return partial(_struct, read, type_)
        if avro.kind == "null":
            return partial(_nulls, type_)
        if conversion(avro, type_) is None:
            raise misfit(avro, type_, name)
        return scalar_taker(avro, type_)

    def _list(self, avro: AvroType, type_: Type, name: str) -> Take:
        inner = avro.inner[0]
        match type_:
            case ListOf(element) if avro.kind == "array":
                return partial(_list, self._value(inner, element, f"{name}[]"), element)
            case ListOf(StructOf((Field(type=key), value)) as entry) if (
                avro.kind == "map" and key == TEXT
            ):
                take = self._value(inner, value.type, f"{name}[].{value.name}")
                take = take if value.nullable else partial(_required, take)
                return partial(_list, partial(_entry, take, entry), entry)
            case _:
                raise misfit(avro, type_, name)

    def _union(self, avro: AvroType, type_: Type, name: str) -> Take:
        """A type that may be NULL; other unions are read one by one."""
        kinds = [branch.kind for branch in avro.inner]
        others = [branch for branch in avro.inner if branch.kind != "null"]
        if len(others) != 1:
            raise NotVectorized
        null = kinds.index("null") if "null" in kinds else -1
        value = self._value(others[0], type_, name)
        return partial(_nullable, value, 1 - null if null >= 0 else 0, null, type_)

    def _skip(self, avro: AvroType) -> Take:
        avro = self._resolved(avro)
        match avro.kind:
            case "array":
                return partial(_skip_list, self._skip(avro.inner[0]))
            case "map":
                entry = [_skip_bytes, self._skip(avro.inner[0])]
                return partial(_skip_list, partial(_skip_all, entry))
            case "record":
                self._open.append(avro.name)
                skips = [self._skip(field.type) for field in avro.fields]
                self._open.pop()
                return partial(_skip_all, skips)
            case "union":
                return partial(_skip_branch, [self._skip(b) for b in avro.inner])
            case "null":
                return _skip_nothing
            case "bytes" | "string":
                return _skip_bytes
            case "enum":
                return partial(take_symbols, avro.symbols)
            case "boolean":
                return take_booleans
            case "int":
                return lambda datums, rows: _nothing(datums.ints(rows))
            case "long":
                return lambda datums, rows: _nothing(datums.longs(rows))
            case _:
                size = {"float": 4, "double": 8}.get(avro.kind, avro.size)
                return lambda datums, rows: datums.skip(rows, size)


def _nothing(_found: Any) -> None:
    return None


def _record(
    steps: Sequence[tuple[int, Take]], width: int, datums: Datums, rows: np.ndarray
) -> list[Any]:
    found: list[Any] = [None] * width
    for at, take in steps:
        value = take(datums, rows)
        if at >= 0:
            found[at] = value
    return found


def _struct(
    read: Callable[[Datums, np.ndarray], list[Any]],
    type_: StructOf,
    datums: Datums,
    rows: np.ndarray,
) -> pa.Array:
    import pyarrow as pa

    fields = list(arrow_type(type_))
    arrays = [
        pa.nulls(len(rows), field.type) if array is None else array
        for array, field in zip(read(datums, rows), fields, strict=True)
    ]
    if not fields:
        return pa.array([{}] * len(rows), arrow_type(type_))
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _list(take: Take, element: Type, datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    items, owners = list_items(take, datums, rows)
    owner = np.concatenate([np.zeros(0, np.int64), *owners])
    sizes = np.bincount(owner, minlength=len(rows))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    values = pa.concat_arrays([pa.array([], arrow_type(element)), *items])
    # Turn after turn, so those of one list are in their order already.
    values = values.take(pa.array(np.argsort(owner, kind="stable")))
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values)


def _entry(
    take: Take, entry: StructOf, datums: Datums, rows: np.ndarray
) -> pa.StructArray:
    import pyarrow as pa

    keys = take_bytes(TEXT, datums, rows)
    values = take(datums, rows)
    fields = list(arrow_type(entry))
    return pa.StructArray.from_arrays([keys, values], fields=fields)


def _skip_list(skip: Take, datums: Datums, rows: np.ndarray) -> None:
    list_items(skip, datums, rows)


def _skip_bytes(datums: Datums, rows: np.ndarray) -> None:
    datums.spans(rows)


def _required(take: Take, datums: Datums, rows: np.ndarray) -> pa.Array:
    found = take(datums, rows)
    if found.null_count:
        datums.bad[rows[found.is_null().to_numpy(zero_copy_only=False)]] = True
    return found


def _nullable(
    take: Take, value: int, null: int, type_: Type, datums: Datums, rows: np.ndarray
) -> pa.Array:
    import pyarrow as pa

    branch = datums.longs(rows)
    there = branch == value
    if there.all():
        return take(datums, rows)
    datums.bad[rows[~there & (branch != null)]] = True
    found = take(datums, rows[there])
    if not len(found):
        return pa.nulls(len(rows), arrow_type(type_))
    places = np.cumsum(there) - 1
    return found.take(pa.array(places, mask=~there))


def _nulls(type_: Type, _datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(len(rows), arrow_type(type_))


def _skip_nothing(_datums: Datums, _rows: np.ndarray) -> None:
    return None


def _skip_all(skips: Sequence[Take], datums: Datums, rows: np.ndarray) -> None:
    for skip in skips:
        skip(datums, rows)


def _skip_branch(skips: Sequence[Take], datums: Datums, rows: np.ndarray) -> None:
    branch = datums.longs(rows)
    datums.bad[rows[(branch < 0) | (branch >= len(skips))]] = True
    for number, skip in enumerate(skips):
        chosen = rows[branch == number]
        if len(chosen):
            skip(datums, chosen)
