"""OVER over all rows becomes an updating rank, and numbers that are only compared
become limits."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, raise_all
from arroyo_nb.plan.expressions.predicates import all_of, conjuncts
from arroyo_nb.plan.expressions.typing import type_of, whole_number
from arroyo_nb.plan.nodes import (
    Filter,
    Limit,
    Node,
    Number,
    Over,
    OverColumn,
    Project,
    UpdatingAggregate,
    UpdatingRank,
    WindowOver,
)
from arroyo_nb.plan.tree import NodeMap, transform
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import BIGINT, Decimal
from arroyo_nb.sql.syntax_tree import all_in

NUMBERINGS = frozenset(("dense_rank", "rank", "row_number"))
"""Functions that number rows, in a window and without one."""

NOT_WINDOWED = "Window functions require already windowed input"
"""Why Arroyo refuses OVER on rows without a window; here the numbers are updating."""

NO_WINDOW_KEY = "Window function requires exactly one window expression in partition_by"
"""Why Arroyo refuses OVER that mixes the rows of windows."""

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


def updating_ranks(root: Node, made: NodeMap[Node]) -> Node:
    """OVER without a window among its keys becomes an updating rank.

    Before::

        Over by carrier, ordered by delay DESC; row_number() AS n
          Watermark ...

    After::

        UpdatingRank by carrier, ordered by delay DESC; row_number() AS n
          Watermark ...

    The input may be updating itself. It may be windowed too, where Arroyo insists on
    the window in PARTITION BY. Refuses the functions that do not number rows: they
    need all rows of their partition, and without a window there is always one more.
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Over):
            return node
        raise_all(
            _refused(node, column)
            for column in node.columns
            if column.measure.function not in NUMBERINGS
        )
        numbers = tuple(Number(c.name, c.measure.function) for c in node.columns)
        return UpdatingRank(node.input, node.keys, node.order, numbers, span=node.span)

    return transform(root, change, made)


def top_n(root: Node, made: NodeMap[Node]) -> Node:
    """A filter that compares a number with a constant becomes the limit of its rank.

    Before::

        Filter n <= 3 AND city IS NOT NULL
          UpdatingRank by city, ordered by fare; row_number() AS n

    After::

        Filter city IS NOT NULL
          UpdatingRank by city, ordered by fare; row_number() AS n; row_number() <= 3

    Select lists between the two are passed, and filters: they change no number.
    ``n = 2`` limits too, and stays. Within a window it is the same.
    """

    def change(node: Node) -> Node:
        is_ranked = isinstance(node.origin, UpdatingRank | WindowOver)
        return _limited(node) if is_ranked and isinstance(node, Filter) else node

    return transform(root, change, made)


def unread_numbers(root: Node, made: NodeMap[Node]) -> Node:
    """A number that nobody reads is not made: what moves in the order is not sent anew.

    Before::

        Project city, fare
          UpdatingRank by city, ordered by fare; row_number() AS n; row_number() <= 3

    After::

        Project city, fare
          UpdatingRank by city, ordered by fare; no numbers; row_number() <= 3
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Project | UpdatingAggregate):
            return node
        if not isinstance(node.input.origin, UpdatingRank):
            return node
        # Through aggregates too, and not only select lists: count(*) over a top 3 reads
        # no number.
        below = _without_unread(node.input, _read(node))
        return node if below is node.input else replace(node, input=below)

    return transform(root, change, made)


def _refused(node: Over, column: OverColumn) -> PlanProblem:
    span, function = column.measure.span, column.measure.function
    if node.input.window is None:
        return PlanProblem(
            NOT_WINDOWED,
            span=span,
            hint="group by a window in a subquery, and add it to PARTITION BY: "
            f"{function}() sees the rows of one window; without a window run "
            + ", ".join(sorted(NUMBERINGS)),
        )
    window = next(iter(sorted(node.input.window_columns)), "window")
    return PlanProblem(
        NO_WINDOW_KEY, span=span, hint=f"write PARTITION BY {window}, ..."
    )


def _limited(node: Filter) -> Node:
    below, kept = node.input, []
    parts = conjuncts(node.predicate)
    # `n = 2` limits the rank to 2 and stays as a filter; `n <= 2` is said by the limit
    # alone, and goes.
    for part in parts:
        compared = _compared(part)
        pushed = None if compared is None else _pushed(below, *compared[:2])
        below = below if pushed is None else pushed
        if compared is None or pushed is None or not compared[2]:
            kept.append(part)
    if len(kept) < len(parts):
        predicate = all_of(kept)
        return replace(node, input=below, predicate=predicate) if predicate else below
    return node if below is node.input else replace(node, input=below)


def _compared(predicate: exp.Expr) -> tuple[str, int, bool] | None:
    """A column that is at most a whole number, that number, and whether the predicate
    says no more of a column that is 1 at least; None for other predicates."""
    if isinstance(predicate, exp.Between):
        low = whole_number(_plain(predicate.args["low"]))
        high = whole_number(_plain(predicate.args["high"]))
        return _at_most(predicate.this, high, is_all=low is not None and low <= 1)
    kind = type(predicate)
    if kind not in _MIRRORED:
        return None
    left, right = predicate.this, predicate.expression
    if whole_number(_plain(left)) is not None:
        # `3 >= n` is `n <= 3`.
        left, right, kind = right, left, _MIRRORED[kind]
    value = whole_number(_plain(right))
    if value is None or kind in (exp.GT, exp.GTE):
        return None
    last = value - 1 if kind is exp.LT else value
    return _at_most(left, last, is_all=kind is not exp.EQ or last == 1)


def _at_most(
    value: exp.Expr, last: int | None, *, is_all: bool
) -> tuple[str, int, bool] | None:
    value = _plain(value)
    if not isinstance(value, exp.Column) or last is None or last < 1:
        return None
    return value.name, last, is_all


def _plain(value: exp.Expr) -> exp.Expr:
    """What stands in the casts that make both sides of a comparison one type."""
    # Not isinstance: a TryCast is a Cast, and gives NULL where this one fails.
    while type(value) is exp.Cast and type_of(value) in (BIGINT, Decimal(20, 0)):
        value = value.this
    return value


def _pushed(node: Node, name: str, last: int) -> Node | None:
    """The relation without the rows whose number ``name`` is greater than ``last``;
    None where no rank below can do it."""
    match node:
        case Filter():
            below = _pushed(node.input, name, last)
        case Project():
            items = {item.name: item.expression for item in node.items}
            of = items[name]
            # A number that was computed with on the way is no number of the rank any
            # more.
            named = isinstance(of, exp.Column)
            below = _pushed(node.input, of.name, last) if named else None
        case UpdatingRank() | WindowOver():
            return _with_limit(node, name, last)
        case _:
            return None
    if below is None or below is node.input:
        return None if below is None else node
    return replace(node, input=below)


def _with_limit(
    node: UpdatingRank | WindowOver, name: str, last: int
) -> UpdatingRank | WindowOver | None:
    function = _numbers(node).get(name)
    # A rank has one limit: of rank() and row_number() both, the second stays a filter.
    if function is None or (node.limit and node.limit.function != function):
        return None
    if node.limit is not None and node.limit.last <= last:
        return node
    return replace(node, limit=Limit(function, last))


def _numbers(node: UpdatingRank | WindowOver) -> dict[str, str]:
    """The functions that number rows, by their columns."""
    if isinstance(node, UpdatingRank):
        return {number.name: number.function for number in node.numbers}
    functions = {column.name: column.measure.function for column in node.columns}
    return {name: f for name, f in functions.items() if f in NUMBERINGS}


def _read(node: Node) -> set[str]:
    return {
        part.name
        for _, expression in expressions(node)
        for part in all_in(expression, exp.Column)
    }


def _without_unread(node: Node, read: set[str]) -> Node:
    match node:
        case Filter():
            below = _without_unread(node.input, read | _read(node))
            return node if below is node.input else replace(node, input=below)
        case Project():
            return _narrowed(node, read)
        case UpdatingRank():
            numbers = tuple(n for n in node.numbers if n.name in read)
            same = numbers == node.numbers
            return node if same else replace(node, numbers=numbers)
        case _:
            return node


def _narrowed(node: Project, read: set[str]) -> Node:
    """A select list without the numbers that nobody reads behind it."""
    items = tuple(
        item
        for item in node.items
        if item.name in read or not _is_number(node.input, item.expression)
    )
    # A select list must have a column: one that is all numbers keeps them.
    if items == node.items or not items:
        return node
    made = replace(node, items=items)
    return replace(made, input=_without_unread(node.input, _read(made)))


def _is_number(node: Node, expression: exp.Expr) -> bool:
    """Whether an expression is the number of a rank below."""
    while isinstance(expression, exp.Column):
        match node:
            case Filter():
                node = node.input
            case Project():
                items = {item.name: item.expression for item in node.items}
                node, expression = node.input, items[expression.name]
            case UpdatingRank():
                return any(n.name == expression.name for n in node.numbers)
            case _:
                return False
    return False
