"""Calls of the window functions: tumble, hop and session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem
from arroyo_nb.plan.expressions.intervals import Interval, parse_interval
from arroyo_nb.plan.expressions.typing import (
    interval_literal,
    place_of,
    placed,
    type_of,
    typed,
)
from arroyo_nb.plan.nodes import Hop, SessionWindow, Tumble, Window
from arroyo_nb.schema import TEXT, WINDOW_STRUCT
from arroyo_nb.sql.syntax_tree import all_in

SHAPES = {"tumble": ("width",), "hop": ("slide", "width"), "session": ("gap",)}
WINDOWS = frozenset(SHAPES)
"""Names of the window calls."""


def window_call(name: str, arguments: Sequence[exp.Expr]) -> exp.Anonymous:
    """A bound window call; the window itself is in ``meta["window"]``.

    Raises
    ------
    CatalogProblem
        For a wrong number of arguments.
    PlanProblem
        When they are not durations.
    """
    parameters = SHAPES[name]
    if len(arguments) != len(parameters):
        signature = ", ".join(f"{p} INTERVAL" for p in parameters)
        raise CatalogProblem(
            f"Function '{name}' expects {len(parameters)} arguments but received "
            f"{len(arguments)}",
            hint=f"write {name}({signature})"
            + "; the event time is the table's WATERMARK column"
            * (len(arguments) > len(parameters)),
        )
    sizes = [_window_duration(argument) for argument in arguments]
    literals = [interval_literal(Interval(0, size)) for size in sizes]
    call = exp.Anonymous(this=name, expressions=literals)
    call.meta["window"] = _window(name, sizes)
    return typed(call, WINDOW_STRUCT, nullable=False)


def window_of(expression: exp.Expr) -> Window | None:
    """The window of a bound window call; None for any other expression."""
    found: Window | None = expression.meta.get("window")
    return found


def find_window_call(expression: exp.Expr) -> exp.Anonymous | None:
    """The first window call in a bound expression."""
    calls = all_in(expression, exp.Anonymous)
    return next((call for call in calls if window_of(call)), None)


def misplaced_window(call: exp.Anonymous) -> PlanProblem:
    """The error for a window call where none may be."""
    return PlanProblem(
        f"time window function {call.name} is not allowed in this context. "
        "Are you missing a GROUP BY clause?",
        span=place_of(call),
        hint=f"SELECT {call.name}(...) AS w and GROUP BY w; a query around that one "
        "can use w as any column",
    )


def _window(name: str, sizes: Sequence[timedelta]) -> Window:
    match name:
        case "tumble":
            return Tumble(sizes[0])
        case "hop":
            return Hop(sizes[0], sizes[1])
        case _:
            return SessionWindow(sizes[0])


def _window_duration(argument: exp.Expr) -> timedelta:
    if isinstance(argument, exp.Interval):
        with placed(place_of(argument)):
            size = without_months(argument.meta["calendar"])
    elif isinstance(argument, exp.Literal) and type_of(argument) == TEXT:
        with placed(place_of(argument)):
            size = without_months(parse_interval(argument.name))
    else:
        raise PlanProblem(
            "unsupported Duration expression, expect duration literal, not "
            f"{argument.sql()}",
            span=place_of(argument),
            hint="write an INTERVAL, as in INTERVAL '1 minute'",
        )
    if size <= timedelta():
        raise PlanProblem(
            "the duration of a window must be longer than zero",
            span=place_of(argument),
            hint="write how long it is, as in INTERVAL '1 minute'",
        )
    return size


def without_months(interval: Interval) -> timedelta:
    """The exact duration of a window's interval.

    Raises
    ------
    PlanProblem
        When it has months.
    """
    if interval.months:
        raise PlanProblem(
            "Windows do not support durations specified as months",
            hint="write a number of days",
        )
    return interval.duration
