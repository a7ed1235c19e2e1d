"""Bound expressions as Spark SQL text.

Every operator is a row of :data:`_WRITERS`; a class that is not in it is a bug of the
planner and raises :class:`TypeError`. Text is always parenthesised, so no rule of
precedence is repeated here. The session is ANSI, UTC and case-sensitive; where the
two engines differ (arroyo-semantics: functions) the difference is taken care of in
the row of the operator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlglot import exp

from arroyo_nb.engine.wrapping_arithmetic import (
    ADD,
    LOW_BITS,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
)
from arroyo_nb.functions import Argument, decimals, floats, regex
from arroyo_nb.functions.arrays import element
from arroyo_nb.functions.casts import cast, decimal_constant
from arroyo_nb.functions.datafusion import datafusion_call
from arroyo_nb.functions.date_parts import interval_micros
from arroyo_nb.functions.let_binding import repeated
from arroyo_nb.functions.signature import ScalarFunction, operand
from arroyo_nb.functions.time_units import DAY_US, UNIT_US
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.clock import PLANNED_AT
from arroyo_nb.plan.expressions.datafusion_operators import operator_in_datafusion
from arroyo_nb.plan.expressions.functions import (
    called,
    calls_udf,
    described,
    has_worker_call,
    in_datafusion,
    is_computed_once,
)
from arroyo_nb.plan.expressions.typing import type_of, whole_number
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    DOUBLE,
    EPOCH,
    FLOAT,
    INTERVAL,
    PRIMITIVES,
    Decimal,
    Primitive,
    Timestamp,
    Type,
    quoted,
    quoted_text,
    spark_type,
)
from arroyo_nb.spark.case_arms import LONGEST_GUARD, arms, guarded
from arroyo_nb.spark.comparisons import (
    among,
    between,
    comparison,
    is_nonzero_literal,
)


@dataclass(frozen=True)
class Write:
    """Writes a sub-expression.

    Parameters
    ----------
    row_time
        What ``row_time()`` is.
    only_where
        For which rows its value is looked at, as Spark SQL text; empty: for all. Spark
        calls a function of Python for every row, also inside CASE.
    """

    row_time: str
    only_where: str = ""

    def __call__(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Anonymous) and node.name == "row_time":
            return self.row_time
        if (operator := operator_in_datafusion(node)) is not None:
            if isinstance(node, exp.Case):
                only_where, arguments = "", _case_arguments(node, self)
            else:
                only_where = self.only_where
                arguments = [_argument(part, self) for part in operator.operands]
            return datafusion_call(
                operator.template,
                [*map(operand, arguments)],
                type_of(node),
                only_where=only_where,
            )
        writer = _WRITERS.get(type(node))
        if writer is None:
            raise TypeError(f"no Spark text for {type(node).__name__}: {node!r}")
        return writer(node, self)

    def where(self, condition: str) -> Write:
        """What writes what is looked at where a condition is true, too."""
        both = filter(None, (self.only_where, condition))
        return replace(self, only_where=" AND ".join(both))


_FLOATING = (FLOAT, DOUBLE)
_UNSIGNED_MASKS = {
    "TINYINT UNSIGNED": 2**8 - 1,
    "SMALLINT UNSIGNED": 2**16 - 1,
    "INT UNSIGNED": 2**32 - 1,
}


def spark_sql(expression: exp.Expr, *, row_time: str) -> str:
    """The Spark SQL text of a bound expression.

    Parameters
    ----------
    expression
        Bound: columns are bare names of the input, and each sub-expression has its
        type in ``meta["arroyo_type"]``.
    row_time
        What ``row_time()`` is on this input.

    Raises
    ------
    TypeError
        For a class that the planner should have refused.
    """
    return Write(row_time)(expression)


def _infix(operator: str) -> Callable[[Any, Write], str]:
    def writer(node: exp.Binary, write: Write) -> str:
        return f"({write(node.left)} {operator} {write(node.right)})"

    return writer


def _arithmetic(operator: str, wrapping: str) -> Callable[[Any, Write], str]:
    plain = _infix(operator)

    def writer(node: exp.Binary, write: Write) -> str:
        type_ = type_of(node)
        if type_ == DATE:
            return _moved(node, operator, write)
        if isinstance(type_, Timestamp):
            return _in_units(plain(node, write), node, type_)
        if not is_integer(type_):
            return _narrowed(plain(node, write), type_)
        operands = (
            bits(write(side), type_of(side)) for side in (node.left, node.right)
        )
        return wrapped(f"{wrapping}({', '.join(operands)})", type_)

    return writer


def _moved(node: exp.Binary, operator: str, write: Write) -> str:
    """A DATE and an interval: it is moved by whole days, those of the calendar and
    those of the rest."""
    date, interval = node.left, node.right
    if type_of(date) == INTERVAL:
        date, interval = interval, date
    if isinstance(interval, exp.Interval):
        count: int = interval.meta["calendar"].moved_days
        days = str(-count if operator == "-" else count)
    else:
        days = (
            f"{operator} CAST({interval_micros(write(interval))} div {DAY_US}L AS INT)"
        )
    return f"date_add({write(date)}, {days})"


_SPARK_UNITS = {0: "SECOND", 3: "MILLISECOND"}


def _in_units(text: str, node: exp.Binary, type_: Timestamp) -> str:
    """A TIMESTAMP and an interval, in the unit of the TIMESTAMP."""
    unit, size = _SPARK_UNITS.get(type_.digits), UNIT_US.get(type_.digits, 1)
    for side in (node.left, node.right):
        length = side.meta.get("interval")
        if length is not None and not length % timedelta(microseconds=size):
            return text
    return f"date_trunc('{unit}', {text})" if unit else text


def bits(text: str, type_: Type) -> str:
    """A whole number as Spark's integer of the same last bits."""
    return f"{LOW_BITS}({text})" if type_ == BIGINT_UNSIGNED else text


def wrapped(text: str, type_: Type) -> str:
    """What wraps at the width of Spark's integer, as a whole number of its type.

    Spark's integer for an unsigned type is wider, or has the same bits.
    """
    if type_ == BIGINT_UNSIGNED:
        unsigned = spark_type(type_)
        return f"CAST(pmod(CAST({text} AS {unsigned}), {2**64}BD) AS {unsigned})"
    mask = _UNSIGNED_MASKS.get(str(type_))
    if mask is None:
        return text
    return f"({text} & CAST({mask}L AS {spark_type(type_)}))"


def _narrowed(text: str, type_: Type) -> str:
    """Spark widens a decimal with each operation; Arroyo's type is the declared one."""
    if isinstance(type_, Decimal) or type_ == BIGINT_UNSIGNED:
        return f"CAST({text} AS {spark_type(type_)})"
    return text


def _negated(node: exp.Neg, write: Write) -> str:
    operand, type_ = write(node.this), type_of(node)
    if isinstance(type_, Decimal):
        return decimals.negated(operand, type_)
    return f"{NEGATE}({operand})" if is_integer(type_) else f"(- {operand})"


def _div(node: exp.Div, write: Write) -> str:
    left, right, type_ = write(node.left), write(node.right), type_of(node)
    if type_ in _FLOATING and is_nonzero_literal(node.right):
        return _single(f"({left} / {right})", type_)
    if type_ in _FLOATING:
        return _single(floats.quotient(left, right), type_)
    if isinstance(type_, Decimal):
        return decimal_quotient(left, right, type_)
    if type_ == BIGINT_UNSIGNED:
        # div gives a BIGINT, and / rounds: only a quotient without a rest is exact. Of
        # the widest dividend it has digits enough before the point.
        whole = "CAST({0} - {0} % {1} AS decimal(38,0))"
        exact = repeated(f"({whole} / {{1}})", left, right)
        return f"CAST({exact} AS {spark_type(type_)})"
    # Integers truncate toward zero; div gives a BIGINT whatever its operands are.
    quotient = f"({left} div {right})"
    return quotient if type_ == BIGINT else f"CAST({quotient} AS {spark_type(type_)})"


def decimal_quotient(dividend: str, divisor: str, type_: Decimal) -> str:
    """The SQL text of a quotient, cut off at the scale of its type; Spark rounds it.

    Rounded away from zero it is too large for its dividend by less than a last digit.
    The two are subtracted: where they are compared, digits after the point may be lost.
    """
    rounded = f"CAST({{0}} / {{1}} AS {spark_type(type_)})"
    last = f"1E-{type_.scale}BD"
    cut = (
        f"CASE WHEN abs({{0}}) - abs({rounded} * {{1}}) >= 0 THEN {rounded} "
        f"WHEN {rounded} > 0 THEN {rounded} - {last} ELSE {rounded} + {last} END"
    )
    return f"CAST({repeated(cut, dividend, divisor)} AS {spark_type(type_)})"


def _mod(node: exp.Mod, write: Write) -> str:
    left, right, type_ = write(node.left), write(node.right), type_of(node)
    if type_ not in _FLOATING or is_nonzero_literal(node.right):
        return _narrowed(f"({left} % {right})", type_)
    remainder = "(CASE WHEN {1} = 0 THEN double('NaN') ELSE ({0} % {1}) END)"
    return repeated(remainder, left, right)


def _single(quotient: str, type_: Type) -> str:
    """Spark divides two FLOAT as DOUBLE."""
    return f"CAST({quotient} AS float)" if type_ == FLOAT else quotient


def _literal(node: exp.Literal, _write: Write) -> str:
    if node.is_string:
        return quoted_text(node.this)
    type_ = type_of(node)
    text = node.this
    match type_:
        case Primitive("BIGINT"):
            return f"{text}L"
        case Primitive("DOUBLE" | "FLOAT" as name):
            return f"CAST({_double_text(float(text))} AS {PRIMITIVES[name][1]})"
        case _:
            return f"CAST({text} AS {spark_type(type_)})"


def _double_text(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"double('{value!r}')"


def _interval(node: exp.Interval, _write: Write) -> str:
    """A day-time literal, exact to the microsecond.

    Spark's fields carry no sign of their own: the whole is negated.
    """
    duration: timedelta = node.meta["interval"]
    sign, size = ("-", -duration) if duration < timedelta() else ("", duration)
    minutes, seconds = divmod(size.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{size.microseconds:06}"
    return f"INTERVAL '{sign}{size.days} {clock}' DAY TO SECOND"


def _cast(node: exp.Cast, write: Write) -> str:
    value, source, target = node.this, type_of(node.this), type_of(node)
    if isinstance(target, Decimal) and isinstance(value, exp.Literal):
        constant = source == DOUBLE and decimal_constant(value.name, target)
        if constant:
            return constant
    literal = value.name if value.is_string else None
    tries = isinstance(node, exp.TryCast)
    return cast(write(value), source, target, literal=literal, tries=tries)


def _case(node: exp.Case, write: Write) -> str:
    text = ""
    for arm in arms(node, write):
        if arm.value is not None:
            word = f"WHEN {arm.condition[1]} THEN" if arm.condition else "ELSE"
            text += f" {word} {arm.writes(arm.value)}"
    return f"(CASE{text} END)"


_BACKSLASH = re.compile(r"\\(.)|\\$", re.DOTALL)


def _like_pattern(pattern: str) -> str:
    r"""A pattern as Spark reads it: it refuses a ``\`` before anything but ``%``, ``_``
    and itself, where DataFusion means the character after it.

    >>> print(_like_pattern(r"\a\%\\" + "\\"))
    a\%\\\\
    """
    return _BACKSLASH.sub(_escaped, pattern)


def _escaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return r"\\"
    return found[0] if found[1] in r"\%_" else found[1]


def _like(operator: str, node: exp.Binary, write: Write) -> str:
    pattern = node.right
    if isinstance(pattern, exp.Literal):
        text = quoted_text(_like_pattern(pattern.name))
    else:
        doubled = f"regexp_replace({write(pattern)}, {_LAST}, {_DOUBLED})"
        text = f"regexp_replace({doubled}, {_LONE}, '$1')"
    return f"({write(node.left)} {operator} {text})"


# The same for a pattern that is no literal.
_LAST = quoted_text(r"(?s)^((?:[^\\]|\\.)*+)\\\z")
_DOUBLED = quoted_text(r"$1\\\\")
_LONE = quoted_text(r"\G((?:[^\\]|\\[%_\\])*+)\\")


def _regexp(node: exp.Binary, write: Write) -> str:
    any_case = isinstance(node, exp.RegexpILike)
    return regex.matches(write(node.left), node.right.name, any_case=any_case)


def _element(node: exp.Bracket, write: Write) -> str:
    (index,) = node.expressions
    items, place = node.this, whole_number(index)
    if isinstance(items, exp.Anonymous) and place is not None:
        arguments = [_argument(a, write) for a in items.expressions]
        own = _function(items).spark_element(arguments, place)
        if own is not None:
            return own
    return element(write(items), write(index))


def _call(node: exp.Anonymous, write: Write) -> str:
    function, only_where = _function(node), write.only_where
    arguments = _arguments(node, function, write)
    planned_at = node.meta.get(PLANNED_AT, EPOCH)
    if only_where and calls_udf(node):
        # Spark computes the arguments of such a call for every row, too.
        arguments = [
            guarded(made, made_of, only_where)
            for made, made_of in zip(arguments, node.expressions, strict=True)
        ]
    return function.spark(arguments, planned_at=planned_at, only_where=only_where)


def _arguments(
    node: exp.Anonymous, function: ScalarFunction, write: Write
) -> list[Argument]:
    given = node.expressions
    guards = function.only_where
    if guards is None or not has_worker_call(node):
        return [_argument(a, write) for a in given]
    is_of_datafusion = in_datafusion(node)
    made: list[Argument] = []
    for place, argument in enumerate(given):
        before = given[:place]
        # What is computed once only cannot be in a condition beside it.
        fixed = not any(map(is_computed_once, before))
        condition = guards(made) if fixed else ""
        if len(condition) > LONGEST_GUARD and any(map(has_worker_call, before)):
            condition = ""
        one = _argument(argument, write.where(condition))
        made.append(guarded(one, argument, condition) if is_of_datafusion else one)
    return made


def _case_arguments(node: exp.Case, write: Write) -> list[Argument]:
    """The conditions and values of CASE in order, for DataFusion: Spark computes its
    arguments for every row."""
    made: list[Argument] = []
    for arm in arms(node, write):
        if arm.condition is not None:
            test, text = arm.condition
            made.append(guarded(described(test, text), test, arm.tests.only_where))
        if arm.value is not None:
            value = _argument(arm.value, arm.writes)
            made.append(guarded(value, arm.value, arm.writes.only_where))
    return made


def _function(call: exp.Anonymous) -> ScalarFunction:
    function = called(call)
    if function is None:
        raise TypeError(f"no Spark text for the function {call.name}")
    return function


def _argument(node: exp.Expr, write: Write) -> Argument:
    # Spark has no text for one with months: it is a constant of DataFusion's SQL.
    is_written = not isinstance(node, exp.Interval) or "interval" in node.meta
    return described(node, write(node) if is_written else "NULL")


_WRITERS: dict[type[exp.Expr], Callable[[Any, Write], str]] = {
    exp.Column: lambda node, _write: quoted(node.name),
    exp.Dot: lambda node, write: f"{write(node.this)}.{quoted(node.expression.name)}",
    exp.Bracket: _element,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _write: "TRUE" if node.this else "FALSE",
    exp.Null: lambda _node, _write: "NULL",
    exp.Interval: _interval,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Add: _arithmetic("+", ADD),
    exp.Sub: _arithmetic("-", SUBTRACT),
    exp.Mul: _arithmetic("*", MULTIPLY),
    exp.Div: _div,
    exp.Mod: _mod,
    exp.Neg: _negated,
    exp.BitwiseAnd: _infix("&"),
    exp.BitwiseOr: _infix("|"),
    exp.BitwiseXor: _infix("^"),
    exp.BitwiseLeftShift: lambda node, write: _shift("shiftleft", node, write),
    exp.BitwiseRightShift: lambda node, write: _shift("shiftright", node, write),
    exp.EQ: comparison("="),
    exp.NEQ: comparison("<>"),
    exp.GT: comparison(">"),
    exp.GTE: comparison(">="),
    exp.LT: comparison("<"),
    exp.LTE: comparison("<="),
    exp.NullSafeEQ: comparison("<=>"),
    exp.NullSafeNEQ: lambda node, write: f"(NOT {comparison('<=>')(node, write)})",
    exp.Is: _infix("IS"),
    exp.And: _infix("AND"),
    exp.Or: _infix("OR"),
    exp.Not: lambda node, write: f"(NOT {write(node.this)})",
    exp.DPipe: _infix("||"),
    exp.Like: lambda node, write: _like("LIKE", node, write),
    exp.ILike: lambda node, write: _like("ILIKE", node, write),
    exp.RegexpLike: _regexp,
    exp.RegexpILike: _regexp,
    exp.In: among,
    exp.Between: between,
    exp.Case: _case,
    exp.Anonymous: _call,
}


def _shift(function: str, node: exp.Binary, write: Write) -> str:
    # Spark's shifts take an INT, and Arroyo's operands are of one type. Both engines
    # shift by the last bits of the number.
    by = write(node.right)
    if type_of(node) == BIGINT:
        by = f"CAST({by} & 63L AS INT)"
    return f"{function}({write(node.left)}, {by})"
