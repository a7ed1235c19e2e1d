"""Feeds: servers that send messages over one connection, as time passes.

::

    server --Connection: a thread receives--> Receiver: a bounded buffer
           --FeedRecorder: payloads are decoded--> chunks of a tape --> Spark

What one protocol does stands in its connector (:mod:`arroyo_nb.feeds.connectors`): it
connects, receives, and says after which message a new connection can go on. All else is
here, once: waiting for a server that is away, messages that come faster than they are
read, decoding, and telling what may be missing.

The tape is the write-ahead log: a message is acknowledged to a server that waits for it
when its chunk is on disk, so a run that is killed goes on with what it had not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    Protocol,
    runtime_checkable,
)

from arroyo_nb.connectors import READS_TAPE
from arroyo_nb.errors import RunProblem
from arroyo_nb.tape import Position

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.connectors import TableSpec

READING = f"a thread receives messages onto a tape; {READS_TAPE}"
"""How Spark reads a feed, for EXPLAIN."""


class FeedEnded(RunProblem):
    """The server wants no other connection: no message will come any more."""

    lasting = True


class Message(NamedTuple):
    """What a server sent.

    Attributes
    ----------
    payload
        Its bytes.
    arrived_us
        When it was received, in microseconds after the epoch.
    position
        Where the connection stands behind it, for another one to go on there, or to
        leave out what comes twice; None: it cannot.
    metadata
        What is told beside it, in the order of :attr:`Feed.metadata`.
    """

    payload: bytes
    arrived_us: int
    position: Position | None = None
    metadata: tuple[Any, ...] = ()

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        return len(self.payload) + 200


class Connection(Protocol):
    """One connection to a server; used by one thread, but for :meth:`acknowledge`."""

    resumes: bool
    """Whether it goes on where the one before it ended. Else messages of the time
    between may be missing."""

    lost_messages: int
    """How many it had to leave out, because they came faster than they were received;
    of a server that waits instead always 0."""

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """What has come, oldest first; waits for the first one so long at most.

        It is not called while the buffer is full: a server that can wait then does.

        Raises
        ------
        Unreached
            When the connection is lost: another one is made, again and again.
        RunProblem
            When no other one will do better, such as a wrong password: the run fails.
        FeedEnded
            When the server says that this was all: the source ends.
        """

    def acknowledge(self, position: Position | None) -> None:
        """All messages up to this position are on disk; called by another thread."""

    def close(self) -> None:
        """End it, within a second."""


class Feed(Protocol):
    """How messages of one table are received."""

    server: str
    """What errors call the server; without passwords."""

    metadata: Mapping[str, pa.DataType]
    """What each message is told beside its payload: the keys of METADATA FROM."""

    def connect(self, position: Position | None) -> Connection:
        """Connect, for ten seconds at most.

        Parameters
        ----------
        position
            Behind the last message that was received; None: there was none, or none
            that has a position.

        Raises
        ------
        Unreached, RunProblem, FeedEnded
            As of :meth:`Connection.receive`.
        """


@runtime_checkable
class OwnCopies(Protocol):
    """A feed whose server keeps a copy of each message for this client alone: who
    acknowledges it takes it from nobody else, and who does not soon gets no more."""

    own_copies: bool


PEEKED_MESSAGES = 200
"""So many messages show what a feed gives."""


class PeekedFeed(NamedTuple):
    """What a URL was found to give.

    Attributes
    ----------
    feed
        Receives its messages.
    options
        WITH options of a table for them, but for the format.
    enough
        After so many messages nothing new is to be seen.
    name
        What its table is called after; empty: the URL.
    explain_silence
        Finds out, where no message comes, what to try in place of it, as a sentence
        without its end; empty: nothing is known. It may ask the server.
    """

    feed: Feed
    options: Mapping[str, str]
    enough: int = PEEKED_MESSAGES
    name: str = ""
    explain_silence: Callable[[], str] | None = None


@runtime_checkable
class Peekable(Protocol):
    """A connector whose sources can be looked into by their URL."""

    schemes: tuple[str, ...]
    """What such URLs begin with, before ``://``."""

    def peek(self, url: str, options: Mapping[str, str]) -> PeekedFeed | None:
        """What a URL gives; None: something that another connector reads.

        Parameters
        ----------
        url
            It may have references to variables.
        options
            Other WITH options, such as headers; they may have references too.

        Raises
        ------
        RunProblem
            When it cannot be asked.
        """


@dataclass(frozen=True)
class ConnectionStatus:
    """How a feed is connected.

    Parameters
    ----------
    away_s
        For how long there has been no connection; 0: there is one.
    connections
        How many there have been since the run was started.
    gaps
        How many of them could not go on where the one before had ended: messages of
        the time between may be missing.
    lost_messages
        How many came faster than they were read, and are missing.
    why
        Why there is no connection; empty: there is one.
    """

    away_s: float = 0.0
    connections: int = 0
    gaps: int = 0
    lost_messages: int = 0
    why: str = field(default="")


@runtime_checkable
class ReadsFeed(Protocol):
    """A connector whose sources are feeds."""

    def feed(self, spec: TableSpec) -> Feed:
        """How the messages of a source are received.

        Parameters
        ----------
        spec
            The table, its variables resolved.

        Raises
        ------
        RunProblem
            When a package is missing, or an option cannot be used.
        """


@runtime_checkable
class Forgettable(Protocol):
    """A feed, or its recorder, whose server keeps something for a run that goes on."""

    def forget(self) -> None:
        """No run goes on where this one ends: the server is to keep nothing for it."""


@runtime_checkable
class HasConnection(Protocol):
    """A recorder of a feed."""

    @property
    def connection_status(self) -> ConnectionStatus:
        """How it is connected now."""
