"""Nodes of streams that tell changes instead of rows."""

from __future__ import annotations

from dataclasses import dataclass

from arroyo_nb.plan.nodes.base import Stateful, Unary


@dataclass(frozen=True)
class LatestRow(Unary, Stateful):
    """The rows of a table as its changes tell them: one per primary key.

    What a source of changes calls the row before is believed to be of its key and no
    more: databases leave it out, or tell the key alone. So it is the row that was sent
    which is retracted, a change that changes nothing is not sent, and a row of another
    key is a delete and a create.

    State: the rows that are there. They do not age: a row of a table is there until it
    is deleted. ``_timestamp`` of a timed row is that of the change that told it.

    Parameters
    ----------
    table
        Its name.
    keys
        The columns of the primary key.
    """

    table: str
    keys: tuple[str, ...]
