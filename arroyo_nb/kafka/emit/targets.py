"""What a name means to ``record`` and ``emit``: a table, a topic or the path of a tape.

A topic that no table declares is read as one whose table has no further options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.catalog import Catalog, ConnectorTable, Relation
from arroyo_nb.connectors import CONNECTORS, Direction, TableSpec
from arroyo_nb.engine.jars import Check
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.json.payload_writer import plain_payload
from arroyo_nb.kafka.cluster import Cluster
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.emit.destination import EmitDestination, TapeTarget, TopicTarget
from arroyo_nb.kafka.emit.rows import RowRecords
from arroyo_nb.kafka.errors import ErrorSubject, missing_topic, named_problem
from arroyo_nb.kafka.source import OFFSET, OFFSETS, TIMESTAMP
from arroyo_nb.kafka.table import KafkaTable
from arroyo_nb.kafka.table_options import KEY_FIELD, TIMESTAMP_FIELD
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import TEXT, Schema
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    from arroyo_nb.kafka.local.broker import LocalBroker
    from arroyo_nb.kafka.source import KafkaStream

TAPE = "tape"

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True)
class Names:
    """Looks up what a name stands for.

    Parameters
    ----------
    tables
        Those that are declared; None: a name is a topic's.
    servers
        Returns the brokers of topics that no table declares; raises where there are
        none.
    local
        The broker there, where it is one of ours.
    """

    tables: Catalog | None
    servers: Callable[[], str]
    local: LocalBroker | None

    def source(
        self, name: str, begin: str | None, check: Check
    ) -> tuple[ConnectorTable | None, KafkaStream]:
        """The topic to record, and its table where it has one.

        Parameters
        ----------
        begin
            As of :func:`stream_of_table`.

        Raises
        ------
        RunProblem
            When there is none, or it cannot be read.
        """
        table = None if self.tables is None else topic_table(self.tables, name)
        if table is not None:
            return table, stream_of_table(table, check, begin)
        servers = self.servers()
        subject = ErrorSubject(servers, name)
        Cluster(Access(servers), subject).require_topic(check)
        return None, stream_of_topic(servers, name, begin)

    def destination(
        self, target: str | Path, options: EmitOptions, check: Check
    ) -> Destination:
        """Where emitted rows go: to a name or a path.

        Raises
        ------
        RunProblem
            When there is no such place, or it cannot be written.
        """
        if isinstance(target, Path):
            return to_tape(target, options)
        if self.tables is not None and target in self.tables:
            return to_table(self.tables.get(target), options, check)
        if self.tables is not None and looks_like_path(target):
            return to_tape(Path(target), options)
        return to_topic(self.servers(), target, options, self.local, check)


def topic_table(catalog: Catalog, name: str) -> ConnectorTable | None:
    """The table of that name whose rows are in a topic; None: there is none."""
    table = catalog.get(name) if name in catalog else None
    is_topic = isinstance(table, ConnectorTable) and isinstance(
        CONNECTORS.get(table.connector), KafkaTable
    )
    return table if isinstance(table, ConnectorTable) and is_topic else None


def stream_of_table(
    table: ConnectorTable, check: Check, begin: str | None = None
) -> KafkaStream:
    """The topic of a table, with the table's access.

    Parameters
    ----------
    table
        One of :func:`topic_table`.
    check
        Is called again and again; what it raises ends the wait.
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
    stream.check(check)
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
    table_options: Mapping[str, OptionValue] = {
        "bootstrap_servers": servers,
        "topic": topic,
        "auth.type": "none",
        OFFSET: begin or "latest",
    }
    connector = CONNECTORS.get("kafka")
    assert isinstance(connector, KafkaTable), "it is the one of Kafka"
    return connector.stream(TableSpec("", Schema(), table_options))


@dataclass(frozen=True)
class EmitOptions:
    """How rows are to be emitted.

    Parameters
    ----------
    rate
        Rows a second; None: as they come.
    key, timestamp
        The columns that are a record's key and time; None: what the table says.
    columns
        Names of the values of tuples, where no table has any.
    """

    rate: float | None = None
    key: str | None = None
    timestamp: str | None = None
    columns: tuple[str, ...] = ()

    def plain(self) -> RowRecords:
        """Makes records of rows that nobody declared."""
        return RowRecords(_plain, self.columns, self.key, self.timestamp)


@dataclass(frozen=True)
class Destination:
    """Where emitted rows go, and how they become records."""

    name: str
    target: EmitDestination
    records: RowRecords
    is_tape: bool = False


def _plain(rows: Sequence[Any]) -> list[bytes]:
    return [plain_payload(row) for row in rows]


def looks_like_path(target: str) -> bool:
    """Whether it is the path of a tape: a topic's name has no slash.

    >>> looks_like_path("here/orders"), looks_like_path("orders.v2")
    (True, False)
    """
    return "/" in target or os.sep in target or target.endswith(".tape")


def to_tape(path: Path, options: EmitOptions) -> Destination:
    """A tape that no table declares."""
    path = user_path(path)
    return Destination(str(path), TapeTarget(path), options.plain(), is_tape=True)


def to_topic(
    servers: str,
    topic: str,
    options: EmitOptions,
    local: LocalBroker | None,
    check: Check,
) -> Destination:
    """A topic that no table declares.

    Parameters
    ----------
    servers
        Where its broker is.
    local
        The broker itself, where it is one of ours: it makes a topic that is missing.

    Raises
    ------
    RunProblem
        When there is no such topic, or the broker does not answer.
    """
    access, subject = Access(servers), ErrorSubject(servers, topic, action="write to")
    if not _TOPIC.fullmatch(topic):
        raise named_problem("TOPIC_EXCEPTION", subject)
    known = Cluster(access, subject).topics(check)
    if topic not in known:
        if local is None:
            raise missing_topic(subject, known)
        local.create_topic(topic)
    return Destination(topic, TopicTarget(access, subject), options.plain())


def to_table(relation: Relation, options: EmitOptions, check: Check) -> Destination:
    """The topic, or the tape, of a table.

    Raises
    ------
    RunProblem
        When it has neither, or cannot be written.
    """
    connector = ""
    if isinstance(relation, ConnectorTable):
        connector = relation.connector
        if isinstance(CONNECTORS.get(connector), KafkaTable):
            stream = stream_of_table(relation, check)
            subject = ErrorSubject.of(stream.spec, "write to")
            target = TopicTarget(stream.access, subject)
            return Destination(relation.name, target, _declared(relation, options))
        if connector == TAPE:
            path = Path(str(relation.spec.resolved().options["path"]))
            records = _declared(relation, options)
            return Destination(relation.name, TapeTarget(path), records, is_tape=True)
    raise RunProblem(
        f"rows cannot be emitted to '{relation.name}', which is neither a topic nor a "
        "tape",
        hint="name a table of the connector 'kafka' or 'tape', or a topic",
    )


def _declared(table: ConnectorTable, options: EmitOptions) -> RowRecords:
    """Makes records of the rows of a table."""
    spec = table.spec
    columns = spec.record
    if not columns.names:  # a sink takes the columns that it is given
        return options.plain()
    for name in filter(None, (options.key, options.timestamp)):
        if name not in columns:
            raise RunProblem(
                f"the table '{table.name}' has no column '{name}' to be written",
                hint=did_you_mean(name, columns.names),
            )
    own_key = columns.get(str(spec.options.get(KEY_FIELD, "")))
    key = own_key.name if own_key is not None and own_key.type == TEXT else None
    own_time = columns.get(str(spec.options.get(TIMESTAMP_FIELD, "")))
    time = own_time.name if own_time is not None else None
    is_read = table.direction is Direction.SOURCE
    format_ = payload_format(str(spec.options["format"]))
    return RowRecords(
        format_.payload_writer(table.name, columns, spec.options, read=is_read),
        columns.names,
        options.key or key,
        options.timestamp or time,
        {key, time} - {options.key, options.timestamp},
    )
