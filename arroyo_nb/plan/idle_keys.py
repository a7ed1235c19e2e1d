"""Whether the updating operators of a plan forget keys that are idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.connectors import ends
from arroyo_nb.plan.nodes import Source
from arroyo_nb.plan.tree import walk

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan


def forgets_idle_keys(plan: Plan) -> bool:
    """Whether a time to live was chosen, or a source never ends.

    Over sources that end, state grows no further than they do; and what a query
    answers does not depend on how long it stands still between two steps.
    """
    if plan.is_ttl_chosen:
        return True
    nodes = (node for sink in plan.sinks for node in walk(sink))
    tables = (node.table for node in nodes if isinstance(node, Source))
    return not all(ends(table.connector, table.spec.options) for table in tables)
