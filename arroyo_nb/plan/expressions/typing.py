"""Bound expressions: what every one of them promises, and how it is made.

The contract, on which lowering relies:

- Operators stay sqlglot's classes: ``Add Sub Mul Div Mod Neg``, ``BitwiseAnd BitwiseOr
  BitwiseXor BitwiseLeftShift BitwiseRightShift``, ``EQ NEQ LT LTE GT GTE NullSafeEQ
  NullSafeNEQ``, ``And Or Not Is Like ILike RegexpLike RegexpILike In
  Between DPipe Case``. ``Case`` has no operand; ``Is`` compares with Null or Boolean;
  ``In`` holds a list. There is no ``Paren``, no ``Alias`` and no negated form: ``NOT``
  is a node of its own.
- A function call is ``exp.Anonymous(this=<lower-case name>, expressions=[...])``.
  ``row_time()`` is one. No aggregate and no window call is left inside a node but for
  the window call among an ``Aggregate``'s keys.
- A column is ``exp.Column(this=exp.Identifier(name, quoted=True))``, a name of the
  input's schema as it is written there. A field of a struct is ``exp.Dot(this=<expr>,
  expression=exp.Identifier(field, quoted=True))``, an element of a list ``exp.Bracket``
  with one index that counts from 1.
- Literals are ``exp.Literal``, ``exp.Boolean``, ``exp.Null``. Whole numbers are BIGINT
  (BIGINT UNSIGNED, then DOUBLE, when too large), numbers with a point DOUBLE, quoted
  text TEXT. A sign is part of the number: ``exp.Literal(this="-5")``.
- ``exp.Interval`` carries what it says, an ``Interval``, in ``meta["calendar"]``, and
  where it has no months the exact duration, a ``timedelta``, in ``meta["interval"]``.
  One with months is an operand of what DataFusion evaluates, and never a column
  (:mod:`~arroyo_nb.plan.expressions.months`).
- Implicit conversions are explicit: both sides of an arithmetic operator or a
  comparison have one type, and where Arroyo converts there is an ``exp.Cast`` (or
  ``exp.TryCast``) whose target is its own type. Exceptions are arithmetic on
  times (TIMESTAMP or DATE with INTERVAL, TIMESTAMP less TIMESTAMP) and on decimals,
  which keep a precision of their own on each side; the result has Arrow's. Function
  arguments are left as they are: a function's signature says what it casts.
- Every sub-expression has its type and nullability in ``meta["arroyo_type"]`` and
  ``meta["nullable"]``, read by :func:`type_of` and :func:`is_nullable`, and its place
  in the script, where it has one, in ``meta["span"]``.

Expressions are not changed after they are made; :func:`replaced` builds new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlglot import exp

from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.functions.literals import check_text
from arroyo_nb.functions.types import castable
from arroyo_nb.plan.expressions.intervals import (
    Interval,
    interval_text,
    parse_interval,
)
from arroyo_nb.schema import (
    INTERVAL,
    JSON_VALUE,
    Field,
    Type,
)
from arroyo_nb.source import Span

E = TypeVar("E", bound=exp.Expr)


def typed(expression: E, type_: Type, *, nullable: bool = True) -> E:
    """The expression itself, with its type and nullability."""
    expression.meta["arroyo_type"] = type_
    expression.meta["nullable"] = nullable
    return expression


def type_of(expression: exp.Expr) -> Type:
    """Arroyo's type of a bound expression."""
    found: Type = expression.meta["arroyo_type"]
    return found


def is_nullable(expression: exp.Expr) -> bool:
    """Whether a bound expression may be NULL."""
    return bool(expression.meta["nullable"])


def place_of(expression: exp.Expr) -> Span | None:
    """Where in the script a bound expression stands."""
    found: Span | None = expression.meta.get("span")
    return found


@contextmanager
def placed(span: Span | None) -> Iterator[None]:
    """Give an error that is raised inside, and has no place yet, this one."""
    try:
        yield
    except ArroyoError as error:
        error.span = error.span or span
        raise


def whole_number(expression: exp.Expr) -> int | None:
    """The value of a literal whole number; None for anything else."""
    is_literal = isinstance(expression, exp.Literal) and expression.is_int
    return int(expression.name) if is_literal else None


def column(field: Field) -> exp.Column:
    """A reference to a column of the input.

    >>> from arroyo_nb.schema import INT
    >>> column(Field("a", INT)).sql()
    '"a"'
    """
    made = exp.Column(this=exp.Identifier(this=field.name, quoted=True))
    return typed(made, field.type, nullable=field.nullable)


def interval_literal(value: Interval) -> exp.Interval:
    """An interval literal."""
    # Days and hours are two things to DataFusion, as in DATE + INTERVAL.
    by_parts = value.months or value.days
    text = value.text if by_parts else interval_text(value.duration)
    made = exp.Interval(this=exp.Literal.string(text))
    made.meta["calendar"] = value
    if not value.months:
        made.meta["interval"] = value.duration
    return typed(made, INTERVAL, nullable=False)


def cast(expression: exp.Expr, type_: Type, *, tries: bool = False) -> exp.Expr:
    """The expression as a value of that type; itself where it already is one.

    Raises
    ------
    CatalogProblem
        When values of the one type are never values of the other, or a literal's text
        is not.
    """
    given = type_of(expression)
    if given == type_:
        return expression
    if not castable(given, type_):
        is_json = given == JSON_VALUE
        raise CatalogProblem(
            f"Unsupported CAST from {given} to {type_}",
            hint="write ->> for its text, or cast it: (j -> 'a')::INT" * is_json
            or None,
        )
    if expression.is_string and not tries:
        if type_ == INTERVAL:
            return _interval(expression)
        check_text(expression.name, type_, place_of(expression))
    # For texts alone, in Arroyo's words: lowering reads the type of the node.
    to = exp.DataType(this=exp.DType.USERDEFINED, kind=str(type_))
    made = (exp.TryCast if tries else exp.Cast)(this=expression, to=to)
    made.meta["span"] = place_of(expression)
    return typed(made, type_, nullable=tries or is_nullable(expression))


def _interval(literal: exp.Expr) -> exp.Expr:
    """A text as an interval: Spark's CAST does not read ``5 minutes``."""
    try:
        # To a cast a number without a unit is months; to INTERVAL '5' it is seconds.
        made = interval_literal(parse_interval(literal.name, "month"))
    except ArroyoError as problem:
        problem.span = place_of(literal)
        raise
    made.meta["text"], made.meta["span"] = literal.name, place_of(literal)
    return made


# An arm of CASE and the words around the arguments of an aggregate.
_UNTYPED = (exp.If, exp.Distinct, exp.Order, exp.Ordered)


def replaced(
    expression: exp.Expr, swap: Callable[[exp.Expr], exp.Expr | None]
) -> exp.Expr:
    """A copy in which each outermost sub-expression that ``swap`` answers is swapped.

    >>> from arroyo_nb.schema import INT
    >>> a, b = column(Field("a", INT)), column(Field("b", INT))
    >>> neg = typed(exp.Neg(this=a), INT)
    >>> replaced(neg, lambda e: b if e == a else None).sql()
    '-"b"'
    """
    swapped = swap(expression)
    if swapped is not None:
        return swapped
    parts = {name: _in_arg(value, swap) for name, value in expression.args.items()}
    made = expression.__class__(**parts)
    made.meta.update(expression.meta)
    return made


def _in_arg(value: object, swap: Callable[[exp.Expr], exp.Expr | None]) -> object:
    if isinstance(value, list):
        return [_in_arg(item, swap) for item in value]
    if isinstance(value, exp.Expr) and "arroyo_type" in value.meta:
        return replaced(value, swap)
    if isinstance(value, _UNTYPED):
        parts = {name: _in_arg(part, swap) for name, part in value.args.items()}
        return value.__class__(**parts)
    return value.copy() if isinstance(value, exp.Expr) else value
