"""Calls with OVER at random: as our kernel has them, and as DuckDB's SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

import duckdb
import pyarrow as pa

from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.functions.aggregates import aggregate
from arroyo_nb.functions.over import over_function
from arroyo_nb.over.aggregates import aggregate_over, ordered_by_position
from arroyo_nb.over.frame import Edge, OverFrame, usual_frame
from arroyo_nb.over.kernel import OrderedCalls, OverKernel
from arroyo_nb.over.rows import OverCall

SCHEMA = pa.schema(
    {
        "w": pa.int64(),
        "k": pa.string(),
        "i": pa.int64(),
        "f": pa.float64(),
        "d": pa.decimal128(12, 2),
        "t": pa.timestamp("us", "UTC"),
        "b": pa.bool_(),
        "u": pa.int64(),
    }
)
"""Two keys, values with NULLs and many ties, and ``u``, which no two rows share."""

START = datetime(2024, 1, 1, tzinfo=UTC)
NUMBERS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")
AGGREGATES = {
    "sum": "ifd",
    "avg": "if",
    "min": "kifdt",
    "max": "kifdt",
    "count": "kifdt",
    "stddev_pop": "i",
    "var_pop": "i",
    "bool_and": "b",
    "bool_or": "b",
}
"""Those that DuckDB has too, and the columns that they may be of: infinities and NaN
have no variance there."""

FRACTIONS = [None, 0.5, -1.25, 1e17, 3.0, float("nan"), float("inf"), 0.1]


def some_rows(random: Random, number: int) -> pa.Table:
    """Rows at random."""
    places = random.sample(range(10 * number + 1), number)

    def maybe(value: object) -> object:
        return None if random.random() < 0.15 else value

    rows = [
        {
            "w": random.randrange(2),
            "k": random.choice(["a", "b", None]),
            "i": maybe(random.randint(-4, 6)),
            "f": random.choice(FRACTIONS),
            "d": maybe(Decimal(random.randint(-500, 900)).scaleb(-2)),
            "t": maybe(START + timedelta(minutes=random.randrange(12))),
            "b": random.choice([True, False, None]),
            "u": place,
        }
        for place in places
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@dataclass(frozen=True)
class Case:
    """One call: for the kernel, and as SQL."""

    call: OverCall
    keys: tuple[str, ...]
    order: tuple[Order, ...]
    sql: str


def some_case(random: Random) -> Case:
    """A function, an order, and where it matters a frame."""
    keys = random.choice([("w",), ("w", "k")])
    kind = random.choice(["number", "value", "aggregate", "aggregate", "aggregate"])
    if kind == "number":
        return _number(random, keys)
    # Which of two peers comes first is ours to say, and DuckDB's to leave open.
    unique = kind == "value" or random.random() < 0.3
    unit = random.choice(["rows", "range", "groups"])
    unique |= unit == "rows"
    name = "u" if unique else random.choice("ifdt")
    order = (Order(name, random.random() < 0.5, random.random() < 0.5),)
    frame = _frame(random, unit, name)
    if kind == "value":
        return _value(random, keys, order, frame)
    return _aggregate(random, keys, order, frame)


def _number(random: Random, keys: tuple[str, ...]) -> Case:
    name = random.choice(NUMBERS)
    column = "u" if name == "row_number" else random.choice("ifdt")
    order = (Order(column, random.random() < 0.5, random.random() < 0.5),)
    function = over_function(name)
    share = name in ("percent_rank", "cume_dist")
    type_ = pa.float64() if share else pa.int64()
    call = OverCall("x", type_, function.compute)
    return Case(call, keys, order, f"{name}() OVER ({_over(keys, order, None)})")


def _value(
    random: Random, keys: tuple[str, ...], order: tuple[Order, ...], frame: OverFrame
) -> Case:
    name = random.choice(["first_value", "last_value", "nth_value", "lag", "lead"])
    nulls, column = random.random() < 0.4, random.choice("kid")
    parameter = None
    if name == "nth_value":
        parameter = random.randint(1, 4)
    elif name in ("lag", "lead"):
        parameter = random.randint(0 if not nulls else 1, 4)
    arguments = (column,)
    inside = column if parameter is None else f"{column}, {parameter}"
    if name in ("lag", "lead") and random.random() < 0.5:
        arguments, inside = (column, column), f"{inside}, {column}"
    is_framed = name not in ("lag", "lead")
    word = " IGNORE NULLS" * nulls
    shown = frame if is_framed else None
    call = OverCall(
        "x",
        SCHEMA.field(column).type,
        over_function(name).compute,
        arguments,
        parameter,
        shown,
        nulls,
    )
    return Case(
        call, keys, order, f"{name}({inside}{word}) OVER ({_over(keys, order, shown)})"
    )


def _aggregate(
    random: Random, keys: tuple[str, ...], order: tuple[Order, ...], frame: OverFrame
) -> Case:
    names = [*AGGREGATES, *(["array_agg"] if order[0].column == "u" else [])]
    name = random.choice(names)
    column = random.choice(AGGREGATES.get(name, "ikd"))
    distinct = name in ("count", "sum") and column != "f" and random.random() < 0.3
    where = "b" if random.random() < 0.3 else None
    own = SCHEMA.field(column).type
    types = {"count": pa.int64(), "array_agg": pa.list_(own)}
    type_ = types.get(name, own)
    if name in ("avg", "stddev_pop", "var_pop"):
        type_ = pa.float64()
    elif name == "sum" and column == "d":
        type_ = pa.decimal128(22, 2)
    call = AggregateCall(
        "x", name, type_, (column,), where, distinct, kernel=aggregate(name).kernel
    )
    if name == "array_agg":
        call = ordered_by_position(call)
    inside = f"DISTINCT {column}" if distinct else column
    test = f" FILTER (WHERE {where})" if where else ""
    sql = f"{name}({inside}){test} OVER ({_over(keys, order, frame)})"
    made = OverCall("x", type_, aggregate_over, frame=frame, aggregate=call)
    return Case(made, keys, order, sql)


def _over(
    keys: tuple[str, ...], order: tuple[Order, ...], frame: OverFrame | None
) -> str:
    by = ", ".join(
        f"{o.column} {'DESC' if o.descending else 'ASC'} "
        f"NULLS {'FIRST' if o.nulls_first else 'LAST'}"
        for o in order
    )
    return f"PARTITION BY {', '.join(keys)} ORDER BY {by} {frame or ''}"


def _frame(random: Random, unit: str, column: str) -> OverFrame:
    if random.random() < 0.15:
        return usual_frame(ordered=True)
    unbounded = [("preceding", None), ("following", None)]
    current = ("preceding", 0)
    offset = _offset(random, unit, column)
    other = _offset(random, unit, column)
    starts = [unbounded[0], ("preceding", offset), current, ("following", offset)]
    start = random.choice(starts)
    ends = [unbounded[1], ("following", other)]
    if start[0] == "preceding":
        ends += [current]
        ends += [("preceding", other)] * (start != current)
    end = random.choice(ends)
    exclude = random.choice(["no others"] * 3 + ["current row", "group", "ties"])
    return OverFrame(unit, Edge(*start), Edge(*end), exclude)


def _offset(random: Random, unit: str, column: str) -> object:
    if unit != "range":
        return random.randint(0, 3)
    if column == "t":
        return timedelta(minutes=random.randint(0, 4))
    if column == "u":
        return random.randint(0, 60)
    if column == "d":
        return random.choice([1, 2, Decimal("0.75")])
    return random.choice([1, 2]) if column == "i" else random.choice([0.5, 2.0, 1.25])


def kernel_of(case: Case) -> OverKernel:
    """The kernel that computes a case, with all columns for ties."""
    names = tuple(SCHEMA.names)
    group = OrderedCalls(case.order, (case.call,))
    return OverKernel(SCHEMA, case.keys, names, names, (group,))


def computed(case: Case, rows: pa.Table) -> dict[int, object]:
    """What the kernel gives, by ``u``."""
    found = kernel_of(case)(rows)
    return dict(zip(found["u"].to_pylist(), found["x"].to_pylist(), strict=True))


def expected(case: Case, rows: pa.Table) -> dict[int, object]:
    """What DuckDB gives, by ``u``."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("rows", rows)
        return dict(db.execute(f"SELECT u, {case.sql} FROM rows").fetchall())
