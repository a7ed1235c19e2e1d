"""A word of a statement that is asked about, with all that its meaning hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_statements import CellStatements
from arroyo_nb.editor.cell_tables import CellTables
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.query_scope import QueryScope
from arroyo_nb.editor.sql_parts import sql_span
from arroyo_nb.editor.tokens import (
    EditorToken,
    TokenKind,
    closing,
    openings,
)

NO_TOKEN = EditorToken(TokenKind.SYMBOL, "", 0, 0)
"""What stands before the first token of a statement, and behind its last one."""


@dataclass(frozen=True)
class PointedWord:
    """A token of a statement.

    Parameters
    ----------
    statement
        The tokens of the statement, without comments.
    place
        Which of them it is.
    number
        Which statement of the cell it is.
    tables
        What the statement may name.
    text
        The cell's text.
    at
        The place in it that is asked about.
    context
        What was there before the cell.
    """

    statement: Sequence[EditorToken]
    place: int
    number: int
    tables: CellTables
    text: str
    at: int
    context: EditorContext

    @property
    def token(self) -> EditorToken:
        """The token itself."""
        return self.statement[self.place]

    def near(self, distance: int) -> EditorToken:
        """A token before it, or behind it."""
        place = self.place + distance
        inside = 0 <= place < len(self.statement)
        return self.statement[place] if inside else NO_TOKEN

    def moved_to(self, place: int) -> PointedWord:
        """Another token of the statement."""
        return replace(self, place=place)

    @cached_property
    def scope(self) -> QueryScope:
        """What names mean there."""
        return QueryScope(
            self.statement, self.number, self.place, self.tables, self.text
        )

    @cached_property
    def options(self) -> TableOptionsText | None:
        """The WITH options of a CREATE TABLE around it; None: it is in none."""
        for opening in openings(self.statement, self.place):
            if opening and self.statement[opening - 1].word == "WITH":
                return TableOptionsText.read(self.statement, opening)
        return None


@dataclass(frozen=True)
class TableOptionsText:
    """The WITH options of a CREATE TABLE as they are typed.

    Parameters
    ----------
    given
        The values by the names; of one that is no string its text.
    places
        By the place of a token: the name of the option that it belongs to, and whether
        it is that name itself.
    """

    given: Mapping[str, str]
    places: Mapping[int, tuple[str, bool]]

    @classmethod
    def read(cls, code: Sequence[EditorToken], opening: int) -> TableOptionsText:
        """The options in a bracket."""
        given: dict[str, str] = {}
        places: dict[int, tuple[str, bool]] = {}
        place, end = opening + 1, closing(code, opening)
        while place < end:
            start = place
            while place < end and code[place].word not in ("=", ","):
                place += 1
            # A name that is not quoted may have dots.
            name = "".join(token.value for token in code[start:place])
            places |= dict.fromkeys(range(start, place), (name, True))
            begin = place + 1
            while place < end and code[place].word != ",":
                place += 1
            values = [token.value for token in code[begin:place]]
            places |= dict.fromkeys(range(begin, place), (name, False))
            if name:
                given[name] = " ".join(values)
            place += 1
        return cls(given, places)


def pointed_words(
    cell: CellText, at: int, context: EditorContext
) -> tuple[PointedWord, ...]:
    """The tokens of a cell's SQL that a place is in or right behind, the one that it is
    in first, words before symbols; none in a comment."""
    span = sql_span(cell)
    if span is None or not span.start <= at <= span.end:
        return ()
    statements = CellStatements(cell.text, span)
    if any(
        t.kind is TokenKind.COMMENT
        and t.start < at
        and (at < t.end or t.text[0] == "-")
        for t in statements.tokens_around(at)
        if t.touches(at)
    ):
        return ()
    number = statements.number_at(at)
    if number is None:
        return ()
    tables = CellTables(statements, cell.text, context)
    statement = statements[number]
    found = [
        PointedWord(statement, place, number, tables, cell.text, at, context)
        for place, token in enumerate(statement)
        if token.touches(at)
    ]
    return tuple(
        sorted(
            found,
            key=lambda word: (
                word.token.kind is TokenKind.SYMBOL,
                not word.token.start <= at < word.token.end,
            ),
        )
    )


def last_token(cell: CellText, at: int, context: EditorContext) -> PointedWord | None:
    """The last token of a cell's SQL that begins before a place, where no semicolon
    is between; None: there is none."""
    span = sql_span(cell)
    if span is None or not span.start <= at <= span.end:
        return None
    statements = CellStatements(cell.text, span)
    number = statements.last_before(at)
    if number is None:
        return None
    statement = statements[number]
    places = [place for place, token in enumerate(statement) if token.start < at]
    if not places:
        return None
    tables = CellTables(statements, cell.text, context)
    return PointedWord(*(statement, places[-1], number, tables, cell.text, at, context))
