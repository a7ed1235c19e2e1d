"""Where a query's result differs from Arroyo's, because Spark's engine does; of values
:mod:`arroyo_nb.plan.explain.value_differences` tells.

Each row says when it holds of a plan's node. ``EXPLAIN`` prints those of a query in its
notes, and the documentation has a page of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.functions.aggregates import primary
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.explain.value_differences import value_differences
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.nodes import (
    Hop,
    LatestRow,
    Measure,
    Node,
    SessionWindow,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.user_functions import measures_of
from arroyo_nb.plan.verify import expressions
from arroyo_nb.sql.syntax_tree import parts_of


@dataclass(frozen=True)
class EngineDifference:
    """One of them.

    Parameters
    ----------
    title
        Its name on a page.
    text
        One sentence: what happens here, and what in Arroyo.
    where
        Of which queries it is noted, in words.
    applies
        Whether it holds of a node.
    is_badge
        Whether results differ; else the text explains what both do.
    is_usual
        Whether it holds of every query with a window: a badge, and nothing to warn of
        at each of them.
    """

    title: str
    text: str
    where: str
    applies: Callable[[Node], bool]
    is_badge: bool = True
    is_usual: bool = False

    @property
    def note(self) -> str:
        """The line of EXPLAIN."""
        return f"differs from Arroyo: {self.text}" if self.is_badge else self.text


def _is_windowed(node: Node) -> bool:
    return isinstance(node, WindowAggregate)


def _hops(node: Node) -> bool:
    return isinstance(node, WindowAggregate) and isinstance(node.assign, Hop)


def _makes_sessions(node: Node) -> bool:
    return isinstance(node, WindowAggregate) and isinstance(node.assign, SessionWindow)


def _reads_changes(node: Node) -> bool:
    return isinstance(node, WindowAggregate) and is_updating(node.input)


def _wraps(measure: Measure) -> bool:
    is_aggregate = measure.user or primary(measure.function) is not None
    return bool(is_aggregate) and is_integer(measure.type) and measure.row.wraps


def _may_wrap(node: Node) -> bool:
    """Whether whole numbers are added, multiplied, negated or summed."""
    if any(_wraps(measure) for measure in measures_of(node)):
        return True
    return any(
        is_integer(type_of(part))
        for _, expression in expressions(node)
        for part in expression.find_all(exp.Add, exp.Sub, exp.Mul, exp.Neg)
    )


DIFFERENCES = (
    EngineDifference(
        "Which row moves the watermark",
        "the watermark follows the newest row so far; Arroyo's follows the oldest row "
        "of each batch",
        "queries with a window",
        _is_windowed,
        is_usual=True,
    ),
    EngineDifference(
        "Late rows of a hop",
        "a late row still counts in those of its windows that are open; Arroyo drops "
        "it from all of them",
        "queries with a hop window",
        _hops,
        is_usual=True,
    ),
    EngineDifference(
        "Late rows of a session",
        "a row behind the watermark by less than the gap still counts; Arroyo drops "
        "each row behind the watermark",
        "queries with a session window",
        _makes_sessions,
        is_usual=True,
    ),
    EngineDifference(
        "Windows over changes",
        "a row that is taken back leaves its windows while they are open; Arroyo "
        "counts it once more",
        "windows over an updating query",
        _reads_changes,
    ),
    EngineDifference(
        "What a source of changes retracts",
        "a source of changes retracts the row that it sent, by its primary key; Arroyo "
        "retracts what 'before' says",
        "queries of a table of changes with a primary key",
        lambda node: isinstance(node, LatestRow),
    ),
    EngineDifference(
        "Whole numbers that leave their type",
        "a whole number that leaves its type by +, -, * or sum() wraps around, as "
        "Arroyo's does; by /, abs() or a cast it is an error",
        "queries that calculate with whole numbers",
        _may_wrap,
        is_badge=False,
    ),
)
"""All of them, in the order in which EXPLAIN prints them."""


def differences(nodes: Iterable[Node]) -> Iterator[str]:
    """The lines of EXPLAIN for the nodes of a plan."""
    known = list(nodes)
    yield from (row.note for row in DIFFERENCES if any(map(row.applies, known)))
    found = (
        row.note
        for node in known
        for _, expression in expressions(node)
        for part in parts_of(expression)
        if "arroyo_type" in part.meta
        for row in value_differences(part)
    )
    yield from dict.fromkeys(found)
