"""How a Python function is called with a batch: in a worker, with Arrow arrays.

Columns become lists of Python values and back by Arrow and NumPy; only the call itself
is made once for each row.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.udfs.messages import failed, unfit
from arroyo_nb.udfs.python.source_text import SourceText

DECIMALS = 18
"""Digits after the point of a decimal that a function gives."""

_SHOWN = 120
"""Longest text of an argument in an error."""


@dataclass(frozen=True)
class PythonFunction:
    """A function, and what its errors say of it.

    Parameters
    ----------
    name
        What SQL calls it.
    function
        Called with Python values.
    names
        Of its arguments.
    makers
        What makes of a value the argument, such as of a dictionary a dataclass; None:
        it is the value.
    type
        Of the result; ``written`` as its author writes it.
    source
        Where it is defined.
    moved
        How many lines further it is defined in its cell.
    optional
        Whether it may give None.
    null_on_error
        Whether a call that raises gives NULL.
    redact
        Whether arguments stay out of errors.
    """

    name: str
    function: Callable[..., Any]
    names: tuple[str, ...]
    makers: tuple[Callable[[Any], Any] | None, ...]
    type: pa.DataType
    written: str
    source: SourceText
    optional: bool = True
    null_on_error: bool = False
    redact: bool = False
    moved: int = 0

    def made(self, row: Sequence[Any]) -> Sequence[Any]:
        """What the function is called with, of values of Arrow. What a class raises
        that refuses one is an error of the call."""
        if not any(self.makers):
            return row
        pairs = zip(self.makers, row, strict=True)
        return [value if maker is None else maker(value) for maker, value in pairs]

    @property
    def call(self) -> Callable[..., Any]:
        """The function, for values of Arrow."""
        if not any(self.makers):
            return self.function
        return lambda *row: self.function(*self.made(row))

    def array(
        self, results: list[Any], arguments: Sequence[Sequence[Any]] | None = None
    ) -> pa.Array:
        """The results as Arrow.

        Parameters
        ----------
        results
            In order.
        arguments
            A list for each argument; None: each result is of more than one row.

        Raises
        ------
        DataProblem
            When one is not of the type that the function says.
        """
        try:
            if not self.optional:
                _refuse_none(results)
            return arrow_values(results, self.type)
        except _UNFIT as error:
            place = next(self._unfit(results), 0)
            row = [column[place] for column in arguments or ()]
            hints = [_advice(results[place], self.written)]
            if arguments is not None:
                hints.append(self.called_with(row))
            raise DataProblem(
                unfit("Python", self.name, self._no_result(results[place], error)),
                hint="; ".join(filter(None, hints)) or None,
            ) from None

    def _no_result(self, value: Any, error: BaseException) -> str:
        if value is None:
            return f"None is no {self.written}"
        kind = type(value).__name__
        shown = (
            f"a value of type {kind}" if self.redact else f"{_shown(value)} ({kind})"
        )
        # Of a value whose type is right Arrow says what is wrong with it.
        is_inner = isinstance(value, Mapping | list | tuple) or hasattr(
            value, "__dataclass_fields__"
        )
        is_right = kind == self.written or is_inner
        said = f": {_first_line(error)}" if is_right and not self.redact else ""
        return f"{shown} is no {self.written}{said}"

    def failed(
        self,
        error: BaseException,
        row: Sequence[Any] | None = None,
        *,
        advises: bool = True,
    ) -> RunProblem:
        """What to tell of a call that raised.

        Parameters
        ----------
        row
            Its arguments, where they are those of one row.
        advises
            Whether ``on_error`` would help.
        """
        said = type(error).__name__
        # The text of an error quotes what it is about.
        if not self.redact and (text := _first_line(error)):
            said = f"{said}: {text}"
        message = failed("Python", self.name, said + self._line(error))
        hints = [self.called_with(row)] if row is not None else []
        if advises and not isinstance(error, NameError | ImportError):
            hints.append("on_error='null' gives NULL instead")
        return RunProblem(message, hint="; ".join(hints) or None)

    def _unfit(self, results: list[Any]) -> Iterator[int]:
        for place, value in enumerate(results):
            try:
                if not self.optional:
                    _refuse_none([value])
                arrow_values([value], self.type)
            except _UNFIT:
                yield place

    def _line(self, error: BaseException) -> str:
        """The line of the function's own source at which it failed."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if f.filename == self.source.file]
        if not own or own[-1].lineno is None:
            return ""
        number = own[-1].lineno
        at, lines = number - self.source.first_line, self.source.lines
        if 0 <= at < len(lines):
            return f", at line {number + self.moved}: {lines[at].strip()}"
        # Of another cell, maybe.
        text = linecache.getline(self.source.file, number).strip()
        return f", in {own[-1].name}(): {text}" if text else f", in {own[-1].name}()"

    def called_with(self, row: Sequence[Any]) -> str:
        """The arguments of a call, for its error."""
        if self.redact:
            return "its arguments are not shown: it was defined with redact=True"
        pairs = zip(self.names, row, strict=True)
        return "called with " + ", ".join(f"{n} = {_shown(v)}" for n, v in pairs)


@dataclass(frozen=True)
class RowCall:
    """Calls a function once for each row."""

    of: PythonFunction

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        columns = [python_values(array) for array in arrays]
        results: list[Any] = []
        # A call at a time in C. Its error leaves what came before in the list, and the
        # next turn goes on behind it.
        calls = map(self.of.call, *columns)
        while len(results) < len(arrays[0]):
            try:
                results.extend(calls)
                if len(results) < len(arrays[0]):
                    raise StopIteration  # the function's: it looks like the end of all
            except BaseException as error:  # one that ends a process ends a call
                if not self.of.null_on_error:
                    row = [column[len(results)] for column in columns]
                    raise self.of.failed(error, row) from None
                results.append(None)
        return self.of.array(results, columns)


@dataclass(frozen=True)
class BatchCall:
    """Calls a function with a whole batch."""

    of: PythonFunction
    pandas: tuple[bool, ...]
    takes_nulls: tuple[bool, ...]

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        given = [
            _series(array, nullable=nullable) if as_series else array
            for array, as_series, nullable in zip(
                arrays, self.pandas, self.takes_nulls, strict=True
            )
        ]
        rows = len(arrays[0])
        try:
            result = self.of.function(*given)
        except BaseException as error:
            if self.of.null_on_error:
                return pa.nulls(rows, self.of.type)
            problem = self.of.failed(error)
            problem.hint = f"it was called with a batch of {rows:,} rows"
            raise problem from None
        return self._array(result, rows)

    def _array(self, result: Any, rows: int) -> pa.Array:
        name = self.of.name
        try:
            if isinstance(result, pa.ChunkedArray):
                result = result.combine_chunks()
            if not isinstance(result, pa.Array):
                result = pa.array(result, from_pandas=True)
            if _kind(result.type) not in ("null", _kind(self.of.type)):
                raise TypeError(f"{result.type} is no {self.of.written}")
            made = result.cast(self.of.type)
            if made.null_count and not self.of.optional:
                raise TypeError("it has NULLs: write output=T | None where it may")
        except (pa.ArrowException, TypeError, ValueError) as error:
            said = _first_line(error)
            if self.of.redact:
                said = f"a value is no {self.of.written}"
            raise DataProblem(unfit("Python", name, said)) from None
        if len(made) != rows:
            raise DataProblem(
                f"the Python UDF '{name}' gave {len(made):,} values for {rows:,} rows"
            )
        return made


def _kind(type_: pa.DataType) -> str:
    """What of is cast to what without being taken for something else."""
    is_ = pa.types
    if is_.is_dictionary(type_):
        return _kind(type_.value_type)
    kinds = {
        "null": is_.is_null,
        "boolean": is_.is_boolean,
        "number": lambda t: (
            is_.is_integer(t) or is_.is_floating(t) or is_.is_decimal(t)
        ),
        "text": lambda t: is_.is_string(t) or is_.is_large_string(t),
        "bytes": lambda t: is_.is_binary(t) or is_.is_large_binary(t),
        "time": is_.is_timestamp,
        "date": is_.is_date,
        "duration": is_.is_duration,
        "list": lambda t: is_.is_list(t) or is_.is_large_list(t),
    }
    return next((kind for kind, is_of in kinds.items() if is_of(type_)), str(type_))


def _series(array: pa.Array, *, nullable: bool) -> Any:
    """Numbers that may be NULL keep their type: as floats they would lose digits."""
    import pandas as pd

    known = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return array.to_pandas(types_mapper=known.get if nullable else None)


@dataclass(frozen=True)
class ValuesCall:
    """Calls a function with all values of a group."""

    of: PythonFunction

    def __call__(self, *lists: pa.ListArray) -> pa.Array:
        columns = [python_values(each.flatten()) for each in lists]
        offsets = [_offsets(each) for each in lists]
        groups: list[list[Any]] = [
            [column[at[g] : at[g + 1]] for column, at in zip(columns, offsets)]  # noqa: B905
            for g in range(len(lists[0]))
        ]
        results = []
        for group in groups:
            try:
                results.append(self.of.call(*group))
            except BaseException as error:  # one that ends a process ends a call
                if not self.of.null_on_error:
                    raise self.of.failed(error, group) from None
                results.append(None)
        return self.of.array(results, list(zip(*groups)))  # noqa: B905


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


def arrow_values(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Python values as an array of a type; no digit and no part of one is lost.

    Raises
    ------
    pyarrow.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError
        When one is not of that type.
    """
    # A type at a time, as a batch has few: a value at a time only inside of values.
    for given in set(map(type, values)):
        _check_type(given, type_)
    if pa.types.is_decimal(type_):
        values = [_rounded(value) for value in values]
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


def _refuse_none(values: list[Any]) -> None:
    # By identity: an array of NumPy would compare each of its elements.
    if any(value is None for value in values):
        raise TypeError("None is no value of it")


_UNFIT = (
    *(pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError),
    AttributeError,
)
_DIGITS = Context(prec=2 * 38)


def _naive(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite():
        digits = value.as_tuple().exponent
        if isinstance(digits, int) and -digits > DECIMALS:
            return value.quantize(Decimal(1).scaleb(-DECIMALS), context=_DIGITS)
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
    return _rounded(_naive(value))


def _part(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return getattr(value, name)
    if name not in value:
        raise TypeError(f"the field '{name}' is missing")
    return value[name]


def _advice(value: Any, written: str) -> str:
    """What helps against a result of another type; empty: nothing is known."""
    if value is None:
        return f"write -> {written} | None where a result may be NULL"
    if isinstance(value, Coroutine):
        return "write await before the call that gives it"
    return ""


def _offsets(lists: pa.ListArray) -> list[int]:
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return np.r_[0, np.cumsum(lengths)].tolist()  # type: ignore[no-any-return]


def _shown(value: Any) -> str:
    text = "…"
    with suppress(Exception):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _first_line(error: BaseException) -> str:
    with suppress(Exception):
        return str(error).partition("\n")[0]
    return ""
