"""What a plan needs beside this package: Python packages, jars for Spark, and
connectors that run here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS, ConnectorInfo, only_in_arroyo
from arroyo_nb.errors import ArroyoError
from arroyo_nb.formats import FORMATS, Format
from arroyo_nb.plan.nodes import LookupJoin, Sink, Source
from arroyo_nb.plan.tree import walk

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable, LookupTable
    from arroyo_nb.plan import Plan


def python_packages(plan: Plan) -> tuple[str, ...]:
    """The distributions that the connectors and formats of a plan need, sorted."""
    names = {name for info in _connectors(plan.sinks) for name in info.python_packages}
    for format_ in _formats(plan.sinks):
        names.update(format_.python_packages)
    return tuple(sorted(names))


def jar_sets(sinks: Iterable[Sink]) -> tuple[str, ...]:
    """The names of the sets of jars that Spark needs for the tables below some sinks,
    sorted."""
    infos = _connectors(sinks)
    return tuple(sorted({name for info in infos for name in info.jar_sets}))


def not_run(plan: Plan, *, sinks: bool = True) -> list[ArroyoError]:
    """An error for each table of a plan whose connector does not run here.

    Parameters
    ----------
    sinks
        Whether rows are written to their tables; else they are only shown.
    """
    found: dict[str, ArroyoError] = {}
    kinds = Source | LookupJoin | Sink if sinks else Source | LookupJoin
    for node in (node for sink in plan.sinks for node in walk(sink)):
        table = node.table if isinstance(node, kinds) else None
        if table is None or table.connector not in CONNECTORS.names:
            continue
        if not CONNECTORS.get(table.connector).info.runs:
            problem = only_in_arroyo(table.name, table.connector)
            problem.span = node.span
            found.setdefault(table.name, problem)
    return [*found.values()]


def _connectors(sinks: Iterable[Sink]) -> Iterator[ConnectorInfo]:
    names = {table.connector for table in _tables(sinks)}
    # A DataFrame of the notebook is no plug-in's.
    return (CONNECTORS.get(name).info for name in names if name in CONNECTORS.names)


def _formats(sinks: Iterable[Sink]) -> Iterator[Format]:
    names = {str(table.spec.options.get("format")) for table in _tables(sinks)}
    return (FORMATS.get(name) for name in names if name in FORMATS.names)


def _tables(sinks: Iterable[Sink]) -> Iterator[ConnectorTable | LookupTable]:
    nodes = (node for sink in sinks for node in walk(sink))
    tables = (n.table for n in nodes if isinstance(n, Source | Sink | LookupJoin))
    return (table for table in tables if table is not None)
