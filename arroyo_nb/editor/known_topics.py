"""The topics of the brokers that a session knows: its local one, and those that its
tables name. Each broker is asked on a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.editor.background_value import BackgroundValue
from arroyo_nb.editor.command_line import command_line
from arroyo_nb.errors import ArroyoError, RunProblem

if TYPE_CHECKING:
    from arroyo_nb.kafka.config import Access
    from arroyo_nb.session import Session

KEEP_S = 5.0
"""For how many seconds what a broker said is shown before it is asked again."""

BOUND_S = 15.0
"""How long a broker is asked at most."""

MOST_BROKERS = 8
"""Each that is asked takes a thread and a connection."""

MOST_TOPICS = 500
"""A broker may have many thousands."""


@dataclass(frozen=True)
class TopicOverview:
    """A topic of a broker.

    Parameters
    ----------
    name
        The topic's.
    broker
        As the script names it.
    records
        At most so many are there.
    newest
        The time of its newest record: ISO 8601, UTC; None: not known.
    peek
        The line that looks into it; None: no line can.
    """

    name: str
    broker: str
    records: int
    newest: str | None = None
    peek: str | None = None


@dataclass(frozen=True)
class BrokerOverview:
    """A broker, and why its topics are not there: empty where they are.

    Parameters
    ----------
    name
        As the script names it.
    note
        A sentence.
    topics
        By name.
    """

    name: str
    note: str = ""
    topics: tuple[TopicOverview, ...] = ()


class KnownTopics:
    """The topics of all brokers, as far as they have answered by now."""

    def __init__(self) -> None:
        self._brokers: dict[str, tuple[object, BackgroundValue[BrokerOverview]]] = {}
        self._catalog: Catalog | None = None
        self._declared: dict[str, tuple[str, Access]] = {}

    def newest(self, session: Session) -> tuple[BrokerOverview, ...]:
        """Each broker; returns at once."""
        brokers = self._known_brokers(session)
        for servers in [servers for servers in self._brokers if servers not in brokers]:
            del self._brokers[servers]
        return tuple(self._answer(*known) for known in brokers.items())

    def _answer(self, servers: str, broker: tuple[str, Access]) -> BrokerOverview:
        name, access = broker
        # A table that is declared again may have another login.
        before, value = self._brokers.get(servers, (None, None))
        if value is None or before != access:
            value = BackgroundValue(_question(name, access), KEEP_S)
            self._brokers[servers] = access, value
        return value.newest() or BrokerOverview(name, "has not answered yet")

    def _known_brokers(self, session: Session) -> dict[str, tuple[str, Access]]:
        """How each broker is reached, by its address, and what it is called."""
        if self._catalog is not session.catalog:
            self._catalog = session.catalog
            self._declared = dict(_declared_brokers(session.catalog))
        local = session.broker
        if local is None or not local.alive:
            return dict(list(self._declared.items())[:MOST_BROKERS])
        from arroyo_nb.kafka.config import Access

        servers = local.bootstrap_servers
        known = {servers: (servers, Access(servers)), **self._declared}
        return dict(list(known.items())[:MOST_BROKERS])


def _declared_brokers(catalog: Catalog) -> Iterator[tuple[str, tuple[str, Access]]]:
    """The broker of each table, the last one's login first."""
    for table in catalog.tables.values():
        # Whether it is a topic's says a plug-in: nothing is loaded for other tables.
        if (
            isinstance(table, ConnectorTable)
            and "bootstrap_servers" in table.spec.options
        ):
            from arroyo_nb.connectors import CONNECTORS
            from arroyo_nb.kafka.table import KafkaTable

            connector = CONNECTORS.get(table.connector)
            if not isinstance(connector, KafkaTable):
                continue
            try:
                spec = table.spec.resolved()
                access = connector.access(spec)
            except ArroyoError:
                # A variable that is not set: its run says so, with the place.
                continue
            yield access.servers, (spec.address("bootstrap_servers"), access)


def _question(name: str, access: Access) -> Callable[[], BrokerOverview]:
    def ask() -> BrokerOverview:
        from arroyo_nb.kafka.config import Access
        from arroyo_nb.kafka.peek.topics import topics_with_times

        deadline = time.monotonic() + BOUND_S

        def check() -> None:
            if time.monotonic() > deadline:
                raise RunProblem(f"the broker at {name} takes too long to answer")

        try:
            found = topics_with_times(access, name, check=check)
        except ArroyoError as error:
            return BrokerOverview(name, error.message)
        # A line has no login, and does not show the value of a variable.
        is_open = access == Access(name)
        topics = [
            TopicOverview(
                topic.name,
                name,
                topic.records,
                _instant(topic.newest_ms),
                command_line("peek", topic.name, name) if is_open else None,
            )
            for topic in found[:MOST_TOPICS]
        ]
        more = len(found) - len(topics)
        note = f"and {more:,} more topics: %arroyo topics lists them" if more else ""
        return BrokerOverview(name, note, tuple(topics))

    return ask


def _instant(at_ms: int | None) -> str | None:
    if at_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        # A producer may write any number.
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
