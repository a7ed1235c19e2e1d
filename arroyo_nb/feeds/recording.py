"""The messages of a feed as they arrive, for a recording."""

from __future__ import annotations

from collections.abc import Iterator

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import FeedEnded, Forgettable, OwnCopies, ReadsFeed
from arroyo_nb.feeds.receiver import Receiver
from arroyo_nb.tape.records import ArrivedRecord, TapeRecord, Unreadable

WAIT_S = 0.1


def feed_table(tables: Catalog | None, name: str) -> ConnectorTable | None:
    """The table of that name whose rows are a feed; None: there is none."""
    table = tables.get(name) if tables is not None and name in tables else None
    if not isinstance(table, ConnectorTable):
        return None
    return table if isinstance(CONNECTORS.get(table.connector), ReadsFeed) else None


def feed_records(table: ConnectorTable) -> Iterator[ArrivedRecord]:
    """The messages of a feed as records of one partition, until
    its server ends it.

    Parameters
    ----------
    table
        One of :func:`feed_table`.

    Raises
    ------
    Unreached
        When the server cannot be reached at first; later it is waited for.
    Unreadable
        When no more messages will come.
    """
    connector = CONNECTORS.get(table.connector)
    assert isinstance(connector, ReadsFeed), "a table of a feed"
    number = arrived_us = 0
    feed = connector.feed(table.spec.resolved())
    if isinstance(feed, Forgettable):
        feed.forget()
    with Receiver(feed, None, resumed=False) as receiver:
        while True:
            try:
                messages = receiver.take(WAIT_S)
            except FeedEnded:
                return
            except RunProblem as problem:
                if not number:
                    raise
                raise Unreadable(problem.message, hint=problem.hint) from problem
            if not messages:
                yield ArrivedRecord(None, None)
            for message in messages:
                # The clock may be set back meanwhile; arrivals must not be.
                arrived_us = max(arrived_us, message.arrived_us)
                at_ms = arrived_us // 1000
                record = TapeRecord(0, number, at_ms, None, message.payload)
                number += 1
                yield ArrivedRecord(record, arrived_us)
            # Whoever asks for the next record has written these. A server that is told
            # nothing sends no more after a while; but what is in a queue that others
            # read too is to stay there.
            if messages and isinstance(feed, OwnCopies) and feed.own_copies:
                receiver.acknowledge(messages[-1].position)
