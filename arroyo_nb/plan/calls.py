"""The calls that are not scalar functions: windows, aggregates, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem, Unsupported
from arroyo_nb.plan.intervals import Interval, parse_interval
from arroyo_nb.plan.nodes import Hop, Session, Tumble, Window
from arroyo_nb.plan.operators import avg_type, extreme_type, sum_type
from arroyo_nb.plan.typing import duration, is_nullable, place_of, type_of, typed
from arroyo_nb.schema import BIGINT, TEXT, WINDOW_STRUCT, Type

AGGREGATES: dict[str, Callable[[Type], Type | None]] = {
    "avg": avg_type,
    "count": lambda _: BIGINT,
    "max": extreme_type,
    "min": extreme_type,
    "sum": sum_type,
}
"""Aggregates that are run: name -> type of the result, None where it is refused."""

UNSUPPORTED_AGGREGATES = frozenset(
    (
        *("approx_distinct", "approx_median", "approx_percentile_cont"),
        *("approx_percentile_cont_with_weight", "array_agg", "bit_and", "bit_or"),
        *("bit_xor", "bool_and", "bool_or", "corr", "covar_pop", "covar_samp"),
        *("first_value", "grouping", "last_value", "median", "nth_value", "regr_avgx"),
        *("regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope"),
        *("regr_sxx", "regr_sxy", "regr_syy", "stddev", "stddev_pop", "stddev_samp"),
        *("string_agg", "var", "var_pop", "var_samp"),
    )
)
"""Arroyo's other aggregates."""

_OVER_FUNCTIONS = (
    *("cume_dist", "dense_rank", "lag", "lead", "ntile", "percent_rank", "rank"),
    "row_number",
)
_OTHER_FUNCTIONS = (
    *("array_any_value", "array_concat", "array_dims", "array_distance"),
    *("array_except", "array_has_all", "array_has_any", "array_intersect"),
    *("array_ndims", "array_pop_back", "array_pop_front", "array_positions"),
    *("array_prepend", "array_remove", "array_remove_all", "array_remove_n"),
    *("array_repeat", "array_replace", "array_replace_all", "array_replace_n"),
    *("array_resize", "array_slice", "array_sort", "array_union", "arrow_cast"),
    *("arrow_typeof", "current_date", "current_time", "extract_json"),
    *("extract_json_string", "flatten", "generate_series", "get_field"),
    *("get_first_json_object", "json_as_text", "json_contains", "json_get"),
    *("json_get_bool", "json_get_float", "json_get_int", "json_get_json"),
    *("json_get_str", "json_length", "json_object_keys", "map", "map_extract"),
    *("map_keys", "map_values", "multi_hash", "named_struct", "now", "range"),
    *("struct", "to_local_time", "union_extract", "union_tag", "unnest", "version"),
)
UNSUPPORTED_FUNCTIONS = {
    **{word: f"{word.upper()} is not supported" for word in ("all", "any", "some")},
    "row": "a row value is not supported",
    "metadata": "metadata() may only be called in a generated column",
    **{f: f"the function {f}() is not supported yet" for f in _OTHER_FUNCTIONS},
    **{f: f"{f}() needs OVER, which is not supported yet" for f in _OVER_FUNCTIONS},
}
"""Arroyo's functions that are not run: name -> the words that refuse it."""

_SHAPES = {"tumble": ("width",), "hop": ("slide", "width"), "session": ("gap",)}
WINDOWS = frozenset(_SHAPES)
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
    parameters = _SHAPES[name]
    if len(arguments) != len(parameters):
        signature = ", ".join(f"{p} INTERVAL" for p in parameters)
        raise CatalogProblem(
            f"Function '{name}' expects {len(parameters)} arguments but received "
            f"{len(arguments)}",
            hint=f"write {name}({signature})",
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
    calls = expression.find_all(exp.Anonymous)
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
            return Session(sizes[0])


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
            hint="say how many days",
        )
    return interval.duration


def aggregate_call(
    name: str,
    arguments: Sequence[exp.Expr],
    *,
    distinct: bool = False,
) -> exp.Anonymous:
    """A bound aggregate call; no argument stands for ``count(*)``.

    Raises
    ------
    CatalogProblem
        When it does not take these arguments.
    Unsupported
        For an aggregate of Arroyo's that is not run yet.
    """
    if name not in AGGREGATES:
        raise Unsupported(
            f"the aggregate {name}() is not supported yet",
            hint="supported: " + ", ".join(sorted(AGGREGATES)),
        )
    if len(arguments) != 1 and distinct:
        raise PlanProblem(f"{name}(DISTINCT) takes one argument")
    if len(arguments) != 1 and (name != "count" or arguments):
        raise CatalogProblem(f"{name}() takes one argument, not {len(arguments)}")
    type_ = AGGREGATES[name](type_of(arguments[0])) if arguments else BIGINT
    if type_ is None:
        raise CatalogProblem(
            f"{name}() does not take {type_of(arguments[0])}",
            hint=f"cast the argument of {name}() to a number",
        )
    if any(call.meta.get("aggregate") for a in arguments for call in a.walk()):
        raise PlanProblem(f"aggregates cannot be nested: {name}() of an aggregate")
    listed = list(arguments)
    wrapped = [exp.Distinct(expressions=listed)] if distinct else listed
    call = exp.Anonymous(this=name, expressions=wrapped)
    call.meta["aggregate"] = True
    return typed(call, type_, nullable=name != "count")


def is_aggregate(expression: exp.Expr) -> bool:
    """Whether a bound expression is an aggregate call, FILTER included."""
    return bool(expression.meta.get("aggregate"))


def find_aggregate(expression: exp.Expr) -> exp.Expr | None:
    """The first aggregate call in a bound expression."""
    return next((node for node in expression.walk() if is_aggregate(node)), None)


def filtered(call: exp.Expr, predicate: exp.Expr) -> exp.Filter:
    """An aggregate call over the rows for which the predicate is true.

    Raises
    ------
    PlanProblem
        When the predicate holds an aggregate or a window call.
    """
    window = find_window_call(predicate)
    if window is not None:
        raise misplaced_window(window)
    inner = find_aggregate(predicate)
    if inner is not None:
        raise PlanProblem("aggregates are not allowed in FILTER", span=place_of(inner))
    made = exp.Filter(this=call, expression=predicate)
    made.meta["aggregate"] = True
    return typed(made, type_of(call), nullable=is_nullable(call))
