"""The calls that are neither scalar functions nor aggregates: windows, and what is
refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem
from arroyo_nb.functions import aggregates, over
from arroyo_nb.plan.expressions.intervals import Interval, parse_interval
from arroyo_nb.plan.expressions.typing import duration, place_of, type_of, typed
from arroyo_nb.plan.nodes import Hop, SessionWindow, Tumble, Window
from arroyo_nb.schema import TEXT, WINDOW_STRUCT
from arroyo_nb.sql.syntax_tree import all_in

NUMBERINGS = frozenset(("dense_rank", "rank", "row_number"))
"""Functions that number rows, in a window and without one."""

UNSUPPORTED_FUNCTIONS = {
    **{word: f"{word.upper()} is not supported" for word in ("all", "any", "some")},
    "grouping": "grouping() needs GROUPING SETS, which is not supported",
    "multi_hash": "multi_hash() is not supported: Spark has no XXH3",
    "row": "a row value is not supported",
    "metadata": "metadata() may only be called in a generated column",
    **{f: f"{f}() needs OVER" for f in over.names() if not aggregates.primary(f)},
}
"""Arroyo's functions that are not run: name -> the words that refuse it."""

_SHAPES = {"tumble": ("width",), "hop": ("slide", "width"), "session": ("gap",)}
WINDOWS = frozenset(_SHAPES)
"""Names of the window calls."""


def function_name(call: exp.Anonymous) -> str:
    """The name of a function as it is known: quoted, its case counts."""
    return call.name if isinstance(call.this, exp.Identifier) else call.name.lower()


def window_call(name: str, arguments: Sequence[exp.Expr]) -> exp.Anonymous:
    """A bound window call; the window itself is in ``meta["window"]``.

    Raises
    ------
    CatalogProblem
        For a wrong number of arguments.
    PlanProblem
        When they are not durations.
    """
    parameters = _SHAPES[name]
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
    call = exp.Anonymous(this=name, expressions=[duration(size) for size in sizes])
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
        size: timedelta = argument.meta["interval"]
    elif isinstance(argument, exp.Literal) and type_of(argument) == TEXT:
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
