"""A tape of rows, and the table that reads it.

The tape is one of records of JSON, which ``connector = 'tape'`` plays; its name has a
hash of its rows, so that a run goes on with the rows that it began with when others are
written in their place.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.allowed_roots import current_roots, user_text
from arroyo_nb.catalog import Catalog, ConnectorTable, Relation
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import usual_format
from arroyo_nb.kafka.emit.targets import TAPE, EmitOptions, to_table
from arroyo_nb.plan.expressions.intervals import interval_text
from arroyo_nb.plan.tables.render_ddl import written_name, written_table
from arroyo_nb.row_tables import StreamRows, instant_us, is_utf8, watermark_delay
from arroyo_nb.row_tables.disorder import disordered
from arroyo_nb.row_tables.from_data import as_declared, rows_of_data
from arroyo_nb.row_tables.from_text import rows_of_text
from arroyo_nb.source import ScriptText
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US
from arroyo_nb.tape.format import is_tape_file
from arroyo_nb.tape.records import ROWS, RecordTape, RecordWriter, TapeRecord

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.schema import Schema

CELL = "<cell>"

_TEXT_FILES = (".csv", ".tsv")

PLAYER = TAPE
"""The connector that plays rows, and recordings."""

_Parts: TypeAlias = "list[list[tuple[bytes, int]]]"
"""Records by micro-batch: the value of each, and when it arrives."""

FIRST_ARRIVAL_US = instant_us(datetime.min)


@dataclass(frozen=True)
class RowTable:
    """What was made of rows.

    Parameters
    ----------
    name
        The table's.
    rows, batches
        How many rows and micro-batches the tape has.
    span
        The oldest and the newest event time, UTC; None: arrivals are the event times.
    path
        Where the tape is.
    statement
        The CREATE TABLE that reads it.
    changes
        What is different from the rows of the same columns that the table had before;
        empty: it had others.
    notes
        How a text was read, where another way may be meant: what separates its columns,
        and which value makes a column TEXT.
    """

    name: str
    rows: int
    batches: int
    span: tuple[datetime, datetime] | None
    path: Path
    statement: str
    changes: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = (
            f"{_counted(self.rows, 'row')} in {_counted(self.batches, 'micro-batch')}"
        )
        if self.span is None:
            return f"{text}; no TIMESTAMP column, so a row's arrival is its event time"
        first, last = self.span
        until = last.time() if last.date() == first.date() else last
        return f"{text}, event time {first} to {until}"


def read_rows(
    data: Any,
    event_time: str | None,
    arrives: str,
    declared: Schema | None = None,
    types: Mapping[str, str] | None = None,
) -> StreamRows:
    """The rows of a text, of a CSV file, or of a value of Python.

    Parameters
    ----------
    declared
        The columns of the table that these are rows of; None: they say them themselves.
    types
        The types of some columns of a text.

    Raises
    ------
    ArroyoError
        When they cannot be read; of a text and a file with the place.
    """
    types = types or {}
    if isinstance(data, str) and data.endswith(_TEXT_FILES) and "\n" not in data:
        data = user_path(data)
    if isinstance(data, Path):
        text = user_text(data, "read it with pandas, and hand in the DataFrame")
        source = ScriptText(text, data.name)
        return rows_of_text(
            source, event_time, arrives, is_file=True, declared=declared, types=types
        )
    if isinstance(data, str):
        data = ScriptText(data, CELL)
    if isinstance(data, ScriptText):
        return rows_of_text(data, event_time, arrives, declared=declared, types=types)
    for name, told in types.items():
        raise CatalogProblem(
            f"'{name}={told}' tells the type of a column of text, and the rows are "
            "values with types",
            hint="convert the column before: frame.astype({'" + name + "': ...})",
        )
    found = rows_of_data(data, event_time, arrives)
    return found if declared is None else as_declared(found, declared, event_time)


def define_rows(
    name: str,
    found: StreamRows,
    *,
    watermark: str | timedelta | None,
    disorder: Mapping[str, Any],
    catalog: Catalog,
    plan: Callable[[str], Plan],
    readers: Callable[[Callable[[Relation], bool]], Sequence[str]],
    work: Path,
    path: Path | None,
    write_statement: Callable[[StreamRows, Path], str] | None = None,
    look: Callable[[], None] = lambda: None,
) -> tuple[Catalog, RowTable]:
    """Write the tape of some rows, and declare their table.

    Parameters
    ----------
    name
        The table's; it replaces one of that name.
    watermark
        How late rows may be; None: the delay of a table that declares none.
    disorder
        How the rows come otherwise than they stand, see
        :mod:`arroyo_nb.row_tables.disorder`.
    catalog
        What there is.
    plan
        Plans a script against it.
    readers
        The runs that read a table of a certain kind and have not ended.
    work
        Where the tape is made, in a folder of its own.
    path
        Where it is to be instead.
    write_statement
        Makes the CREATE TABLE of the rows, whose tape is in a place; None: it is that
        of :func:`rows_statement`.
    look
        Is called again and again; what it raises ends the writing.

    Returns
    -------
    Catalog, RowTable
        The catalog with the table; nothing is different before it is returned.

    Raises
    ------
    ArroyoError
        When the table cannot be declared, or the tape not be written.
    """
    if not name.strip():
        raise CatalogProblem("the table has no name")
    for what, text in (("name of the table", name), ("path of the tape", path)):
        if not is_utf8(str(text)):
            raise CatalogProblem(
                f"the {what} has half a character: a lone surrogate",
                hint="remove it: no text in UTF-8 can hold it",
            )
    notes, found = found.notes, disordered(found, disorder)
    _check_arrivals(found.arrivals_us)
    place = path or work / f"{_hash(found)}.tape"
    if write_statement is None:
        statement = rows_statement(name, found, watermark, place)
    else:
        statement = write_statement(found, place)
    after = plan(statement).catalog
    table = after.get(name)
    assert isinstance(table, ConnectorTable), "the statement declares it"
    parts = _parts(found, table)
    old = catalog.get(name) if name in catalog else None
    changes = _changes(old, table, parts)
    sharing = [
        other.name
        for other in catalog.tables.values()
        if other is not old and _plays(other, place)
    ]
    users = readers(lambda used: _plays(used, place))
    _write(place, name, parts, users=users, sharing=sharing, look=look)
    times = [row[found.event_time] for row in found.rows if found.event_time]
    made = RowTable(
        table.name,
        len(found.rows),
        len(set(found.batches)),
        (min(times), max(times)) if times else None,
        place,
        statement,
        changes,
        notes,
    )
    return after, made


def _plays(table: Relation, place: Path) -> bool:
    """Whether a table plays the tape of a place, however its path is written."""
    if not isinstance(table, ConnectorTable) or table.connector != TAPE:
        return False
    path = user_path(str(table.spec.options["path"]))
    return path.resolve() == place.resolve()


def _check_arrivals(arrivals_us: Sequence[int]) -> None:
    """That Python and the end of a tape have each time of arrival."""
    for number, us in enumerate(arrivals_us, 1):
        if not FIRST_ARRIVAL_US <= us < END_OF_TIME_US:
            raise CatalogProblem(
                f"row {number}, in the order of arrival, arrives outside of the years "
                "1 to 9998",
                hint="rows without an arrival begin with the event time of the first: "
                "write another time, or a shorter shuffle, delay, gap or burst",
            )


def _hash(found: StreamRows) -> str:
    parts = (str(found.schema), found.rows, found.arrivals_us, found.batches)
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:12]


def rows_statement(
    name: str, found: StreamRows, watermark: str | timedelta | None, place: Path
) -> str:
    """The CREATE TABLE of rows whose tape is in a place; see :func:`define_rows`.

    Raises
    ------
    ArroyoError
        When the watermark is none, or has no event time.
    """
    delay = watermark_delay(watermark)
    columns = [
        f"{written_name(field.name)} {field.type}" + " NOT NULL" * (not field.nullable)
        for field in found.schema
    ]
    options = {"connector": TAPE, "path": str(place), "format": usual_format()}
    if found.event_time is not None and delay is None:
        options["event_time_field"] = found.event_time
    elif found.event_time is not None:
        at = written_name(found.event_time)
        behind = f" - INTERVAL '{interval_text(delay)}'" if delay else ""
        columns.append(f"WATERMARK FOR {at} AS {at}{behind}")
    elif delay is not None:
        raise RunProblem(
            "a watermark needs an event time, and no column is a TIMESTAMP",
            hint="write the times as 2026-01-31 10:00:00 or 10:00:00, or leave the "
            "watermark out: the arrival is the event time then",
        )
    return written_table(written_name(name), columns, options)


def _parts(found: StreamRows, table: ConnectorTable) -> _Parts:
    """The value of each record, and when it arrives, by micro-batch."""
    target = to_table(table, EmitOptions(), lambda: None)
    parts: dict[int, list[tuple[bytes, int]]] = {}
    for (value, _, _), arrival_us, batch in zip(
        target.records(found.rows), found.arrivals_us, found.batches, strict=True
    ):
        parts.setdefault(batch, []).append((value, arrival_us))
    return [*parts.values()]


def _write(
    place: Path,
    name: str,
    parts: _Parts,
    *,
    users: Sequence[str],
    sharing: Sequence[str],
    look: Callable[[], None],
) -> None:
    current_roots().check(place, str(place))
    if place.exists() and _content(place) == parts:
        return
    _remove(place, users, sharing)
    numbers = count()
    with RecordWriter(place, name, made_by=ROWS, together_us=None) as writer:
        for part in parts:
            look()
            for value, arrival_us in part:
                record = TapeRecord(0, next(numbers), arrival_us // 1000, None, value)
                writer.append(record, arrival_us)
            writer.flush()
        writer.finish()


def _remove(place: Path, users: Sequence[str], sharing: Sequence[str]) -> None:
    """Remove the rows of before; nothing that is anything else."""
    if place.is_symlink():
        raise RunProblem(
            f"'{place}' is a link, to '{place.readlink()}'",
            hint="delete the link, or name the folder itself",
        )
    if not place.exists():
        return
    if not _is_of_rows(place):
        raise RunProblem(
            f"there is something else at '{place}'",
            hint="only a tape of rows is written over: delete it, or name another",
        )
    if users:
        raise RunProblem(
            f"{', '.join(users)} still reads the rows at '{place}'",
            hint=f"stop it: %arroyo stop {users[0]}",
        )
    if sharing:
        raise RunProblem(
            f"the table '{sharing[0]}' reads the rows at '{place}'",
            hint=f"keep these rows in another place, or DROP TABLE "
            f"{written_name(sharing[0])}",
        )
    foreign = sorted(
        entry.name for entry in place.iterdir() if not is_tape_file(entry.name)
    )
    if foreign:
        raise RunProblem(
            f"there is '{foreign[0]}' in the tape '{place}', which is no part of it",
            hint="move it elsewhere: the tape is written anew, in an empty folder",
        )
    with refusals("write", str(place)):
        shutil.rmtree(place)


def _is_of_rows(place: Path) -> bool:
    try:
        return RecordTape(place, str(place)).made_by == ROWS
    except ArroyoError:
        return False


def _content(place: Path) -> _Parts:
    """The same of a tape as of rows (:func:`_parts`); of what is none: nothing."""
    try:
        chunks = [chunk for _, chunk in RecordTape(place, str(place)).chunks()]
    except ArroyoError:
        return []
    return [
        [
            # Not as a datetime: a tape may have times that Python has not.
            *zip(
                chunk["value"].to_pylist(),
                chunk[ARRIVAL].cast("int64").to_pylist(),
                strict=True,
            )
        ]
        for chunk in chunks
    ]


def _changes(old: Relation | None, new: ConnectorTable, now: _Parts) -> str:
    """What is different from the rows before, in words."""
    if not isinstance(old, ConnectorTable) or old.connector != TAPE:
        return ""
    if old.schema != new.schema or old.watermark.column != new.watermark.column:
        return ""
    before = _content(Path(str(old.spec.options["path"])))
    if not before:
        return ""
    had, has = (
        Counter(v for part in parts for v, _ in part) for parts in (before, now)
    )
    added, removed = (has - had).total(), (had - has).total()
    said = [f"{_counted(added, 'row')} added"] if added else []
    said += [f"{_counted(removed, 'row')} removed"] if removed else []
    if not said and now != before:
        said.append("the same rows, which arrive otherwise")
    if old.watermark != new.watermark:
        said.append("another watermark")
    return ", ".join(said)


def _counted(number: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{number:,} {word}{plural if number != 1 else ''}"
