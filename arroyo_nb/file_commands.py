"""``%arroyo peek PATH``, ``%arroyo head PATH``: a look into files, and a table for
them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePath
from shlex import quote
from typing import TYPE_CHECKING, Any

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import PeekedFiles, peek_files
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.peek.column_types import guess_columns, likely_event_time
from arroyo_nb.kafka.peek.create_table import feed_table, tape_table, written_table_name
from arroyo_nb.kafka.peek.guess import Guess, guess
from arroyo_nb.run.table_head import head
from arroyo_nb.schema import BIGINT, Schema, Timestamp
from arroyo_nb.tape.format import HEADER
from arroyo_nb.tape.records import RecordTape
from arroyo_nb.views import topics as views
from arroyo_nb.views.formatting import count
from arroyo_nb.views.listing import rows as listed
from arroyo_nb.views.notebook import publish

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.session import Session

SAMPLE_ROWS = 1_000
"""So many rows show by how much their times are in disorder."""

_TEXT_TABLES = (".csv", ".tsv")
_BEGIN_BYTES = 64
_TEXT_BYTES = bytes({*b"\t\n\f\r", *range(0x20, 0x7F), *range(0x80, 0x100)})


def is_path(text: str) -> bool:
    """Whether a word of a command is the path of a file or a folder that is there."""
    has_path_form = "/" in text or "." in text or text.startswith("~")
    return has_path_form and user_path(text).exists()


def holds_rows(path: str) -> bool:
    """Whether a path is that of rows and not of a script: a folder, a table of text, or
    a file that begins as records do."""
    there = Path(path)
    if there.is_dir() or path.lower().endswith(_TEXT_TABLES):
        return there.exists()
    if not there.is_file():
        return False
    with there.open("rb") as stream:
        begin = stream.read(_BEGIN_BYTES).removeprefix(BOM_UTF8).lstrip()
    # Bytes that no text has, or a document of JSON.
    return begin.startswith((b"{", b"[")) or bool(begin.translate(None, _TEXT_BYTES))


def peek(
    session: Session, path: str, rows: int, offer: Callable[[str, str], bool] | None
) -> None:
    """Show the first rows of files, and a table for them.

    Parameters
    ----------
    session
        Plans the table, which its catalog does not get.
    path
        A file, or the folder of some.
    rows
        How many are shown.
    offer
        Puts a statement into the next cell; False: it has done so before.

    Raises
    ------
    ArroyoError
        When they cannot be read.
    """
    if path.lower().endswith(_TEXT_TABLES):
        raise RunProblem(
            f"'{path}' is a table of text, which is read whole",
            hint=f"write %%arroyo_rows {written_table_name(_name(path))} --from "
            f"{quote(path)} in a cell of its own",
        )
    given = str(user_path(path))
    if (Path(given) / HEADER).is_file():
        _peek_tape(session, path, rows, offer)
        return
    found, options = peek_files(given)
    name = _name(path)
    if found.schema is None:
        guessed = guess(found.lines)
        guessed = guessed._replace(fields=(*guessed.fields, *found.folders))
    else:
        schema = Schema((*found.schema, *found.folders))
        guessed = Guess(options["format"], schema.fields)
        plain = feed_table(name, options, guessed)
        guessed = _with_event_time(guessed, _first_rows(session, plain, SAMPLE_ROWS))
    statement = feed_table(name, options, guessed)
    shown = listed(_first_rows(session, statement, rows))
    offered = offer is not None and offer(given, statement)
    holds = _holds(found, guessed)
    publish(views.files(path, holds, shown, statement, offered=offered))


def _peek_tape(
    session: Session, path: str, rows: int, offer: Callable[[str, str], bool] | None
) -> None:
    """Show the first rows of a recording, and a table for it."""
    given = str(user_path(path))
    tape = RecordTape(Path(given), path)
    records = [
        record
        for _, chunk in tape.chunks()
        for record in chunk.slice(0, SAMPLE_ROWS).to_pylist()
    ][:SAMPLE_ROWS]
    guessed = guess((r["value"] for r in records), (r["key"] for r in records))
    statement = tape_table(_name(path), given, guessed)
    shown = listed(_first_rows(session, statement, rows))
    offered = offer is not None and offer(given, statement)
    holds = f"a recording, {count(tape.records, 'record')}, format {guessed.format}"
    if guessed.odd:
        holds += f"; {len(guessed.odd)} of {guessed.records} are not like the others"
    publish(views.files(path, holds, shown, statement, offered=offered))


def _name(path: str) -> str:
    parts = [part for part in PurePath(path).parts if "=" not in part]
    word = PurePath(parts[-1]).stem if parts else ""
    return word if any(char.isalnum() for char in word) else "files"


def _holds(found: PeekedFiles, guessed: Guess) -> str:
    files = "1 file" if found.count == 1 else f"{found.count:,} files"
    said = f"{files}, format {guessed.format}"
    if guessed.odd:
        said += (
            f"; {len(guessed.odd)} of {guessed.records} lines are not like the others"
        )
    return said


def _first_rows(session: Session, statement: str, count: int) -> pa.Table:
    """The first rows of a table that is not declared, without its generated columns:
    those would start Spark."""
    plan = session.plan(statement)
    table = plan.catalog.get(str(plan.statements[0].name))
    assert isinstance(table, ConnectorTable)
    plain = replace(table, generated=(), order=table.physical.names)
    return head(session.engine, plain, count).rows


def _with_event_time(guessed: Guess, rows: pa.Table) -> Guess:
    """The guess with the event time that some rows show, which is NOT NULL then."""
    documents = list(enumerate(map(_plain, rows.to_pylist())))
    times = (Timestamp(), BIGINT)
    may_be = {f.name for f in guessed.fields if f.type in times}
    columns, _ = guess_columns(documents)
    time = likely_event_time(column for column in columns if column.name in may_be)
    if time is None:
        return guessed
    fields = tuple(
        replace(field, nullable=False) if field.name == time.name else field
        for field in guessed.fields
    )
    return guessed._replace(fields=fields, event_time=time)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a document of JSON has it; only numbers and times are looked at."""

    def values() -> Iterator[tuple[str, Any]]:
        for name, value in row.items():
            if isinstance(value, datetime):
                yield name, value.isoformat(timespec="microseconds")
            else:
                yield name, value if isinstance(value, int) else None

    return dict(values())
