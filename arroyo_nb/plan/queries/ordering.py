"""ORDER BY and LIMIT of a SELECT whose rows are looked at, beyond Arroyo.

A stream has no order and no end, so neither is a node of the plan. ORDER BY sorts what
is kept of the result. LIMIT alone ends the run after so many rows; with ORDER BY, or of
a result that changes, it is how many rows of the result are shown.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from arroyo_nb.errors import PlanProblem
from arroyo_nb.plan.nodes import SortKey
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import WINDOW_STRUCT, Field, ListOf, Schema, StructOf
from arroyo_nb.sql.dialect import span_of


class OrderByClause(NamedTuple):
    """What a query says of its result as a whole.

    Attributes
    ----------
    query
        The query without that.
    keys
        What it is sorted by.
    limit
        How many rows it has; None: all.
    """

    query: exp.Expr
    keys: tuple[exp.Ordered, ...] = ()
    limit: int | None = None


def split_ordering(query: exp.Expr) -> OrderByClause:
    """Take ORDER BY and LIMIT off a query.

    Raises
    ------
    PlanProblem
        When LIMIT is no whole number.
    """
    order, limit = query.args.get("order"), query.args.get("limit")
    if not isinstance(limit, exp.Limit):  # FETCH is refused as it is
        limit = None
    if order is None and limit is None:
        return OrderByClause(query)
    query = query.copy()
    query.set("order", None)
    if limit is not None:
        query.set("limit", None)
    return OrderByClause(
        query, tuple(order.expressions) if order else (), _count(limit)
    )


def sort_keys(keys: tuple[exp.Ordered, ...], schema: Schema) -> tuple[SortKey, ...]:
    """What a result of these columns is sorted by.

    Raises
    ------
    PlanProblem
        When a key is none of its columns, or one that has no order.
    """
    return tuple(_key(key, schema) for key in keys)


def _count(limit: exp.Limit | None) -> int | None:
    if limit is None:
        return None
    value = limit.expression
    if (
        not isinstance(value, exp.Literal)
        or value.is_string
        or not value.name.isdigit()
    ):
        raise PlanProblem("LIMIT takes a whole number", span=span_of(limit))
    return int(value.name)


def _key(key: exp.Ordered, schema: Schema) -> SortKey:
    field = _column(key.this, schema)
    orderable = not isinstance(field.type, ListOf | StructOf)
    if not orderable and field.type != WINDOW_STRUCT:
        raise PlanProblem(
            f"ORDER BY '{field.name}': values of type {field.type} have no order",
            span=span_of(key),
        )
    return SortKey(
        field.name, bool(key.args.get("desc")), bool(key.args["nulls_first"])
    )


def _column(key: exp.Expr, schema: Schema) -> Field:
    span = span_of(key)
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        if not 1 <= int(key.name) <= len(schema):
            raise PlanProblem(
                f"ORDER BY position {key.name} is not in the select list", span=span
            )
        return list(schema)[int(key.name) - 1]
    name = key.name if isinstance(key, exp.Column) else ""
    found = schema.get(name) or schema.get(name.lower()) if name else None
    if found is None:
        raise PlanProblem(
            "ORDER BY takes columns of the result"
            + (f": '{name}' is not one" if name else ""),
            span=span,
            hint=(name and did_you_mean(name, schema.names))
            or "select the value AS a name, and ORDER BY that",
        )
    return found
