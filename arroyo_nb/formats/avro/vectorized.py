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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from arroyo_nb.formats.avro.schema import AvroSchema, AvroType
from arroyo_nb.formats.avro.strict import (
    FREE_VALUES,
    VALUES_PER_BYTE,
    conversion,
    fields_of,
    instant_unit,
    integer_range,
    misfit,
)
from arroyo_nb.formats.json.strict import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US
from arroyo_nb.schema import (
    TEXT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
    arrow_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

PADDING = 32
"""Zeros behind the bytes: what is read beyond a datum's end is found to be wrong only
afterwards."""

MAX_FIXED_BYTES = 256
"""A longer ``fixed`` that is wanted is read one by one."""

MAX_TURNS = 5_000
"""So many turns are taken for the lists of one block of datums. A turn costs the same
for one datum as for thousands, so few long lists are left to the exact reader."""

MAX_FIELDS = 2_000
"""A schema of more, counted as often as they are written, is read datum by datum."""

_DAY_US = 24 * 3600 * 10**6


class NotVectorized(Exception):
    """A schema that is read datum by datum."""


class Datums:
    """Where the reader stands in each of some datums.

    Parameters
    ----------
    data
        The bytes of all, and :data:`PADDING`.
    at, end
        Where each begins, and ends.
    """

    def __init__(self, data: np.ndarray, at: np.ndarray, end: np.ndarray) -> None:
        self.data = data
        self.at = at.astype(np.int64)
        self.end = end.astype(np.int64)
        self.bad = np.zeros(len(at), bool)
        self.turns = 0
        self._values = FREE_VALUES + VALUES_PER_BYTE * (self.end - self.at)

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """How many items follow in the next block of a list of each; 0 ends it."""
        count = self.longs(rows)
        backwards = np.flatnonzero(count < 0)
        if len(backwards):
            self.longs(rows[backwards])  # the size of the block
            count[backwards] = -count[backwards]
        self.bad[rows[(count < 0) | (count > self._values[rows])]] = True
        count[self.bad[rows]] = 0
        self._values[rows] -= count
        return count

    def longs(self, rows: np.ndarray) -> np.ndarray:
        """The next whole number of some datums."""
        at = self.at[rows]
        first = self.data[at]
        number = (first & 0x7F).astype(np.uint64)
        size = np.ones(len(rows), np.int64)
        more = np.flatnonzero(first & 0x80)
        for byte in range(1, 10):
            if not len(more):
                break
            found = self.data[at[more] + byte]
            number[more] |= (found & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
            size[more] += 1
            if byte == 9:  # of which one bit belongs to a number of 64 bits
                self.bad[rows[more[found > 1]]] = True
            more = more[found & 0x80 != 0]
        self._move(rows, at + size)
        magnitude = (number >> np.uint64(1)).astype(np.int64)
        return magnitude ^ -(number & np.uint64(1)).astype(np.int64)

    def ints(self, rows: np.ndarray) -> np.ndarray:
        """The same, of numbers of 32 bits."""
        found = self.longs(rows)
        self.bad[rows[(found < -(2**31)) | (found >= 2**31)]] = True
        return found

    def fixed(self, rows: np.ndarray, size: int) -> np.ndarray:
        """The next so many bytes of each, a row of bytes each."""
        at = self.at[rows]
        self.skip(rows, size)
        # Where they end too early, others are read in their place, and thrown away.
        at = np.minimum(at, len(self.data) - PADDING)
        places = np.minimum(at[:, None] + np.arange(size), len(self.data) - 1)
        return self.data[places]

    def skip(self, rows: np.ndarray, size: int) -> None:
        """Pass over so many bytes of each."""
        self._move(rows, self.at[rows] + size)

    def spans(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the next bytes of each begin, and how many they are."""
        size = self.longs(rows)
        at = self.at[rows]
        wrong = (size < 0) | (size > self.end[rows] - at)
        self.bad[rows[wrong]] = True
        size[wrong] = 0
        self.at[rows] = at + size
        return at, size

    def _move(self, rows: np.ndarray, to: np.ndarray) -> None:
        end = self.end[rows]
        late = to > end
        self.bad[rows[late]] = True
        self.at[rows] = np.where(late, end, to)


Take: TypeAlias = "Callable[[Datums, np.ndarray], Any]"
"""Reads a field of some datums: as an Arrow array of the column's type, or None where
no column wants it."""


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
        return _scalar(avro, type_)

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
                return partial(_symbols, avro.symbols)
            case "boolean":
                return _booleans
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


def _turns(
    take: Take, datums: Datums, rows: np.ndarray
) -> tuple[list[Any], list[np.ndarray]]:
    """The items of a list of each of some datums, a turn at a time, and whose they
    are: places in ``rows``."""
    left = np.zeros(len(rows), np.int64)
    active = np.arange(len(rows))
    items, owners = list[Any](), list[np.ndarray]()
    while len(active):
        done = active[left[active] == 0]
        left[done] = datums.counts(rows[done])
        active = active[left[active] > 0]
        datums.turns += 1
        if datums.turns > MAX_TURNS:
            datums.bad[rows[active]] = True
        active = active[~datums.bad[rows[active]]]
        if len(active):
            items.append(take(datums, rows[active]))
            owners.append(active)
            left[active] -= 1
    return items, owners


def _list(take: Take, element: Type, datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    items, owners = _turns(take, datums, rows)
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

    keys = _bytes(TEXT, datums, rows)
    values = take(datums, rows)
    fields = list(arrow_type(entry))
    return pa.StructArray.from_arrays([keys, values], fields=fields)


def _skip_list(skip: Take, datums: Datums, rows: np.ndarray) -> None:
    _turns(skip, datums, rows)


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


def _scalar(avro: AvroType, type_: Type) -> Take:
    """Reads values that :func:`~arroyo_nb.formats.avro.strict.conversion` knows."""
    whole = avro.kind in ("int", "long")
    match type_:
        case Timestamp(digits):
            unit = instant_unit(avro, digits)
            assert unit is not None
            return partial(_instants, avro.kind, *unit)
        case Decimal():
            if whole or avro.scale != type_.scale:
                raise NotVectorized
            return partial(_decimals, avro, type_)
        case Primitive("TIME"):
            times = 1000 if avro.logical == "time-millis" else 1
            return partial(_whole, avro.kind, type_, 0, _DAY_US - 1, times)
        case Primitive("DATE"):
            return partial(_whole, avro.kind, type_, FIRST_DAY, LAST_DAY, 1)
        case Primitive("BOOLEAN"):
            return _booleans
        case Primitive("FLOAT" | "DOUBLE"):
            return partial(_floats, avro.kind, type_)
        case Primitive("TEXT" | "BYTEA") if avro.kind in ("bytes", "string"):
            return partial(_bytes, type_)
        case Primitive("TEXT") if avro.kind == "enum":
            return partial(_symbols, avro.symbols)
        case Primitive("BYTEA") if avro.size <= MAX_FIXED_BYTES:
            return partial(_fixed, avro.size)
        case Primitive(name) if whole:
            return partial(_whole, avro.kind, type_, *integer_range(name), 1)
        case _:
            raise NotVectorized


def _numbers(kind: str, datums: Datums, rows: np.ndarray) -> np.ndarray:
    return datums.ints(rows) if kind == "int" else datums.longs(rows)


def _whole(
    kind: str,
    type_: Type,
    low: int,
    high: int,
    times: int,
    datums: Datums,
    rows: np.ndarray,
) -> pa.Array:
    import pyarrow as pa

    found = _numbers(kind, datums, rows)
    first, last = -(-low // times), min(high // times, 2**63 - 1)
    wrong = (found < first) | (found > last)
    if wrong.any():
        datums.bad[rows[wrong]] = True
        found = np.where(wrong, 0, found)
    arrow = arrow_type(type_)
    narrow = np.dtype(f"i{arrow.bit_width // 8}")
    if pa.types.is_unsigned_integer(arrow):
        narrow = np.dtype(f"u{arrow.bit_width // 8}")
    return pa.array((found * times).astype(narrow)).cast(arrow)


def _instants(
    kind: str, times: int, by: int, datums: Datums, rows: np.ndarray
) -> pa.Array:
    import pyarrow as pa

    found = _numbers(kind, datums, rows)
    # In the field's own unit: a product could be beyond 64 bits.
    first, last = -(-FIRST_US * by // times), (LAST_US * by + by - 1) // times
    wrong = (found < max(first, -(2**63))) | (found > min(last, 2**63 - 1))
    if wrong.any():
        datums.bad[rows[wrong]] = True
        found = np.where(wrong, 0, found)
    return pa.array(found * times // by).cast(pa.timestamp("us"))


def _booleans(datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    found = datums.fixed(rows, 1)[:, 0]
    datums.bad[rows[found > 1]] = True
    return pa.array(found == 1)


def _floats(kind: str, type_: Type, datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    if kind in ("int", "long"):
        found = _numbers(kind, datums, rows).astype(np.float64)
    else:
        size = 4 if kind == "float" else 8
        raw = np.ascontiguousarray(datums.fixed(rows, size))
        found = raw.view(f"<f{size}")[:, 0]
    if type_ == Primitive("DOUBLE"):
        return pa.array(found.astype(np.float64))
    with np.errstate(over="ignore"):
        single = found.astype(np.float32)
    datums.bad[rows[np.isinf(single) & np.isfinite(found)]] = True
    return pa.array(single)


def _symbols(symbols: Sequence[str], datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    found = datums.ints(rows)
    wrong = (found < 0) | (found >= len(symbols))
    datums.bad[rows[wrong]] = True
    places = pa.array(np.where(wrong, 0, found), mask=wrong)
    return pa.array(symbols, pa.string()).take(places)


def _fixed(size: int, datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    found = np.ascontiguousarray(datums.fixed(rows, size))
    ends = np.arange(len(rows) + 1, dtype=np.int64) * size
    return _binary(found.reshape(-1), ends).cast(pa.binary())


def _bytes(type_: Type, datums: Datums, rows: np.ndarray) -> pa.Array:
    import pyarrow as pa

    at, size = datums.spans(rows)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    # Each byte's place: where its text begins, and how far it is into that.
    places = np.repeat(at - ends[:-1], size) + np.arange(ends[-1])
    found = _binary(datums.data[places], ends)
    if type_ == Primitive("BYTEA"):
        return found
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        texts, wrong = _texts(found)
        datums.bad[rows[wrong]] = True
        return texts


def _texts(found: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The texts, empty where bytes are none, and where that is."""
    import pyarrow as pa

    texts, wrong = [], np.zeros(len(found), bool)
    for number, value in enumerate(found.to_pylist()):
        try:
            texts.append(value.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append("")
            wrong[number] = True
    return pa.array(texts, pa.string()), wrong


def _binary(data: np.ndarray, ends: np.ndarray) -> pa.Array:
    import pyarrow as pa

    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def _decimals(
    avro: AvroType, type_: Decimal, datums: Datums, rows: np.ndarray
) -> pa.Array:
    import pyarrow as pa

    if avro.kind == "fixed":
        size = np.full(len(rows), avro.size)
        at = datums.at[rows]
        datums.skip(rows, avro.size)
    else:
        at, size = datums.spans(rows)
    first = datums.data[np.minimum(at, len(datums.data) - 1)]
    # Of 15 bytes, and of 16 with a small first one, every number has 38 digits at most.
    odd = (size > 16) | (size < 1) | ((size == 16) & (first != 0) & (first != 0xFF))
    datums.bad[rows[odd]] = True
    size = np.where(odd, 1, size)
    back = np.arange(16)
    places = np.clip(at[:, None] + size[:, None] - 1 - back, 0, len(datums.data) - 1)
    filler = np.where(first & 0x80 != 0, 0xFF, 0)[:, None]
    unscaled = np.where(back < size[:, None], datums.data[places], filler)
    unscaled[datums.bad[rows]] = 0
    data = pa.py_buffer(np.ascontiguousarray(unscaled.astype(np.uint8)))
    wide = pa.Array.from_buffers(
        pa.decimal128(38, type_.scale), len(rows), [None, data]
    )
    try:
        return wide.cast(arrow_type(type_))
    except pa.ArrowInvalid:
        # One has too many digits: the exact reader finds it.
        datums.bad[rows] = True
        return pa.nulls(len(rows), arrow_type(type_))
