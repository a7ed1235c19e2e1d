"""Whether the updating operators of a plan forget keys that are idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan.nodes import Source, Stateful
from arroyo_nb.plan.tree import walk

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan


def forgets_idle_keys(plan: Plan) -> bool:
    """Whether operators that keep keys look for idle ones: where a time to live was
    chosen, or a source never ends.

    Over sources that end, state grows no further than they do; and what a query
    answers does not depend on how long it stands still between two steps.
    """
    found = {id(node): node for sink in plan.sinks for node in walk(sink)}.values()
    if not any(isinstance(node, Stateful) for node in found):
        return False
    sources = (node for node in found if isinstance(node, Source))
    return plan.is_ttl_chosen or not all(map(ends, sources))


def ends(source: Source) -> bool:
    """Whether a source ends by itself."""
    table = source.table
    return CONNECTORS.get(table.connector).info.ends(table.spec.options)
