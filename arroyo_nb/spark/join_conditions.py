"""What must hold of a pair of rows beside equal keys, in Arrow.

What reads one side only, Spark computes below the join: it is a column of its side. Of
the rest, each operator is a row of :data:`_OPERATORS`, which does as DataFusion does:
NULL as in SQL, -0.0 less than 0.0, NaN equal to itself and greater than any number, an
overflow that wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from arroyo_nb.changelog.join import Columns
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.queries.join_conditions import operands

OneSided: TypeAlias = Callable[[exp.Expr], "str | None"]
"""The column that has an expression's value; None where it reads both sides."""


@dataclass(frozen=True)
class Value:
    """A column of the pairs."""

    name: str

    def __call__(self, pairs: Columns) -> pa.Array:
        """The values of the expression, one for each pair of rows."""
        return pairs[self.name]


@dataclass(frozen=True)
class Test:
    """An operator over values and other tests; a row of :data:`_OPERATORS`."""

    operator: str
    operands: tuple[Value | Test, ...]

    def __call__(self, pairs: Columns) -> pa.Array:
        """Its value for each pair."""
        return _OPERATORS[self.operator](*(operand(pairs) for operand in self.operands))


def pair_condition(condition: exp.Expr, one_sided: OneSided) -> Value | Test:
    """A bound condition on pairs, as what computes it from their columns.

    Parameters
    ----------
    condition
        Of operators that :func:`arroyo_nb.plan.queries.join_conditions.operands` knows.
    one_sided
        Gives the column of what reads one side only.
    """
    name = one_sided(condition)
    if name is not None:
        return Value(name)
    parts = [pair_condition(part, one_sided) for part in operands(condition)]
    if isinstance(condition, exp.Between):
        value, low, high = parts
        bounds = (Test("LTE", (low, value)), Test("LTE", (value, high)))
        return Test("AND", bounds)
    if isinstance(condition, exp.In):
        value, *items = parts
        equal = (Test("EQ", (value, item)) for item in items)
        return reduce(lambda one, other: Test("OR", (one, other)), equal)
    return Test(_operator(condition), tuple(parts))


def _operator(node: exp.Expr) -> str:
    if isinstance(node, exp.Is):
        test = node.expression
        return f"IS {'NULL' if isinstance(test, exp.Null) else str(test.this).upper()}"
    if isinstance(node, exp.Cast):
        return f"CAST {type_of(node)}"
    return type(node).__name__.upper()


def _equal(a: pa.Array, b: pa.Array) -> pa.Array:
    equal = pc.equal(a, b)
    if not pa.types.is_floating(a.type):
        return equal
    other_zero = pc.and_(equal, pc.not_equal(_sign_of_zero(a), _sign_of_zero(b)))
    both_nan = pc.and_(pc.is_nan(a), pc.is_nan(b))
    return pc.or_(pc.and_not(equal, other_zero), both_nan)


def _less(a: pa.Array, b: pa.Array) -> pa.Array:
    less = pc.less(a, b)
    if not pa.types.is_floating(a.type):
        return less
    zeros = pc.and_(pc.equal(a, b), pc.less(_sign_of_zero(a), _sign_of_zero(b)))
    beside_nan = pc.and_(pc.invert(pc.is_nan(a)), pc.is_nan(b))
    return pc.or_(less, pc.or_(zeros, beside_nan))


def _sign_of_zero(column: pa.Array) -> pa.Array:
    """-1 of -0.0, and 0 of all that is not NULL beside it."""
    below = pc.less(pc.divide(pa.scalar(1, column.type), column), 0)
    is_negative = pc.and_(pc.equal(column, 0), below)
    return pc.negate(is_negative.cast(pa.int8()))


def _same(a: pa.Array, b: pa.Array) -> pa.Array:
    none = pc.and_(pc.is_null(a), pc.is_null(b))
    return pc.or_(pc.fill_null(_equal(a, b), False), none)


_OPERATORS: dict[str, Callable[..., pa.Array]] = {
    "AND": pc.and_kleene,
    "OR": pc.or_kleene,
    "NOT": pc.invert,
    "EQ": _equal,
    "NEQ": lambda a, b: pc.invert(_equal(a, b)),
    "LT": _less,
    "GT": lambda a, b: _less(b, a),
    "LTE": lambda a, b: pc.invert(_less(b, a)),
    "GTE": lambda a, b: pc.invert(_less(a, b)),
    "NULLSAFEEQ": _same,
    "NULLSAFENEQ": lambda a, b: pc.invert(_same(a, b)),
    "IS NULL": pc.is_null,
    "IS TRUE": lambda a: pc.fill_null(a, False),
    "IS FALSE": lambda a: pc.invert(pc.fill_null(a, True)),
    "ADD": pc.add,
    "SUB": pc.subtract,
    "MUL": pc.multiply,
    "NEG": pc.negate,
    "CAST BIGINT": lambda a: a.cast(pa.int64()),
    "CAST DOUBLE": lambda a: a.cast(pa.float64(), safe=False),
}
