"""Which bucket a key goes to: one number for equal values of any type.

Equality is that of :mod:`keys`. State lies in buckets for as long as it lives, and what
is in it is found by these numbers: they must never change. Fixed-width values are mixed
as splitmix64 does (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
2014); those of any length are polynomials of their bytes or elements, modulo 2**64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from arroyo_nb.changelog.keys import Ints, listed, normalised, whole

Hashes: TypeAlias = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_BASE = np.uint64(0xD1342543DE82EF95)
_NULL = np.uint64(0x2545F4914F6CDD1D)


def buckets_of(columns: Sequence[pa.Array], rows: int, buckets: int) -> Ints:
    """The bucket of each row, from 0.

    Parameters
    ----------
    columns
        The keys, chunked or not, of equal length; none means bucket 0.
    rows
        Their length.
    buckets
        How many there are.

    Examples
    --------
    >>> buckets_of([pa.array(["b", None, "b"]), pa.array([1, 1, 1])], 3, 8).tolist()
    [4, 5, 4]
    """
    if not columns:
        return np.zeros(rows, np.int64)
    return (hashes_of(columns, rows) % np.uint64(buckets)).astype(np.int64)


def hashes_of(columns: Sequence[pa.Array], rows: int) -> Hashes:
    """A number for the keys of each row: equal ones have equal numbers.

    Parameters
    ----------
    columns, rows
        As of :func:`buckets_of`; of no columns each number is 0.
    """
    found = np.zeros(rows, np.uint64)
    for column in columns:
        found = _mixed(found + _of_values(whole(column)))
    return found


def _of_values(column: pa.Array) -> Hashes:
    type_ = column.type
    if pt.is_null(type_):
        return np.full(len(column), _NULL)
    if pt.is_dictionary(type_):
        return _of_values(column.cast(type_.value_type))
    if pt.is_struct(type_):
        found = hashes_of(column.flatten(), len(column))
    elif pt.is_nested(type_):
        elements, lengths = listed(column)
        found = _of_items(_of_values(elements), lengths)
    elif pt.is_string(type_) or pt.is_binary(type_):
        found = _of_bytes(column)
    else:
        found = _of_words(column)
    if not column.null_count:
        return found
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return np.where(valid, found, _NULL)


def _of_words(column: pa.Array) -> Hashes:
    """Of values of a fixed width."""
    if pt.is_decimal(column.type) or pt.is_interval(column.type):
        # Sixteen bytes a value, in two words; what lies under a NULL is anything, and
        # is replaced by the caller.
        words = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)
        low, high = words[column.offset : column.offset + len(column)].T
        return _mixed(_mixed(low) + high)
    if pt.is_floating(column.type):
        numbers = normalised(column).cast(pa.float64()).fill_null(0)
    elif pt.is_boolean(column.type):
        numbers = column.cast(pa.uint8()).cast(pa.int64()).fill_null(0)
    elif column.type.bit_width == 32 and pt.is_temporal(column.type):
        numbers = column.cast(pa.int32()).cast(pa.int64()).fill_null(0)
    else:
        numbers = column.cast(pa.int64(), safe=False).fill_null(0)
    return _mixed(numbers.to_numpy().view(np.uint64))


def _of_bytes(column: pa.Array) -> Hashes:
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset :][: len(column) + 1]
    if data is None or not len(column):
        return _of_items(np.empty(0, np.uint64), np.zeros(len(column), np.int64))
    items = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
    return _of_items(items, np.diff(ends).astype(np.int64))


def _of_items(items: Hashes, lengths: Ints) -> Hashes:
    """Of sequences that lie one after the other."""
    ends = np.cumsum(lengths)
    places = np.arange(len(items)) - np.repeat(ends - lengths, lengths)
    powers = np.full(int(lengths.max(initial=0)), _BASE).cumprod(dtype=np.uint64)
    # Overflow is wanted: differences of running sums are exact modulo 2**64, so that no
    # loop over the sequences is needed.
    sums = np.r_[np.uint64(0), np.cumsum(items * powers[places], dtype=np.uint64)]
    return _mixed(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))


def _mixed(words: Hashes) -> Hashes:
    mixed = words + _GOLDEN
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        mixed = (mixed ^ mixed >> shift) * factor
    return mixed ^ mixed >> _SHIFTS[-1]
