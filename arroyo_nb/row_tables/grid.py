"""A table that is written as text, cut into cells: columns between bars, or CSV.

::

    at       | user  | n INT        at,user,n
    10:00:00 | ann   | 1            10:00:00,ann,1

A Markdown table is one too: bars around each line, and dashes below the header. Each
cell knows its place, for errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.source import ScriptText, Span

BAR, COMMA = "|", ","

MOST_PROBLEMS = 20
"""How many errors of a table are told: a wrong column of a long file has one a line."""

_DASHES = r"\s*(-{3,}|:-+:?|-+:)\s*"
_RULE = re.compile(rf"\s*\|?{_DASHES}(\|{_DASHES})*\|?\s*\Z")
"""The line of dashes below a Markdown header; fewer than three of them, without a
colon, are a value."""

_QUOTES = {BAR: "\"'", COMMA: '"'}
_OPENING, _CLOSING = "(<", ")>"
_BLANKS = re.compile(r"[^\S\n]*")


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


@dataclass(frozen=True)
class Grid:
    """A table of cells; each row has as many as the header.

    Parameters
    ----------
    header
        The first line.
    rows
        The others.
    is_csv
        Whether commas separate them.
    """

    header: tuple[Cell, ...]
    rows: tuple[GridRow, ...]
    is_csv: bool

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


def read_grid(source: ScriptText, *, is_csv: bool | None = None) -> Grid:
    """Cut a text into cells.

    Parameters
    ----------
    is_csv
        Whether commas separate its cells; None: where the header has commas and no bar.

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
        if is_csv is None:
            is_csv = len(_header(head, BAR)) == 1 < len(_header(head, COMMA))
        separator = COMMA if is_csv else BAR
        is_framed = not is_csv and head.text.lstrip().startswith(BAR)
        header = _unframed(head, _header(head, separator), is_framed=is_framed)
    except SyntaxProblem as problem:
        raise problem.at(source) from None
    if not is_csv and others and _RULE.match(others[0].text):
        others = others[1:]
    rows, problems, group = list[GridRow](), list[ArroyoError](), 0
    for line in others:
        group += bool(rows) and line.follows_blank
        try:
            cells = list(_cells(line, separator))
            if is_framed:
                cells = _unframed(line, cells, is_framed=is_framed)
            _check_length(cells, header)
        except SyntaxProblem as problem:
            problems.append(problem.at(source))
            continue
        rows.append(GridRow(tuple(cells), group))
    raise_all(problems[:MOST_PROBLEMS])
    return Grid(tuple(header), tuple(rows), is_csv)


def _lines(text: str) -> Iterator[_Line]:
    start, follows_blank = 0, False
    for written in text.split("\n"):
        line = written.rstrip()
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


def _cells(line: _Line, separator: str) -> Iterator[Cell]:
    text, at = line.text, 0
    while True:
        blanks = _BLANKS.match(text, at)
        begin = blanks.end() if blanks else at
        if text[begin : begin + 1] and text[begin] in _QUOTES[separator]:
            cell, end = _quoted(line, begin, separator)
        else:
            end = text.find(separator, at)
            end = len(text) if end < 0 else end
            cell = _plain(line, at, end)
        yield cell
        if end >= len(text):
            return
        at = end + 1


def _plain(line: _Line, begin: int, end: int) -> Cell:
    written = line.text[begin:end]
    text = written.strip()
    if not text:
        at = line.start + min(end, len(line.text) - 1)
        return Cell("", Span(at, at + 1))
    start = line.start + begin + len(written) - len(written.lstrip())
    return Cell(text, Span(start, start + len(text)))


def _quoted(line: _Line, begin: int, separator: str) -> tuple[Cell, int]:
    """A cell in quotes, a quote in it written twice; and where what is behind it
    begins."""
    quote = line.text[begin]
    end = begin + 1
    while True:
        end = line.text.find(quote, end)
        if end < 0:
            raise _unclosed(line, begin, is_csv=separator == COMMA)
        if line.text[end + 1 : end + 2] != quote:
            break
        end += 2
    text = line.text[begin + 1 : end].replace(2 * quote, quote)
    span = Span(line.start + begin, line.start + end + 1)
    blanks = _BLANKS.match(line.text, end + 1)
    after = blanks.end() if blanks else end + 1
    if after < len(line.text) and line.text[after] != separator:
        raise SyntaxProblem(
            f"a '{separator}' is missing behind the quoted text",
            span=Span(line.start + after, line.start + after + 1),
            hint="a quote that is part of the text is written twice",
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
