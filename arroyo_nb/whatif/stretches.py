"""Sessions of keys: a trace counts their rows for all keys together."""

from __future__ import annotations

from arroyo_nb.plan import nodes

STRETCHES = (
    "a stretch is a time with sessions of any key in it: the sessions of all keys are "
    "counted together, and the ends of a stretch are rounded; the sessions themselves "
    "are in the result"
)


def has_stretches(aggregate: nodes.WindowAggregate) -> bool:
    """Whether the windows of its trace are stretches of time, in which sessions of
    several keys may lie."""
    return isinstance(aggregate.window, nodes.SessionWindow) and bool(aggregate.keys)
