"""The WITH options that fit a table, by those that it has already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arroyo_nb.connectors import (
    CONNECTORS,
    Connector,
    Direction,
    Streaming,
    format_options,
)
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.plan.tables.create_table import COMMON_OPTIONS
from arroyo_nb.plan.tables.disorder import DISORDER_OPTIONS
from arroyo_nb.with_options import Option, OptionKind

CONNECTOR = Option(
    "connector", OptionKind.ENUM, "where rows come from or go to", required=True
)
TYPE = Option(
    "type",
    OptionKind.ENUM,
    "whether rows are read or written",
    required=True,
    choices=("source", "sink"),
)
FORMAT = Option("format", OptionKind.ENUM, "how records are written", required=True)


def connector_of(given: Mapping[str, str]) -> Connector | None:
    """The connector that a table names; None: there is none of that name."""
    return plugin(CONNECTORS, given.get(CONNECTOR.name, ""))  # type: ignore[no-any-return]


def plugin(registry: Any, name: str) -> Any:
    """A plug-in by its name; None: there is none."""
    try:
        return registry.get(name)
    except CatalogProblem:
        return None


def options_for(given: Mapping[str, str]) -> Iterator[Option]:
    """The options that the connector and the format of a table take, its own first."""
    yield CONNECTOR
    connector = connector_of(given)
    if connector is None:
        return
    info = connector.info
    is_sink = given.get(TYPE.name) == "sink"
    direction = Direction.SINK if is_sink else Direction.SOURCE
    own = [o for o in info.options if not (o.only and o.only != direction.value)]
    yield from own
    if info.typed:
        yield TYPE
    if info.formats:
        yield FORMAT
        yield from COMMON_OPTIONS
    if is_played(connector, direction):
        yield from DISORDER_OPTIONS
    if (name := given.get(FORMAT.name)) in info.formats:
        yield from format_options(connector, str(name))


def is_played(connector: Connector, direction: Direction) -> bool:
    """Whether the rows of such a table may arrive in disorder: those of a tape can."""
    return (
        direction is Direction.SOURCE
        and Direction.SOURCE in connector.info.directions
        and not isinstance(connector, Streaming)
    )


def choices_of(option: str, given: Mapping[str, str]) -> Sequence[str]:
    """The values that an option of a table may have; none: any of its kind."""
    if option == CONNECTOR.name:
        return CONNECTORS.names
    connector = connector_of(given)
    if option == FORMAT.name and connector is not None:
        return connector.info.formats
    choices = {o.name: o.choices for o in options_for(given)}
    return choices.get(option, TYPE.choices if option == TYPE.name else ())
