"""Rows of a table that is written as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote
from types import MappingProxyType

from arroyo_nb.errors import ArroyoError, CatalogProblem, SyntaxProblem, raise_all
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.tables.columns import Declared, declared_columns
from arroyo_nb.plan.tables.render_ddl import written_name
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import (
    StreamRows,
    event_time_column,
    instant_us,
    stream_rows,
    with_event_time,
    with_left_out,
)
from arroyo_nb.row_tables.grid import (
    BAR,
    COMMA,
    MOST_PROBLEMS,
    Cell,
    Grid,
    named_separator,
    read_grid,
)
from arroyo_nb.row_tables.notations import (
    is_other_number,
    is_other_time,
    notation_of,
)
from arroyo_nb.row_tables.values import (
    inferred_type,
    looks_like_time,
    reader,
    time_of,
    unreadable,
    why_text,
)
from arroyo_nb.schema import TEXT, Field, Schema, Timestamp, Type, check_visible
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.sql.parse import parse_all
from arroyo_nb.tape import shown_text

_TOLD_TYPE = re.compile(
    r":((?:BIG)?INT(?: UNSIGNED)?|FLOAT|DOUBLE|DECIMAL(?:\(\d+, *\d+\))?"
    r"|BOOLEAN|TEXT|JSON|TIMESTAMP(?:\(\d\))?)\Z"
)
"""The type behind the name of a column, in the header of a file."""


@dataclass(frozen=True)
class _Column:
    """A column of a grid: its number, its declaration, and whether its type was
    written."""

    number: int
    field: Field
    is_typed: bool


def rows_of_text(
    source: ScriptText,
    event_time: str | None,
    arrives: str,
    *,
    is_file: bool = False,
    declared: Schema | None = None,
    types: Mapping[str, str] = MappingProxyType({}),
) -> StreamRows:
    """The rows of a text.

    Parameters
    ----------
    source
        A header and a line for each row, see :mod:`arroyo_nb.row_tables.grid`.
    event_time
        The column that is the event time; None: the only TIMESTAMP.
    arrives
        The column that says when a row arrives; no column of the table. It may be
        missing.
    is_file
        Whether it is CSV, in whose header names may have blanks; a type stands behind a
        colon, as in ``zip:TEXT``.
    declared
        The columns of a table that is there, of which these are rows: they have their
        types, and what the header leaves out is NULL, whatever they say. The event time
        is the named one alone then.
    types
        The texts of types that are told elsewhere, by the columns that have them.

    Raises
    ------
    ArroyoError
        With the place of each wrong line, or else of each wrong value.
    """
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        raise SyntaxProblem(
            "a character is half of one: a lone surrogate",
            span=Span(error.start, error.start + 1),
            hint="remove it: no text in UTF-8 can hold it",
        ).at(source) from None
    grid = read_grid(source, is_file=is_file)
    problems: list[ArroyoError] = []
    try:
        arrival, columns = _columns(
            grid, arrives, source, declared, types, is_file=is_file
        )
        found = Schema(tuple(column.field for column in columns))
        if declared is not None:
            declared = with_left_out(declared, found)
            _check_event_time(event_time, found, grid)
        _check_inferred_time(grid, columns, event_time)
        at = event_time
        if declared is None or at is not None:
            at = event_time_column(declared or found, event_time)
    except ArroyoError as problem:
        raise problem.at(source) from None
    schema = with_event_time(declared or found, at)
    if not grid.rows:
        raise SyntaxProblem(
            "there is a header, and no row below it",
            span=Span(grid.header[0].span.start, grid.header[-1].span.end),
            hint="write a line for each row",
        ).at(source)
    values = [
        _values(grid, column.number, schema[column.field.name], problems)
        for column in columns
    ]
    arrivals = None
    if arrival is not None:
        arrivals = _arrivals(grid, arrival, arrives, problems)
    raise_all(problem.at(source) for problem in problems[:MOST_PROBLEMS])
    nothing = dict.fromkeys(schema.names)
    rows = [
        {**nothing, **dict(zip(found.names, row, strict=True))}
        for row in zip(*values, strict=True)
    ]
    groups = [row.group for row in grid.rows] if grid.is_grouped else None
    made = stream_rows(schema, rows, at, arrivals, groups)
    return replace(made, notes=tuple(_notes(grid, columns, source)))


def _notes(grid: Grid, columns: Sequence[_Column], source: ScriptText) -> Iterator[str]:
    """What was found out, where the reader of the notes may have meant another."""
    usual = COMMA if grid.form.is_csv else BAR
    if grid.form.separator != usual:
        yield f"{named_separator(grid.form.separator)} separates its columns"
    for column in columns:
        cells = [row.cells[column.number] for row in grid.rows]
        if column.is_typed or column.field.type != TEXT:
            continue
        if (found := why_text(cells, is_csv=grid.form.is_csv)) is None:
            continue
        line, _ = source.place(found.cell.span.start)
        name, text = column.field.name, shown_text(found.cell.text)
        reason, todo = found.reason, "an empty cell is NULL"
        if written := notation_of(written_name(name), found.others):
            reason, todo = written
        elif found.meant is not None:
            pair = quote(f"{name}={found.meant}")
            todo = f"for numbers write {pair} behind the name of the table"
        yield f"{name} is {TEXT}, as '{text}' in line {line} {reason}; {todo}"


def _columns(
    grid: Grid,
    arrives: str,
    source: ScriptText,
    declared: Schema | None,
    types: Mapping[str, str],
    *,
    is_file: bool,
) -> tuple[int | None, list[_Column]]:
    """The number of the arrival's column, and the others."""
    untold = dict(types)
    arrival: int | None = None
    columns: list[_Column] = []
    seen: set[str] = set()
    for number, cell in enumerate(grid.header):
        name, type_text, type_at = _name_and_type(cell, source, is_file=is_file)
        if not name:
            raise SyntaxProblem(
                "a column of the header has no name",
                span=cell.span,
                hint="name it, or remove the separator",
            )
        if name.lower() in seen:
            raise CatalogProblem(
                f"there are two columns '{name}'",
                span=cell.span,
                hint="give one of them another name",
            )
        seen.add(name.lower())
        told = untold.pop(name, None)
        if told is not None and type_text:
            raise CatalogProblem(
                f"'{name}' has the type {type_text} in the header, and {told} in "
                f"'{name}={told}'",
                span=cell.span,
                hint="leave one of them out",
            )
        if name == arrives:
            if told is not None:
                _check_arrival(_told_field(name, told), cell)
            if type_text:
                _check_arrival(_typed_field(name, type_text, type_at), cell)
            arrival = number
            continue
        check_visible(name, cell.span)
        if declared is not None:
            field = _declared_field(declared, name, type_text, cell)
        elif type_text or told is not None:
            try:
                field = (
                    _typed_field(name, type_text, type_at)
                    if told is None
                    else _told_field(name, told)
                )
            except ArroyoError as problem:
                if len(grid.header) == 1:
                    words = " | ".join(f"{name} {type_text}".split())
                    problem.hint = f"separate columns by bars: {words}"
                raise
            _check_readable(field, cell)
        else:
            cells = (row.cells[number] for row in grid.rows)
            field = Field(name, inferred_type(cells, is_csv=grid.form.is_csv))
        is_typed = bool(type_text or told) or declared is not None
        columns.append(_Column(number, field, is_typed))
    for name, told in untold.items():
        raise CatalogProblem(
            f"there is no column '{name}', whose type '{name}={told}' tells",
            hint=did_you_mean(name, [column.field.name for column in columns]),
        )
    if not columns:
        raise CatalogProblem(
            f"there is no column but '{arrives}'",
            span=grid.header[0].span,
            hint="name the columns of the table beside it: arrives | at | user",
        )
    return arrival, columns


def _declared_field(declared: Schema, name: str, type_text: str, cell: Cell) -> Field:
    """The column of that name of a table that is there."""
    field = declared.get(name)
    if field is None:
        raise CatalogProblem(
            f"the table has no column '{name}'",
            span=cell.span,
            hint=did_you_mean(name, declared.names)
            or f"it has: {', '.join(declared.names)}",
        )
    if type_text:
        raise CatalogProblem(
            f"'{name}' is {field.type}, as the table declares it",
            span=cell.span,
            hint="leave its type out",
        )
    _check_readable(field, cell)
    return field


def _check_readable(field: Field, cell: Cell) -> None:
    if reader(field.type) is None:
        problem = unreadable(field.type, field.name)
        problem.span = cell.span
        raise problem


def _check_event_time(event_time: str | None, found: Schema, grid: Grid) -> None:
    """Refuse a header without the event time of a table that is there."""
    if event_time is not None and event_time not in found:
        raise CatalogProblem(
            f"the column '{event_time}' is missing, which is the event time",
            span=Span(grid.header[0].span.start, grid.header[-1].span.end),
            hint="add it to the header, and a time to each row",
        )


def _check_arrival(field: Field, cell: Cell) -> None:
    if not isinstance(field.type, Timestamp):
        raise CatalogProblem(
            f"'{field.name}' is {field.type}, and is the time of arrival",
            span=cell.span,
            hint="leave its type out, or call another column the arrival: --arrives "
            "NAME, or arrives='NAME'",
        )


def _name_and_type(
    cell: Cell, source: ScriptText, *, is_file: bool
) -> tuple[str, str, int]:
    """The name of a column, the text of its type, and where that stands; the text is
    empty where it has none."""
    written = source.text[cell.span.start : cell.span.end]
    if not cell.text:
        return "", "", cell.span.start
    if written.startswith('"'):
        # The quotes of a header are closed, an inner one is written twice.
        end = 1
        while written[end] != '"' or written[end + 1 : end + 2] == '"':
            end += 2 if written[end] == '"' else 1
        name, rest = written[1:end].replace('""', '"'), written[end + 1 :]
    elif is_file:
        name, rest = written, ""
        if told := _TOLD_TYPE.search(written):
            name, rest = written[: told.start()], told[1]
    else:
        name = written.split()[0]
        rest = written[len(name) :]
    return name, rest.strip(), cell.span.end - len(rest.lstrip())


def _typed_field(name: str, type_text: str, at: int) -> Field:
    """The column of a type, perhaps with NOT NULL behind it."""
    before = f"CREATE TABLE t ({written_name(name)} "
    text = f"{before}{type_text}\n) WITH (connector = 't')"
    shift = at - len(before)

    def placed(problem: ArroyoError) -> ArroyoError:
        span = problem.span or Span(len(before), len(before) + len(type_text))
        last = at + len(type_text)
        start = min(max(span.start + shift, at), last - 1)
        problem.span = Span(start, max(start + 1, min(span.end + shift, last)))
        return problem

    found = ErrorCollector()
    declared: Declared | None = None
    try:
        parsed = parse_all(ScriptText(text))
        if not parsed.problems and len(parsed.statements) == 1:
            entries = parsed.statements[0].expression.this.expressions
            declared = declared_columns(entries, "a table of rows", found)
    except SyntaxProblem:
        # Its words are about a statement that nobody has written.
        declared = None
    if found:
        raise placed(next(iter(found)))
    if declared is None or len(declared.physical) != 1 or declared.primary_key:
        raise CatalogProblem(
            f"'{type_text}' is not a type alone",
            span=Span(at, at + len(type_text)),
            hint="write a name and a type, and perhaps NOT NULL: n INT NOT NULL; quote "
            'a name with blanks: "my n" INT',
        )
    (field,) = declared.physical
    return Field(name, field.type, field.nullable)


def _told_field(name: str, type_text: str) -> Field:
    """The column of a type that is told where the text of the rows does not stand."""
    try:
        return _typed_field(name, type_text, 0)
    except ArroyoError as problem:
        raise CatalogProblem(
            f"the type in '{name}={type_text}': {problem.message}", hint=problem.hint
        ) from None


def _check_inferred_time(
    grid: Grid, columns: Sequence[_Column], event_time: str | None
) -> None:
    """Say which cell is no time, where the event time is a column without a type."""
    column = next((c for c in columns if c.field.name == event_time), None)
    if column is None or column.is_typed or isinstance(column.field.type, Timestamp):
        return
    cells = [row.cells[column.number] for row in grid.rows]
    wrong = next(
        (c for c in cells if not c.is_null and not looks_like_time(c.text)), None
    )
    if wrong is not None:
        raise _wrong_value(
            wrong, column.field.name, Timestamp(), _failure(time_of, wrong)
        )


def _values(
    grid: Grid, number: int, field: Field, problems: list[ArroyoError]
) -> list[object]:
    """The values of a column; what is wrong with one is collected."""
    read = reader(field.type)
    assert read is not None, "the header was checked"
    values: list[object] = []
    for row in grid.rows:
        cell = row.cells[number]
        if cell.is_null:
            values.append(None)
            if not field.nullable:
                problems.append(_missing(cell, field.name))
            continue
        try:
            values.append(read(cell.text))
        except ValueError as error:
            problems.append(_wrong_value(cell, field.name, field.type, str(error)))
    return values


def _arrivals(
    grid: Grid, number: int, name: str, problems: list[ArroyoError]
) -> list[int]:
    field = Field(name, Timestamp(), nullable=False)
    before = len(problems)
    values = _values(grid, number, field, problems)
    if len(problems) > before:
        return []
    found = [instant_us(value) for value in values if isinstance(value, datetime)]
    if grid.is_grouped:
        problems += (
            CatalogProblem(
                "the row arrives before the one above it",
                span=grid.rows[line].cells[number].span,
                hint="blank lines end micro-batches, so rows stand in the order in "
                "which they arrive: move it up, or remove the blank lines",
            )
            for line in range(1, len(found))
            if found[line] < found[line - 1]
        )
    return found


def _failure(read: Callable[[str], object], cell: Cell) -> str:
    try:
        read(cell.text)
    except ValueError as error:
        return str(error)
    return ""


def _missing(cell: Cell, name: str) -> ArroyoError:
    return CatalogProblem(
        f"a value of '{name}' is missing",
        span=cell.span,
        hint="the event time, the arrival and what is NOT NULL must be in each row: "
        "leave out the rows without it",
    )


def _wrong_value(cell: Cell, name: str, type_: Type, hint: str) -> ArroyoError:
    looks_other = is_other_time if isinstance(type_, Timestamp) else is_other_number
    if looks_other(cell.text):
        written = notation_of(written_name(name), [cell.text])
        assert written is not None, "there is a text"
        hint = f"{hint}; or declare it TEXT, and {written.todo}"
    return CatalogProblem(
        f"'{cell.text}' is not a value of '{name}', which is {type_}",
        span=cell.span,
        hint=hint or None,
    )
