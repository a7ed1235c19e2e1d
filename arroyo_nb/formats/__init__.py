"""Formats: plug-ins, a file or a folder each, that bind ``FORMAT``.

A format of lines reads the records of a source, vectorised, and writes those of a sink
inside Spark; one of payloads reads records that come each by itself, as those of a
topic do. Every format says which WITH options it takes. A record that cannot be
read is bad data: with ``bad_data = 'fail'`` it ends the run with its place, with
``'drop'`` it is left out, counted and sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from arroyo_nb.codecs.bad_records import CSV, CSV_HINT
from arroyo_nb.registry import Registry
from arroyo_nb.schema import Schema
from arroyo_nb.tape import BadRow
from arroyo_nb.with_options import Option, OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder


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
    """

    rows: pa.Table
    numbers: pa.Array
    bad: tuple[tuple[int, str], ...] = ()


class PayloadDecoder(Protocol):
    """Reads the records of one source that come each by itself."""

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads, none of them NULL; what is bad is told, not
        raised. The same payload is read alike in any batch."""


class Format(Protocol):
    """A way to write records down."""

    name: str
    doc: str
    options: tuple[Option, ...]
    updating: bool
    """Whether a record is a change of a row instead of a row."""
    by_name: bool
    """Whether a column is the field of its name, and NULL where a record has none."""


class LineFormat(Format, Protocol):
    """A format whose records are lines of text."""

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

    def payload_problem(self, schema: Schema) -> str | None:
        """What is wrong with the columns of a record, if they cannot be those of this
        format."""

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


FORMATS: Registry[Format] = Registry("format", (__name__,), "FORMAT")


NOT_YET = frozenset(("avro", "protobuf"))
"""Formats that Arroyo has, and that are no plug-in here yet."""


def foreign_format_hint(name: str) -> str | None:
    """What to do about a format that other systems have; None: nothing is known."""
    return CSV_HINT if name.lower() in CSV else None


def tells_changes(name: str | None) -> bool:
    """Whether records of a format are changes of rows; those of none, or of one that
    is not known, are not."""
    return name in FORMATS.names and FORMATS.get(str(name)).updating


def reads_fields(name: str | None) -> bool:
    """Whether a format looks columns up by name in each record."""
    return name in FORMATS.names and FORMATS.get(str(name)).by_name


def line_format(name: str) -> LineFormat:
    """A format whose records are lines: one of those that the planner let through."""
    return cast(LineFormat, FORMATS.get(name))


def payload_format(name: str) -> PayloadFormat:
    """A format of payloads: one of those that the planner let through."""
    return cast(PayloadFormat, FORMATS.get(name))
