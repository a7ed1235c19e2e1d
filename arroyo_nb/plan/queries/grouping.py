"""GROUP BY and HAVING: what is aggregated, and the select list over the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from sqlglot import exp

from arroyo_nb.errors import PlanProblem
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.binding import bind, bind_condition
from arroyo_nb.plan.expressions.naming import free, output_name, shown
from arroyo_nb.plan.expressions.scope import (
    ErrorCollector,
    Relation,
    Scope,
    SuppressedError,
    spelled,
)
from arroyo_nb.plan.expressions.typing import (
    column,
    is_nullable,
    place_of,
    replaced,
    type_of,
)
from arroyo_nb.plan.nodes import Aggregate, Filter, Measure, Named, Node
from arroyo_nb.plan.queries import aggregate_calls, over, unnest
from arroyo_nb.plan.refusals import refuse_clauses
from arroyo_nb.repairs import AddGroupKey
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import parts_of


@dataclass(frozen=True)
class Grouping:
    """The select list over its input, after grouping where there is any.

    Parameters
    ----------
    node
        What the select list is computed from: the aggregate, and HAVING over it.
    items
        The select list, bound over ``node``.
    grouped
        Whether there is an aggregate.
    window_call
        The window call among the keys; None where no key calls one.
    """

    node: Node
    items: tuple[Named, ...]
    grouped: bool
    window_call: exp.Expr | None = None


def group(
    select: exp.Select, node: Node, scope: Scope, items: tuple[Named, ...]
) -> Grouping:
    """Aggregate as GROUP BY, HAVING and the aggregates in the select list ask for.

    Raises
    ------
    PlanProblem
        When a column is neither grouped by nor aggregated.
    """
    clause, having = select.args.get("group"), select.args.get("having")
    aggregated = any(aggregate_calls.find_aggregate(item.expression) for item in items)
    # HAVING alone makes one group of all rows, as an aggregate does.
    if clause is None and having is None and not aggregated:
        return Grouping(node, items, grouped=False)
    if clause is not None:
        refuse_clauses(clause)
    keys = _keys(clause.expressions if clause else [], scope, items)
    predicate = _having(having, scope, items)
    wanted = [item.expression for item in items] + ([predicate] if predicate else [])
    measures = _measures(wanted, keys)
    aggregate = Aggregate(node, keys, tuple(measures.values()), span=span_of(select))
    above = partial(_over, keys=keys, measures=measures)
    result: Node = aggregate
    if having is not None and predicate is not None:
        result = Filter(aggregate, above(predicate), span=span_of(having))
    listed = tuple(replace(item, expression=above(item.expression)) for item in items)
    calls = (k.expression for k in keys if window_calls.window_of(k.expression))
    return Grouping(result, listed, grouped=True, window_call=next(calls, None))


def _keys(
    expressions: Sequence[exp.Expr], scope: Scope, items: tuple[Named, ...]
) -> tuple[Named, ...]:
    problems = ErrorCollector()
    keys: list[Named] = []
    for expression in expressions:
        bound = problems.attempt(partial(_key, expression, scope, items))
        # sqlglot compares trees without their meta: `a, A` is one key.
        if bound is not None and all(bound != key.expression for key in keys):
            name = _key_name(bound, items, {key.name for key in keys})
            keys.append(Named(name, bound, type_of(bound), is_nullable(bound)))
    problems.raise_all()
    return tuple(keys)


def _key(expression: exp.Expr, scope: Scope, items: tuple[Named, ...]) -> exp.Expr:
    bound = _meant(expression, scope, items)
    if aggregate_calls.find_aggregate(bound):
        raise PlanProblem(
            "Aggregate functions are not allowed in GROUP BY", span=span_of(expression)
        )
    over.refuse_over(bound)
    unnest.refuse_unnest(bound)
    call = window_calls.find_window_call(bound)
    if call is not None and call is not bound:
        raise window_calls.misplaced_window(call)
    return bound


def _meant(expression: exp.Expr, scope: Scope, items: tuple[Named, ...]) -> exp.Expr:
    """A group key: an ordinal, a column of the input, an alias, or an expression."""
    if isinstance(expression, exp.Literal) and not expression.is_string:
        return _ordinal(expression, items)
    if isinstance(expression, exp.Column) and len(expression.parts) == 1:
        name = spelled(expression.this)
        aliased = [item for item in items if item.name == name]
        # A column of the input comes before an alias of its name, as in PostgreSQL.
        if name not in scope and aliased:
            return aliased[0].expression
    # Told already, at its place in the select list.
    if any(item.expression.meta.get("failed") == expression for item in items):
        raise SuppressedError(f"{expression} failed in the select list")
    return bind(expression, scope)


def _ordinal(literal: exp.Literal, items: tuple[Named, ...]) -> exp.Expr:
    places = {str(place): item for place, item in enumerate(items, 1)}
    item = places.get(literal.name.lstrip("0"))
    if item is None:
        raise PlanProblem(
            f"Cannot find column with position {literal.name} in SELECT clause. "
            f"Valid columns: 1 to {len(items)}",
            span=span_of(literal),
        )
    return item.expression


def _key_name(bound: exp.Expr, items: tuple[Named, ...], taken: set[str]) -> str:
    """The name that the select list gives the key, where it selects it."""
    names = [item.name for item in items if item.expression == bound]
    own = "window" if window_calls.window_of(bound) else output_name(bound)
    return free(next((n for n in names if n not in taken), own), taken)


def _having(
    clause: exp.Expr | None, scope: Scope, items: tuple[Named, ...]
) -> exp.Expr | None:
    """HAVING sees the input's columns and then the aliases of the select list."""
    if clause is None:
        return None
    aliased = {i.name: i for i in items if i.name not in scope}
    names = Relation(None, {name: item.field for name, item in aliased.items()})
    wider = replace(scope, relations=(*scope.relations, names))
    bound = bind_condition(clause.this, wider, "HAVING")
    call = window_calls.find_window_call(bound)
    if call is not None:
        raise window_calls.misplaced_window(call)

    def unaliased(node: exp.Expr) -> exp.Expr | None:
        named = aliased.get(node.meta.get("written", ""))
        return named.expression if named else None

    made = replaced(bound, unaliased)
    over.refuse_over(made)
    unnest.refuse_unnest(made)
    return made


def _measures(
    expressions: Sequence[exp.Expr], keys: tuple[Named, ...]
) -> dict[exp.Expr, Measure]:
    """Each aggregate call once, under the name that DataFusion would give it."""
    found: dict[exp.Expr, Measure] = {}
    taken = {key.name for key in keys}
    # Not into an aggregate: FILTER is an aggregate with another one in it.
    walked = (parts_of(e, prune=aggregate_calls.is_aggregate) for e in expressions)
    for node in filter(aggregate_calls.is_aggregate, chain.from_iterable(walked)):
        if node not in found:
            name = free(shown(node), taken)
            taken.add(name)
            found[node] = aggregate_calls.measure(name, node)
    return found


def _over(
    expression: exp.Expr,
    keys: tuple[Named, ...],
    measures: dict[exp.Expr, Measure],
) -> exp.Expr:
    """The expression over the aggregate's output instead of its input."""

    def swap(node: exp.Expr) -> exp.Expr | None:
        # Whole keys before columns: after GROUP BY a + 1 there is no `a` any more.
        for key in keys:
            if node == key.expression:
                return _with_span(column(key.field), node)
        # Not what OVER follows, though it may read the same: that sees the groups.
        if aggregate_calls.is_aggregate(node) and node in measures:
            return _with_span(column(measures[node].field), node)
        if isinstance(node, exp.Column):
            raise _ungrouped(node)
        return None

    return replaced(expression, swap)


def _with_span(made: exp.Expr, node: exp.Expr) -> exp.Expr:
    made.meta["span"] = place_of(node)
    return made


def _ungrouped(node: exp.Expr) -> PlanProblem:
    place = place_of(node)
    return PlanProblem(
        f"Column in SELECT must be in GROUP BY or an aggregate function: "
        f"'{shown(node)}' must appear in the GROUP BY clause or must be part of an "
        "aggregate function",
        span=place,
        hint=f"add {node.name or shown(node)} to GROUP BY, or aggregate it",
        repairs=[AddGroupKey(place)] if place else (),
    )
