"""How a problem is mended: changes of the cell that its author may choose."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import Edit, Fix, Severity
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.other_syntax import rewritten_words
from arroyo_nb.editor.problems import CellProblem
from arroyo_nb.editor.sql_words import (
    SqlWord,
    closing,
    enclosing_select,
    select_clauses,
    split_items,
    sql_words,
)
from arroyo_nb.editor.statements import statements
from arroyo_nb.editor.window_syntax import TITLE, rewritten_windows
from arroyo_nb.repairs import (
    AddGroupKey,
    AddNotNull,
    AddWatermark,
    RemoveOption,
    Rename,
    Repair,
    Replace,
    Together,
    quoted_name,
    rename,
)
from arroyo_nb.source import Span

_LOG = logging.getLogger(__name__)

MOST = 5
"""More changes than that are not offered for one problem."""

DELAY = "INTERVAL '1 minute'"
"""How late rows may be where nobody has said it."""


def fixes_of(problem: CellProblem, cell: CellText) -> tuple[Fix, ...]:
    """The changes that mend a problem, the likeliest first.

    Parameters
    ----------
    problem
        Its places are those of the cell.
    cell
        The cell.
    """
    try:
        found = dict.fromkeys(_Fixes(problem, cell).found())
    except Exception:
        # The problem is told all the same.
        _LOG.exception("no fix could be found")
        return ()
    text = cell.text
    changes = (
        fix
        for fix in found
        if any(text[edit.start : edit.end] != edit.text for edit in fix.edits)
    )
    return tuple(changes)[:MOST]


@dataclass(frozen=True)
class _Fixes:
    """The changes for one problem."""

    problem: CellProblem
    cell: CellText

    def found(self) -> Iterator[Fix]:
        """The changes that its error knows, and those that its statement needs."""
        error = self.problem.error
        for repair in error.repairs or rename(error.hint):
            if (fix := self._fix(repair)) is not None:
                yield fix
        if self.problem.severity is Severity.ERROR and self._words:
            yield from self._rewritten()

    def _fix(self, repair: Repair) -> Fix | None:
        match repair:
            case Together(title, parts):
                made = [self._fix(part) for part in parts]
                all_edits = [edit for fix in made if fix for edit in fix.edits]
                ordered = sorted(all_edits, key=lambda edit: edit.start)
                return Fix(title, tuple(ordered))
            case Rename(written, name):
                return self._renamed(written, name)
            case Replace(span, text, title):
                place = self.problem.place(span)
                said = title or (f"change to {text}" if text else "remove it")
                return Fix(said, (Edit(place.start, place.end, text),))
            case RemoveOption(span, name):
                return self._without_option(self.problem.place(span), name)
            case AddGroupKey(span):
                return self._grouped(self.problem.place(span))
            case AddNotNull(columns):
                edits = [self._not_null(self._words, column) for column in columns]
                told = " and ".join(columns)
                made_edits = tuple(edit for edit in edits if edit is not None)
                return Fix(f"declare {told} NOT NULL", made_edits)
            case AddWatermark(table, column):
                return self._with_watermark(table, column)

    def _renamed(self, written: str, name: str) -> Fix | None:
        text = self.cell.text
        start, end = self.problem.span.start, self.problem.span.end
        # An option may have dots in its name; a column may stand behind its table's.
        places = (
            re.compile(
                rf"(?<![{before}]){re.escape(written)}(?!\w)", re.IGNORECASE | re.ASCII
            ).search(text, start, end)
            for before in (r"\w.", r"\w")
        )
        found = next(filter(None, places), None)
        if found is None:
            return None
        is_quoted = text[found.start() - 1 : found.start()] in ("'", '"')
        # A type and a keyword have capitals alone; other names keep theirs in quotes.
        is_plain = is_quoted or name.upper() == name or not name.isidentifier()
        made = name if is_plain else quoted_name(name)
        edit = Edit(found.start(), found.end(), made)
        return Fix(f"change to '{name}'", (edit,))

    @cached_property
    def _region(self) -> Span:
        """The part of the cell that is SQL."""
        text, start = self.cell.text, self.cell.start
        if self.cell.magic.content is not Content.TEST:
            return Span(start, len(text))
        when = re.compile(r"^WHEN\b", re.MULTILINE).search(text, start)
        begin = when.end() if when else len(text)
        expect = re.compile(r"^EXPECT\b", re.MULTILINE).search(text, begin)
        return Span(begin, expect.start() if expect else len(text))

    @cached_property
    def _statements(self) -> list[list[SqlWord]]:
        """The words of each statement of the cell."""
        if self.cell.magic.content not in (Content.SQL, Content.TEST):
            return []
        region = self._region
        text = self.cell.text
        return [
            sql_words(text, region.start + s.start, region.start + s.end)
            for s in statements(text[region.start : region.end])
        ]

    @cached_property
    def _words(self) -> list[SqlWord]:
        """The words of the statement that the problem is in."""
        at = self.problem.span.start
        for words in self._statements:
            if words and words[0].start <= at <= words[-1].end:
                return words
        return []

    def _rewritten(self) -> Iterator[Fix]:
        text, span = self.cell.text, self.problem.span
        edits = rewritten_windows(text, self._words, span.start)
        if edits and _touch(edits, span):
            yield Fix(TITLE, edits)
            return
        for title, edits in rewritten_words(self._words):
            if _touch(edits, span):
                yield Fix(title, edits)

    def _without_option(self, place: Span, name: str) -> Fix | None:
        words = self._words
        inside = [n for n, w in enumerate(words) if place.start <= w.start < place.end]
        if not inside:
            return None
        first, last = inside[0], inside[-1]
        start, end = place.start, place.end
        if last + 1 < len(words) and words[last + 1].text == ",":
            end = words[last + 2].start if last + 2 < len(words) else words[-1].end
        elif first and words[first - 1].text == ",":
            start = words[first - 1].start
        return Fix(f"remove '{name}'", (Edit(start, end, ""),))

    def _grouped(self, place: Span) -> Fix | None:
        words = self._words
        select = enclosing_select(words, place.start)
        if select is None:
            return None
        clauses = select_clauses(words, select)
        key = self._qualified(place)
        title = f"add {key} to GROUP BY"
        if clauses.groups is not None:
            at = words[clauses.groups[0] - 1].end
            others = clauses.groups[0] < clauses.groups[1]
            return Fix(title, (Edit(at, at, f" {key}" + "," * others),))
        at = words[clauses.groups_before - 1].end
        return Fix(title, (Edit(at, at, f" GROUP BY {key}"),))

    def _qualified(self, place: Span) -> str:
        """What stands at a place, with the relation's name where it has one."""
        words, start = self._words, place.start
        for number in range(len(words) - 1, 1, -1):
            if words[number].start == start and words[number - 1].text == ".":
                start = words[number - 2].start
        return self.cell.text[start : place.end]

    @staticmethod
    def _not_null(words: list[SqlWord], column: str) -> Edit | None:
        """NOT NULL behind the type of a column that CREATE TABLE declares."""
        for first, last in _declared(words):
            if words[first].is_name(column):
                item = [word.upper for word in words[first:last]]
                if "NULL" in item:
                    return None
                at = words[_type_end(words, first + 1, last)].end
                return Edit(at, at, " NOT NULL")
        return None

    def _with_watermark(self, table: str, column: str) -> Fix | None:
        for words in self._statements:
            opening = _column_list(words)
            if opening is None or not words[opening - 1].is_name(table):
                continue
            last = closing(words, opening)
            if last is None:
                return None
            name = quoted_name(column)
            clause = f",\n  WATERMARK FOR {name} AS {name} - {DELAY}"
            end = words[last - 1].end
            added = Edit(end, end, clause)
            edit = self._not_null(words, column)
            edits = (added,) if edit is None else (edit, added)
            if edit is not None and edit.start == end:
                edits = (Edit(end, end, edit.text + clause),)
            return Fix(f"give {table} a WATERMARK for {column}", edits)
        return None


def _touch(edits: tuple[Edit, ...], span: Span) -> bool:
    """Whether a problem is in what is changed."""
    start, end = min(e.start for e in edits), max(e.end for e in edits)
    return span.start < end and start < span.end


def _column_list(words: list[SqlWord]) -> int | None:
    """The bracket that opens the columns of CREATE TABLE."""
    if not words or words[0].upper != "CREATE":
        return None
    return next((n for n, word in enumerate(words) if word.text == "("), None)


def _declared(words: list[SqlWord]) -> list[tuple[int, int]]:
    """The columns and constraints of CREATE TABLE."""
    opening = _column_list(words)
    last = None if opening is None else closing(words, opening)
    if opening is None or last is None:
        return []
    return split_items(words, (opening + 1, last))


_OPENING, _CLOSING = {"(": 1, "<": 1, "[": 1}, {")": 1, ">": 1, "]": 1, ">>": 2}


def _type_end(words: list[SqlWord], first: int, last: int) -> int:
    """The last word of the type that begins at a word."""
    depth, end = 0, first
    for number in range(first + 1, last):
        text = words[number].text
        opens, closes = _OPENING.get(text, 0), _CLOSING.get(text, 0)
        if depth == 0 and not opens:
            break
        depth += opens - closes
        end = number
    return end
