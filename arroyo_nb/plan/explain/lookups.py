"""Lookup joins as text, for :mod:`arroyo_nb.plan.explain.text`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arroyo_nb.plan.expressions.intervals import in_words

if TYPE_CHECKING:
    from arroyo_nb.catalog import LookupTable
    from arroyo_nb.plan.nodes import LookupJoin


def looked_up(node: LookupJoin, keys: Sequence[str]) -> str:
    """The node in one line; ``keys`` are what is looked up, as text."""
    table = node.table
    on = " AND ".join(
        f"{text} = {table.name}.{column}"
        for text, (_, column) in zip(keys, node.keys, strict=True)
    )
    columns = ", ".join(
        name if name == column else f"{column} AS {name}"
        for name, column in node.columns
    )
    text = f"LookupJoin {node.how} {table.name} ({table.connector}) ON {on}"
    return f"{text}: {columns or 'nothing'}"


def lookup_spark(node: LookupJoin) -> str:
    """What Spark does for the node."""
    if node.table.asked:
        return f"mapInArrow, one request to {node.table.connector} for each Arrow batch"
    return "join with the broadcast table"


def keeping(table: LookupTable) -> str:
    """How long what was found holds, as a note."""
    if not table.asked:
        return f"the lookup table {table.name} is read once, when a run first starts"
    if not table.cache_bytes:
        return f"each row asks {table.name} anew: nothing is cached"
    held = "for ever" if table.cache_ttl is None else f"for {in_words(table.cache_ttl)}"
    return (
        f"rows of {table.name} are cached {held}, also that a key has none; the cache "
        f"has at most {table.cache_bytes:,} bytes"
    )
