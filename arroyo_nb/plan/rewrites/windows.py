"""GROUP BY gets its meaning: which window, or none (arroyo-semantics e.1 to e.4)."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.explain.node_lines import window_text
from arroyo_nb.plan.expressions.intervals import in_words, interval_text
from arroyo_nb.plan.expressions.typing import place_of
from arroyo_nb.plan.expressions.window_calls import window_of
from arroyo_nb.plan.nodes import (
    Aggregate,
    Hop,
    Named,
    Node,
    SessionWindow,
    Tumble,
    Union,
    Window,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.tree import NodeMap, transform
from arroyo_nb.repairs import Replace
from arroyo_nb.schema import MICROSECOND
from arroyo_nb.source import Span
from arroyo_nb.tape import LONGEST_WAIT

UNEVEN_HOP = "hop() width {width} currently must be a multiple of slide {slide}"
"""Why Arroyo refuses such a hop; here it runs, unless ``strict`` asks for Arroyo."""

MOST_OVERLAPPING = 1_000
"""Most windows of a hop that a row may be in; planning stalls at some thousands."""

NO_WINDOW = (
    "must have window in aggregate. Make sure you are calling one of the windowing "
    "functions (hop, tumble, session) or using the window field of the input"
)
"""Why Arroyo refuses windowed rows grouped by no window; here that is updating."""


def windowed_group_by(root: Node, made: NodeMap[Node]) -> Node:
    """An aggregate with a window becomes a window aggregate.

    Before::

        Aggregate by carrier, tumble(3600s)
          Watermark ...

    After::

        WindowAggregate tumble 3600s as window by carrier
          Watermark ...

    Over a windowed input the window is kept: grouping by the window column, or calling
    the same window function again, re-aggregates the rows of one window. An aggregate
    without a window is left for ``updating_group_by``.

    Refuses a second window, and a window other than the input's.
    """

    def change(node: Node) -> Node:
        return _windowed(node) if isinstance(node, Aggregate) else node

    return transform(root, change, made)


def same_windows(root: Node, made: NodeMap[Node]) -> Node:
    """The branches of a union have one window, or none; the plan stays as it is.

    Refuses a union of windowed with unwindowed rows, and of two windows. Among rows
    that are taken back, those of a window are rows like any other.
    """

    def change(node: Node) -> Node:
        if isinstance(node, Union) and not is_updating(node):
            _check_union(node)
        return node

    return transform(root, change, made)


def uneven_hop(window: Window | None) -> str | None:
    """Arroyo's message for a hop that it refuses and we run."""
    if isinstance(window, Hop) and window.width % window.slide:
        return UNEVEN_HOP.format(
            width=in_words(window.width), slide=in_words(window.slide)
        )
    return None


def _windowed(node: Aggregate) -> Node:
    windows = [key for key in node.keys if _is_window(key, node.input)]
    if len(windows) > 1:
        raise PlanProblem(
            "do not support 2 window expressions in group by",
            span=place_of(windows[1].expression),
            hint="GROUP BY one of them, and write a query for the other",
        )
    if not windows:
        return node
    (key,) = windows
    others = tuple(other for other in node.keys if other is not key)
    called = window_of(key.expression)
    return WindowAggregate(
        node.input,
        _assigned(called, node.input, key) if called else None,
        key.name,
        others,
        node.measures,
        span=node.span,
    )


def _is_window(key: Named, below: Node) -> bool:
    expression = key.expression
    is_column = isinstance(expression, exp.Column)
    carried = is_column and expression.name in below.window_columns
    return carried or window_of(expression) is not None


def _assigned(called: Window, below: Node, key: Named) -> Window | None:
    """The window to assign; None where the input's own is the one that is called."""
    span = place_of(key.expression)
    called = _as_tumble(called, span)
    if isinstance(called, SessionWindow) and called.gap <= MICROSECOND:
        raise Unsupported(
            "the gap of a session is a microsecond or less",
            span=span,
            hint="Spark keeps time in microseconds: use at least 2",
        )
    if _length(called) > LONGEST_WAIT:
        raise Unsupported(
            "the window is longer than a century",
            span=span,
            hint="a GROUP BY without a window covers all rows",
        )
    # All checks above hold for a window over windowed rows too, so they come first.
    if below.window is None:
        return called
    if called != below.window:
        raise PlanProblem(
            "window in group by does not match input window",
            span=span,
            hint=f"the input has the window {window_text(below.window)}: GROUP BY its "
            "column, or use the other window in the input",
        )
    # The same gap called again would make sessions of sessions; only the input's own
    # column says which they are.
    if isinstance(called, SessionWindow) and not below.window_columns:
        raise PlanProblem(
            "can't reinvoke session window in nested aggregates. Need to pass the "
            "window struct up from the source query.",
            span=span,
            hint="name the window in the inner query: SELECT session(...) AS window, "
            "and GROUP BY window here",
        )
    return None


def _length(window: Window) -> timedelta:
    return window.gap if isinstance(window, SessionWindow) else window.width


def _as_tumble(window: Window, span: Span | None) -> Window:
    """Windows that hop by their own width tumble."""
    if isinstance(window, Hop):
        if window.slide > window.width:
            # No multiple of a longer slide is the width: there always is a message.
            turned = (
                f"hop(INTERVAL '{interval_text(window.width)}', "
                f"INTERVAL '{interval_text(window.slide)}')"
            )
            raise PlanProblem(
                uneven_hop(window) or "",
                span=span,
                hint=f"the slide comes first, then the width: write {turned}",
                repairs=[Replace(span, turned)] if span else (),
            )
        # One form for one window: tumble() of that width in an outer query is then the
        # same.
        if window.slide == window.width:
            return Tumble(window.width)
        # Rounded up: an uneven hop has some rows in one window more.
        overlapping = -(-window.width // window.slide)
        if overlapping > MOST_OVERLAPPING:
            raise Unsupported(
                f"a row would be in {overlapping:,} windows of hop(), more than "
                f"{MOST_OVERLAPPING:,}: Spark plans each of them by itself",
                span=span,
                hint="choose a longer slide",
            )
    return window


def _check_union(node: Union) -> None:
    first, *rest = node.branches
    for branch in rest:
        if branch.window != first.window:
            raise PlanProblem(
                "window expressions do not match: can't union "
                f"{window_text(first.window)} with {window_text(branch.window)}",
                span=node.span,
            )
