"""Columns of Arrow as lists of Python values, and back: nothing is cut off, and nothing
taken for something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa

from arroyo_nb.errors import RunProblem

DECIMALS = 18
"""Digits after the point of a decimal that has no other type."""

UNFIT = (
    *(pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError),
    AttributeError,
)
"""What is raised for a value that is not of its type."""

_DIGITS = Context(prec=2 * 38)


def python_values(array: pa.Array) -> list[Any]:
    """The values of an array as Python has them; times are naive, in UTC.

    NumPy makes a list of numbers, texts or times at many times the speed of Arrow.
    """
    type_ = array.type
    if pa.types.is_timestamp(type_):
        return _listed(array, "datetime64[us]")
    if pa.types.is_date(type_):
        return _listed(array, "datetime64[D]")
    if pa.types.is_duration(type_):
        return _listed(array, "timedelta64[us]")
    is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if (is_number or pa.types.is_boolean(type_)) and not array.null_count:
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return array.to_pylist()  # type: ignore[no-any-return]


def _listed(array: pa.Array, unit: str) -> list[Any]:
    values = array.to_numpy(zero_copy_only=False).astype(unit)
    if unit != "timedelta64[us]" and (values > _LAST).any():
        raise RunProblem("a time after the year 9999 is none of Python")
    return values.tolist()  # type: ignore[no-any-return]


_LAST = np.datetime64("9999-12-31T23:59:59.999999", "us")
"""The last time that Python has."""


def arrow_values(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Python values as an array of a type; no part of one is lost, and of decimals no
    digit that a DECIMAL(38, 18), or the type, can hold.

    Raises
    ------
    pyarrow.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError
        When one is not of that type.
    """
    # A type at a time, as a batch has few: a value at a time only inside of values.
    for given in set(map(type, values)):
        _check_type(given, type_)
    if pa.types.is_decimal(type_):
        values = [_rounded(value, type_) for value in values]
    elif pa.types.is_struct(type_) or pa.types.is_list(type_):
        values = [_plain(value, type_) for value in values]
    return pa.array(values, type=type_)


def _check_type(given: type, type_: pa.DataType) -> None:
    """Refuse what Arrow would cut off, or take for something else."""
    is_ = pa.types
    odd: tuple[type, ...] = ()
    if is_.is_integer(type_):
        is_whole = issubclass(given, int | np.integer)
        odd = (np.bool_,) if is_whole else (np.bool_, Number)
    elif is_.is_floating(type_):
        odd = (bool, np.bool_)
    elif is_.is_string(type_):
        odd = (bytes, bytearray, memoryview)
    elif is_.is_binary(type_):
        odd = (str,)
    elif is_.is_date(type_):
        odd = (datetime, Number)
    elif is_.is_temporal(type_):
        odd = (Number,)
    elif is_.is_list(type_):
        odd = (str, bytes, bytearray, Mapping)
    if issubclass(given, odd):
        raise TypeError(f"a value of type {given.__name__} is given")


def _naive(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _rounded(value: Any, type_: pa.DataType) -> Any:
    """A decimal with no more digits than its type holds, or one without a type."""
    if isinstance(value, Decimal) and value.is_finite():
        digits = value.as_tuple().exponent
        most = max(DECIMALS, getattr(type_, "scale", 0))
        if isinstance(digits, int) and -digits > most:
            return value.quantize(Decimal(1).scaleb(-most), context=_DIGITS)
    return value


def _plain(value: Any, type_: pa.DataType) -> Any:
    """A dataclass as a dictionary, also inside a list."""
    if value is None:
        return None
    if pa.types.is_list(type_):
        return [_plain(one, type_.value_type) for one in value]
    if pa.types.is_struct(type_):
        return {f.name: _plain(_part(value, f.name), f.type) for f in type_}
    _check_type(type(value), type_)
    return _rounded(_naive(value), type_)


def _part(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return getattr(value, name)
    if name not in value:
        raise TypeError(f"the field '{name}' is missing")
    return value[name]
