"""What a rule is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import cleandoc
from typing import NamedTuple, TypeAlias, TypeVar

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable, LookupTable, Relation
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.plan import Plan, paths
from arroyo_nb.plan.nodes import Node
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.source import Span
from arroyo_nb.with_options import OptionValue

N = TypeVar("N", bound=Node)


class Severity(Enum):
    """How much a finding matters; an error is never promoted."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Hit(NamedTuple):
    """What a rule has found: one sentence, and the place in the script."""

    message: str
    span: Span | None = None


@dataclass(frozen=True)
class LintedJob:
    """What rules look at: a spec, and its plan over no other tables."""

    spec: JobSpec
    plan: Plan

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node that runs, inputs before their readers."""
        return list({id(n): n for sink in self.plan.sinks for n in walk(sink)}.values())

    def of(self, kind: type[N]) -> list[N]:
        """The nodes of a kind."""
        return [node for node in self.nodes if isinstance(node, kind)]

    @property
    def tables(self) -> list[ConnectorTable | LookupTable]:
        """The tables that something is read from or written to, in order."""
        kinds = ConnectorTable | LookupTable
        tables = self.plan.catalog.tables.values()
        return [table for table in tables if isinstance(table, kinds)]

    def calls(self) -> Iterator[exp.Expr]:
        """Every part of every expression that runs."""
        for node in self.nodes:
            for _, expression in expressions(node):
                yield from expression.walk()

    def declared(self, table: Relation) -> Span | None:
        """Where a table is declared: its name."""
        return paths.declared(self.plan, table.name)

    def option(self, table: Relation, option: str) -> Span | None:
        """Where an option of a table stands; the table's name where it is not given."""
        return paths.option(self.plan, table.name, option)


def texts(
    table: ConnectorTable | LookupTable,
) -> Iterator[tuple[str, str]]:
    """The options of a table that are texts, by name."""
    options: dict[str, OptionValue] = dict(table.spec.options)
    yield from ((name, v) for name, v in options.items() if isinstance(v, str))


Check: TypeAlias = Callable[[LintedJob], Iterator[Hit]]


@dataclass(frozen=True)
class LintRule:
    """One thing that production would do differently.

    Parameters
    ----------
    check
        Finds it; its docstring is the page that explains it.
    """

    check: Check
    severity: Severity

    @property
    def code(self) -> str:
        """Its name, as in ``--deny CODE``.

        >>> from arroyo_nb.jobs.rules import RULES
        >>> RULES[0].code
        'inline-secret'
        """
        return self.check.__name__.replace("_", "-")

    @property
    def page(self) -> str:
        """What it means and what to do, as Markdown."""
        text = cleandoc(self.check.__doc__ or "")
        return f"## {self.code}\n\n*{self.severity.value}* · {text}\n"
