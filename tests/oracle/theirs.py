"""What DataFusion gives: each expression by itself, over a table of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

from arroyo_nb.schema import Decimal, ListOf, Primitive, StructOf, Timestamp, Type
from arroyo_nb.schema import arrow_type as held_here
from oracle.cases import Case, Outcome
from oracle.results import plain, type_name

_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}

# Arroyo's parser is PostgreSQL's with additions, some of which the generic one has.
_DIALECTS = ("postgresql", "generic")


@cache
def _context(dialect: str) -> SessionContext:
    config = SessionConfig().set("datafusion.sql_parser.dialect", dialect)
    return SessionContext(config.with_target_partitions(1))


def arrow_type(type_: Type) -> pa.DataType:
    """What Arroyo holds a column in."""
    match type_:
        case Timestamp(digits):
            return pa.timestamp(_UNITS[digits])
        case Primitive("TIME"):
            return pa.time64("ns")
        case Primitive("INTERVAL"):
            return pa.month_day_nano_interval()
        case Decimal() | Primitive():
            return held_here(type_)
        case ListOf(element):
            return pa.list_(arrow_type(element))
        case StructOf(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])


def evaluate(case: Case) -> Outcome:
    """The expression's value for the row."""
    fields = [pa.field(c.name, arrow_type(c.type)) for c in case.columns]
    values = [
        pa.array([c.value], f.type) for c, f in zip(case.columns, fields, strict=True)
    ]
    row = pa.record_batch(
        [pa.array([0]), *values], schema=pa.schema([pa.field("_", pa.int64()), *fields])
    )
    return outcome(f"SELECT {case.expression} AS value FROM data", row, _of_one_row)


def outcome(
    query: str, rows: pa.RecordBatch, read: Callable[[list[pa.RecordBatch]], Outcome]
) -> Outcome:
    """What a query over ``data`` gives.

    Parameters
    ----------
    read
        Makes the outcome of its result.
    """
    for dialect in _DIALECTS:
        found = _outcome(_context(dialect), query, rows, read)
        if not found.refusal.startswith("DataFusion error: SQL(ParserError("):
            break
    return found


def _of_one_row(found: list[pa.RecordBatch]) -> Outcome:
    (batch,) = found
    # The batch says more than the plan: an expression may give another type.
    column = batch.column(0)
    return Outcome(type=type_name(column.type), value=plain(column[0]))


def _outcome(
    context: SessionContext,
    query: str,
    rows: pa.RecordBatch,
    read: Callable[[list[pa.RecordBatch]], Outcome],
) -> Outcome:
    context.register_record_batches("data", [[rows]])
    planned = False
    try:
        frame = context.sql(query)
        frame.execution_plan()
        planned = True
        return read(frame.collect())
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        message = str(error) or type(error).__name__
        if type(error).__name__ == "PanicException":
            return Outcome(failure=f"panic: {message}")
        return Outcome(failure=message) if planned else Outcome(refusal=message)
    finally:
        context.deregister_table("data")
