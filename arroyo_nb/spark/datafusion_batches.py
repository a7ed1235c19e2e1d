"""DataFusion over the Arrow batches of a Spark worker.

A worker has one session of DataFusion. It is made in the worker, at the first batch:
its threads would not be there in a process that was forked from one that has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from arroyo_nb.errors import DataProblem
from arroyo_nb.functions.datafusion import DataFusionCall
from arroyo_nb.functions.time_units import DAY_US
from arroyo_nb.lazy_imports import np, pa, pc, pt
from arroyo_nb.schema import (
    NULL,
    TIME,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
    arrow_type,
)
from arroyo_nb.spark.arrow_schema import spark_arrow_type

if TYPE_CHECKING:
    from datafusion import SessionContext

_TABLE = "batch"
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_TRY_CAST = "write TRY_CAST to get NULL where a value cannot be converted"


@cache
def _session() -> SessionContext:
    """The session of this process, which has one thread: Spark's tasks are parallel."""
    from datafusion import SessionConfig, SessionContext

    # A batch of Spark stays one batch.
    config = SessionConfig().with_target_partitions(1).with_batch_size(1 << 30)
    config = config.set("datafusion.sql_parser.map_varchar_to_utf8view", "false")
    return SessionContext(config)


@dataclass(frozen=True)
class DataFusionBatches:
    """A call of DataFusion as Spark makes it, with the arrays of a batch.

    Parameters
    ----------
    call
        The expression and its types.
    """

    call: DataFusionCall

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        rows = len(arrays[0])
        if not rows:
            return pa.nulls(0, spark_arrow_type(self.call.result))
        types = self.call.arguments
        with _problems(self.call):
            # Without arguments there is one column for the number of rows.
            given = [*map(for_datafusion, arrays, types)] if types else [*arrays]
            names = [f"a{place}" for place in range(len(given))]
            batch = pa.record_batch(given, names=names)
            session = _session()
            session.register_record_batches(_TABLE, [[batch]])
            try:
                query = f'SELECT {self.call.expression} AS "value" FROM {_TABLE}'
                found = [part.column(0) for part in session.sql(query).collect()]
            finally:
                session.deregister_table(_TABLE)
            value = found[0] if len(found) == 1 else pa.concat_arrays(found)
            return from_datafusion(value, self.call.result)


def datafusion_type(type_: Type) -> pa.DataType:
    """The Arrow type that DataFusion has for values of a type of Arroyo's."""
    match type_:
        case Timestamp(digits):
            return pa.timestamp(_UNITS[digits])
        case Primitive("TIME"):
            return pa.time64("ns")
        case Primitive("INTERVAL"):
            return pa.month_day_nano_interval()
        case ListOf(element):
            return pa.list_(datafusion_type(element))
        case StructOf(fields):
            return pa.struct(
                [pa.field(f.name, datafusion_type(f.type), f.nullable) for f in fields]
            )
    return arrow_type(type_)


def for_datafusion(array: pa.Array, type_: Type) -> pa.Array:
    """An array of Spark's as DataFusion has values of that type."""
    match type_:
        case Primitive("INTERVAL"):
            return _as_interval(array.cast(pa.duration("us")))
        case Primitive("TIME"):
            # Spark keeps the microseconds of a time of day.
            return array.cast(pa.int64()).cast(pa.time64("us")).cast(pa.time64("ns"))
        case Timestamp(digits):
            array = array.cast(pa.timestamp("us"))
            return array.cast(datafusion_type(type_), safe=digits == 9)
        case ListOf() | StructOf():
            return _with_parts(array, type_, for_datafusion, datafusion_type(type_))
    wanted = datafusion_type(type_)
    if type_ == NULL:
        return pa.nulls(len(array), wanted)
    return array if array.type == wanted else array.cast(wanted)


def from_datafusion(array: pa.Array, type_: Type) -> pa.Array:
    """An array of DataFusion's as Spark has values of that type."""
    wanted = spark_arrow_type(type_)
    if pt.is_null(array.type):
        return pa.nulls(len(array), wanted)
    if isinstance(type_, ListOf | StructOf):
        return _with_parts(array, type_, from_datafusion, wanted)
    if pt.is_interval(array.type):
        array = _as_duration(array)
    if pt.is_timestamp(array.type) and array.type.unit == "ns":
        array = _whole_microseconds(array).cast(pa.timestamp("us"))
    if type_ == TIME:
        array = _whole_microseconds(array)
    return array.cast(wanted)


def _with_parts(
    array: pa.Array,
    type_: ListOf | StructOf,
    convert: Callable[[pa.Array, Type], pa.Array],
    wanted: pa.DataType,
) -> pa.Array:
    """A list or struct whose elements or fields are converted; a map is a list.

    No value is copied but where one is converted. It is made anew also where the type
    is the same: Spark's name for the field of elements is another one, to which
    DataFusion's functions are not indifferent.
    """
    if isinstance(type_, ListOf) and not isinstance(array, pa.ListArray):
        array = array.cast(pa.list_(array.type.value_type))
    # What is a slice is copied: its buffers hold more than its values.
    array = pa.concat_arrays([array]) if array.offset else array
    validity, *others = array.buffers()
    if isinstance(type_, StructOf):
        others = []
        parts = [convert(array.field(n), f.type) for n, f in enumerate(type_.fields)]
    else:
        others = others[:1]
        parts = [convert(array.values, type_.element)]
        if type_.element == NULL:
            # Spark holds a list of nothing but NULLs as one of texts.
            parts = [pa.nulls(len(parts[0]), wanted.value_type)]
    buffers = [validity, *others]
    return pa.Array.from_buffers(wanted, len(array), buffers, children=parts)


def _whole_microseconds(array: pa.Array) -> pa.Array:
    """Nanoseconds, cut off towards the past as all fractions of a time are."""
    counted = array.cast(pa.int64())
    nulls = pc.is_null(counted).to_numpy(zero_copy_only=False)
    micros = pc.fill_null(counted, 0).to_numpy() // 1000
    return pa.array(micros, mask=nulls)


_INTERVAL = [("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")]


def _as_interval(array: pa.Array) -> pa.Array:
    """A length as DataFusion makes an interval of one: of nanoseconds alone, and of
    days where they are too many."""
    counted = array.cast(pa.int64())
    micros = pc.fill_null(counted, 0).to_numpy()
    parts = np.zeros(len(array), _INTERVAL)
    # Towards zero, so that days and the rest have one sign.
    days = np.trunc(micros / DAY_US).astype("<i4")
    parts["days"] = np.where(np.abs(micros) > _LONGEST_US, days, 0)
    parts["nanoseconds"] = (micros - parts["days"].astype("<i8") * DAY_US) * 1000
    valid = pc.is_valid(counted)
    return pa.Array.from_buffers(
        pa.month_day_nano_interval(),
        len(array),
        [valid.buffers()[1], pa.py_buffer(parts)],
        offset=0,
    )


_LONGEST_US = (2**63 - 1) // 1000


_MOST_DAYS = (2**63 - 1) // DAY_US - 200_000
"""So many days, and what nanoseconds in 64 bits hold beside them, are an INTERVAL."""


def _as_duration(array: pa.Array) -> pa.Array:
    """An interval as an exact length of time.

    Raises
    ------
    DataProblem
        For one of months, which are no length.
    """
    buffer = array.buffers()[1]
    parts = np.frombuffer(buffer, _INTERVAL)[array.offset : array.offset + len(array)]
    null = pc.is_null(array).to_numpy(zero_copy_only=False)
    if np.any((parts["months"] != 0) & ~null):
        raise DataProblem(
            "an interval with months is not supported as a value of its own: it has no "
            "exact duration",
            hint="keep its text, and cast that where it is added: at + CAST(s AS "
            "INTERVAL)",
        )
    days, nanoseconds = parts["days"].astype("<i8"), parts["nanoseconds"]
    if np.any((np.abs(days) > _MOST_DAYS) & ~null):
        raise DataProblem(f"an interval is longer than {_MOST_DAYS:,} days")
    # Towards zero, as a literal is read.
    micros = days * DAY_US + np.sign(nanoseconds) * (np.abs(nanoseconds) // 1000)
    return pa.array(micros, mask=null).cast(pa.duration("us"))


@contextmanager
def _problems(call: DataFusionCall) -> Iterator[None]:
    """What DataFusion fails with, as a problem of the run in its words."""
    try:
        yield
    except DataProblem:
        raise
    except BaseException as error:
        # Rust's panics are no Exception.
        if not isinstance(error, Exception) and _PANIC not in type(error).__name__:
            raise
        raise _problem(str(error), call) from None


_PANIC = "PanicException"
_UNREADABLE = re.compile(
    r"(?:Cannot cast (?:string|value)|Cannot parse|Error parsing timestamp from|"
    r"Invalid input syntax for type interval:) (?P<value>'.*?'|\".*?\")",
    re.DOTALL,
)
_IS_CAST = re.compile(
    r"\(*(?:TRY_)?CAST\((?:\"a0\"|'(?:[^']|'')*') AS [^()]+(?:\([\d, ]+\))?\)+"
).fullmatch
_CAUSES = re.compile(
    r"^DataFusion error: (?:\w+\()*\"?(?P<said>.*?)\"?\)?(?:, None)?\)*$"
)


def _problem(text: str, call: DataFusionCall) -> DataProblem:
    # A Rust text is quoted as in its source.
    text = text.replace('\\"', '"').replace("\\'", "'")
    if (found := _UNREADABLE.search(text)) is not None:
        value = "'" + found["value"][1:-1] + "'"
        what = (
            f"not a valid {call.result}" if _IS_CAST(call.expression) else "unreadable"
        )
        hint = _TRY_CAST if "CAST(" in call.expression else None
        return DataProblem(f"the value {value} is {what}", hint=hint)
    if "out of bounds timestamp" in text:
        return DataProblem(
            "a time lies outside the years 1677 to 2262, in nanoseconds",
            hint="declare the column TIMESTAMP(6), or cast it: CAST(x AS TIMESTAMP(6))",
        )
    if (refused := _REGEX.search(text)) is not None:
        return DataProblem(
            f"a text is not a regular expression: {refused[1]}",
            hint="patterns are those of Rust's regex crate, as in Arroyo",
        )
    if "Overflow happened on" in text or "integer overflow" in text:
        return DataProblem(
            "a number became too large for its type",
            hint="cast to a wider type first, such as x::DOUBLE",
        )
    found = _CAUSES.match(text)
    said = found["said"] if found is not None else text
    return DataProblem(f"DataFusion cannot evaluate an expression: {said}")


_REGEX = re.compile(r"(?s:regex parse error:.*?)error: ([^\n\\]*)")
