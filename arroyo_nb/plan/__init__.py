"""Statements -> logical plan, and the plan that the whole planner hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Sink
from arroyo_nb.source import ScriptText

if TYPE_CHECKING:
    from arroyo_nb.catalog import Relation
    from arroyo_nb.plan.show_statements import StatementAnswer
    from arroyo_nb.sql.statements import Statement

UPDATING_TTL = "updating_ttl"
"""The one option that a script may SET."""

DEFAULT_TTL = timedelta(hours=24)


@dataclass(frozen=True)
class PlanStage:
    """The sinks after one pass; ``reason`` says what the pass is for."""

    name: str
    reason: str
    sinks: tuple[Sink, ...]


@dataclass(frozen=True)
class Plan:
    """A script, planned.

    Parameters
    ----------
    source
        Its text.
    statements
        Its statements, in order.
    sinks
        What runs: one for each INSERT and bare SELECT, in order.
    catalog
        The tables after it.
    options
        ``updating_ttl``: how long state that is not touched is kept, where that was
        chosen.
    notes
        What the reader should know: what Arroyo would refuse, what was replaced.
    stages
        The sinks as they were built and after each pass.
    read_before
        The tables and views of earlier scripts that its statements name.
    strict
        Whether what Arroyo would refuse was refused.
    answers
        What its SHOW TABLES, DESCRIBE and EXPLAIN answer, in order.
    """

    source: ScriptText
    statements: tuple[Statement, ...]
    sinks: tuple[Sink, ...]
    catalog: Catalog
    options: Mapping[str, timedelta]
    notes: tuple[str, ...]
    stages: tuple[PlanStage, ...]
    read_before: tuple[Relation, ...] = ()
    strict: bool = False
    answers: tuple[StatementAnswer, ...] = ()

    def __repr__(self) -> str:
        # All of it would be pages, and have the options of its tables in it.
        return f"<Plan: {', '.join(sink.name for sink in self.sinks)}>"

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        """What a notebook shows: the columns of each result."""
        from arroyo_nb.plan.description import described

        del include, exclude
        return described(self)

    @property
    def updating_ttl(self) -> timedelta:
        """Processing time without an append after which an updating operator retracts
        and forgets a key, where it forgets any (:attr:`forgets_idle_keys`)."""
        return self.options.get(UPDATING_TTL, DEFAULT_TTL)

    @property
    def is_ttl_chosen(self) -> bool:
        """Whether the time to live was SET, or given to the run."""
        return UPDATING_TTL in self.options

    @property
    def forgets_idle_keys(self) -> bool:
        """Whether updating operators look for keys to forget
        (:mod:`arroyo_nb.plan.idle_keys`)."""
        from arroyo_nb.plan.idle_keys import forgets_idle_keys

        return forgets_idle_keys(self)

    def with_updating_ttl(self, ttl: timedelta) -> Plan:
        """The same plan with another time to live, whatever the script SETs."""
        options = MappingProxyType({**self.options, UPDATING_TTL: ttl})
        return replace(self, options=options)

    @property
    def hints(self) -> list[str]:
        """What its author has probably overlooked, a line each."""
        from arroyo_nb.plan.explain.hints import hints

        return hints(self.sinks)

    def checked(self) -> str:
        """What is to be told of a script that is not run: the notes first, and the
        columns of each result."""
        from arroyo_nb.plan.explain.text import checked

        return checked(self)

    def explain(self) -> str:
        """The statements, the plan after each pass that changed it, and what Spark
        does for each node of the last one."""
        from arroyo_nb.plan.explain.text import explain

        return explain(self)
