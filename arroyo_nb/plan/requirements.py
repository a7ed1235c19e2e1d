"""What a plan needs beside this package: Python packages, and jars for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS, ConnectorInfo
from arroyo_nb.plan.nodes import LookupJoin, Sink, Source
from arroyo_nb.plan.tree import walk

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan


def python_packages(plan: Plan) -> tuple[str, ...]:
    """The distributions that the connectors of a plan need, sorted."""
    infos = _connectors(plan.sinks)
    return tuple(sorted({name for info in infos for name in info.python_packages}))


def jar_sets(sinks: Iterable[Sink]) -> tuple[str, ...]:
    """The names of the sets of jars that Spark needs for the tables below some sinks,
    sorted."""
    infos = _connectors(sinks)
    return tuple(sorted({name for info in infos for name in info.jar_sets}))


def _connectors(sinks: Iterable[Sink]) -> Iterator[ConnectorInfo]:
    nodes = (node for sink in sinks for node in walk(sink))
    tables = (n.table for n in nodes if isinstance(n, Source | Sink | LookupJoin))
    names = {table.connector for table in tables if table is not None}
    # A DataFrame of the notebook is no plug-in's.
    return (CONNECTORS.get(name).info for name in names if name in CONNECTORS.names)
