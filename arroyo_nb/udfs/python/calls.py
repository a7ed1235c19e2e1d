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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.codecs.python_values import UNFIT, arrow_values, python_values
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.udfs.messages import failed, unfit
from arroyo_nb.udfs.python.source_text import SourceText

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
        except UNFIT as error:
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
            except UNFIT:
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


def _refuse_none(values: list[Any]) -> None:
    # By identity: an array of NumPy would compare each of its elements.
    if any(value is None for value in values):
        raise TypeError("None is no value of it")


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
