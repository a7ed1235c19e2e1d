"""Comments, taken out before the text is cut into tokens.

``/* .. */`` may nest. sqlglot's tokenizer misses a comment that opens right where
another does, as in ``/*/* */*/``.
"""

from __future__ import annotations

import re

from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.source import Span

# What may hold the characters of a comment without being one, then a comment's start.
_OPENING = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*'"""
    r"""|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$(\w*)\$.*?\$\1\$|(?P<comment>/\*)""",
    re.DOTALL,
)
_NESTED = re.compile(r"/\*|\*/")


def blanked(text: str) -> str:
    """The text with blanks in place of comments: what is left keeps its place.

    >>> blanked("a/*/* */*/b '/*'")
    "a         b '/*'"

    Raises
    ------
    SyntaxProblem
        When a comment never ends.
    """
    pieces, position, kept = [], 0, 0
    while found := _OPENING.search(text, position):
        position = found.end()
        if found["comment"]:
            start, position = found.start(), _end(text, found.start())
            blanks = re.sub(r"[^\n]", " ", text[start:position])
            pieces += [text[kept:start], blanks]
            kept = position
    return "".join([*pieces, text[kept:]])


def _end(text: str, start: int) -> int:
    depth = 0
    for found in _NESTED.finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise SyntaxProblem(
        "unterminated comment: a closing */ is missing", span=Span(start, start + 2)
    )
