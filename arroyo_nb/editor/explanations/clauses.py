"""The badge of a clause: how what the plan makes of it compares with Arroyo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan import nodes
from arroyo_nb.plan.nodes import Node
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.plan_steps import node_badge, worst

_AGGREGATES = nodes.WindowAggregate | nodes.UpdatingAggregate
_CLAUSES: dict[str, Callable[[Node], bool]] = {
    "GROUP BY": lambda node: isinstance(node, _AGGREGATES),
    "HAVING": lambda node: isinstance(node, _AGGREGATES),
    "SELECT DISTINCT": lambda node: isinstance(node, _AGGREGATES),
    **dict.fromkeys(
        ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"),
        lambda node: isinstance(node, nodes.Joining | nodes.LookupJoin),
    ),
    **dict.fromkeys(
        ("OVER", "PARTITION BY"),
        lambda node: isinstance(node, nodes.OverFunctions | nodes.Numbered),
    ),
    "tumble": lambda node: _assigns(node, nodes.Tumble),
    "hop": lambda node: _assigns(node, nodes.Hop),
    "session": lambda node: _assigns(node, nodes.SessionWindow),
}


def _assigns(node: Node, kind: type) -> bool:
    return isinstance(node, nodes.WindowAggregate) and isinstance(node.assign, kind)


def with_badge(made: Explanation, word: PointedWord) -> Explanation:
    """The explanation of a clause or a window with the badge of its operators in the
    plan of its statement; as it is where the statement cannot be planned."""
    fits = _CLAUSES.get(made.title) or _CLAUSES.get(made.title.partition("(")[0])
    if fits is None:
        return made
    code = word.statement
    catalog = word.tables.catalog(code, word.number)
    try:
        text = word.tables.bound_text(code[0].start, code[-1].end)
        plan = plan_script(text, catalog)
    except ArroyoError:
        return made
    found = [node for sink in plan.sinks for node in walk(sink) if fits(node)]
    badges = [node_badge(node, windowed=True) for node in found]
    if not badges:
        return made
    badge, note = worst(badges)
    says = f"{note[:1].upper()}{note[1:]}." if note else ""
    return replace(made, badge=badge, lines=(*made.lines, *filter(None, (says,))))
