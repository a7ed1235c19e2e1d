"""The frame clause of OVER, as it is written -> what it means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

from sqlglot import exp

from arroyo_nb.errors import PlanProblem
from arroyo_nb.functions.types import is_number
from arroyo_nb.over.frame import (
    CURRENT_ROW,
    FIRST_ROW,
    LAST_ROW,
    Edge,
    Exclusion,
    Offset,
    OverFrame,
    Side,
    Unit,
    usual_frame,
)
from arroyo_nb.plan.expressions.intervals import exact, parse_interval
from arroyo_nb.plan.expressions.literals import written_interval
from arroyo_nb.plan.expressions.typing import placed, type_of
from arroyo_nb.schema import Timestamp, Type
from arroyo_nb.sql.dialect import span_of

_BEGINS_BEHIND = "Invalid window frame: start bound cannot be UNBOUNDED FOLLOWING"
_ENDS_BEFORE = "Invalid window frame: end bound cannot be UNBOUNDED PRECEDING"
_CROSSED = "Invalid window frame: start bound ({}) cannot be larger than end bound ({})"
_NOT_WHOLE = (
    "Invalid window frame: frame offsets for ROWS / GROUPS must be non negative "
    "integers"
)
_ONE_ORDER = "RANGE requires exactly one ORDER BY column"
_SOME_ORDER = "GROUPS requires an ORDER BY clause"


def frame_of(spec: exp.WindowSpec | None, order: Sequence[exp.Ordered]) -> OverFrame:
    """The frame of a call.

    Parameters
    ----------
    spec
        The clause; None where there is none.
    order
        ORDER BY, bound.

    Raises
    ------
    PlanProblem
        When it is no frame, or not one of this order.
    """
    if spec is None:
        return usual_frame(ordered=bool(order))
    with placed(span_of(spec)):
        return _frame(spec, order)


def _frame(spec: exp.WindowSpec, order: Sequence[exp.Ordered]) -> OverFrame:
    unit = cast(Unit, spec.args["kind"].lower())
    of = type_of(order[0].this) if len(order) == 1 else None
    start = _edge(spec, "start", unit, of)
    # One edge is where the frame begins; it ends at the current row.
    end = _edge(spec, "end", unit, of) if spec.args.get("end") else CURRENT_ROW
    exclude = spec.args.get("exclude")
    word = exclude.name.lower() if exclude is not None else "no others"
    frame = OverFrame(unit, start, end, cast(Exclusion, word))
    _check(frame, ordered=bool(order))
    return frame


def _edge(spec: exp.WindowSpec, which: str, unit: Unit, of: Type | None) -> Edge:
    value: Any = spec.args[which]
    if value == "CURRENT ROW":
        return CURRENT_ROW
    word = spec.args.get(f"{which}_side")
    if value is None or word is None:
        raise PlanProblem(
            "a frame begins and ends so many rows PRECEDING or FOLLOWING, or at the "
            "CURRENT ROW",
            hint="write ROWS BETWEEN 5 PRECEDING AND CURRENT ROW",
        )
    side = cast(Side, word.lower())
    if value == "UNBOUNDED":
        return Edge(side, None)
    offset = _distance(value, of) if unit == "range" else _count(value)
    # Nothing away, before and behind the row are one.
    return Edge(side, offset) if offset else CURRENT_ROW


def _count(value: exp.Expr) -> int:
    if not isinstance(value, exp.Literal) or not value.name.isdigit():
        raise PlanProblem(_NOT_WHOLE, span=span_of(value))
    return int(value.name)


def _distance(value: exp.Expr, of: Type | None) -> Offset:
    """How far an edge is in the order of one column."""
    if of is None:
        raise PlanProblem(_ONE_ORDER, hint="ROWS and GROUPS take any ORDER BY")
    if isinstance(of, Timestamp):
        return _duration(value)
    if not is_number(of):
        raise PlanProblem(
            f"RANGE with an offset needs ORDER BY a number or a TIMESTAMP, not {of}",
            span=span_of(value),
            hint="write ROWS or GROUPS, or ORDER BY a number",
        )
    if not isinstance(value, exp.Literal) or value.is_string:
        raise PlanProblem(
            "Invalid window frame: the offset of RANGE over a number must be a number "
            "that is not negative",
            span=span_of(value),
        )
    return int(value.name) if value.is_int else Decimal(value.name)


def _duration(value: exp.Expr) -> timedelta:
    if isinstance(value, exp.Interval):
        found = exact(written_interval(value))
    elif isinstance(value, exp.Literal) and value.is_string:
        found = exact(parse_interval(value.name))
    else:
        raise PlanProblem(
            "Invalid window frame: the offset of RANGE over a TIMESTAMP must be an "
            "INTERVAL",
            span=span_of(value),
            hint="write INTERVAL '5 minutes'",
        )
    if found < timedelta():
        raise PlanProblem(
            "Invalid window frame: an offset must not be negative", span=span_of(value)
        )
    return found


def _check(frame: OverFrame, *, ordered: bool) -> None:
    if frame.start == LAST_ROW:
        raise PlanProblem(_BEGINS_BEHIND)
    if frame.end == FIRST_ROW:
        raise PlanProblem(_ENDS_BEFORE)
    if _place(frame.start) > _place(frame.end):
        raise PlanProblem(_CROSSED.format(frame.start, frame.end))
    if frame.unit == "groups" and not ordered:
        raise PlanProblem(_SOME_ORDER)


def _place(edge: Edge) -> int:
    """Before the current row, at it, or behind it."""
    if edge == CURRENT_ROW:
        return 0
    return -1 if edge.side == "preceding" else 1
