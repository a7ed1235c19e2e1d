"""What a name means where a topic is recorded or written: a table's topic, or a topic.

A topic without a table is reached as a table that declares nothing but it would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors._kafka_stream import OFFSET, OFFSETS, TIMESTAMP
from arroyo_nb.connectors._kafka_table import KafkaTable
from arroyo_nb.options import OptionValue
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from arroyo_nb.connectors._kafka_stream import KafkaStream


def topic_table(catalog: Catalog, name: str) -> ConnectorTable | None:
    """The table of that name whose rows are in a topic; None: there is none."""
    table = catalog.get(name) if name in catalog else None
    is_topic = isinstance(table, ConnectorTable) and isinstance(
        CONNECTORS.get(table.connector), KafkaTable
    )
    return table if isinstance(table, ConnectorTable) and is_topic else None


def stream_of_table(table: ConnectorTable, begin: str | None = None) -> KafkaStream:
    """The topic of a table, with the table's access.

    Parameters
    ----------
    table
        One of :func:`topic_table`.
    begin
        Where to begin, ``latest`` or ``earliest``; None: as the table says.

    Raises
    ------
    RunProblem
        When it cannot be read.
    """
    connector = CONNECTORS.get(table.connector)
    assert isinstance(connector, KafkaTable), "a table of a topic"
    spec = table.spec.resolved()
    if begin is not None:
        others = (OFFSET, OFFSETS, TIMESTAMP)
        kept = {key: v for key, v in spec.options.items() if key not in others}
        spec = replace(spec, options={**kept, OFFSET: begin})
    stream = connector.stream(spec)
    stream.check()
    return stream


def stream_of_topic(servers: str, topic: str, begin: str | None = None) -> KafkaStream:
    """A topic that no table declares.

    Parameters
    ----------
    servers
        Where its broker is, which asks nobody who he is.
    begin
        Where to begin, ``latest`` or ``earliest``; None: ``latest``.

    Raises
    ------
    RunProblem
        When the client is not installed.
    """
    options: Mapping[str, OptionValue] = {
        "bootstrap_servers": servers,
        "topic": topic,
        "auth.type": "none",
        OFFSET: begin or "latest",
    }
    connector = CONNECTORS.get("kafka")
    assert isinstance(connector, KafkaTable), "it is the one of Kafka"
    return connector.stream(TableSpec(topic, Schema(), options))
