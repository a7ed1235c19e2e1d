"""What the state of an updating aggregate is made of, told from the plan alone.

Aggregates share what they keep: ``sum(v)`` and ``count(v)`` keep what ``avg(v)`` is
made of, and each group counts its rows. So an aggregate more may need nothing that is
not in the state of before.
"""

from __future__ import annotations

import json

import pyarrow as pa
from sqlglot import exp

from arroyo_nb.changelog.aggregate import VALUE, AggregateKernel
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.nodes import Measure, UpdatingAggregate, is_updating
from arroyo_nb.schema import arrow_type
from arroyo_nb.state.canonical import Canonical


def has_its_parts(old: UpdatingAggregate, new: UpdatingAggregate) -> bool:
    """Whether the state of one aggregate has all that another one is made of. The
    aggregates of the old one come first in the new one: a state knows them by their
    places."""
    begins_alike = new.measures[: len(old.measures)] == old.measures
    more = new.measures[len(old.measures) :]
    if not begins_alike or any(measure.user is not None for measure in more):
        return False
    return _parts(old) == _parts(new)


def _parts(node: UpdatingAggregate) -> list[tuple[str, pa.Schema]]:
    """The tables of its state, without the values that were sent last."""
    tables = _kernel(node).layout.tables
    return [
        (name, pa.schema([f for f in schema if not f.name.startswith(VALUE)]))
        for name, schema in tables
    ]


def _kernel(node: UpdatingAggregate) -> AggregateKernel:
    columns = _Columns(node)
    keys = [columns.add(key.expression) for key in node.keys]
    calls = [columns.call(f"agg_{n}", m) for n, m in enumerate(node.measures)]
    return AggregateKernel(
        pa.schema([*columns.fields.values()]),
        tuple(dict.fromkeys(keys)),
        tuple(calls),
        is_updating(node.input),
    )


class _Columns:
    """The columns that it reads, each expression once, named by its place."""

    def __init__(self, node: UpdatingAggregate) -> None:
        self._canonical = Canonical(node.input.schema.names)
        self.fields: dict[str, pa.Field] = {}

    def add(self, expression: exp.Expr) -> str:
        key = json.dumps(self._canonical.expression(expression))
        name = f"c_{len(self.fields)}"
        type_ = arrow_type(type_of(expression))
        return str(self.fields.setdefault(key, pa.field(name, type_)).name)

    def call(self, name: str, measure: Measure) -> AggregateCall:
        order = (
            Order(self.add(o.expression), o.descending, o.nulls_first)
            for o in measure.order
        )
        return AggregateCall(
            name,
            measure.function,
            arrow_type(measure.type),
            tuple(map(self.add, measure.arguments)),
            self.add(measure.where) if measure.where is not None else None,
            measure.distinct,
            tuple(order),
            measure.parameter,
            kernel=measure.row.kernel,
        )
