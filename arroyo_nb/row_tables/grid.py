"""A table that is written as text, cut into cells: columns between bars, or CSV.

::

    at       | user  | n INT        at,user,n
    10:00:00 | ann   | 1            10:00:00,ann,1

A Markdown table is one too: bars around each line, and dashes below the header. In
place of the commas of CSV stand semicolons or tabs, and in a file bars. Each cell knows
its place, for errors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.source import ScriptText, Span

BAR, COMMA, SEMICOLON, TAB = "|", ",", ";", "\t"

MOST_PROBLEMS = 20
"""How many errors of a table are told: a wrong column of a long file has one a line."""

_DASHES = r"\s*(-{3,}|:-+:?|-+:)\s*"
_RULE = re.compile(rf"\s*\|?{_DASHES}(\|{_DASHES})*\|?\s*\Z")
"""The line of dashes below a Markdown header; fewer than three of them, without a
colon, are a value."""

_BAR_QUOTES, _CSV_QUOTES = "\"'", '"'
_OPENING, _CLOSING = "(<", ")>"
_BLANKS = re.compile(r"[^\S\n]*")
_BLANKS_BUT_TABS = re.compile(r"[^\S\n\t]*")
_SNIFFED_LINES = 50


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands between two separators.

    Parameters
    ----------
    text
        Without blanks around it, and without quotes.
    span
        Where it stands; of an empty one the separator behind it, or the line's last
        character.
    is_quoted
        Whether it stood in quotes.
    """

    text: str
    span: Span
    is_quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is NULL: empty, or the word, without quotes."""
        return not self.is_quoted and self.text.upper() in ("", "NULL")


@dataclass(frozen=True, slots=True)
class GridRow:
    """The cells of a line, and how many groups of lines were ended by a blank line
    before it."""

    cells: tuple[Cell, ...]
    group: int


@dataclass(frozen=True, slots=True)
class Form:
    """How a table is written.

    Parameters
    ----------
    separator
        What stands between two cells.
    is_csv
        Whether only double quotes are quotes, and a quoted cell may be a time: all
        tables but those of a notebook's cell between bars.
    """

    separator: str
    is_csv: bool

    @property
    def quotes(self) -> str:
        """What a quoted cell may begin with."""
        return _CSV_QUOTES if self.is_csv else _BAR_QUOTES

    @property
    def blanks(self) -> re.Pattern[str]:
        """What may stand around a cell."""
        return _BLANKS_BUT_TABS if self.separator == TAB else _BLANKS


@dataclass(frozen=True)
class Grid:
    """A table of cells; each row has as many as the header.

    Parameters
    ----------
    header
        The first line.
    rows
        The others.
    form
        How they were written.
    """

    header: tuple[Cell, ...]
    rows: tuple[GridRow, ...]
    form: Form

    @property
    def is_grouped(self) -> bool:
        """Whether a blank line stands between rows."""
        return bool(self.rows) and self.rows[-1].group > 0


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is not blank; ``start`` is its place."""

    text: str
    start: int
    follows_blank: bool


def read_grid(source: ScriptText, *, is_file: bool = False) -> Grid:
    """Cut a text into cells.

    Parameters
    ----------
    is_file
        Whether it is a file of CSV; else bars separate its cells where the header has
        some.

    Raises
    ------
    SyntaxProblem
        When there is no header, a quote is not closed, or a line has another number of
        cells than the header; of several such lines with all of them (Problems).
    """
    lines = list(_lines(source.text))
    if not lines:
        raise SyntaxProblem(
            "there are no rows",
            hint="write a line of column names, and below it a line for each row: "
            "at | user | n",
        )
    head, *others = lines
    try:
        form = _file_form(head, others) if is_file else _cell_form(head, others)
        if form.separator == TAB:
            head, *others = _lines(source.text, TAB)
        is_framed = not form.is_csv and head.text.lstrip().startswith(BAR)
        header = _unframed(head, _header(head, form.separator), is_framed=is_framed)
    except SyntaxProblem as problem:
        raise problem.at(source) from None
    if not form.is_csv and others and _RULE.match(others[0].text):
        others = others[1:]
    rows, problems, group = list[GridRow](), list[ArroyoError](), 0
    for line in others:
        group += bool(rows) and line.follows_blank
        try:
            cells = list(_cells(line, form))
            if is_framed:
                cells = _unframed(line, cells, is_framed=is_framed)
            _check_length(cells, header)
        except SyntaxProblem as problem:
            problems.append(problem.at(source))
            continue
        rows.append(GridRow(tuple(cells), group))
    raise_all(problems[:MOST_PROBLEMS])
    return Grid(tuple(header), tuple(rows), form)


def _cell_form(head: _Line, others: list[_Line]) -> Form:
    for separator in (BAR, COMMA, SEMICOLON, TAB):
        # A tab may stand between a name and its type.
        in_rows = separator in (BAR, COMMA) or any(separator in o.text for o in others)
        if in_rows and len(_header(head, separator)) > 1:
            return Form(separator, is_csv=separator != BAR)
    return Form(BAR, is_csv=False)


def _file_form(head: _Line, others: list[_Line]) -> Form:
    """How a file is written: its header has the separator, and so has each line as
    often; a header of prose has a blank behind it. What is left to say after that is
    the csv module's guess."""
    separators = (COMMA, SEMICOLON, TAB, BAR)
    cells = {separator: len(_header(head, separator)) for separator in separators}
    found = [separator for separator in separators if cells[separator] > 1]
    if not found:
        return Form(COMMA, is_csv=True)
    sample = others[:_SNIFFED_LINES]
    even = [f for f in found if all(_count(x, f) == cells[f] for x in sample)]
    found = even or found
    found = [one for one in found if f"{one} " not in head.text] or found
    separator = found[0]
    if len(found) > 1:
        text = "\n".join(line.text for line in [head, *sample])
        with suppress(csv.Error):
            sniffer = csv.Sniffer()
            separator = sniffer.sniff(text, "".join(found)).delimiter
    return Form(separator, is_csv=True)


def _count(line: _Line, separator: str) -> int:
    """How many cells a line would have; 0 where a quote is wrong."""
    try:
        return len(list(_cells(line, Form(separator, is_csv=True))))
    except SyntaxProblem:
        return 0


def _lines(text: str, separator: str = BAR) -> Iterator[_Line]:
    start, follows_blank = 0, False
    for written in text.split("\n"):
        line = written.rstrip()
        if separator == TAB:
            # The cells behind the last tabs are empty ones.
            behind = written[len(line) :]
            line += behind[: behind.rfind(TAB) + 1]
        if line:
            yield _Line(line, start, follows_blank)
        follows_blank = not line
        start += len(written) + 1


def _unframed(line: _Line, cells: list[Cell], *, is_framed: bool) -> list[Cell]:
    """The cells without the empty ones outside of the bars around a line."""
    if not is_framed or len(cells) < 2:
        return cells
    begins = 1 if line.text.lstrip().startswith(BAR) else 0
    return cells[begins:-1] if line.text.endswith(BAR) else cells[begins:]


def _check_length(cells: list[Cell], header: list[Cell]) -> None:
    if len(cells) == len(header):
        return
    at = cells[min(len(header), len(cells) - 1)].span
    cell = "cell" if len(cells) == 1 else "cells"
    raise SyntaxProblem(
        f"the line has {len(cells)} {cell}, the header has {len(header)}",
        span=at,
        hint="leave a cell empty for NULL; a text that has the separator in it "
        "stands in double quotes",
    )


def _header(line: _Line, separator: str) -> list[Cell]:
    """The cells of the first line: a name, and perhaps a type, which may have commas in
    brackets of its own."""
    depth, is_quoted, begin, cells = 0, False, 0, list[Cell]()
    for at, char in enumerate(line.text):
        if char == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(0, depth - 1)
        elif char == separator and not depth:
            cells.append(_plain(line, begin, at))
            begin = at + 1
    if is_quoted:
        raise _unclosed(line, line.text.rindex('"'))
    return [*cells, _plain(line, begin, len(line.text))]


def _cells(line: _Line, form: Form) -> Iterator[Cell]:
    text, at = line.text, 0
    while True:
        blanks = form.blanks.match(text, at)
        begin = blanks.end() if blanks else at
        if text[begin : begin + 1] and text[begin] in form.quotes:
            cell, end = _quoted(line, begin, form)
        else:
            end = text.find(form.separator, at)
            end = len(text) if end < 0 else end
            cell = _plain(line, at, end)
        yield cell
        if end >= len(text):
            return
        at = end + 1


def named_separator(separator: str) -> str:
    """A separator, as a message names it."""
    return "a tab" if separator == TAB else f"a '{separator}'"


def _plain(line: _Line, begin: int, end: int) -> Cell:
    written = line.text[begin:end]
    text = written.strip()
    if not text:
        at = line.start + min(end, len(line.text) - 1)
        return Cell("", Span(at, at + 1))
    start = line.start + begin + len(written) - len(written.lstrip())
    return Cell(text, Span(start, start + len(text)))


def _quoted(line: _Line, begin: int, form: Form) -> tuple[Cell, int]:
    """A cell in quotes, a quote in it written twice; and where what is behind it
    begins."""
    quote = line.text[begin]
    end = begin + 1
    while True:
        end = line.text.find(quote, end)
        if end < 0:
            raise _unclosed(line, begin, is_csv=form.is_csv)
        if line.text[end + 1 : end + 2] != quote:
            break
        end += 2
    text = line.text[begin + 1 : end].replace(2 * quote, quote)
    span = Span(line.start + begin, line.start + end + 1)
    blanks = form.blanks.match(line.text, end + 1)
    after = blanks.end() if blanks else end + 1
    if after < len(line.text) and line.text[after] != form.separator:
        raise SyntaxProblem(
            f"{named_separator(form.separator)} is missing behind the quoted text",
            span=Span(line.start + after, line.start + after + 1),
            hint="a quote that is part of the text is written twice"
            + (
                "; a CSV file that has \\ before it is read with pandas: "
                "read_csv(..., escapechar='\\\\'), and hand in the DataFrame"
                if text.endswith("\\")
                else ""
            ),
        )
    return Cell(text, span, is_quoted=True), after


def _unclosed(line: _Line, at: int, *, is_csv: bool = False) -> SyntaxProblem:
    hint = (
        "close it; a CSV file whose values have line breaks is read with pandas: hand "
        "in the DataFrame"
        if is_csv
        else "close it; a text that begins with a quote stands in quotes of the other "
        "kind"
    )
    return SyntaxProblem(
        "a quote is not closed on its line",
        span=Span(line.start + at, line.start + len(line.text)),
        hint=hint,
    )
