"""Bound expressions as plain JSON values, in names of our own.

An expression that is saved beside state has to mean the same years later, so nothing of
sqlglot is in it: neither its class names nor the SQL that it prints. A column is its
place in what is read: what a query calls its columns on the way changes nothing. Two
expressions are equal here if they compute the same by the same operators, however they
were written.

>>> from arroyo_nb.plan.expressions.typing import column
>>> from arroyo_nb.schema import BIGINT, Field
>>> Canonical(["id", "price"]).expression(column(Field("price", BIGINT)))
['column', 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal as Number
from typing import Any, TypeAlias

from sqlglot import exp

from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.functions import called, has_arroyos_value
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.nodes import Measure, Named, Ordering
from arroyo_nb.schema import MICROSECOND, Decimal, Type

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"
"""A value that ``json.dumps`` takes; floating-point numbers are texts in it."""

Convert: TypeAlias = "Callable[[exp.Expr], Json]"
"""Gives the form of an operand."""


class Canonical:
    """The canonical forms of what is bound over some columns.

    Parameters
    ----------
    names
        The columns, in order.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def expression(self, expression: exp.Expr) -> Json:
        """``[operator, operand, ...]``.

        Raises
        ------
        TypeError
            For a class that the planner should have refused.
        """
        if isinstance(expression, exp.Column):
            return ["column", self._places[expression.name]]
        convert = _CONVERTERS.get(type(expression))
        if convert is None:
            raise TypeError(f"no canonical form for {type(expression).__name__}")
        return convert(expression, self.expression)

    def columns(self, columns: Iterable[Named]) -> Json:
        """Output columns: the type and the expression of each."""
        return [[str(c.type), self.expression(c.expression)] for c in columns]

    def order(self, order: Iterable[Ordering]) -> Json:
        """The items of an ORDER BY."""
        return [
            [
                self.expression(item.expression),
                "descending" if item.descending else "ascending",
                "nulls_first" if item.nulls_first else "nulls_last",
            ]
            for item in order
        ]

    def measure(self, measure: Measure) -> Json:
        """An aggregate; what it does not have is left out."""
        value: dict[str, Json] = {
            "function": measure.function,
            "type": str(measure.type),
            "arguments": [self.expression(one) for one in measure.arguments],
        }
        if measure.distinct:
            value["distinct"] = True
        if measure.where is not None:
            value["filter"] = self.expression(measure.where)
        if measure.order:
            value["order"] = self.order(measure.order)
        if measure.parameter is not None:
            value["parameter"] = canonical_value(measure.parameter)
        if measure.user is not None and measure.user.udf is not None:
            value["source"] = measure.user.udf.version
        return value


def canonical_value(value: object) -> Json:
    """A constant of a plan or an option.

    >>> canonical_value(timedelta(seconds=90)), canonical_value(0.5)
    ({'us': 90000000}, {'double': '0.5'})
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            # As text: readers of JSON do not agree on the last digits of a number, and
            # NaN is none.
            return {"double": repr(value)}
        case timedelta():
            return {"us": value // MICROSECOND}
        case list() | tuple():
            return [canonical_value(item) for item in value]
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _operator(name: str, *arguments: str) -> Callable[[Any, Convert], Json]:
    """An operator whose operands are these arguments of its class."""

    def operator(node: exp.Expr, convert: Convert) -> Json:
        return [name, *(convert(node.args[a]) for a in arguments)]

    return operator


def _binary(name: str) -> Callable[[Any, Convert], Json]:
    return _operator(name, "this", "expression")


def _literal(node: exp.Literal, _convert: Convert) -> Json:
    if node.is_string:
        return ["text", node.this]
    type_ = type_of(node)
    return ["number", _digits(node.this, type_), str(type_)]


def _digits(text: str, type_: Type) -> str:
    """A number as it is written in one way only: ``1e3`` and ``1000.0`` are one."""
    if is_integer(type_):
        return str(int(Number(text)))
    # Trailing zeros are no part of the number: its type says its scale.
    if isinstance(type_, Decimal):
        return str(Number(text).normalize())
    return repr(float(text))


def _case(node: exp.Case, convert: Convert) -> Json:
    arms: list[Json] = [
        [convert(arm.this), convert(arm.args["true"])] for arm in node.args["ifs"]
    ]
    default = node.args.get("default")
    return ["case", arms, None if default is None else convert(default)]


def _interval(node: exp.Interval, _convert: Convert) -> Json:
    calendar = node.meta["calendar"]
    # Whole days are what they were before days were told apart.
    by_parts = calendar.days and calendar.duration != timedelta(days=calendar.days)
    months = [calendar.months, calendar.days] if calendar.months or by_parts else []
    return ["interval", canonical_value(calendar.duration), *months]


def _cast(node: exp.Cast, convert: Convert) -> Json:
    # sqlglot's TryCast is a Cast too, and gives NULL where the other fails.
    name = "try_cast" if isinstance(node, exp.TryCast) else "cast"
    # The type as we resolved it: how sqlglot prints one changes with its versions.
    return [name, convert(node.this), str(type_of(node))]


def _field(node: exp.Dot, convert: Convert) -> Json:
    return ["field", convert(node.this), node.expression.name]


def _element(node: exp.Bracket, convert: Convert) -> Json:
    (index,) = node.expressions
    return ["element", convert(node.this), convert(index)]


def _in(node: exp.In, convert: Convert) -> Json:
    values = (convert(value) for value in node.expressions)
    return ["in", convert(node.this), *values]


def _call(node: exp.Anonymous, convert: Convert) -> Json:
    # An alias of a function is the function.
    function = called(node)
    name = node.name if function is None else function.name
    if has_arroyos_value(node):
        name = f"{name} as in Arroyo"
    if function is not None and function.udf is not None:
        # Another definition computes something else.
        name = f"{name} {function.udf.version}"
    return ["call", name, *map(convert, node.expressions)]


_CONVERTERS: dict[type[exp.Expr], Callable[[Any, Convert], Json]] = {
    exp.Dot: _field,
    exp.Bracket: _element,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _convert: ["boolean", bool(node.this)],
    # A NULL of another type makes a column of another type.
    exp.Null: lambda node, _convert: ["null", str(type_of(node))],
    exp.Interval: _interval,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Add: _binary("add"),
    exp.Sub: _binary("subtract"),
    exp.Mul: _binary("multiply"),
    exp.Div: _binary("divide"),
    exp.Mod: _binary("modulo"),
    exp.Neg: _operator("negate", "this"),
    exp.BitwiseAnd: _binary("bit_and"),
    exp.BitwiseOr: _binary("bit_or"),
    exp.BitwiseXor: _binary("bit_xor"),
    exp.BitwiseLeftShift: _binary("shift_left"),
    exp.BitwiseRightShift: _binary("shift_right"),
    exp.EQ: _binary("equal"),
    exp.NEQ: _binary("not_equal"),
    exp.GT: _binary("greater"),
    exp.GTE: _binary("greater_or_equal"),
    exp.LT: _binary("less"),
    exp.LTE: _binary("less_or_equal"),
    exp.NullSafeEQ: _binary("not_distinct"),
    exp.NullSafeNEQ: _binary("distinct"),
    exp.Is: _binary("is"),
    exp.And: _binary("and"),
    exp.Or: _binary("or"),
    exp.Not: _operator("not", "this"),
    exp.DPipe: _binary("concat"),
    exp.Like: _binary("like"),
    exp.ILike: _binary("ilike"),
    exp.RegexpLike: _binary("matches"),
    exp.RegexpILike: _binary("imatches"),
    exp.In: _in,
    exp.Between: _operator("between", "this", "low", "high"),
    exp.Case: _case,
    exp.Anonymous: _call,
}
"""The operators of the dialect. No name, once released, is given to another one."""
