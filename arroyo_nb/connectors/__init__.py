"""Connectors: plug-ins, a file each, that bind ``CONNECTOR``.

A connector says which WITH options it takes (a table, checked by the planner before
anything runs), which columns it brings by itself, how its source is read, and how a
micro-batch is written to its sink. A source is recorded, and Spark reads the tape; or
Spark reads it itself, where the connector is :class:`Streaming`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from arroyo_nb.connectors._notes import ResumePoint as ResumePoint
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.formats import FORMATS, payload_format
from arroyo_nb.options import Option as Option
from arroyo_nb.options import OptionKind as OptionKind
from arroyo_nb.options import OptionValue as OptionValue
from arroyo_nb.options import resolved
from arroyo_nb.registry import Registry
from arroyo_nb.schema import Schema, Type
from arroyo_nb.source import Span
from arroyo_nb.tape import Clock, Recorder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery


_HOSTS = re.compile(r"[\w.-]{1,255}:\d{1,5}(\s*,\s*[\w.-]{1,255}:\d{1,5})*\Z")
"""Hosts and ports; no user, no password and no address with either."""


class Direction(Enum):
    """Which way rows go through a table."""

    SOURCE = "source"
    SINK = "sink"
    LOOKUP = "lookup"
    """Rows are found by their key, from a join."""


@dataclass(frozen=True)
class TableSpec:
    """What a connector needs to know of a CREATE TABLE.

    Parameters
    ----------
    name
        Table name as declared.
    physical
        Columns that are read or written; no generated column is among them. For a
        sink without declared columns: those of the query that inserts.
    metadata
        Those of them that the connector tells of a record beside it: the key of each.
    options
        Checked and typed values of the connector's and the format's options, with
        the defaults filled in. Common ones: ``format``, ``bad_data`` ('fail' or
        'drop').
    event_time
        Physical column that is the event time, where it is one: the recorder stamps it
        on the rows as their ``_timestamp``, and a record in which it is missing is bad
        data.
    primary_key
        Columns that carry PRIMARY KEY. They tell the rows of a debezium source apart.
    declared
        The options as the script has them, with references to environment variables,
        once :meth:`resolved` has put in the values; None: ``options`` are they.
    user
        Who reads or writes, for whoever meets them at the table's file.
    settled
        Of a sink, the columns that are the same whenever a micro-batch is computed
        again (:mod:`arroyo_nb.plan.determinism`); None: all of them.
    resume
        Of a sink, where its query goes on, as the checkpoint says; None: unknown.
    """

    name: str
    physical: Schema
    # Some are secrets.
    options: Mapping[str, OptionValue] = field(default_factory=dict, repr=False)
    event_time: str | None = None
    primary_key: tuple[str, ...] = ()
    declared: Mapping[str, OptionValue] | None = field(default=None, repr=False)
    user: str = "another run"
    metadata: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] | None = None
    resume: ResumePoint | None = None

    @property
    def record(self) -> Schema:
        """The columns that a record itself has."""
        return Schema(tuple(f for f in self.physical if f.name not in self.metadata))

    def shown(self, option: str) -> str:
        """An option as the script has it: the value of a variable may be a secret, and
        goes into no message, footer or picture."""
        options = self.options if self.declared is None else self.declared
        return str(options[option])

    def address(self, option: str) -> str:
        """The servers of an option, as messages name them: as the script has it, and
        what was tried where that is another text and nothing but hosts and ports."""
        shown, tried = self.shown(option), str(self.options[option])
        if shown == tried or not _HOSTS.match(tried):
            return shown
        return f"{shown} ({tried})"

    def resolved(self, span: Span | None = None) -> TableSpec:
        """What a run reads or writes: environment variables have their values.

        Raises
        ------
        RunProblem
            When one is not set; ``span`` is where the table is used.
        """
        values = resolved(self.options, self.name, span=span)
        return replace(self, options=values, declared=self.options)


class Writer(Protocol):
    """Writes the micro-batches of one sink; one per run, used by one thread.

    A batch is given again, with the same id and the same rows, after a crash between
    its write and Spark's commit: writing must be idempotent per ``batch_id``.
    """

    timed: bool
    """Whether the rows have their event time, ``_timestamp``, as a last column."""
    native: str | None
    """A Spark sink format that does the work (``noop``). ``write`` does the same: it
    is used where rows are also kept for a preview."""

    def write(self, batch: DataFrame, batch_id: int) -> int | None:
        """Write one micro-batch; exactly one Spark action.

        Returns
        -------
        int or None
            How many rows of the batch are in the sink now; of an updating query how
            many changes. A batch that comes again has the same number. None: Spark
            writes the rows, and counts them on their way.
        """

    def close(self) -> None:
        """Let go of what it holds; called once, also after a failure."""


@runtime_checkable
class StreamWriter(Writer, Protocol):
    """A writer whose rows Spark can also write by itself, each as it comes."""

    def stream(self, rows: DataFrame) -> DataStreamWriter:
        """What writes rows of a streaming DataFrame, as :meth:`write` does batches; it
        is not started yet."""

    def watch(self) -> Watching:
        """Look from now on whether such rows can arrive."""


class Watching(Protocol):
    """Looks whether rows can arrive, beside what writes them."""

    lost: RunProblem | None
    """Why they never will."""

    def end(self) -> None:
        """Look no more; waits for nobody."""


class LookupClient(Protocol):
    """Asks a store for the records of keys, where a lookup join runs.

    It is sent to Spark's Python workers, so it is pickled; what it connects to, each
    process connects to itself. Equal ones share a connection.
    """

    def ask(self, keys: Sequence[str]) -> Sequence[bytes | None]:
        """The record of each key, None where there is none: one round trip.

        Raises
        ------
        RunProblem
            When the store cannot be asked.
        """


Offsets: TypeAlias = Mapping[int, int]
"""Of each partition of a topic, the offset of the next record to be read."""


FIRST_BATCH_RECORDS = 50_000
"""Records of a topic that a query's first micro-batch reads at most."""


class TopicOffsets(NamedTuple):
    """Offsets in a topic. One that is made again under the name of another that was
    deleted has another ``topic_id``, and its offsets mean other records."""

    topic_id: str
    offsets: Offsets


class Stream(Protocol):
    """A topic that Spark reads itself, and what is asked of its broker meanwhile.

    Spark gives a record as ``value``, ``timestamp``, ``partition`` and ``offset``, and
    what else :attr:`metadata` names. Every method but :meth:`options`,
    :meth:`options_between`, :meth:`hold` and :meth:`fix_end` asks the broker, for a few
    seconds at most.
    """

    @property
    def format(self) -> str:
        """Spark's name of the source."""

    @property
    def topic(self) -> str:
        """Its name."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """What each key of METADATA FROM is, as Spark SQL over what Spark gives."""

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether it can be read.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When it cannot: one sentence that tells why, and what to do.
        """

    def begin(self) -> TopicOffsets:
        """Where a new run begins to read.

        Raises
        ------
        RunProblem
            When the broker does not say, or the table asks for what is not there.
        """

    @property
    def older_records(self) -> str:
        """What to write so that a new run reads the records that are there before it;
        empty where it reads them."""

    def beginnings(self) -> TopicOffsets:
        """The oldest record that each partition still has.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """

    def ends(self) -> TopicOffsets | None:
        """The end of each partition; None where there is no such topic.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """

    def options(
        self, begin: Offsets, *, real_time: bool = False, held: bool = False
    ) -> Mapping[str, str]:
        """Spark's options for reading from there on, in micro-batches or in real-time
        mode; where it is held, these partitions only, and nothing is read until
        :meth:`fix_end`."""

    def hold(self, query: StreamingQuery) -> bool:
        """Have a query plan no more records; False: it has not begun yet."""

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Let the micro-batches to come of a query read so many records at most."""

    def fix_end(self, query: StreamingQuery, end: Offsets | None) -> None:
        """Have a query read on, up to an end and no further.

        Parameters
        ----------
        query
            It is held, and has read what was planned before.
        end
            The offset behind the last record of each partition, none before what was
            read; None: where each partition ends now.
        """

    def release(self, query: StreamingQuery) -> None:
        """Free the thread of a query that is stopped, where it waits for the brokers:
        they may be away."""

    def options_between(self, first: Offsets, after: Offsets) -> Mapping[str, str]:
        """Spark's options for reading what lies between, once."""


def create_topic_hint(topic: str) -> str:
    """How a topic is made that is not there."""
    return (
        f"create it first: kafka-topics.sh --create --topic {topic}, or in a notebook "
        f"session.emit('{topic}', rows)"
    )


_TOPIC = re.compile(
    r"KafkaV2\[(?:Subscribe\[(?P<whole>.*)\]|Assign\[(?P<parts>[^,]+)-\d+(?:,.*)?\])\]"
)
"""How Spark describes a source that reads all partitions of a topic, or some."""


def topic_of(description: str) -> str | None:
    """The topic that one of Spark's sources reads; None: it reads none.

    >>> topic_of("KafkaV2[Subscribe[clicks]]")
    'clicks'
    >>> topic_of("KafkaV2[Assign[clicks-0, clicks-1]]")
    'clicks'
    """
    found = _TOPIC.fullmatch(description)
    return None if found is None else found["whole"] or found["parts"]


NO_METADATA: Mapping[str, Type] = MappingProxyType({})


class Connector(Protocol):
    """A kind of table."""

    name: str
    doc: str
    elsewhere: Mapping[str, str]
    """What comes near to it in other systems, and what to write here, for the hint of
    an error."""
    directions: frozenset[Direction]
    typed: bool
    """Whether ``type = 'source' | 'sink'`` must be given (else it is unknown)."""
    has_event_time: bool
    """Whether its rows have an event time of their own, which WATERMARK may replace;
    else it is their arrival."""
    formats: tuple[str, ...]
    """Formats that ``format`` may name; empty: the option is unknown."""
    payloads: bool
    """Whether its records come each by itself, instead of as lines."""
    clock: Clock
    """The time by which a source of it plays at a speed."""
    options: tuple[Option, ...]
    metadata: Mapping[str, Type]
    """What ``METADATA FROM 'key'`` may name, with the type that it has."""

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """Columns that the source brings by itself; None: they must be declared.

        Raises
        ------
        CatalogProblem
            When an option's value makes no sense; without a span, the planner adds
            the option's.
        """

    def key(self, options: Mapping[str, OptionValue]) -> tuple[str, ...]:
        """Of the columns that it brings by itself, those that tell its rows apart."""

    def recorder(self, spec: TableSpec) -> Recorder:
        """How the source is recorded.

        Raises
        ------
        RunProblem
            When it can be told at once that the source cannot be read.
        """

    def asker(self, spec: TableSpec) -> LookupClient | None:
        """How rows are found by key; None: a lookup table is read whole, as the
        recorder gives it, when a run first starts.

        Raises
        ------
        RunProblem
            When it can be told at once that nothing can be found.
        """

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """How the sink is written; ``state`` is a folder of its own that survives."""


@runtime_checkable
class ValidatesOptions(Protocol):
    """A connector whose options depend on each other, or on the columns."""

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What is wrong, each with the option that it stands in.

        Parameters
        ----------
        spec
            The table; a sink whose columns are not known yet has none.
        direction
            Which way it is used.
        """


@runtime_checkable
class Streaming(Protocol):
    """A connector whose sources Spark reads itself; they are never recorded."""

    def stream(self, spec: TableSpec) -> Stream:
        """How a source is read.

        Raises
        ------
        RunProblem
            When it can be told at once that it cannot be.
        """


@runtime_checkable
class ProbesSink(Protocol):
    """A connector that can find out, before a run starts, whether a sink is there."""

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether it can be written; takes a few seconds at most.

        Parameters
        ----------
        spec
            The table, its variables resolved.
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When it cannot: one sentence that tells why, and what to do.
        """


@runtime_checkable
class OnDisk(Protocol):
    """A connector whose options name files or folders of this machine."""

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """What a table reads or writes, each with the option that names it.

        Parameters
        ----------
        spec
            The table, its variables resolved.

        Raises
        ------
        Unsupported
            For a path on something else than this machine's disks.
        """


class ConnectorBase:
    """A connector without keys, metadata and event time of its own, that is never
    asked."""

    elsewhere: Mapping[str, str] = MappingProxyType({})
    metadata = NO_METADATA
    has_event_time = False
    payloads = False
    clock = Clock.EVENT_TIME

    def key(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> tuple[str, ...]:
        """None: the table declares its own."""
        return ()

    def asker(self, spec: TableSpec) -> LookupClient | None:  # noqa: ARG002
        """None: what it has is read whole."""
        return None


class SourceOnly(ConnectorBase):
    """A connector that is only read; the planner refuses an INSERT before."""

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """Refused."""
        raise RunProblem(f"'{spec.name}' is a source: it cannot be written")


class SinkOnly(ConnectorBase):
    """A connector that is only written; the planner refuses a SELECT before."""

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: a sink takes the columns that it is given."""
        return None

    def recorder(self, spec: TableSpec) -> Recorder:
        """Refused."""
        raise RunProblem(f"'{spec.name}' is a sink: it cannot be read")


CONNECTORS: Registry[Connector] = Registry(
    "connector", (__name__, "arroyo_nb.kafka.connectors"), "CONNECTOR"
)


def elsewhere_hint(name: str) -> str | None:
    """What to write for a connector that other systems have; None: nothing is known."""
    found = (CONNECTORS.get(one).elsewhere.get(name) for one in CONNECTORS.names)
    return next(filter(None, found), None)


def is_streamed(connector: str) -> bool:
    """Whether Spark itself reads the sources of a connector."""
    return isinstance(CONNECTORS.get(connector), Streaming)


def format_options(connector: Connector, name: str) -> tuple[Option, ...]:
    """The options that a format has in the tables of a connector."""
    options = FORMATS.get(name).options
    if not connector.payloads:
        return options
    return (*options, *payload_format(name).payload_options)
