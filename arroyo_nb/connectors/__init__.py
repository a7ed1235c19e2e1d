"""Connectors: plug-ins, a file each, that bind ``CONNECTOR``.

Everything that is true of one connector stands in its own file: its facts are a
:class:`ConnectorInfo`, such as the WITH options that it takes (checked by the planner
before anything runs), and what it can do are methods: which columns it brings by
itself, how its source is read, and how a micro-batch is written to its sink. A source
is recorded, and Spark reads the tape; or Spark reads it itself, where the connector is
:class:`Streaming`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from arroyo_nb.connectors._info import MERGES_CHUNKS as MERGES_CHUNKS
from arroyo_nb.connectors._info import NO_METADATA as NO_METADATA
from arroyo_nb.connectors._info import READS_TAPE as READS_TAPE
from arroyo_nb.connectors._info import ConnectorInfo as ConnectorInfo
from arroyo_nb.connectors._info import Direction as Direction
from arroyo_nb.connectors._info import PartitionTransform as PartitionTransform
from arroyo_nb.connectors._line_files import packing_of as packing_of
from arroyo_nb.connectors._streams import FIRST_BATCH_RECORDS as FIRST_BATCH_RECORDS
from arroyo_nb.connectors._streams import Offsets as Offsets
from arroyo_nb.connectors._streams import Stream as Stream
from arroyo_nb.connectors._streams import TopicOffsets as TopicOffsets
from arroyo_nb.connectors._writers import CollectingWriter as CollectingWriter
from arroyo_nb.connectors._writers import StreamWriter as StreamWriter
from arroyo_nb.connectors._writers import Watching as Watching
from arroyo_nb.connectors._writers import Writer as Writer
from arroyo_nb.errors import ArroyoError, RunProblem, Unsupported
from arroyo_nb.formats import (
    FORMATS,
    FRAMING_OPTIONS,
    Framing,
    file_format,
    payload_format,
    usual_format,
)
from arroyo_nb.registry import Registry
from arroyo_nb.schema import Field, Schema
from arroyo_nb.schema_registry import CLIENT_OPTIONS
from arroyo_nb.sink_notes import ResumePoint as ResumePoint
from arroyo_nb.source import Span
from arroyo_nb.tape import Recorder
from arroyo_nb.with_options import Holds, resolved
from arroyo_nb.with_options import Option as Option
from arroyo_nb.with_options import OptionKind as OptionKind
from arroyo_nb.with_options import OptionValue as OptionValue

_HOSTS = re.compile(r"[\w.-]{1,255}:\d{1,5}(\s*,\s*[\w.-]{1,255}:\d{1,5})*\Z")
"""Hosts and ports; no user, no password and no address with either."""


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
    computes_time
        Whether the event time is computed from the columns: what the connector tells of
        the time of a record is not used, however odd.
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
    computes_time: bool = False

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


class Connector(Protocol):
    """A kind of table."""

    @property
    def info(self) -> ConnectorInfo:
        """What is true of it."""

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
    """A connector whose sources Spark reads itself; they are never recorded.

    To everybody who asks, each of them is a topic: it has a name, partitions, and
    offsets of records, whose values a format decodes. What Spark makes as columns is
    such a record too, with ``to_json(struct(*))`` as its value. Sources of one query
    are told apart by that name only.
    """

    def stream(self, spec: TableSpec) -> Stream:
        """How a source is read.

        Raises
        ------
        RunProblem
            When it can be told at once that it cannot be.
        """

    def topic_of(self, description: str) -> str | None:
        """The topic that one of Spark's sources reads; None: it is no source of this
        connector, or reads none.

        Parameters
        ----------
        description
            What Spark's progress calls the source, such as
            ``KafkaV2[Subscribe[clicks]]``. One that no connector knows has no rows in
            the panel.
        """

    def offsets_of(self, logged: Mapping[str, Any]) -> Mapping[str, Offsets]:
        """How far Spark has read each topic, by the JSON of a source's offset, as
        Spark's checkpoint has it; empty: it is no offset of this connector. An offset
        that is no JSON object is not asked about."""


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
    """A connector whose options name files or folders of this machine: a run is kept to
    the folders that it may use."""

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


@dataclass(frozen=True)
class PeekedFiles:
    """What files were found to hold.

    Parameters
    ----------
    count
        How many there are.
    options
        WITH options of a table for them, without the connector and the path; without a
        ``format`` where they have lines.
    schema
        Their columns; None: lines say no columns.
    folders
        The columns whose values only their folders have.
    lines
        Some lines of them.
    """

    count: int
    options: Mapping[str, str]
    schema: Schema | None
    folders: tuple[Field, ...] = ()
    lines: tuple[bytes, ...] = ()


@runtime_checkable
class PeeksFiles(Protocol):
    """A connector that can look into the files of a path without a table."""

    def peek_files(self, path: str) -> PeekedFiles:
        """What the files of a path hold.

        Raises
        ------
        ArroyoError
            When there is none, or they cannot be read.
        """


class ConnectorBase:
    """A connector without keys, metadata and event time of its own, that is never
    asked."""

    info: ConnectorInfo

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
        """Refused: rows cannot be written to such a table."""
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
        """Refused: rows cannot be read from such a table."""
        raise RunProblem(f"'{spec.name}' is a sink: it cannot be read")


CONNECTORS: Registry[Connector] = Registry(
    "connector",
    (__name__, "arroyo_nb.feeds.connectors", "arroyo_nb.kafka.connectors"),
    "CONNECTOR",
)


def print_rows(schema: Schema, *, updating: bool) -> Writer:
    """What writes rows, or changes of rows, as lines to the standard output of this
    process."""
    from arroyo_nb.connectors._line_writers import TextStreamWriter

    return TextStreamWriter(schema, {"format": usual_format(updating=updating)})


def peek_files(path: str) -> tuple[PeekedFiles, Mapping[str, str]]:
    """What the files of a path hold, and all options of a table for them but a format
    of lines.

    Raises
    ------
    ArroyoError
        When there is none, or they cannot be read.
    """
    connectors = (CONNECTORS.get(name) for name in CONNECTORS.names)
    reader = next(one for one in connectors if isinstance(one, PeeksFiles))
    found = reader.peek_files(path)
    options = {"connector": reader.info.name, "path": path, **found.options}
    return found, options


def only_in_arroyo(table: str, connector: str) -> Unsupported:
    """The error for a run of a table whose connector does not run here."""
    return Unsupported(
        f"'{table}' cannot be used in a run: the connector '{connector}' runs in "
        "Arroyo only",
        hint="its queries can be checked, explained and promoted for Arroyo; to try "
        "them here, declare the table over a sample, a file or a topic",
    )


def connector_infos() -> Iterator[ConnectorInfo]:
    """The facts of every connector, by name."""
    return (CONNECTORS.get(name).info for name in CONNECTORS.names)


def elsewhere_hint(name: str) -> str | None:
    """What to write for a connector that other systems have; None: nothing is known."""
    found = (info.elsewhere.get(name) for info in connector_infos())
    return next(filter(None, found), None)


def only_connector(option: str) -> str | None:
    """The one connector that has an option of its own by that name; None where several
    have, or none."""
    having = [
        info.name
        for info in connector_infos()
        if option in (known.name for known in info.options)
    ]
    return having[0] if len(having) == 1 else None


def stores_of_arroyo() -> tuple[str, ...]:
    """The connectors whose tables Arroyo looks rows up in."""
    return tuple(
        info.name
        for info in connector_infos()
        if info.in_arroyo
        and Direction.LOOKUP in info.directions
        and info.looked_up_by_key
    )


def holding(
    connector: str, content: Container[Holds | None], format_: str | None = None
) -> frozenset[str]:
    """The options of a connector, and of a format, whose values are such."""
    options = CONNECTORS.get(connector).info.options
    if format_ in FORMATS.names:
        options = (*options, *FORMATS.get(str(format_)).options)
    return frozenset(option.name for option in options if option.holds in content)


def guarantee_of(connector: str, direction: Direction) -> str | None:
    """What of a table may be missing or come twice; None: nothing to tell."""
    return CONNECTORS.get(connector).info.guarantees.get(direction)


def is_streamed(connector: str) -> bool:
    """Whether Spark itself reads the sources of a connector."""
    return isinstance(CONNECTORS.get(connector), Streaming)


@cache
def _streaming() -> tuple[Streaming, ...]:
    """The connectors whose sources Spark itself reads."""
    connectors = (CONNECTORS.get(name) for name in CONNECTORS.names)
    return tuple(one for one in connectors if isinstance(one, Streaming))


def offsets_of(logged: Mapping[str, Any]) -> Mapping[str, Offsets]:
    """How far Spark has read each topic, by the JSON of one of its sources' offset;
    empty: the source reads none.

    >>> offsets_of({"logOffset": 3})
    {}
    >>> offsets_of({"clicks": {"0": 5, "1": 7}})
    {'clicks': {0: 5, 1: 7}}
    """
    found = (one.offsets_of(logged) for one in _streaming())
    return next(filter(None, found), {})


@cache
def topic_of(description: str) -> str | None:
    """The topic that one of Spark's sources reads, by how Spark describes it; None: it
    reads none.

    >>> topic_of("FileStreamSource[file:/home/ada/sources/flights]") is None
    True
    """
    found = (one.topic_of(description) for one in _streaming())
    return next(filter(None, found), None)


def format_options(connector: Connector, name: str) -> tuple[Option, ...]:
    """The options that a format has in the tables of a connector."""
    options = (*FORMATS.get(name).options, *FRAMING_OPTIONS)
    carried = connector.info.framings
    if Framing.MESSAGES in carried:
        options += payload_format(name).payload_options
    if Framing.FILES in carried and (files := file_format(name)) is not None:
        options += files.file_options
    return options


def decoding_options(connector: Connector, spec: TableSpec) -> dict[str, OptionValue]:
    """The options of a source that a decoder of its messages gets: those of its format,
    what files and servers say of its schema, and the schema registry where a decoder
    asks one. Others may be secrets.

    Parameters
    ----------
    connector
        That of the table.
    spec
        The table.

    Raises
    ------
    ArroyoError
        When a file or a server that has the schema of the records cannot be read.
    """
    name = str(spec.options["format"])
    format_ = payload_format(name)
    given = (spec if spec.declared is not None else spec.resolved()).options
    wanted = {option.name for option in format_options(connector, name)}
    options = {option: v for option, v in given.items() if option in wanted}
    options |= format_.schema_options(spec.name, given)
    if format_.asks_registry(options):
        options |= {o: given[o] for o in CLIENT_OPTIONS if o in given}
    return options


def with_schema(spec: TableSpec) -> TableSpec:
    """A sink with what files and servers say of the schema of its records, read once
    for all batches.

    Parameters
    ----------
    spec
        The table, its variables resolved.

    Raises
    ------
    ArroyoError
        When it cannot be read.
    """
    format_ = payload_format(str(spec.options["format"]))
    found = format_.schema_options(spec.name, spec.options)
    return replace(spec, options={**spec.options, **found}) if found else spec
