"""Sums of floats and decimals without rounding, so that a retract undoes an append.

A float is an integer times a power of two. A sum is kept as digits in base 2**32 by
position: ``_place`` p counts units of 2**(32 p), and the digit is the Z-set's weight.
So a sum is itself a Z-set over places, whose addition is exact, commutative and undone
by subtraction; the float it stands for depends on the rows that are there and on
nothing else: not on order, batches or partitions. Infinities and NaN are counted at
places of their own. Decimals are digits of their unscaled integer.

The idea is the long accumulator of Kulisch; two_sum and two_product are Dekker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids, size
from arroyo_nb.changelog.zset import int64s
from arroyo_nb.errors import RunProblem
from arroyo_nb.lazy_imports import np, npt, pa

SLOT = "_slot"
"""Position of a row's group in the table of groups."""
PLACE = "_place"
"""Which digit: it counts units of 2**(32 * place)."""

Floats: TypeAlias = "npt.NDArray[np.float64]"

Double: TypeAlias = tuple[Floats, Floats]
"""A number in twice the precision of a double: it, rounded, and the remainder."""

_BITS = 32
_MASK = (1 << _BITS) - 1
_ROOM = 1 << 52  # a digit this long is carried on before more is added to it
_LOWEST, _HIGHEST = -36, 33  # places that a finite float can reach
_NAN, _PLUS, _MINUS = 100, 101, 102


@cache
def digits_schema() -> pa.Schema:
    """The columns of digits: group, place, weight."""
    return pa.schema([(name, pa.int64()) for name in (SLOT, PLACE, WEIGHT)])


def float_digits(slots: Ints, terms: Sequence[Floats], weights: Ints) -> pa.Table:
    """The digits of ``weights * (terms[0] + terms[1] + ...)`` summed by slot.

    Raises
    ------
    RunProblem
        When the weights add up to 2**31 rows or more.
    """
    parts = [_digits_of(term) for term in terms]
    places = np.concatenate([place for part in parts for place, _ in part])
    digits = np.concatenate([digit for part in parts for _, digit in part])
    every = np.tile(_countable(weights), len(parts) * 3)
    return summed(np.tile(slots, len(parts) * 3), places, digits * every)


def decimal_digits(slots: Ints, column: pa.Array, weights: Ints) -> pa.Table:
    """The digits of the unscaled integers of a decimal column without NULLs.

    Raises
    ------
    RunProblem
        As :func:`float_digits`.
    """
    wide = column.cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(wide.buffers()[1], "<u4").reshape(-1, 4)[wide.offset :]
    digits = words[: len(wide)].astype(np.int64)
    # Two's complement: the sign is in the highest word only.
    digits[:, 3] = digits[:, 3].astype(np.uint32).view(np.int32)
    places = np.tile(np.arange(4), len(wide))
    every = np.repeat(_countable(weights), 4)
    return summed(np.repeat(slots, 4), places, digits.ravel() * every)


def summed(slots: Ints, places: Ints, digits: Ints) -> pa.Table:
    """One digit per slot and place; digits that grew too long are carried on."""
    while True:
        # Places lie between -36 and 102, so that 256 per slot keep the pairs apart.
        ids = group_ids([pa.array(slots * 256 + places)], len(slots))
        total = np.zeros(size(ids), np.int64)
        np.add.at(total, ids, digits)
        first = first_rows(ids)
        slots, places, digits = slots[first], places[first], total
        long = (np.abs(digits) >= _ROOM) & (places < _NAN)
        if not long.any():
            kept = digits != 0
            columns = [slots[kept], places[kept], digits[kept]]
            return pa.table([pa.array(c) for c in columns], schema=digits_schema())
        # The shift rounds down, also below zero: what is left of the digit is not
        # negative.
        carry = np.where(long, digits >> _BITS, 0)
        digits = digits - (carry << _BITS)
        slots = np.r_[slots, slots[long]]
        places = np.r_[places, places[long] + 1]
        digits = np.r_[digits, carry[long]]


def float_sums(digits: pa.Table, slots: int) -> tuple[Floats, Floats]:
    """Each slot's sum, rounded once, and what is left of it after rounding."""
    slot, place, digit = (int64s(digits[c]) for c in (SLOT, PLACE, WEIGHT))
    finite = place < _NAN
    matrix, lowest = _matrix(slot[finite], place[finite], digit[finite], slots)
    # After carrying, the last digit alone has a sign. Rounding works on magnitudes: -x
    # and x must round alike.
    sign = np.where(matrix[:, -1] < 0, -1, 1)
    matrix = _carried(matrix * sign[:, None])
    high, low = _rounded(matrix, lowest)
    special = _specials(slot[~finite], place[~finite], slots)
    high = np.where(special == 0, sign * high, special)
    return high, np.where(np.isfinite(high), sign * low, 0.0)


def decimal_sums(digits: pa.Table, slots: int) -> list[int]:
    """Each slot's sum as an unscaled integer of any length."""
    totals = [0] * slots
    columns = (int64s(digits[c]).tolist() for c in (SLOT, PLACE, WEIGHT))
    for slot, place, digit in zip(*columns, strict=True):
        totals[slot] += digit << (_BITS * place)
    return totals


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """``a + b`` rounded, and the error of that rounding."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(total), error, 0.0)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """``a * b`` rounded, and the error of that rounding (0 where it overflows)."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product = a * b
        (a1, a2), (b1, b2) = _halves(a), _halves(b)
        error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return product, np.where(np.isfinite(error), error, 0.0)


def _countable(weights: Ints) -> Ints:
    # A digit is below 2**32: times fewer than 2**31 rows it still fits an int64.
    if np.abs(weights).sum() >= 1 << 31:
        raise RunProblem(
            "2**31 rows or more are added up at once",
            hint="filter rows before they are aggregated",
        )
    return weights


def _halves(a: Floats) -> tuple[Floats, Floats]:
    spread = a * 134217729.0  # 2**27 + 1
    high = spread - (spread - a)
    return high, a - high


def _digits_of(values: Floats) -> list[tuple[Ints, Ints]]:
    """Three neighbouring digits of each value, or a count at a place of its own."""
    finite = np.isfinite(values)
    # frexp scales subnormal numbers too, so that 53 bits are the whole mantissa of
    # every float; shifted by up to 31 they lie in three digits.
    fraction, exponent = np.frexp(np.where(finite, values, 0.0))
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    place, shift = np.divmod(exponent.astype(np.int64) - 53, _BITS)
    low = (mantissa & _MASK) << shift
    middle = ((mantissa >> _BITS) << shift) + (low >> _BITS)
    odd = np.where(np.isnan(values), _NAN, np.where(values > 0, _PLUS, _MINUS))
    first = np.where(finite, place, odd)
    return [
        (first, np.where(finite, low & _MASK, 1)),
        (np.where(finite, place + 1, _LOWEST), middle & _MASK),
        (np.where(finite, place + 2, _LOWEST), middle >> _BITS),
    ]


def _matrix(
    slot: Ints, place: Ints, digit: Ints, slots: int
) -> tuple[npt.NDArray[np.int64], int]:
    """Digits as slots by places, with room for carries; and the first place."""
    lowest = int(place.min(initial=_HIGHEST))
    width = max(int(place.max(initial=_LOWEST)) - lowest + 3, 1)
    matrix = np.zeros((slots, width), np.int64)
    matrix[slot, place - lowest] = digit
    return _carried(matrix), lowest


def _carried(matrix: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The one spelling of each number: all digits but the last in [0, 2**32)."""
    for column in range(matrix.shape[1] - 1):
        carry = matrix[:, column] >> _BITS
        matrix[:, column] -= carry << _BITS
        matrix[:, column + 1] += carry
    return matrix


def _rounded(matrix: npt.NDArray[np.int64], lowest: int) -> tuple[Floats, Floats]:
    """Each row of digits as the nearest float, and the remainder.

    The remainder is rounded to odd, so that a tie is broken by what lies below it.
    """
    high, low, lowest_part = np.zeros((3, len(matrix)))
    with np.errstate(over="ignore", invalid="ignore"):
        for column in range(matrix.shape[1] - 1, -1, -1):
            digit = np.ldexp(matrix[:, column], _BITS * (lowest + column))
            high, rest = two_sum(high, digit)
            low, rest = two_sum(low, rest)
            lowest_part = lowest_part + rest
        low, rest = two_sum(low, lowest_part)
        even = low.view(np.int64) % 2 == 0
        low = np.where(even & (rest != 0), np.nextafter(low, rest * np.inf), low)
        return two_sum(high, low)


def _specials(slot: Ints, place: Ints, slots: int) -> Floats:
    """What infinities and NaN make of each slot's sum; 0 where there are none."""
    result = np.zeros(slots)
    with np.errstate(invalid="ignore"):
        np.add.at(result, slot, np.array([np.nan, np.inf, -np.inf])[place - _NAN])
    return result
