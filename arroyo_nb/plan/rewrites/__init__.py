"""Logical plan -> streaming plan, by the passes of :data:`PASSES` in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arroyo_nb.plan.nodes import (
    Aggregate,
    Join,
    Lookup,
    Node,
    Over,
    Scan,
    Sink,
    Union,
    UpdatingJoin,
    UpdatingRank,
    WindowAggregate,
    WindowJoin,
    WindowOver,
)
from arroyo_nb.plan.rewrites.async_calls import async_projections
from arroyo_nb.plan.rewrites.event_time import event_time
from arroyo_nb.plan.rewrites.joins import updating_joins, windowed_joins
from arroyo_nb.plan.rewrites.lookups import lookup_joins
from arroyo_nb.plan.rewrites.over import windowed_over
from arroyo_nb.plan.rewrites.prune_join_columns import narrow_joins
from arroyo_nb.plan.rewrites.ranks import top_n, unread_numbers, updating_ranks
from arroyo_nb.plan.rewrites.updating import (
    timed_changes,
    updating_group_by,
    updating_sinks,
)
from arroyo_nb.plan.rewrites.where import joins_of_where
from arroyo_nb.plan.rewrites.windows import same_windows, windowed_group_by
from arroyo_nb.plan.tree import NodeMap


@dataclass(frozen=True)
class Pass:
    """A named rewrite.

    Parameters
    ----------
    rewrite
        Takes a plan and what it made of the nodes of earlier plans of the script, gives
        a plan; the same object where there is nothing to do.
    reason
        Why it changed a plan, for ``explain``.
    of
        The nodes that it is about, where these are known: a plan without any of them
        stays as it is.
    gone
        Nodes that no plan holds after it.
    """

    rewrite: Callable[[Node, NodeMap[Node]], Node]
    reason: str
    of: tuple[type[Node], ...] = ()
    gone: tuple[type[Node], ...] = ()

    @property
    def name(self) -> str:
        """Name of the rewrite."""
        return self.rewrite.__name__

    def rewritten(self, plan: Node, made: NodeMap[Node]) -> Node:
        """The plan after it."""
        # Asked of the whole plan: most scripts have no use for most passes.
        is_about = not self.of or not plan.kinds.isdisjoint(self.of)
        return self.rewrite(plan, made) if is_about else plan


PASSES = (
    Pass(
        event_time,
        "each table is read once, with its watermark and its generated columns",
        of=(Scan,),
        gone=(Scan,),
    ),
    Pass(
        lookup_joins,
        "a JOIN with a lookup table looks up the key of each row",
        of=(Lookup,),
        gone=(Lookup,),
    ),
    Pass(
        joins_of_where,
        "WHERE conditions over a join move into it, or into its sides",
        of=(Join,),
    ),
    Pass(
        windowed_group_by,
        "a GROUP BY with a window sends one final row per key and window",
        of=(Aggregate,),
    ),
    Pass(
        updating_group_by,
        "a GROUP BY without a window sends a change for each change of a key",
        gone=(Aggregate,),
    ),
    Pass(
        windowed_over,
        "OVER within a window sends final rows, once the window has closed",
        of=(Over,),
    ),
    Pass(
        updating_ranks,
        "OVER without a window sends a change for each row whose number changes",
        of=(Over,),
        gone=(Over,),
    ),
    Pass(
        windowed_joins,
        "a JOIN of rows of one window matches those of each window when it closes",
        of=(Join,),
    ),
    Pass(
        updating_joins,
        "a JOIN without windows matches each row with all rows of the other side",
        of=(Join,),
        gone=(Join,),
    ),
    Pass(
        top_n,
        "WHERE n <= constant limits the rows that a rank sends",
        of=(UpdatingRank, WindowOver),
    ),
    Pass(
        unread_numbers,
        "a rank whose number is not selected does not compute it",
        of=(UpdatingRank,),
    ),
    Pass(
        narrow_joins,
        "a join keeps only the columns that are read",
        of=(UpdatingJoin, WindowJoin),
    ),
    Pass(
        timed_changes,
        "a retraction goes to the window of the row that it retracts",
        of=(WindowAggregate,),
    ),
    Pass(same_windows, "the branches of a union share one window", of=(Union,)),
    Pass(async_projections, "async functions are called in select lists"),
    Pass(updating_sinks, "changes go to sinks that can write retractions", of=(Sink,)),
)
