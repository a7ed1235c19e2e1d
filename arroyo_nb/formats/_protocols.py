"""What a format declares, and what it does for each way its records are carried.

For each of its framings a format has the methods of a protocol: :class:`LineFormat`,
:class:`PayloadFormat` or :class:`FileFormat`; one whose records are changes has those
of :class:`ChangeFormat` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from arroyo_nb.formats._files import FileReader, ListedFile, PartFormat
from arroyo_nb.schema import Schema
from arroyo_nb.tape import NO_COUNTS, BadRow, RecordCounts
from arroyo_nb.with_options import Option, OptionValue

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder
    from arroyo_nb.errors import ArroyoError


class Framing(Enum):
    """How a connector carries records, and a format can be carried."""

    LINES = "lines"
    """One record a line of text, in files or on a stream."""
    MESSAGES = "messages"
    """Each record by itself, as the payload of a message."""
    VALUES = "values"
    """Each record by itself, a row that is found by its key."""
    FILES = "files"
    """Many rows in a file, which only the format can take apart."""
    LAKE_FILES = "lake files"
    """Such files as data files of a table format, which tracks them: Delta, Iceberg."""


@dataclass(frozen=True)
class Decoded:
    """The rows of a block of records, and what was left out.

    ``rows`` has the schema's columns, and of records that are changes a weight and the
    place in their sequence beside them (:mod:`arroyo_nb.changelog`); ``bad`` is a
    bounded sample of the ``dropped_rows``.
    """

    rows: pa.Table
    dropped_rows: int = 0
    bad: tuple[BadRow, ...] = ()
    counts: RecordCounts = NO_COUNTS


class Decoder(Protocol):
    """Reads the records of one source."""

    def decode(self, block: bytes, origin: str, first_line: int) -> Decoded:
        """Read a block of records, one a line.

        Parameters
        ----------
        block
            Whole lines; the last one may lack its line end.
        origin
            What a place begins with: a path.
        first_line
            Number of the block's first line in it, counted from 1.

        Raises
        ------
        RunProblem
            When a record is bad and ``bad_data`` is ``fail``.
        """


@dataclass(frozen=True)
class DecodedPayloads:
    """The rows of a batch of payloads, and what could not be read.

    Parameters
    ----------
    rows
        The schema's columns, and of records that are changes the weight of each.
    numbers
        Which payload each row is of, counted from 0; ascending.
    bad
        Every payload that could not be read, with the reason.
    counts
        What was counted of them.
    """

    rows: pa.Table
    numbers: pa.Array
    bad: tuple[tuple[int, str], ...] = ()
    counts: RecordCounts = NO_COUNTS


class PayloadDecoder(Protocol):
    """Reads the records of one source that come each by itself."""

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads, none of them NULL; what is bad is told, not
        raised. The same payload is read alike in any batch."""


Register: TypeAlias = "Callable[[str, str], int]"
"""Registers a schema in a schema registry, by its type there and its text, and gives
its id."""

PayloadWriter: TypeAlias = "Callable[[Sequence[Any]], list[bytes]]"
"""Turns rows of Python, mappings by the names of columns, into payloads."""


class Format(Protocol):
    """A way to write records down."""

    name: str
    doc: str
    options: tuple[Option, ...]
    framings: frozenset[Framing]
    """How its records can be carried."""
    usual: bool
    """Whether it is the one to suggest, of those of rows or of those of changes."""
    updating: bool
    """Whether a record is a change of a row instead of a row."""
    by_name: bool
    """Whether a column is the field of its name, and NULL where a record has none."""
    counts: frozenset[str]
    """What it counts of its payloads: fields of
    :class:`~arroyo_nb.tape.RecordCounts`."""
    python_packages: tuple[str, ...]
    """The distributions that it needs beside those of this package."""
    refused_by_arroyo: str
    """What Arroyo says of it in a CREATE TABLE; empty: it takes it."""
    not_in_arroyo: frozenset[Framing]
    """The framings of it that Arroyo does not have."""
    content_type: str
    """What HTTP calls a record."""

    def count_notes(self, counts: RecordCounts) -> Iterable[str]:
        """What a reader of a run is told of the counted records, each in a sentence."""

    def shape_note(
        self,
        documents: Sequence[Mapping[str, Any]],
        options: Mapping[str, OptionValue],
    ) -> str | None:
        """Why documents of a sample have none of the columns, and what to write; None:
        their fields are those of rows."""

    elsewhere: Mapping[str, str]
    """Formats of other systems that are not read here, and how to come from them to
    this one, for the hint of an error."""

    def column_problem(
        self, schema: Schema, options: Mapping[str, OptionValue]
    ) -> tuple[str, str] | None:
        """What is wrong with the columns of a record, if they cannot be those of this
        format, behind the option that asks for others."""

    def paths(self, options: Mapping[str, OptionValue]) -> Iterable[tuple[str, Path]]:
        """The files and folders of this machine that are read to know how a record is
        written, each with the option that names it."""

    def needed_files(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, Path]]:
        """Those of :meth:`paths` that are files, without which nothing can be read or
        written."""

    def schema_options(
        self, table: str, options: Mapping[str, OptionValue]
    ) -> Mapping[str, OptionValue]:
        """What files of this machine and servers say of the schema of the records, as
        options for readers and writers in workers, which have neither; asked for where
        a run starts.

        Parameters
        ----------
        table
            The table's name, for errors.
        options
            All options of the table, the variables resolved.

        Raises
        ------
        ArroyoError
            When it cannot be had.
        """


def counted(count: int, noun: str, verb: str, verbs: str) -> str:
    """The subject and the verb of a sentence.

    >>> counted(1, "record", "was", "were"), counted(2000, "change", "has", "have")
    ('1 record was', '2,000 changes have')
    """
    return f"1 {noun} {verb}" if count == 1 else f"{count:,} {noun}s {verbs}"


class FormatBase:
    """A format of rows without options; its payloads have nothing around them."""

    options: tuple[Option, ...] = ()
    payload_options: tuple[Option, ...] = ()
    file_options: tuple[Option, ...] = ()
    lacking_options: Mapping[str, str] = MappingProxyType({})
    usual = False
    updating = False
    by_name = False
    counts: frozenset[str] = frozenset()
    python_packages: tuple[str, ...] = ()
    refused_by_arroyo = ""
    not_in_arroyo: frozenset[Framing] = frozenset()
    encoded_in_python = False
    content_type = "application/octet-stream"
    elsewhere: Mapping[str, str] = MappingProxyType({})

    def shape_note(
        self,
        documents: Sequence[Mapping[str, Any]],  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> str | None:
        """None: nothing is known of documents."""
        return None

    def count_notes(self, counts: RecordCounts) -> Iterable[str]:
        """Those that gave no row, and those that are of another schema."""
        if counts.empty:
            empty = counted(counts.empty, "record", "was", "were")
            yield f"{empty} empty and gave no row"
        if counts.unknown:
            unknown = counted(counts.unknown, "record", "has", "have")
            yield (
                f"{unknown} fields that the schema of "
                "the table lacks, or has as another type: written by another version "
                "of it"
            )

    def paths(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Iterable[tuple[str, Path]]:
        """None: such a format needs no file."""
        return ()

    def needed_files(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Iterable[tuple[str, Path]]:
        """None: such a format needs no file."""
        return ()

    def schema_options(
        self,
        table: str,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Mapping[str, OptionValue]:
        """Nothing: the options of such a format say all."""
        return {}

    def column_problem(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> tuple[str, str] | None:
        """None: a record has any columns."""
        return None

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: a source declares its columns."""
        return None

    def may_be_empty(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> bool:
        """Yes: it is a text of no letters, or a record of no fields."""
        return True

    def payload_option_problems(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Iterable[tuple[str, ArroyoError]]:
        """No problems: such a format has no options for payloads."""
        return ()

    def reading_problems(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Iterable[tuple[str, ArroyoError]]:
        """No problems: such records say by themselves how they are read."""
        return ()

    def asks_registry(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> bool:
        """No: such records have no schema elsewhere."""
        return False

    def registering_option(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> str | None:
        """None: such a format registers no schema."""
        return None

    def envelope(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        register: Register,  # noqa: ARG002
    ) -> tuple[bytes, bytes]:
        """No envelope: a payload stands alone."""
        return b"", b""


class LineFormat(Format, Protocol):
    """A format whose records are lines of text, or values that are one line."""

    extension: str
    """What the names of such files end with."""

    def decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),
    ) -> Decoder:
        """A reader of records.

        Parameters
        ----------
        schema
            The source's physical columns.
        options
            Checked options of the table, ``bad_data`` among them.
        event_time
            The column that may not be NULL because it is the event time.
        primary_key
            The columns that tell rows apart, where a record is a change of one.
        """

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """The rows' text, one record a row, as a column named ``value``.

        Parameters
        ----------
        schema
            The columns to write; the frame has them under these names and types.
        options
            Checked options of the table.
        """


class PayloadFormat(Format, Protocol):
    """A format whose records come each by itself."""

    payload_options: tuple[Option, ...]
    """Options that only records that come each by itself have."""
    encoded_in_python: bool
    """Whether :meth:`encoded` hands rows to Python workers."""

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """The columns of a source that declares none, as its options say them; None:
        they do not.

        Raises
        ------
        CatalogProblem
            When what they say makes no sense.
        """

    def may_be_empty(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether a payload without a byte is a record; else it is none."""

    def payload_option_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What is wrong with options that are right each by itself, and in which."""

    def reading_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What a source lacks, and the option that needs it."""

    def asks_registry(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether a decoder with these options looks schemas up in a schema registry,
        where the table names one."""

    def registering_option(self, options: Mapping[str, OptionValue]) -> str | None:
        """The option by which a sink registers the schema of its records in a schema
        registry; None: it does not."""

    def envelope(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        register: Register,
    ) -> tuple[bytes, bytes]:
        """What a sink puts before and behind each payload.

        Parameters
        ----------
        schema, options
            As of :meth:`encoded`.
        register
            Registers the schema of the records.
        """

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,
    ) -> PayloadWriter:
        """Writes rows of Python where there is no Spark.

        Parameters
        ----------
        table
            The table's name, for errors.
        schema, options
            As of :meth:`encoded`.
        read
            Whether the table is a source, whose columns say how a record is read.

        Raises
        ------
        RunProblem
            When its records have what cannot be written so.
        """

    def payload_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),
    ) -> PayloadDecoder:
        """A reader of payloads; parameters as of :meth:`LineFormat.decoder`."""

    def sql_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
    ) -> SqlDecoder | str:
        """A reader of payloads in Spark's own expressions, or why there is none.
        Parameters as of :meth:`LineFormat.decoder`."""

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """The rows' payloads, as a column named ``value``: text, or bytes; parameters
        as of :meth:`LineFormat.encoded`."""


class ChangeFormat(Format, Protocol):
    """A format whose records are changes of rows."""

    def image(self, schema: Schema, options: Mapping[str, OptionValue]) -> str:
        """A row as Spark SQL text, as documents have it before and after a change;
        parameters as of :meth:`LineFormat.encoded`."""

    def change_texts(self, changes: pa.Table) -> pa.ChunkedArray:
        """The text of each change.

        Parameters
        ----------
        changes
            As :func:`arroyo_nb.changelog.debezium_changes.documents` gives them; a row
            has its image as :data:`arroyo_nb.formats.IMAGE`.
        """


class FileFormat(Format, Protocol):
    """A format of files that only it can take apart."""

    title: str
    """What messages call it."""
    file_options: tuple[Option, ...]
    """Options that only whole files have."""
    magic: bytes
    """What every such file begins with."""
    lacking_options: Mapping[str, str]
    """The options by which a column is NULL in files that lack it."""

    def file_reader(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        elsewhere: frozenset[str] = frozenset(),
    ) -> FileReader:
        """A reader of files; parameters as of :meth:`LineFormat.decoder`.

        Parameters
        ----------
        elsewhere
            Columns that are read as NULL where a file has none: the caller knows their
            values.
        """

    def schema_of(self, file: ListedFile) -> Schema:
        """The columns of a file, as a table declares them; the type NULL stands for a
        column that has nothing else.

        Raises
        ------
        ArroyoError
            When it is no such file, or its rows have no columns.
        """

    def parts(self, schema: Schema, options: Mapping[str, OptionValue]) -> PartFormat:
        """A writer of files; parameters as of :meth:`LineFormat.encoded`."""
