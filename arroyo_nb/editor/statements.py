"""The statements of a script, cut without a parser: each is checked by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arroyo_nb.editor.tokens import comment_end
from arroyo_nb.source import Span

_TOKEN = re.compile(
    r"""
    (?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)
  | '(?:[^']|'')*(?:'|\Z)
  | "(?:[^"]|"")*(?:"|\Z)
  | (?<!\w)\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)
  | --[^\n]*
  | (?P<comment>/\*)
  | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
"""What is no code, and the end of a statement. What is not closed goes to the end of
the text: it is being typed."""
_NOT_BLANK = re.compile(r"\s*(?:--[^\n]*\n\s*)*")


def statements(text: str) -> Iterator[Span]:
    """The place of each statement, without its semicolon and the blanks and comments
    before it.

    >>> script = "SELECT ';' -- a;\\n; SELECT 2"
    >>> [script[s.start : s.end] for s in statements(script)]
    ["SELECT ';' -- a;\\n", 'SELECT 2']
    """
    start = at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["comment"]:
            at = comment_end(text, at, len(text))
        elif token["end"]:
            yield from _statement(text, start, token.start())
            start = at
    yield from _statement(text, start, len(text))


def _statement(text: str, start: int, end: int) -> Iterator[Span]:
    found = _NOT_BLANK.match(text, start, end)
    start = found.end() if found else start
    if text[start:end].strip():
        yield Span(start, end)
