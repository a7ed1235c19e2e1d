"""The statements of a cell as tokens, each read when it is asked for.

Of hundreds of statements a question is about one, and about what the others declare.
That is remembered by their text: while one is typed the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from arroyo_nb.editor.statements import statements
from arroyo_nb.editor.tokens import EditorToken, code_of, tokens_of
from arroyo_nb.source import Span

_BEFORE_NAME = {"OR", "REPLACE", "TEMPORARY", "TEMP", "IF", "NOT", "EXISTS"}


def declared_name(statement: Sequence[EditorToken]) -> str:
    """The table or view that a statement makes, in lower case; empty: none."""
    if statement[0].word != "CREATE":
        return ""
    is_named = False
    for token in statement[1:10]:
        if is_named and token.name and token.word not in _BEFORE_NAME:
            return token.name.lower()
        if token.word in ("TABLE", "VIEW"):
            is_named = True
        elif token.word not in _BEFORE_NAME:
            return ""
    return ""


@lru_cache(maxsize=2000)
def _declares(text: str) -> str | None:
    """What a statement declares, or nothing; None: it is comments only."""
    code = code_of(tokens_of(text))
    return declared_name(code) if code else None


class CellStatements:
    """The statements of a part of a text; none of them is empty.

    Parameters
    ----------
    text
        The text, of which all places are.
    span
        The part.
    """

    def __init__(self, text: str, span: Span) -> None:
        self._text = text
        self._span = span
        self._read: dict[int, list[EditorToken]] = {}

    @cached_property
    def _found(self) -> list[tuple[Span, str]]:
        first = self._span.start
        spans = (
            Span(first + found.start, first + found.end)
            for found in statements(self._text[first : self._span.end])
        )
        declares = ((s, _declares(self._text[s.start : s.end])) for s in spans)
        return [(span, name) for span, name in declares if name is not None]

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, number: int) -> list[EditorToken]:
        """The tokens of a statement, without its comments."""
        if number not in self._read:
            span, _ = self._found[number]
            self._read[number] = code_of(tokens_of(self._text, span.start, span.end))
        return self._read[number]

    @cached_property
    def declared(self) -> Mapping[str, list[int]]:
        """The statements that declare each table or view, by its lower-case name."""
        found: dict[str, list[int]] = {}
        for number, (_, name) in enumerate(self._found):
            if name:
                found.setdefault(name, []).append(number)
        return found

    def last_before(self, at: int) -> int | None:
        """The last statement that begins before a place."""
        before = [n for n, (span, _) in enumerate(self._found) if span.start < at]
        return before[-1] if before else None

    def number_at(self, at: int) -> int | None:
        """The statement that a place is in, or right behind."""
        found = (n for n, (s, _) in enumerate(self._found) if s.start <= at <= s.end)
        return next(found, None)

    def tokens_around(self, at: int) -> Sequence[EditorToken]:
        """The tokens of a place's statement, and of what is between it and the others;
        comments among them."""
        ends = [s.end for s, _ in self._found if s.end < at]
        starts = [s.start for s, _ in self._found if s.start > at]
        first = max(ends, default=self._span.start)
        return tokens_of(self._text, first, min(starts, default=self._span.end))
