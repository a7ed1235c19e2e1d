"""A JOIN with a lookup table gets its meaning (arroyo-semantics f.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.explain.node_lines import sql_text
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.predicates import case
from arroyo_nb.plan.expressions.typing import column, place_of, replaced, type_of
from arroyo_nb.plan.nodes import (
    Filter,
    Join,
    Lookup,
    LookupJoin,
    Named,
    Node,
    Project,
)
from arroyo_nb.plan.tree import NodeMap, transform, walk
from arroyo_nb.sql.syntax_tree import all_in

NOT_ASKED = "a lookup table of the connector '{connector}': only {stores} can be one"
"""Why Arroyo refuses a lookup table that is read whole."""

_DIRECTLY = "lookup tables must be used directly within a join"


def lookup_joins(root: Node, made: NodeMap[Node]) -> Node:
    """A join with a lookup table asks it for each row.

    Before::

        Join left ON carrier = code
          Watermark ...
          Lookup airlines

    After::

        LookupJoin left airlines ON carrier = airlines.code
          Watermark ...

    A condition on the table's columns, also one in WHERE, is applied to what was found;
    of a left join, what does not meet it was not found.

    Refuses a lookup table anywhere else, joins that keep its rows, and what is no
    equality with its PRIMARY KEY columns.
    """

    def change(node: Node) -> Node:
        return _looked_up(node) if isinstance(node, Join) else node

    joined = transform(root, change, made)
    checked = made.part("checked")
    # Whatever is left of them now stood elsewhere than right in a join.
    for node in walk(joined, checked):
        if isinstance(node, Lookup):
            raise PlanProblem(
                _DIRECTLY,
                span=node.span,
                hint=f"write FROM stream JOIN {node.table.name} ON stream.x = "
                f"{node.table.name}.{node.table.keys[0]}",
            )
        checked[node] = node
    return joined


def check_lookup_repeatable(node: LookupJoin) -> None:
    """Check that what is found for an updating row is found again when it is taken
    back.

    Between a row and its retract what a store says may change, and a retract that is
    not of what was sent takes nothing back. (Arroyo asks twice.) A table that is read
    whole says the same both times.

    Raises
    ------
    Unsupported
        When a store is asked.
    """
    if node.table.asked:
        raise Unsupported(
            f"a lookup in '{node.table.name}' for updating rows is not supported: when "
            "a row is taken back, another value may be found",
            span=node.span,
            hint="look up before the rows are aggregated or joined",
        )


@dataclass(frozen=True)
class _LookupSide:
    """A lookup table as a join reads it.

    Parameters
    ----------
    lookup
        The table.
    names
        What its columns are called in the join, and in the table.
    condition
        What must be true of what is found, over the table's own columns.
    """

    lookup: Lookup
    names: Mapping[str, str]
    condition: exp.Expr | None = None


def _side(node: Node) -> _LookupSide | None:
    """The lookup table that a relation is, renamed and filtered at most.

    Raises
    ------
    PlanProblem
        When it is filtered twice.
    """
    match node:
        case Lookup():
            return _LookupSide(node, {name: name for name in node.schema.names})
        case Filter():
            below = _side(node.input)
            if below is None:
                return None
            if below.condition is not None:
                raise PlanProblem(
                    "multiple filters found in lookup join, which is not supported",
                    span=node.span,
                    hint="write one of them in WHERE",
                )
            return replace(below, condition=_renamed(node.predicate, below.names))
        case Project(items=items) if all(_is_column(item) for item in items):
            below = _side(node.input)
            if below is None:
                return None
            names = {item.name: below.names[item.expression.name] for item in items}
            return replace(below, names=names)
        case _:
            return None


def _is_column(item: Named) -> bool:
    return isinstance(item.expression, exp.Column)


def _renamed(expression: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """The expression over columns of other names."""

    def swap(part: exp.Expr) -> exp.Expr | None:
        if not isinstance(part, exp.Column):
            return None
        made = exp.Column(this=exp.Identifier(this=names[part.name], quoted=True))
        # With its type and its place in the text, which errors point at.
        made.meta.update(part.meta)
        return made

    return replaced(expression, swap)


def _looked_up(node: Join) -> Node:
    if _side(node.left) is not None:
        raise PlanProblem(
            "lookup sources must be on the right side of an inner or left join",
            span=node.span,
            hint="write FROM stream JOIN lookup_table",
        )
    side = _side(node.right)
    if side is None:
        return node
    if node.how not in ("inner", "left"):
        raise PlanProblem(
            f"{node.how.capitalize()} join is not supported for lookup tables; must be "
            "a left or inner join",
            span=node.span,
        )
    keys = tuple((ours, _key(theirs, side)) for ours, theirs in node.keys)
    _check_keys(node, side, [key for _, key in keys])
    columns = _columns(node, side)
    made = LookupJoin(
        node.left, side.lookup.table, node.how, keys, columns, span=node.span
    )
    return made if side.condition is None else _conditioned(made, side, node)


def _key(expression: exp.Expr, side: _LookupSide) -> str:
    """The key column that is compared."""
    table, found = side.lookup.table, expression
    # Where numbers are compared as wider ones, each is there once still.
    if not table.asked and isinstance(found, exp.Cast) and _widens(found):
        found = found.this
    if not isinstance(found, exp.Column):
        raise PlanProblem(
            "invalid right-side condition for lookup join: "
            f"`{sql_text(expression)}`; only column references are supported",
            span=place_of(expression),
            hint="compute on the other side of the equality",
        )
    name = side.names[found.name]
    if name not in table.keys:
        raise PlanProblem(
            "the right-side of a look-up join condition must be a PRIMARY KEY column, "
            f"but '{name}' is not",
            span=place_of(found),
            hint=f"'{table.name}' is looked up by {', '.join(table.keys)}",
        )
    return name


def _widens(found: exp.Cast) -> bool:
    return is_integer(type_of(found.this)) and is_integer(type_of(found))


def _check_keys(node: Join, side: _LookupSide, keys: list[str]) -> None:
    table = side.lookup.table
    if not keys or node.condition is not None:
        rest = node.condition
        raise PlanProblem(
            "filter join conditions are not supported for lookup joins; must have an "
            "equality condition",
            span=(place_of(rest) if rest is not None else None) or node.span,
            hint=f"write ON stream.x = {table.name}.{table.keys[0]}, and the rest in "
            "WHERE",
        )
    missing = [key for key in table.keys if key not in keys]
    if missing or len(keys) > len(table.keys):
        again = next((key for key in keys if keys.count(key) > 1), "")
        words = f"'{missing[0]}' is missing" if missing else f"'{again}' comes twice"
        raise PlanProblem(
            f"a lookup compares each PRIMARY KEY column once: {words}", span=node.span
        )


def _columns(node: Join, side: _LookupSide) -> tuple[tuple[str, str], ...]:
    """What the join reads of the table: its own columns, and those of a condition."""
    columns = [(name, side.names[name]) for name in node.right.schema.names]
    # A column that only the condition reads gets a name that nothing else has, and is
    # dropped again by the select list.
    taken = {*node.left.schema.names, *side.names}
    for name in _read(side.condition):
        if name not in (column for _, column in columns):
            columns.append((free(name, taken), name))
            taken.add(columns[-1][0])
    return tuple(columns)


def _read(condition: exp.Expr | None) -> list[str]:
    if condition is None:
        return []
    return list(dict.fromkeys(c.name for c in all_in(condition, exp.Column)))


def _conditioned(made: LookupJoin, side: _LookupSide, node: Join) -> Node:
    """What was found and does not meet the condition is not found."""
    assert side.condition is not None
    # Of two names for a column the first wins: the reversed order writes it last.
    names = {column: name for name, column in reversed(made.columns)}
    condition = _renamed(side.condition, names)
    below: Node = made
    if made.how == "inner":
        below = Filter(made, condition, span=made.span)
    wanted = set(node.right.schema.names)
    if made.how == "inner" and len(made.columns) == len(wanted):
        return below
    items = []
    for field in node.schema:
        value: exp.Expr = column(made.schema[field.name])
        if made.how == "left" and field.name in wanted:
            # NULL in place of what was found: the row stays, as of any left join.
            value = case([condition], [value], None)
        items.append(Named(field.name, value, field.type, field.nullable))
    return Project(below, tuple(items), span=made.span)
