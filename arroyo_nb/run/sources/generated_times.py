"""A generated event time, computed by Arrow: what a source is paced by at a speed.

Which rows are due is decided before Spark reads them. So an event time that is a
conversion of physical columns is computed twice: in Spark, for the rows, and here, for
the pace alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    MICROSECOND,
    TIMESTAMP,
    Timestamp,
    Type,
)
from arroyo_nb.tape import END_OF_TIME_US, Chunk, Position, Recorder

if TYPE_CHECKING:
    import pyarrow as pa

Compute: TypeAlias = "Callable[[pa.Table], pa.ChunkedArray | pa.Scalar]"
"""Values of the rows of a chunk, one a row, or one of all."""

_CONVERSIONS = {
    "to_timestamp": 0,
    "to_timestamp_seconds": 0,
    "from_unixtime": 0,
    "to_timestamp_millis": 3,
    "to_timestamp_micros": 6,
    "to_timestamp_nanos": 9,
}
"""Functions of a number since 1970, and how many digits of a second it counts."""

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
}


def event_time_of(expression: exp.Expr) -> Compute | None:
    """Computes an event time in microseconds after the epoch.

    Parameters
    ----------
    expression
        Of a TIMESTAMP, bound over physical columns.

    Returns
    -------
    None: it is more than a conversion of physical columns, plus or minus intervals.
    """
    if isinstance(expression, exp.Add | exp.Sub):
        return _shifted(expression)
    if isinstance(expression, exp.Column):
        return _instant(expression)
    if isinstance(expression, exp.Cast):
        digits = _digits(type_of(expression))
        return _converted(expression.this, 9 if digits is None else digits)
    if isinstance(expression, exp.Anonymous) and len(expression.expressions) == 1:
        digits = _CONVERSIONS.get(expression.name.lower())
        if digits is not None:
            return _converted(expression.expressions[0], digits)
    return None


def _digits(type_: Type) -> int | None:
    return type_.digits if isinstance(type_, Timestamp) else None


def _converted(value: exp.Expr, digits: int) -> Compute | None:
    """A time, or a number of so many digits of a second, as microseconds."""
    if isinstance(type_of(value), Timestamp):
        return event_time_of(value)
    if type_of(value) == DATE:
        return _instant(value)
    number = _number(value)
    if number is None:
        return None

    def compute(rows: pa.Table) -> pa.ChunkedArray:
        return _microseconds(number(rows), digits)

    return compute


def _microseconds(numbers: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    """NULL where it is past the last time there is: such rows wait for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    many, few = max(0, 6 - digits), max(0, digits - 6)
    last = pa.scalar(min(END_OF_TIME_US * 10**few // 10**many, 2**63 - 1))
    # In the type of the numbers, so that they are compared as they are.
    last = last.cast(numbers.type, safe=False)
    held = pc.and_(pc.greater(numbers, pc.negate(last)), pc.less(numbers, last))
    numbers = pc.if_else(held, numbers, pa.scalar(None, numbers.type))
    us = pc.divide(pc.multiply(numbers, 10**many), 10**few)
    return us.cast(pa.int64(), safe=False)


def _instant(value: exp.Expr) -> Compute | None:
    if not isinstance(value, exp.Column):
        return None
    name = value.name

    def compute(rows: pa.Table) -> pa.ChunkedArray:
        import pyarrow as pa

        # Unsafe: digits below a microsecond are cut off, as Spark does.
        instants = rows[name].cast(pa.timestamp("us", "UTC"), safe=False)
        return instants.cast(pa.int64())

    return compute


def _shifted(expression: exp.Expr) -> Compute | None:
    """A time plus or minus a constant interval."""
    left, right = expression.this, expression.expression
    # Only a sum may have its interval first.
    if isinstance(expression, exp.Add) and isinstance(left, exp.Interval):
        left, right = right, left
    size = right.meta.get("interval") if isinstance(right, exp.Interval) else None
    if not isinstance(size, timedelta) or not isinstance(type_of(left), Timestamp):
        return None
    time = event_time_of(left)
    if time is None:
        return None
    us = size // MICROSECOND * (1 if isinstance(expression, exp.Add) else -1)

    def compute(rows: pa.Table) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        return pc.add(time(rows), us)

    return compute


def _number(value: exp.Expr) -> Compute | None:
    """A number, computed of columns and constants."""
    type_ = type_of(value)
    if not is_integer(type_) and type_ not in (FLOAT, DOUBLE):
        return None
    to_arrow = "int64" if is_integer(type_) else "float64"
    if isinstance(value, exp.Column):
        return _cast(_physical(value.name), to_arrow)
    if isinstance(value, exp.Literal) and not value.is_string:
        return _constant(int(value.name) if is_integer(type_) else float(value.name))
    if isinstance(value, exp.Cast):
        inner = _number(value.this)
        return inner and _cast(inner, to_arrow)
    function = _ARITHMETIC.get(type(value))
    # Where a division could fail for one row, Spark alone says what becomes of that
    # row.
    if function is None or (isinstance(value, exp.Div) and not _is_divisor(value)):
        return None
    left, right = _number(value.this), _number(value.expression)
    if left is None or right is None:
        return None

    def compute(rows: pa.Table) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        return pc.call_function(function, [left(rows), right(rows)])

    return compute


def _is_divisor(value: exp.Div) -> bool:
    """Whether it divides by a constant other than 0, which is no error in any row."""
    by = value.expression
    while isinstance(by, exp.Cast):
        by = by.this
    return isinstance(by, exp.Literal) and not by.is_string and float(by.name) != 0


def _physical(name: str) -> Compute:
    return lambda rows: rows[name]


def _cast(inner: Compute, type_: str) -> Compute:
    return lambda rows: inner(rows).cast(type_, safe=False)


def _constant(value: float) -> Compute:
    import pyarrow as pa

    return lambda _: pa.scalar(value)


class GeneratedTimes:
    """A recorder's chunks, each row with its generated event time as its time.

    Parameters
    ----------
    recorder
        Makes the chunks.
    compute
        The event time, as :func:`event_time_of` gives it.
    """

    def __init__(self, recorder: Recorder, compute: Compute) -> None:
        self.bounded = recorder.bounded
        self.live = recorder.live
        self._recorder = recorder
        self._compute = compute

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The recorder's chunks. Times that the end of the stream could be mistaken
        for are NULL here; Spark computes, and judges, them itself."""
        for chunk in self._recorder.chunks(after):
            yield replace(chunk, rows=self._stamped(chunk.rows))
        # A feed may have ended: its server says so.
        self.bounded = self._recorder.bounded

    def _stamped(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        us = self._compute(rows)
        # A wrong time must not stop the tape: it has none here, and Spark refuses or
        # drops the row.
        held = pc.and_(pc.less(us, END_OF_TIME_US), pc.greater(us, -END_OF_TIME_US))
        us = pc.if_else(held, us, pa.scalar(None, pa.int64()))
        at = rows.schema.get_field_index(TIMESTAMP)
        return rows.set_column(at, TIMESTAMP, us.cast(pa.timestamp("us", "UTC")))
