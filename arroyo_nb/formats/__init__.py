"""Formats: plug-ins, a file or a folder each, that bind ``FORMAT``.

A format declares how its records can be carried (:class:`Framing`), and a connector how
it carries them: a table may have each format that has a framing of its connector.
Neither lists the other. What a format has for each of its framings stands in
``_protocols.py``. Every format says which WITH options it takes. A record that cannot
be read is bad data: with ``bad_data = 'fail'`` it ends the run with its place, with
``'drop'`` it is left out, counted and sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from arroyo_nb.formats._envelope import Envelope as Envelope
from arroyo_nb.formats._files import PARTITION_KEY as PARTITION_KEY
from arroyo_nb.formats._files import FileReader as FileReader
from arroyo_nb.formats._files import ListedFile as ListedFile
from arroyo_nb.formats._files import PartFormat as PartFormat
from arroyo_nb.formats._files import Piece as Piece
from arroyo_nb.formats._files import Pieces as Pieces
from arroyo_nb.formats._files import Reading as Reading
from arroyo_nb.formats._files import partition_key as partition_key
from arroyo_nb.formats._framing import FRAMING as FRAMING
from arroyo_nb.formats._framing import FRAMING_OPTIONS as FRAMING_OPTIONS
from arroyo_nb.formats._framing import FRAMINGS as FRAMINGS
from arroyo_nb.formats._framing import LENGTH as LENGTH
from arroyo_nb.formats._framing import MAX_LENGTH as MAX_LENGTH
from arroyo_nb.formats._framing import NEWLINE as NEWLINE
from arroyo_nb.formats._framing import framed as framed
from arroyo_nb.formats._protocols import ChangeFormat as ChangeFormat
from arroyo_nb.formats._protocols import Decoded as Decoded
from arroyo_nb.formats._protocols import DecodedPayloads as DecodedPayloads
from arroyo_nb.formats._protocols import Decoder as Decoder
from arroyo_nb.formats._protocols import FileFormat as FileFormat
from arroyo_nb.formats._protocols import Format as Format
from arroyo_nb.formats._protocols import FormatBase as FormatBase
from arroyo_nb.formats._protocols import Framing as Framing
from arroyo_nb.formats._protocols import LineFormat as LineFormat
from arroyo_nb.formats._protocols import PayloadDecoder as PayloadDecoder
from arroyo_nb.formats._protocols import PayloadFormat as PayloadFormat
from arroyo_nb.formats._protocols import PayloadWriter as PayloadWriter
from arroyo_nb.formats._protocols import Register as Register
from arroyo_nb.formats._protocols import counted as counted
from arroyo_nb.registry import Registry
from arroyo_nb.schema import Schema
from arroyo_nb.tape.fit import COUNTED
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    from pathlib import Path

    from arroyo_nb.errors import ArroyoError

IMAGE = "row"
"""What the image of a row is called on its way into a document."""


ANY_TEXT = "raw_string"
"""The format that reads every record that is text, as it is."""

FORMATS: Registry[Format] = Registry("format", (__name__,), "FORMAT")


def formats_of(framings: Iterable[Framing]) -> tuple[str, ...]:
    """The formats that can be carried so, the usual ones first."""
    found = map(FORMATS.get, FORMATS.names)
    carried = [f for f in found if not f.framings.isdisjoint(framings)]
    ordered = sorted(carried, key=lambda f: (not f.usual, f.updating))
    return tuple(format_.name for format_ in ordered)


def usual_format(*, updating: bool = False) -> str:
    """The format to suggest for rows, or for changes of rows.

    >>> usual_format(), usual_format(updating=True)
    ('json', 'debezium_json')
    """
    found = map(FORMATS.get, FORMATS.names)
    return next(f.name for f in found if f.usual and f.updating is updating)


def foreign_format_hint(name: str) -> str | None:
    """What to do about a format that other systems have; None: nothing is known."""
    found = (FORMATS.get(known).elsewhere.get(name.lower()) for known in FORMATS.names)
    return next(filter(None, found), None)


def tells_changes(name: str | None) -> bool:
    """Whether records of a format are changes of rows; those of none, or of one that
    is not known, are not."""
    return name in FORMATS.names and FORMATS.get(str(name)).updating


def reads_fields(name: str | None) -> bool:
    """Whether a format looks columns up by name in each record."""
    return name in FORMATS.names and FORMATS.get(str(name)).by_name


def count_columns(name: str | None) -> tuple[str, ...]:
    """The hidden columns for what a format counts of the records of a topic; that they
    are empty is counted wherever columns are looked up by name."""
    if not reads_fields(name):
        return ()
    counted = {"empty", *FORMATS.get(str(name)).counts}
    return tuple(column for column, count in COUNTED.items() if count in counted)


def refused_records(
    options: Mapping[str, OptionValue], carried: frozenset[Framing]
) -> str:
    """What Arroyo says of the way in which the records of a table are written; empty:
    it takes them. ``carried`` is how the table's connector carries records.

    >>> refused_records({"format": "json"}, frozenset({Framing.LINES}))
    ''
    >>> framed = {"format": "json", "framing": "length"}
    >>> refused_records(framed, frozenset({Framing.MESSAGES}))
    "Unknown framing method 'length'"
    """
    if options.get(FRAMING.name) == LENGTH:
        return f"Unknown framing method '{LENGTH}'"
    name = str(options.get("format", ""))
    if name not in FORMATS.names:
        return ""
    format_ = FORMATS.get(name)
    if format_.framings & carried & format_.not_in_arroyo:
        return f"the format '{name}' is not supported for this connector"
    return format_.refused_by_arroyo


def line_format(name: str) -> LineFormat:
    """A format whose records are lines: one of those that the planner let through."""
    return cast(LineFormat, FORMATS.get(name))


def file_format(name: str) -> FileFormat | None:
    """A format of files that only it can take apart; None: it has records."""
    format_ = FORMATS.get(name)
    return cast(FileFormat, format_) if Framing.FILES in format_.framings else None


def change_format(name: str) -> ChangeFormat:
    """A format of changes: one of those that the planner let through."""
    return cast(ChangeFormat, FORMATS.get(name))


def column_problem(
    schema: Schema, options: Mapping[str, OptionValue]
) -> tuple[str, str] | None:
    """What is wrong with the columns of a table's records, if they cannot be those of
    its format, behind the option that asks for others; None: nothing, or the table has
    no format."""
    name = str(options.get("format", ""))
    known = name in FORMATS.names
    return FORMATS.get(name).column_problem(schema, options) if known else None


def schema_paths(options: Mapping[str, OptionValue]) -> list[tuple[str, Path]]:
    """The files and folders that say how the records of a table are written, each with
    the option that names it."""
    name = str(options.get("format", ""))
    return [*FORMATS.get(name).paths(options)] if name in FORMATS.names else []


def needed_schema_files(options: Mapping[str, OptionValue]) -> list[tuple[str, Path]]:
    """Those of :func:`schema_paths` that are files, and have to be there."""
    name = str(options.get("format", ""))
    known = name in FORMATS.names
    return [*FORMATS.get(name).needed_files(options)] if known else []


def format_columns(options: Mapping[str, OptionValue]) -> Schema | None:
    """The columns that the format of messages gives a source which declares none; None:
    it gives none.

    Raises
    ------
    CatalogProblem
        When an option that says them makes no sense.
    """
    format_ = _message_format(options)
    return None if format_ is None else format_.columns(options)


def reading_problems(
    options: Mapping[str, OptionValue],
) -> Iterable[tuple[str, ArroyoError]]:
    """What a source of messages with these options lacks, each with the option that
    needs it."""
    format_ = _message_format(options)
    return () if format_ is None else format_.reading_problems(options)


def _message_format(options: Mapping[str, OptionValue]) -> PayloadFormat | None:
    name = str(options.get("format", ""))
    if name not in FORMATS.names or Framing.MESSAGES not in FORMATS.get(name).framings:
        return None
    return payload_format(name)


def payload_format(name: str) -> PayloadFormat:
    """A format of payloads: one of those that the planner let through."""
    return cast(PayloadFormat, FORMATS.get(name))
