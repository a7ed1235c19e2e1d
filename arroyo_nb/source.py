"""The text of a script and places in it.

Every error and every plan node points into a :class:`ScriptText` through a
:class:`Span`. Offsets count characters from 0 and spans are half-open; sqlglot's
token ends are inclusive, so :meth:`Span.of_token` is the one place that converts.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property

from arroyo_nb.secrets_in_text import hide_secrets

EXCERPT_CHARS = 200
"""Longest part of a line that an error shows."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``[start, end)`` of a script.

    >>> Span(3, 5) | Span(9, 12)
    Span(start=3, end=12)
    """

    start: int
    end: int

    @classmethod
    def of_token(cls, start: int, inclusive_end: int) -> Span:
        """Span of a sqlglot token or of an identifier's meta."""
        return cls(start, inclusive_end + 1)

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class ScriptText:
    """A script and where it came from.

    Parameters
    ----------
    text
        The script as typed, line ends included.
    name
        What an error calls it: a path, or ``<cell>``.
    lines_above
        Lines of its file or cell that stand above it, such as that of a magic.
    """

    text: str
    name: str = "<cell>"
    lines_above: int = 0

    @classmethod
    def of(cls, text: str | ScriptText, name: str = "<cell>") -> ScriptText:
        """A text, which has a place already or is called so."""
        return text if isinstance(text, ScriptText) else cls(text, name)

    def with_text(self, text: str) -> ScriptText:
        """Another text at the same place."""
        return replace(self, text=text)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character as an editor tells them: from 1, those above
        the text counted too.

        >>> ScriptText("SELECT 1", lines_above=1).place(7)
        (2, 8)
        """
        line, column = self.line_and_column(offset)
        return line + self.lines_above, column

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character in the text, both counted from 1.

        >>> ScriptText("ab\\ncd").line_and_column(4)
        (2, 2)
        """
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def offset(self, line: int, column: int = 1) -> int:
        """The character at a line and a column of the text, from 1; of a line behind
        the last one that of the last.

        >>> ScriptText("ab\\ncd").offset(2, 2)
        4
        """
        return self._line_starts[min(line, len(self._line_starts)) - 1] + column - 1

    @cached_property
    def _shown(self) -> str:
        """The text, asterisks in place of secrets: an excerpt is kept where the script
        is not."""
        return hide_secrets(self.text)

    def shown_line(self, line: int) -> str:
        """A line of the text, from 1, without its end; no secret is in it."""
        return self._shown[self.offset(line) :].split("\n", 1)[0].rstrip("\r")

    def excerpt(self, span: Span) -> str:
        """The span's first line with carets under it, two spaces in.

        Tabs are kept in the caret line, so the carets stay below their text. Of a
        long line only what is near the span is shown, and no secret.

        >>> print(ScriptText("SELECT a, bb FROM t").excerpt(Span(10, 12)))
          SELECT a, bb FROM t
                    ^^
        """
        line, column = self.line_and_column(span.start)
        start = self._line_starts[line - 1]
        text = self._shown[start:].split("\n", 1)[0].rstrip("\r")
        width = max(1, min(span.end, start + len(text)) - span.start)
        shown, first = _cut(text, column - 1)
        width = max(1, min(width, len(shown) - (column - 1 - first)))
        before = shown[: column - 1 - first]
        lead = "".join("\t" if char == "\t" else " " for char in before)
        return f"  {shown}\n  {lead}{'^' * width}"


def _cut(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and where that part begins."""
    if len(line) <= EXCERPT_CHARS:
        return line, 0
    first = max(0, min(column - EXCERPT_CHARS // 2, len(line) - EXCERPT_CHARS))
    last = first + EXCERPT_CHARS
    head, tail = "…" * (first > 0), "…" * (last < len(line))
    return head + line[first:last] + tail, first - len(head)
