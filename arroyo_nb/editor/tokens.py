"""The words of SQL that is being typed: nothing is an error here.

A text or a comment whose end is missing goes to the end of the cell; a character that
is no part of SQL is a symbol. The planner's tokenizer refuses such a text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class TokenKind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted"
    """A name in double quotes."""
    STRING = "string"
    NUMBER = "number"
    COMMENT = "comment"
    PARAMETER = "parameter"
    """``:name``, a variable of the notebook."""
    REFERENCE = "reference"
    """``{{ NAME }}`` outside of a string, a variable of the environment."""
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class EditorToken:
    """A word of a text and its place, ``[start, end)``."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """A word in upper case, or a symbol; of anything else an empty text."""
        is_plain = self.kind in (TokenKind.WORD, TokenKind.SYMBOL)
        return self.text.upper() if is_plain else ""

    @property
    def name(self) -> str:
        """The column or table that it names: in lower case where it is not quoted; of
        anything else an empty text."""
        if self.kind is TokenKind.WORD:
            return self.text.lower()
        if self.kind is TokenKind.QUOTED:
            return self.text[1:].removesuffix('"').replace('""', '"')
        return ""

    @property
    def value(self) -> str:
        """What a string holds, or a word as an option's name."""
        if self.kind is TokenKind.STRING and self.text[:1] == "'":
            return self.text[1:].removesuffix("'").replace("''", "'")
        return self.text

    def touches(self, at: int) -> bool:
        """Whether a place is in it or right behind it."""
        return self.start <= at <= self.end


_TOKEN = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*)
  | (?P<string>(?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)
      | '(?:[^']|'')*(?:'|\Z)
      | (?<!\w)\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))
  | (?P<quoted>"(?:[^"]|"")*(?:"|\Z))
  | (?P<reference>\{\{[^{}\n]*\}\})
  | (?P<number>\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
  | (?P<word>(?:[^\W\d]|[^\x00-\x7f\s])(?:\w|[^\x00-\x7f\s])*)
  | (?P<parameter>(?<![\w\])"':]):[^\W\d]\w*)
  | (?P<symbol>::|->>|->|&&|<<|<=>|<=|>=|<>|==|=>|!=|!?~~?\*?|\|\||@>|<@|\?[|&]|\#>>?
      |\^@|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_KINDS = {kind.value: kind for kind in TokenKind}


@lru_cache(maxsize=8)
def tokens_of(
    text: str, start: int = 0, end: int | None = None
) -> tuple[EditorToken, ...]:
    """The tokens of a part of a text, comments among them; places are the text's.

    >>> [token.text for token in tokens_of("SELECT a -- b")]
    ['SELECT', 'a', '-- b']
    """
    return tuple(_tokens(text, start, len(text) if end is None else end))


def _tokens(text: str, at: int, end: int) -> Iterator[EditorToken]:
    while (found := _TOKEN.search(text, at, end)) is not None:
        assert found.lastgroup is not None, "each alternative has a name"
        kind = _KINDS["string" if found.lastgroup == "tag" else found.lastgroup]
        at = found.end()
        if found[0] == "/*":
            at = comment_end(text, at, end)
        yield EditorToken(kind, text[found.start() : at], found.start(), at)


def comment_end(text: str, at: int, end: int) -> int:
    """Where a block comment ends that has begun before a place; they nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, at, end):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return end


def code_of(tokens: Sequence[EditorToken]) -> list[EditorToken]:
    """The tokens without the comments."""
    return [token for token in tokens if token.kind is not TokenKind.COMMENT]


def index_at(code: Sequence[EditorToken], at: int) -> int | None:
    """The token that a place is in, or right behind; a word before a symbol."""
    touching = [i for i, token in enumerate(code) if token.touches(at)]
    if not touching:
        return None
    inside = [i for i in touching if code[i].start <= at < code[i].end]
    for place in (*inside, *touching):
        if code[place].kind is not TokenKind.SYMBOL:
            return place
    return (inside or touching)[0]


_OPENS, _CLOSES = {"(", "[", "{"}, {")", "]", "}"}


def closing(code: Sequence[EditorToken], opening: int) -> int:
    """The place of the bracket that closes another; where none does, the length."""
    depth = 0
    for place in range(opening, len(code)):
        if code[place].kind is TokenKind.SYMBOL:
            depth += code[place].text in _OPENS
            depth -= code[place].text in _CLOSES
            if depth <= 0:
                return place
    return len(code)


def openings(code: Sequence[EditorToken], place: int) -> list[int]:
    """The places of the brackets that are open at a token, the innermost first."""
    found, depth = [], 0
    for before in range(place - 1, -1, -1):
        if code[before].kind is not TokenKind.SYMBOL:
            continue
        if code[before].text in _CLOSES:
            depth += 1
        elif code[before].text in _OPENS:
            if depth == 0:
                found.append(before)
            else:
                depth -= 1
    return found
