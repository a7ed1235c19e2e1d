"""What the plan of one output says, as plain values: what a picture does not show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.run.observe.written_text import bound_text, written_text

if TYPE_CHECKING:
    from sqlglot import exp

    from arroyo_nb.plan import nodes
    from arroyo_nb.source import ScriptText


@dataclass(frozen=True)
class Condition:
    """A condition of a query: its SQL, and the ``line`` of the script where it stands;
    None: that is not known, as of a view of an earlier cell. ``clause`` is WHERE,
    HAVING or ON; empty: that is not known."""

    sql: str
    line: int | None = None
    clause: str = ""

    def __str__(self) -> str:
        return self.sql if self.line is None else f"{self.sql} (line {self.line})"


@dataclass(frozen=True)
class QueryFacts:
    """What the query of one output is made of.

    Parameters
    ----------
    limit
        Of its LIMIT.
    never_true
        Conditions that are true of no row, whatever comes.
    conditions
        The first conditions that rows must meet, those of an inner join's ON among
        them.
    joins
        What its first joins compare, a text for each.
    lookups
        The tables that its lookup joins find rows in.
    lists
        The lists of whose elements it makes rows.
    gap
        Of its sessions.
    """

    limit: int | None = None
    never_true: tuple[Condition, ...] = ()
    conditions: tuple[Condition, ...] = ()
    joins: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    gap: timedelta | None = None

    @property
    def drops_rows(self) -> bool:
        """Whether a row that comes in may leave no trace."""
        return bool(self.conditions or self.joins or self.lookups or self.lists)

    @property
    def clauses(self) -> tuple[str, ...]:
        """Which of its clauses may drop a row: WHERE, HAVING, JOIN, unnest."""
        found = {c.clause for c in self.conditions}
        found |= {"WHERE", "HAVING"} if "" in found else set()
        has_join = self.joins or self.lookups or "ON" in found
        found |= {"JOIN"} if has_join else set()
        found |= {"unnest"} if self.lists else set()
        return tuple(c for c in ("WHERE", "HAVING", "JOIN", "unnest") if c in found)


MOST_TEXTS = 20
"""Conditions and joins that are told: a lineage of views may have thousands."""

NO_FACTS = QueryFacts()
"""Of a query of which nothing is known."""


def query_facts(sink: nodes.Sink, source: ScriptText) -> QueryFacts:
    """What a planned output is made of.

    Parameters
    ----------
    sink
        Its plan.
    source
        The script.
    """
    from arroyo_nb.plan import nodes
    from arroyo_nb.plan.explain.node_lines import sql_text
    from arroyo_nb.plan.tree import walk

    found = list(walk(sink))
    parts = [p for n in found if isinstance(n, nodes.Filter) for p in parts_of(n)]
    joins = [node for node in found if isinstance(node, nodes.Joining)]
    windows = (n.window for n in found if isinstance(n.window, nodes.SessionWindow))
    return QueryFacts(
        limit=sink.limit,
        never_true=tuple(condition(p, source) for p in parts if _is_never_true(p)),
        conditions=tuple(condition(part, source) for part in parts[:MOST_TEXTS]),
        joins=tuple(join_text(node, source) for node in joins[:MOST_TEXTS]),
        lookups=tuple(n.table.name for n in found if isinstance(n, nodes.LookupJoin)),
        lists=tuple(sql_text(n.list) for n in found if isinstance(n, nodes.Unnest)),
        gap=next((window.gap for window in windows), None),
    )


def parts_of(node: nodes.Filter) -> list[exp.Expr]:
    """The conditions of a filter, each of which a row must meet."""
    from arroyo_nb.plan.expressions.predicates import conjuncts

    return conjuncts(node.predicate)


def join_text(node: nodes.Joining, source: ScriptText) -> str:
    """What a join compares, as one writes it."""
    pairs = (
        f"{condition(a, source).sql} = {condition(b, source).sql}" for a, b in node.keys
    )
    return " AND ".join(pairs) or "the window"


def condition(expression: exp.Expr, source: ScriptText) -> Condition:
    """A bound condition as its author wrote it, where that is in the script."""
    written = written_text(expression, source)
    if written is None:
        return Condition(bound_text(expression))
    return Condition(written.text, written.line, written.clause)


def _is_never_true(part: exp.Expr) -> bool:
    from sqlglot import exp

    match part:
        case exp.Boolean(this=value):
            return not value
        case exp.Null():
            return True
        case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return any(_is_null(s) for s in (part.left, part.right)) or _differs(part)
    return False


def _is_null(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node.this if isinstance(node, exp.Cast) else node, exp.Null)


def _differs(part: exp.Binary) -> bool:
    from sqlglot import exp

    sides = part.left, part.right
    is_literal = all(isinstance(side, exp.Literal) for side in sides)
    return isinstance(part, exp.EQ) and is_literal and sides[0] != sides[1]
