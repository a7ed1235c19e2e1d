"""Scalar expressions: sqlglot's trees as parsed -> bound trees (plan/typing.py).

Binding is our own rather than sqlglot's ``qualify`` and ``annotate_types``: those
rewrite the tree before they find a fault, so the place of a name is lost, they know
neither Arroyo's rules of case nor its coercions, and they stop at the first error.

A tree is read once, bottom up. What a class of node means is a row of ``_BINDERS``; a
class without a row is refused, so nothing of the grammar is silently ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from arroyo_nb.errors import ArroyoError, CatalogProblem, PlanProblem, Unsupported
from arroyo_nb.functions import SignatureProblem, aggregates, json
from arroyo_nb.functions.over import OverFunction
from arroyo_nb.functions.regex import check_pattern
from arroyo_nb.functions.structs import is_map
from arroyo_nb.functions.types import depth_of, is_integer, is_number
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.access_hints import access_hint, membership_hint
from arroyo_nb.plan.expressions.frames import frame_of
from arroyo_nb.plan.expressions.functions import (
    ELSEWHERE,
    ROW_TIME,
    UNSUPPORTED_FUNCTIONS,
    WORDED,
    function_call,
    function_name,
    in_datafusion,
    json_cast,
    plain_call,
    scalar_function,
)
from arroyo_nb.plan.expressions.literals import (
    interval,
    number,
    text,
    time_units,
    written_interval,
)
from arroyo_nb.plan.expressions.months import (
    casts_in,
    check_column,
    check_operands,
    has_months,
)
from arroyo_nb.plan.expressions.naming import shown
from arroyo_nb.plan.expressions.operators import (
    CASE,
    SYMBOLS,
    alike,
    binary,
    boolean,
    negated,
)
from arroyo_nb.plan.expressions.predicates import among, between, case, inverted, tested
from arroyo_nb.plan.expressions.scope import Scope, member, spelled
from arroyo_nb.plan.expressions.types import type_from_sql
from arroyo_nb.plan.expressions.typing import cast, place_of, placed, type_of, typed
from arroyo_nb.plan.queries import aggregate_calls, over, unnest
from arroyo_nb.plan.refusals import refuse_clauses, refused
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    JSON_VALUE,
    NULL,
    TEXT,
    ListOf,
    StructOf,
    Timestamp,
)
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import parts_of

# Most nodes that the copies of one operand of CASE may add to a plan.
_MOST_REPEATED = 10_000


def bind(expression: exp.Expr, scope: Scope) -> exp.Expr:
    """Bind an expression against the columns in scope.

    Raises
    ------
    CatalogProblem
        For a name, a type or a function that is not known or does not fit.
    Unsupported
        For what the grammar knows and this version does not run; for an interval with
        months.
    """
    bound = _bind(expression, scope)
    check_column(bound)
    return bound


def _bind(expression: exp.Expr, scope: Scope) -> exp.Expr:
    """A part of an expression, bound: it may be an interval with months."""
    binder = _BINDERS.get(type(expression))
    span = span_of(expression)
    try:
        if binder is None:
            raise refused(expression)
        bound = binder(expression, scope)
    except ArroyoError as error:
        # The innermost place is kept: it is the most exact one.
        error.span = error.span or span
        raise
    # On the bound tree, which is another one: errors of later stages find their place
    # by it.
    bound.meta["span"] = span
    # Also a cast that nobody wrote.
    for part in (bound, *casts_in(bound)):
        if has_months(part) and not in_datafusion(part):
            check_operands(part)
    return bound


def bind_condition(expression: exp.Expr, scope: Scope, clause: str) -> exp.Expr:
    """Bind a predicate of WHERE, HAVING or FILTER.

    Raises
    ------
    CatalogProblem
        When it is not a BOOLEAN.
    """
    bound = _bind(expression, scope)
    if type_of(bound) not in (BOOLEAN, NULL):
        raise CatalogProblem(
            f"Cannot create filter with non-boolean predicate: {clause} is given "
            f"{type_of(bound)}",
            span=span_of(expression),
            hint=_condition_hint(expression, bound),
        )
    return cast(bound, BOOLEAN)


def _condition_hint(written: exp.Expr, bound: exp.Expr) -> str | None:
    """What to write in place of a value that is no condition."""
    if window_calls.window_of(bound) is not None:
        call = written.sql(dialect="postgres", normalize_functions=False)
        return (
            f"a window groups rows, and is no condition: write SELECT {call} AS w, "
            "count(*) AS n FROM ... GROUP BY w; a condition on the event time compares "
            "it with a time"
        )
    if is_number(type_of(bound)):
        return "compare the number, as in x <> 0"
    return None


def bind_row_condition(expression: exp.Expr, scope: Scope, clause: str) -> exp.Expr:
    """Bind a predicate on single rows: WHERE, or ON of a JOIN.

    Raises
    ------
    PlanProblem
        When an aggregate or a window is in it.
    """
    bound = bind_condition(expression, scope, clause)
    call = window_calls.find_window_call(bound)
    if call is not None:
        raise window_calls.misplaced_window(call)
    found = aggregate_calls.find_aggregate(bound)
    if found is not None:
        raise PlanProblem(
            f"Aggregate functions are not allowed in the {clause} clause",
            span=place_of(found),
            hint="write HAVING" if clause == "WHERE" else "aggregate in a query first",
        )
    return bound


def _column(node: exp.Column, scope: Scope) -> exp.Expr:
    if isinstance(node.this, exp.Star):
        _star(node.this, scope)
    return scope.resolve(node.parts)


def _star(_: exp.Star, __: Scope) -> exp.Expr:
    raise PlanProblem("'*' may only stand in the select list or in count(*)")


def _dot(node: exp.Dot, scope: Scope) -> exp.Expr:
    """``a.b.c.d.e`` is longer than a Column holds; ``(a).b`` and ``a['b'].c`` too."""
    if not isinstance(node.expression, exp.Identifier):
        raise CatalogProblem("a function cannot be called on a value with a dot")
    inner = _bind(node.this, scope)
    return member(inner, spelled(node.expression), span_of(node.expression))


def _window_argument(node: exp.Expr, scope: Scope) -> exp.Expr:
    """Arroyo has words of its own for months in a window."""
    if isinstance(node, exp.Interval):
        with placed(span_of(node)):
            window_calls.without_months(written_interval(node))
    return _bind(node, scope)


def _binary(node: exp.Binary, scope: Scope) -> exp.Expr:
    # DataFusion's SIMILAR TO is a regular expression that matches anywhere.
    kind = exp.RegexpLike if isinstance(node, exp.SimilarTo) else type(node)
    left, right = _bind(node.left, scope), _bind(node.right, scope)
    if kind in (exp.RegexpLike, exp.RegexpILike) and right.is_string:
        check_pattern(right.name, place_of(right))
    if kind is exp.DPipe and any(isinstance(type_of(o), ListOf) for o in (left, right)):
        return _joined_lists(left, right)
    made = binary(kind, left, right)
    return inverted(made) if node.args.get("negate") else made


def _joined_lists(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``||`` of two lists, or of a list and an element, which may be a list as well."""
    one, other = depth_of(type_of(left)), depth_of(type_of(right))
    if one == other:
        return function_call("array_concat", [left, right])
    name = "array_append" if one > other else "array_prepend"
    return function_call(name, [left, right])


def _neg(node: exp.Neg, scope: Scope) -> exp.Expr:
    """The sign is part of a number: -9223372036854775808 is a BIGINT."""
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return number(f"-{node.this.name}")
    return negated(_bind(node.this, scope))


def _is(node: exp.Is, scope: Scope) -> exp.Expr:
    operand, tested_for = _bind(node.this, scope), node.expression
    if isinstance(tested_for, exp.Var) and tested_for.name == "UNKNOWN":
        operand, tested_for = boolean(operand, "IS"), exp.Null()
    if not isinstance(tested_for, exp.Null | exp.Boolean):
        raise CatalogProblem("IS takes NULL, UNKNOWN, TRUE, FALSE or DISTINCT FROM")
    return tested(operand, _bind(tested_for, scope))


def _between(node: exp.Between, scope: Scope) -> exp.Expr:
    if node.args.get("symmetric"):
        raise Unsupported("BETWEEN SYMMETRIC is not supported")
    this, low, high = (
        _bind(node.args[name], scope) for name in ("this", "low", "high")
    )
    return between(this, low, high)


def _in(node: exp.In, scope: Scope) -> exp.Expr:
    if (column := node.args.get("field")) is not None:
        raise _in_column(node, column, scope)
    if not node.expressions:
        raise Unsupported(
            "IN (subquery) is not supported: can't handle non-inner joins without "
            "windows"
        )
    this = _bind(node.this, scope)
    items = [_bind(item, scope) for item in node.expressions]
    try:
        return among(this, items)
    except CatalogProblem as problem:
        if len(items) == 1:
            list_ = membership_hint(node, node.expressions[0], type_of(items[0]))
            problem.hint = list_ or problem.hint
        raise


def _in_column(node: exp.In, column: exp.Expr, scope: Scope) -> CatalogProblem:
    """``x IN list`` and ``x IN UNNEST(list)``, as BigQuery and DuckDB have them."""
    if isinstance(column, exp.Anonymous) and column.name.lower() == "unnest":
        column = next(iter(column.expressions), column)
    hint = membership_hint(node, column, type_of(_bind(column, scope)))
    return CatalogProblem(
        "IN takes values in brackets, and no column",
        hint=hint or "write x IN (1, 2), or x = y for one column",
    )


def _case(node: exp.Case, scope: Scope) -> exp.Expr:
    """``CASE x WHEN v`` becomes ``CASE WHEN x = v``."""
    arms = node.args["ifs"]
    tests = _tests(node.this, [arm.this for arm in arms], scope)
    values = [_bind(arm.args["true"], scope) for arm in arms]
    default = node.args.get("default")
    return case(tests, values, None if default is None else _bind(default, scope))


def _tests(
    subject: exp.Expr | None, tests: list[exp.Expr], scope: Scope
) -> list[exp.Expr]:
    if subject is None:
        return [bind_condition(test, scope, "WHEN") for test in tests]
    bound = _bind(subject, scope)
    # Nested, what is repeated is multiplied with each level.
    if len(tests) * len(parts_of(bound)) > _MOST_REPEATED:
        raise Unsupported(
            "the operand of CASE is too long to be compared with each WHEN",
            span=place_of(bound),
            hint="compute it in a view first",
        )
    return [_equal_when(bound.copy(), _bind(test, scope)) for test in tests]


def _equal_when(subject: exp.Expr, test: exp.Expr) -> exp.Expr:
    if TEXT in (type_of(subject), type_of(test)):
        # Two TIMESTAMPs are compared as elsewhere, in the unit of the row's.
        subject, test = alike((subject, test), CASE)
    return binary(exp.EQ, subject, test)


def _cast(node: exp.Cast, scope: Scope) -> exp.Expr:
    target = type_from_sql(node.args["to"])
    tries = isinstance(node, exp.TryCast)
    value = _bind(node.this, scope)
    if type_of(value) == BIGINT and target == Timestamp() and not tries:
        # DataFusion's CAST, alone, reads a BIGINT as seconds, as PostgreSQL does.
        value = cast(value, Timestamp(0))
    if isinstance(target, Timestamp) and not tries:
        units = time_units(value, target.digits)
        value = value if units is None else number(str(units))
    if type_of(value) == JSON_VALUE:
        return json_cast(value, target)
    return cast(value, target, tries=tries)


def _bracket(node: exp.Bracket, scope: Scope) -> exp.Expr:
    this = _bind(node.this, scope)
    if len(node.expressions) != 1:
        raise CatalogProblem("[ ] holds one place, or two with a colon between")
    (index,) = node.expressions
    if isinstance(index, exp.Slice):
        return _slice(this, index, scope)
    type_, name = type_of(this), index.name if index.is_string else None
    if isinstance(type_, StructOf) or (type_ == NULL and name is not None):
        if name is None:
            raise CatalogProblem("a field of a struct is named by a quoted text")
        return typed(exp.Null(), NULL) if type_ == NULL else _field(this, index)
    if not (isinstance(type_, ListOf) or type_ == NULL):
        raise CatalogProblem(f"{type_} has no elements to choose with [ ]")
    place = _bind(index, scope)
    if name is not None and is_map(type_):
        this, place = function_call("map_extract", [this, place]), number("1")
        type_ = type_of(this)
    elif type_of(place) != NULL and not (
        is_integer(type_of(place)) and type_of(place) != BIGINT_UNSIGNED
    ):
        raise CatalogProblem(
            f"the place of an element is a BIGINT, not {type_of(place)}",
            hint="write CAST(... AS BIGINT)",
        )
    if not isinstance(type_, ListOf):
        return typed(exp.Null(), NULL)
    made = exp.Bracket(this=this, expressions=[cast(place, BIGINT)])
    return typed(made, type_.element)


def _field(this: exp.Expr, name: exp.Expr) -> exp.Expr:
    return member(this, name.name, span_of(name))


def _slice(this: exp.Expr, index: exp.Slice, scope: Scope) -> exp.Expr:
    """``list[from:to]``: one that is left out is an end of the list, as is that of a
    step from the back."""
    step = None if (given := index.args.get("step")) is None else _bind(given, scope)
    ends = (
        ("-1", "1") if step is not None and step.name.startswith("-") else ("1", "-1")
    )
    bounds = [
        number(end) if bound is None else _bind(bound, scope)
        for bound, end in zip((index.this, index.expression), ends, strict=True)
    ]
    more = [] if step is None else [step]
    return function_call("array_slice", [this, *bounds, *more])


def _call(node: exp.Anonymous, scope: Scope) -> exp.Expr:
    name = function_name(node)
    if name == unnest.UNNEST:
        return _unnest(node, scope)
    hint = access_hint(name, node.expressions, partial(_bind, scope=scope))
    if name in UNSUPPORTED_FUNCTIONS:
        hint = hint or ELSEWHERE.get(name)
        words = UNSUPPORTED_FUNCTIONS[name]
        raise Unsupported(words, hint=hint)
    aggregate = aggregates.primary(name)
    if aggregate is not None:
        return _aggregate(aggregate, node, scope)
    if name in window_calls.WINDOWS:
        arguments = [_window_argument(a, scope) for a in node.expressions]
        return window_calls.window_call(name, arguments)
    # Before its arguments: what `cont(*)` has wrong is not the star.
    if name != ROW_TIME:
        scalar_function(name, hint)
    if hint is not None and name in json.NAMES:
        raise SignatureProblem(f"{name}() reads JSON, no lists and structs", hint=hint)
    return function_call(name, [_bind(a, scope) for a in node.expressions])


def _unnest(node: exp.Anonymous, scope: Scope) -> exp.Expr:
    if not scope.over:
        raise unnest.misplaced_unnest(span_of(node))
    return unnest.unnest_call([_bind(a, scope) for a in node.expressions])


def _aggregate(
    name: str,
    node: exp.Anonymous,
    scope: Scope,
    within: exp.Expr | None = None,
    *,
    over: bool = False,
) -> exp.Expr:
    scope = replace(scope, over=False)
    arguments, order, distinct = aggregate_calls.parts(node)
    row = aggregates.aggregate(name)
    if row.of_rows and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        arguments = []
    ignores = bool(arguments) and isinstance(arguments[0], exp.IgnoreNulls)
    if ignores or (arguments and isinstance(arguments[0], exp.RespectNulls)):
        arguments[0] = arguments[0].this
    bound = [bind(argument, scope) for argument in arguments]
    if within is not None:
        ordered_by = _ordered(within, scope)
        return aggregate_calls.within_group(name, bound, ordered_by, over=over)
    if row.within:
        raise PlanProblem(
            "WITHIN GROUP clause is required when calling ordered set aggregate "
            f"function({name})",
            hint=f"write {name}(0.5) WITHIN GROUP (ORDER BY x)",
        )
    ordered = [_ordered(item, scope) for item in order]
    call = aggregate_calls.aggregate_call(
        name, bound, distinct=distinct, order=ordered, over=over
    )
    return aggregate_calls.without_nulls(call) if ignores else call


def _ordered(node: exp.Expr, scope: Scope) -> exp.Ordered:
    """One of ORDER BY; the grammar has put NULLs where Arroyo has them."""
    refuse_clauses(node)
    words = {word: bool(node.args.get(word)) for word in ("desc", "nulls_first")}
    return exp.Ordered(this=bind(node.this, scope), **words)


def _within_group(
    node: exp.WithinGroup, scope: Scope, *, over: bool = False
) -> exp.Expr:
    call, order = node.this, node.expression.expressions
    name = aggregates.primary(call.name.lower())
    if name is None or len(order) != 1:
        raise PlanProblem(
            f"'{call.name}' is not an aggregate that takes WITHIN GROUP (ORDER BY x)",
            hint=ELSEWHERE.get(call.name.lower()),
        )
    return _aggregate(name, call, scope, order[0], over=over)


def _filter(node: exp.Filter, scope: Scope) -> exp.Expr:
    call = _bind(node.this, scope)
    if not aggregate_calls.is_aggregate(call):
        raise CatalogProblem("FILTER is only supported for aggregates")
    return _filtered(node, call, scope)


def _filtered(node: exp.Filter, call: exp.Expr, scope: Scope) -> exp.Expr:
    inside = replace(scope, over=False)
    predicate = bind_condition(node.expression.this, inside, "FILTER")
    return aggregate_calls.filtered(call, predicate)


def _nulls(node: exp.IgnoreNulls | exp.RespectNulls, scope: Scope) -> exp.Expr:
    if over.aggregate_of(node) is None:
        raise refused(node)
    call = bind(node.this, scope)
    if isinstance(node, exp.RespectNulls):
        return call
    return aggregate_calls.without_nulls(call)


def _over(node: exp.Window, scope: Scope) -> exp.Expr:
    function, aggregate = over.function_of(node.this), over.aggregate_of(node.this)
    if function is None and aggregate is None:
        raise PlanProblem(f"{shown(_bind(node.this, scope))} is not a window function")
    clause = over.clause_of(node)
    if not scope.over:
        raise over.misplaced_over(span_of(node))
    inside = replace(scope, over=False)
    if function is not None:
        call = _over_function(function, node.this, inside)
    else:
        call = _over_aggregate(str(aggregate), node.this, inside)
    call.meta["span"] = span_of(node.this)
    keys = [bind(key, inside) for key in clause.keys]
    order = [_ordered(item, inside) for item in clause.order]
    frame = frame_of(clause.spec, order)
    return over.over_call(call, keys, order, clause.spec, frame)


def _over_function(function: OverFunction, node: exp.Expr, scope: Scope) -> exp.Expr:
    inner = over.inner_call(node)
    assert inner is not None
    arguments = list(inner.expressions)
    # The word stands behind the brackets, or inside them behind the argument.
    ignores = isinstance(node, exp.IgnoreNulls)
    if arguments and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
        ignores = isinstance(arguments[0], exp.IgnoreNulls)
        arguments[0] = arguments[0].this
    bound = [bind(argument, scope) for argument in arguments]
    return over.function_call(function, bound, ignores_nulls=ignores)


def _over_aggregate(name: str, node: exp.Expr, scope: Scope) -> exp.Expr:
    match node:
        case exp.Filter():
            call = _over_aggregate(name, node.this, scope)
            return _filtered(node, call, scope)
        case exp.IgnoreNulls():
            return aggregate_calls.without_nulls(
                _over_aggregate(name, node.this, scope)
            )
        case exp.RespectNulls():
            return _over_aggregate(name, node.this, scope)
        case exp.WithinGroup():
            return _within_group(node, scope, over=True)
        case exp.Anonymous():
            return _aggregate(name, node, scope, over=True)
        case _:
            raise refused(node)


def _worded(node: exp.Expr, scope: Scope) -> exp.Expr:
    name, arguments = plain_call(node)
    return function_call(name, [_bind(a, scope) for a in arguments])


_BINDERS: dict[type[exp.Expr], Callable[[Any, Scope], exp.Expr]] = {
    **dict.fromkeys(SYMBOLS, _binary),
    exp.SimilarTo: _binary,
    **dict.fromkeys(WORDED, _worded),
    exp.Column: _column,
    exp.Star: _star,
    exp.Dot: _dot,
    exp.Literal: lambda n, _: (text if n.is_string else number)(n.name),
    exp.Boolean: lambda n, _: typed(exp.Boolean(this=n.this), BOOLEAN, nullable=False),
    exp.Null: lambda _, __: typed(exp.Null(), NULL),
    exp.Interval: lambda n, _: interval(n),
    exp.Paren: lambda n, scope: _bind(n.this, scope),
    exp.Not: lambda n, scope: inverted(_bind(n.this, scope)),
    exp.Neg: _neg,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Bracket: _bracket,
    exp.Array: lambda n, scope: function_call(
        "make_array", [_bind(item, scope) for item in n.expressions]
    ),
    exp.Anonymous: _call,
    exp.Filter: _filter,
    exp.IgnoreNulls: _nulls,
    exp.RespectNulls: _nulls,
    exp.WithinGroup: _within_group,
    exp.Window: _over,
}
