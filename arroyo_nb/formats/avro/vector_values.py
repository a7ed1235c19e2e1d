"""Values of many datums at once, as arrays of the columns' types.

The rules are those of :mod:`arroyo_nb.formats.avro.columns`: a value that does not fit
marks its datum, which the exact reader then refuses with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from arroyo_nb.formats.avro.columns import DAY_US, instant_unit, integer_range
from arroyo_nb.formats.avro.datums import Datums, Take
from arroyo_nb.formats.avro.schema import AvroType
from arroyo_nb.formats.json.strict import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US
from arroyo_nb.schema import Decimal, Primitive, Timestamp, Type, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FIXED_BYTES = 256
"""A longer ``fixed`` that is wanted is read one by one."""


class NotVectorized(Exception):
    """A schema that is read datum by datum."""


def scalar_taker(avro: AvroType, type_: Type) -> Take:
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
            return partial(_whole, avro.kind, type_, 0, DAY_US - 1, times)
        case Primitive("DATE"):
            return partial(_whole, avro.kind, type_, FIRST_DAY, LAST_DAY, 1)
        case Primitive("BOOLEAN"):
            return take_booleans
        case Primitive("FLOAT" | "DOUBLE"):
            return partial(_floats, avro.kind, type_)
        case Primitive("TEXT" | "BYTEA") if avro.kind in ("bytes", "string"):
            return partial(take_bytes, type_)
        case Primitive("TEXT") if avro.kind == "enum":
            return partial(take_symbols, avro.symbols)
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


def take_booleans(datums: Datums, rows: np.ndarray) -> pa.Array:
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


def take_symbols(symbols: Sequence[str], datums: Datums, rows: np.ndarray) -> pa.Array:
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


def take_bytes(type_: Type, datums: Datums, rows: np.ndarray) -> pa.Array:
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
