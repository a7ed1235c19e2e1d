"""The streaming plan: frozen nodes that say which rows flow and what they mean.

Each node answers three questions as derived attributes: ``schema`` (which columns),
``changelog`` (which changes) and ``window`` (which window its rows belong to). The
rules of the dialect are comparisons of these three.

Expressions inside a node are *bound*: sqlglot expressions of the node's own (they
are mutable, so they are copied on entry) in which every column is a bare quoted name
of the input's schema and every sub-expression has a type that :func:`type_of` reads.
"""

from __future__ import annotations

from arroyo_nb.plan.nodes.base import (
    Changelog,
    Node,
    Numbered,
    OverFunctions,
    Stateful,
    Unary,
    is_updating,
)
from arroyo_nb.plan.nodes.changes import LatestRow
from arroyo_nb.plan.nodes.columns import (
    Limit,
    Measure,
    Named,
    Number,
    Ordering,
    OverColumn,
)
from arroyo_nb.plan.nodes.joins import (
    How,
    Join,
    Joining,
    UpdatingJoin,
    WindowJoin,
)
from arroyo_nb.plan.nodes.logical import Aggregate, Lookup, NotInserted, Over, Scan
from arroyo_nb.plan.nodes.lookups import LookupJoin
from arroyo_nb.plan.nodes.streaming import (
    Filter,
    Project,
    Sink,
    SortKey,
    Source,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingRank,
    Watermark,
    WindowAggregate,
    WindowOver,
)
from arroyo_nb.plan.nodes.windows import Hop, SessionWindow, Tumble, Window

__all__ = [
    "Aggregate",
    "Changelog",
    "Filter",
    "Hop",
    "How",
    "Join",
    "Joining",
    "LatestRow",
    "Limit",
    "Lookup",
    "LookupJoin",
    "Measure",
    "Named",
    "Node",
    "NotInserted",
    "Number",
    "Numbered",
    "Ordering",
    "Over",
    "OverColumn",
    "OverFunctions",
    "Project",
    "Scan",
    "SessionWindow",
    "Sink",
    "SortKey",
    "Source",
    "Stateful",
    "Tumble",
    "Unary",
    "Union",
    "Unnest",
    "UpdatingAggregate",
    "UpdatingJoin",
    "UpdatingRank",
    "Watermark",
    "Window",
    "WindowAggregate",
    "WindowJoin",
    "WindowOver",
    "is_updating",
]
