"""Calls with OVER: functions over the rows of a partition (arroyo-semantics e.5).

A bound call is an ``exp.Window`` over a bound call of a function or of an aggregate,
with bound ``partition_by`` and ``order``; its frame is in ``meta["frame"]``.
:func:`with_over` puts an :class:`Over` below the select list for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem, Unsupported
from arroyo_nb.functions import aggregates
from arroyo_nb.functions.over import OverFunction, over_function
from arroyo_nb.over.frame import OverFrame
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.functions import function_name
from arroyo_nb.plan.expressions.naming import free, shown
from arroyo_nb.plan.expressions.scope import spelled
from arroyo_nb.plan.expressions.typing import (
    cast,
    column,
    is_nullable,
    place_of,
    replaced,
    type_of,
    typed,
    whole_number,
)
from arroyo_nb.plan.nodes import Measure, Named, Node, Ordering, Over, OverColumn
from arroyo_nb.plan.queries import aggregate_calls
from arroyo_nb.plan.refusals import refuse_clauses
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import all_in

# What may stand between a call and OVER, around the call.
_AFTER_CALLS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def function_of(call: exp.Expr) -> OverFunction | None:
    """The function that OVER follows; None where it is an aggregate, or nothing that
    OVER may follow.

    Raises
    ------
    Unsupported
        For a clause of an aggregate behind it.
    CatalogProblem
        For IGNORE NULLS behind a function that gives no values of rows.
    """
    inner = inner_call(call)
    if inner is None:
        return None
    function = over_function(function_name(inner))
    if function is None:
        return None
    if isinstance(call, exp.Filter):
        raise CatalogProblem(
            "FILTER is only supported for aggregates",
            hint="filter the rows in a subquery",
        )
    if isinstance(call, exp.WithinGroup):
        raise Unsupported(f"WITHIN GROUP is not supported after {function.name}()")
    if call is not inner and not function.takes_value:
        word = "IGNORE" if isinstance(call, exp.IgnoreNulls) else "RESPECT"
        raise CatalogProblem(f"{function.name}() takes no {word} NULLS")
    return function


def inner_call(call: exp.Expr) -> exp.Anonymous | None:
    """The call without the clauses behind it."""
    while isinstance(call, _AFTER_CALLS):
        call = call.this
    return call if isinstance(call, exp.Anonymous) else None


def aggregate_of(call: exp.Expr) -> str | None:
    """The aggregate that OVER follows, by its primary name."""
    inner = inner_call(call)
    return None if inner is None else aggregates.primary(function_name(inner))


def function_call(
    function: OverFunction, arguments: Sequence[exp.Expr], *, ignores_nulls: bool
) -> exp.Expr:
    """A bound call of a function of OVER, without OVER.

    Parameters
    ----------
    arguments
        Bound.

    Raises
    ------
    CatalogProblem
        When it does not take these arguments.
    """
    name, names = function.name, function.parameters
    if not function.required <= len(arguments) <= len(names):
        if not names:
            raise CatalogProblem(f"{name}() takes no argument")
        raise CatalogProblem(
            f"{name}() is given {len(arguments)} arguments",
            hint=f"write {name}({function.signature})",
        )
    given = dict(zip(names, arguments, strict=False))
    for parameter in ("offset", "n", "buckets"):
        if parameter in given:
            _check_constant(function, given[parameter])
    type_ = function.result or type_of(given["value"])
    if "default" in given:
        given["default"] = cast(given["default"], type_)
    made: exp.Expr = exp.Anonymous(this=name, expressions=list(given.values()))
    made = typed(made, type_, nullable=function.result is None)
    if ignores_nulls:
        made = typed(exp.IgnoreNulls(this=made), type_)
    return made


def _check_constant(function: OverFunction, value: exp.Expr) -> None:
    number = _constant(value)
    wrong = "a whole number" if number is None else function.checks(number)
    if wrong is not None:
        raise CatalogProblem(
            f"{function.name}() requires {wrong}, but finds {shown(value)}",
            span=place_of(value),
        )


def _constant(value: exp.Expr) -> int | None:
    if isinstance(value, exp.Neg):
        number = whole_number(value.this)
        return None if number is None else -number
    return whole_number(value)


class OverClause(NamedTuple):
    """What OVER says, as it was read.

    Attributes
    ----------
    keys, order
        PARTITION BY and ORDER BY.
    spec
        The frame clause, if there is one.
    """

    keys: Sequence[exp.Expr]
    order: Sequence[exp.Ordered]
    spec: exp.WindowSpec | None


def clause_of(node: exp.Window) -> OverClause:
    """What OVER says, with what a window says that it names.

    Raises
    ------
    PlanProblem
        When there is no such window, or both say the same.
    """
    select = node.find_ancestor(exp.Select)
    windows = (select.args.get("windows") if select is not None else None) or ()
    return _clause(node, {spelled(window.this): window for window in windows})


def _clause(node: exp.Window, windows: Mapping[str, exp.Window]) -> OverClause:
    refuse_clauses(node)
    order, name = node.args.get("order"), node.args.get("alias")
    own = OverClause(
        node.args.get("partition_by") or (),
        order.expressions if order is not None else (),
        node.args.get("spec"),
    )
    if name is None:
        return own
    if spelled(name) not in windows:
        raise PlanProblem(
            f"The window {spelled(name)} is not defined!",
            span=span_of(name),
            hint=f"write WINDOW {spelled(name)} AS (PARTITION BY ...) behind FROM",
        )
    # Without those that were asked for: a window may not be made of itself.
    others = {key: value for key, value in windows.items() if key != spelled(name)}
    base = _clause(windows[spelled(name)], others)
    for word, both in (
        ("PARTITION BY", base.keys and own.keys),
        ("ORDER BY", base.order and own.order),
    ):
        if both:
            raise PlanProblem(
                f"cannot override {word} clause of window {spelled(name)}",
                span=span_of(both[0]),
            )
    return OverClause(
        own.keys or base.keys, own.order or base.order, own.spec or base.spec
    )


def over_call(
    call: exp.Expr,
    keys: Sequence[exp.Expr],
    order: Sequence[exp.Ordered],
    spec: exp.WindowSpec | None,
    frame: OverFrame,
) -> exp.Window:
    """A bound call with OVER.

    Parameters
    ----------
    call
        Of a function or of an aggregate, bound.
    keys, order
        Bound.
    spec
        The frame clause as it is written, if it is.
    frame
        What it means.
    """
    made = exp.Window(
        this=call,
        partition_by=list(keys),
        order=exp.Order(expressions=list(order)),
        over="OVER",
    )
    if spec is not None:
        # For equality alone: two calls are one if they are written alike.
        made.set("spec", spec.copy())
    made.meta["frame"] = frame
    return typed(made, type_of(call), nullable=is_nullable(call))


def misplaced_over(span: Span | None) -> PlanProblem:
    """The error for OVER where none may be."""
    return PlanProblem(
        "OVER may only be called in the select list",
        span=span,
        hint="select it in a subquery, and use its name outside",
    )


def refuse_over(bound: exp.Expr) -> None:
    """Check that there is no call with OVER in a bound expression.

    Raises
    ------
    PlanProblem
        At the first one.
    """
    found = bound.find(exp.Window)
    if found is not None:
        raise misplaced_over(place_of(found))


def with_over(node: Node, items: tuple[Named, ...]) -> tuple[Node, tuple[Named, ...]]:
    """A select list and its input, with a node between them for its calls with OVER.

    Calls that share PARTITION BY and ORDER BY share a node; others are one above the
    other.

    Raises
    ------
    PlanProblem
        For a window call in one of them.
    """
    walked = (all_in(item.expression, exp.Window) for item in items)
    found = dict.fromkeys(chain.from_iterable(walked))
    orders: dict[tuple[exp.Expr, ...], list[exp.Window]] = {}
    for call in found:
        _refuse_window_calls(call)
        orders.setdefault(_without_function(call), []).append(call)
    names = _names(list(found), items, set(node.schema.names))
    made: dict[exp.Expr, exp.Expr] = {}
    for alike in orders.values():
        columns = tuple(_column(names[call], call) for call in alike)
        node = _over(node, alike[0], columns)
        made |= {c: column(o.field) for c, o in zip(alike, columns, strict=True)}
    if not made:
        return node, items

    def swap(part: exp.Expr) -> exp.Expr | None:
        if not isinstance(part, exp.Window):
            return None
        value = made[part].copy()
        value.meta["span"] = place_of(part)
        return value

    return node, tuple(
        replace(item, expression=replaced(item.expression, swap)) for item in items
    )


def _refuse_window_calls(call: exp.Window) -> None:
    """After GROUP BY: a window that is a key is a column by then."""
    window = window_calls.find_window_call(call)
    if window is not None:
        raise window_calls.misplaced_window(window)


def _without_function(call: exp.Window) -> tuple[exp.Expr, ...]:
    return (*call.args["partition_by"], call.args["order"])


def _names(
    found: Sequence[exp.Window], items: tuple[Named, ...], taken: set[str]
) -> dict[exp.Expr, str]:
    """The name that the select list gives each call, or the one that it has itself."""
    names: dict[exp.Expr, str] = {}
    for call in found:
        name = next((i.name for i in items if i.expression == call), shown(call))
        names[call] = free(name, taken)
        taken.add(names[call])
    return names


def _column(name: str, call: exp.Window) -> OverColumn:
    frame: OverFrame = call.meta["frame"]
    inner = inner_call(call.this)
    assert inner is not None
    function = over_function(inner.name)
    if function is None:
        measure = aggregate_calls.measure(name, call.this)
        return OverColumn(replace(measure, span=place_of(call)), frame)
    given = dict(zip(function.parameters, inner.expressions, strict=False))
    values = [given[p] for p in ("value", "default") if p in given]
    constants = [given[p] for p in ("offset", "n", "buckets") if p in given]
    measure = Measure(
        name,
        function.name,
        tuple(values),
        type_of(call),
        is_nullable(call),
        parameter=_constant(constants[0]) if constants else None,
        span=place_of(call),
    )
    ignores = isinstance(call.this, exp.IgnoreNulls)
    return OverColumn(measure, frame if function.is_framed else None, ignores)


def _over(node: Node, call: exp.Window, columns: tuple[OverColumn, ...]) -> Over:
    order = (
        Ordering(o.this, bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
        for o in call.args["order"].expressions
    )
    keys = tuple(call.args["partition_by"])
    return Over(node, keys, tuple(order), columns, span=place_of(call))
