"""Calls of aggregate functions, bound, and the measures that they become.

A bound call is ``exp.Anonymous`` whose arguments stand as the grammar has them: inside
an ``exp.Distinct``, and the last one, with ORDER BY, inside an ``exp.Order``. The
constant argument comes last. :func:`measure` takes such a call apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem, Unsupported
from arroyo_nb.functions.aggregates import AggregateFunction, aggregate
from arroyo_nb.functions.types import common_type
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.functions import has_worker_call, is_computed_once
from arroyo_nb.plan.expressions.operators import binary
from arroyo_nb.plan.expressions.predicates import case, inverted, tested
from arroyo_nb.plan.expressions.typing import (
    cast,
    is_nullable,
    place_of,
    type_of,
    typed,
)
from arroyo_nb.plan.nodes import Measure, Ordering
from arroyo_nb.schema import BIGINT, DOUBLE, INTERVAL, JSON, NULL, Type
from arroyo_nb.sql.syntax_tree import parts_of

NO_ORDER = "Aggregate ORDER BY is not implemented for window functions"

_COUNTS = ("no argument", "one argument", "two arguments", "three arguments")


def aggregate_call(
    name: str,
    arguments: Sequence[exp.Expr],
    *,
    distinct: bool = False,
    order: Sequence[exp.Ordered] = (),
    over: bool = False,
) -> exp.Anonymous:
    """A bound aggregate call; no argument stands for ``count(*)``.

    Parameters
    ----------
    name
        The primary one.
    arguments, order
        Bound.
    over
        Whether OVER follows: then it aggregates no group, and may be of an aggregate.

    Raises
    ------
    CatalogProblem
        When it does not take these arguments.
    PlanProblem
        For an aggregate inside, and for DISTINCT where it has no meaning.
    Unsupported
        For an order before OVER that decides nothing.
    """
    function = aggregate(name)
    if distinct and len(arguments) != 1 + (function.constant is not None):
        raise PlanProblem(f"{name}(DISTINCT) takes one argument")
    values, constant = _split(name, arguments)
    type_ = _result(name, values)
    inner = [*arguments, *(item.this for item in order)]
    if not over and any(find_aggregate(part) is not None for part in inner):
        raise PlanProblem(f"aggregates cannot be nested: {name}() of an aggregate")
    if distinct and any(_is_no_argument(function, i, values) for i in order):
        raise PlanProblem(
            "In an aggregate with DISTINCT, ORDER BY expressions must appear in "
            "argument list"
        )
    written, values = values, _cast(function, values)
    if distinct:  # the order is that of what is aggregated, which may be a cast
        order = [_ordered_as(item, values[written.index(item.this)]) for item in order]
    wrapped: list[exp.Expr] = [*values, *constant]
    if distinct:
        wrapped = [exp.Distinct(expressions=values), *constant]
    if order and over and not function.ordered:
        raise Unsupported(NO_ORDER)
    # Where the result does not depend on it, an order is nothing to keep.
    if order and function.ordered:
        wrapped[-1] = exp.Order(this=wrapped[-1], expressions=list(order))
    call = exp.Anonymous(this=name, expressions=wrapped)
    call.meta["over" if over else "aggregate"] = True
    return typed(call, type_, nullable=not function.of_rows)


def _is_no_argument(
    function: AggregateFunction, item: exp.Ordered, values: Sequence[exp.Expr]
) -> bool:
    """Whether one of ORDER BY is none of what is aggregated: a value that is cast for
    a list is none."""
    if item.this not in values:
        return True
    type_ = type_of(item.this)
    return function.ordered and type_ != JSON and function.reads(type_) != type_


def _ordered_as(item: exp.Ordered, value: exp.Expr) -> exp.Ordered:
    item = item.copy()
    item.set("this", value.copy())
    return item


def within_group(
    name: str, arguments: Sequence[exp.Expr], order: exp.Ordered, *, over: bool = False
) -> exp.Anonymous:
    """A bound call of ``name(arguments) WITHIN GROUP (ORDER BY order)``.

    Raises
    ------
    CatalogProblem
        As :func:`aggregate_call`; and when the aggregate is none of an ordered set.
    """
    if not aggregate(name).within:
        raise CatalogProblem(
            "WITHIN GROUP clause can only be used when calling ordered set aggregate "
            f"functions, which {name}() is not"
        )
    call = aggregate_call(name, [order.this, *arguments], over=over)
    if order.args.get("desc"):
        fraction = call.expressions[-1]
        # As it is written: 1 - 0.9 is no 0.1 to a float.
        turned = exp.Literal.number(f"{1 - Decimal(fraction.name):f}")
        fraction.replace(typed(turned, DOUBLE, nullable=False))
    return call


def measure(name: str, node: exp.Expr) -> Measure:
    """A bound aggregate call, FILTER included, as an output column of that name.

    Raises
    ------
    PlanProblem
        For a window call in an argument.
    """
    where = node.expression if isinstance(node, exp.Filter) else None
    call = node.this if isinstance(node, exp.Filter) else node
    arguments, order, distinct = parts(call)
    for part in (*arguments, *(item.this for item in order)):
        window = window_calls.find_window_call(part)
        if window is not None:
            raise window_calls.misplaced_window(window)
    function = aggregate(call.name)
    read = function.constant
    arguments = [_only_where(where, argument) for argument in arguments]
    return Measure(
        name,
        call.name,
        tuple(arguments if read is None else arguments[:-1]),
        type_of(node),
        is_nullable(node),
        distinct=distinct,
        where=where,
        order=tuple(
            Ordering(
                _only_where(where, o.this),
                bool(o.args.get("desc")),
                bool(o.args.get("nulls_first")),
            )
            for o in order
        ),
        parameter=None if read is None else read(arguments[-1]),
        user=function if function.udf is not None else None,
        span=place_of(node),
    )


def _only_where(where: exp.Expr | None, part: exp.Expr) -> exp.Expr:
    """What is aggregated, with what workers evaluate done for the rows that count."""
    if where is None or not has_worker_call(part):
        return part
    if is_computed_once(where):
        return part
    return case([where.copy()], [part], None)


def parts(call: exp.Expr) -> tuple[list[exp.Expr], list[exp.Ordered], bool]:
    """The arguments of a call as it was read or bound, its order, and whether it is
    DISTINCT."""
    arguments: list[exp.Expr] = list(call.expressions)
    order: list[exp.Ordered] = []
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1].expressions
        last = arguments.pop().this
        # `first_value(ORDER BY at)` has none: it is told as any call without.
        arguments += [] if last is None else [last]
    if arguments and isinstance(arguments[0], exp.Distinct):
        return [*arguments[0].expressions, *arguments[1:]], order, True
    return arguments, order, False


def is_aggregate(expression: exp.Expr) -> bool:
    """Whether a bound expression is an aggregate call, FILTER included."""
    return bool(expression.meta.get("aggregate"))


def find_aggregate(expression: exp.Expr) -> exp.Expr | None:
    """The first aggregate call in a bound expression."""
    return next(filter(is_aggregate, parts_of(expression)), None)


def filtered(call: exp.Expr, predicate: exp.Expr) -> exp.Filter:
    """An aggregate call over the rows for which the predicate is true.

    Raises
    ------
    PlanProblem
        When the predicate holds an aggregate or a window call.
    """
    window = window_calls.find_window_call(predicate)
    if window is not None:
        raise window_calls.misplaced_window(window)
    # Of a call with OVER it may read what the groups have.
    inner = find_aggregate(predicate) if is_aggregate(call) else None
    if inner is not None:
        raise PlanProblem("aggregates are not allowed in FILTER", span=place_of(inner))
    if isinstance(call, exp.Filter):
        # IGNORE NULLS has made one of it.
        predicate = binary(exp.And, call.expression, predicate)
        call = call.this
    made = exp.Filter(this=call, expression=predicate)
    if is_aggregate(call):
        made.meta["aggregate"] = True
    return typed(made, type_of(call), nullable=is_nullable(call))


def without_nulls(call: exp.Expr) -> exp.Expr:
    """``call IGNORE NULLS``: most aggregates pass over NULLs anyway."""
    where, inner = None, call
    if isinstance(call, exp.Filter):
        where, inner = call.expression, call.this
    if not aggregate(inner.name).kernel.keeps_nulls:
        return call
    value = parts(inner)[0][0].copy()
    there = inverted(tested(value, typed(exp.Null(), NULL)))
    both = there if where is None else binary(exp.And, where, there)
    return filtered(inner, both)


def _split(
    name: str, arguments: Sequence[exp.Expr]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The arguments, and the constant one by itself."""
    function = aggregate(name)
    wanted = function.arguments + (function.constant is not None)
    if len(arguments) != wanted and (not function.of_rows or arguments):
        counted = _COUNTS[wanted] if wanted < len(_COUNTS) else f"{wanted} arguments"
        raise CatalogProblem(f"{name}() takes {counted}, not {len(arguments)}")
    if function.constant is None:
        return list(arguments), []
    *values, last = arguments
    if function.constant(last) is None:
        raise CatalogProblem(
            f"the last argument of {name}() must be {function.constant_words}",
            span=place_of(last),
        )
    return values, [last]


def _cast(function: AggregateFunction, values: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The arguments as values of the types that it reads."""
    if function.signature is None:
        types = [function.reads(type_) for type_ in _types(function, values)]
    else:
        types = function.signature.targets([type_of(value) for value in values])
    return [cast(*pair) for pair in zip(values, types, strict=True)]


def _types(function: AggregateFunction, values: Sequence[exp.Expr]) -> list[Type]:
    """The types of the arguments, or as often what is common to them."""
    types = [type_of(value) for value in values]
    common = common_type(types) if function.alike else None
    return types if common is None else [common] * len(types)


def _result(name: str, values: Sequence[exp.Expr]) -> Type:
    function = aggregate(name)
    if function.signature is not None:
        given = [type_of(value) for value in values]
        if function.signature.accepts(given):
            return function.signature.result_type(given)
        raise CatalogProblem(
            f"{name}() does not take ({', '.join(map(str, given))})",
            hint=f"write {name}({function.signature})",
        )
    types = [function.result(type_) for type_ in _types(function, values)]
    for value, type_ in zip(values, types, strict=True):
        if type_ is None:
            raise CatalogProblem(
                f"{name}() does not take {type_of(value)}",
                hint=_wanted_hint(function, name, type_of(value)),
            )
    return types[0] or BIGINT if types else BIGINT


def _wanted_hint(function: AggregateFunction, name: str, found: Type) -> str:
    """What to write for an argument of a type that an aggregate does not take."""
    if found == NULL and function.wants == "a value":
        return f"NULL has no type: write {name}(CAST(NULL AS TEXT))"
    if found == INTERVAL and function.wants == "a number":
        return (
            "take the seconds of both times, as in "
            f"{name}(date_part('epoch', b) - date_part('epoch', a))"
        )
    return f"cast the argument of {name}() to {function.wants}"
