"""Keywords that are misspelt: ``FORM``, ``GROPU BY``, ``INTERVL``.

The grammar takes such a word for a name or an alias, and fails at the word behind it.
So the words before the place of an error are looked at too.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from arroyo_nb.repairs import Replace
from arroyo_nb.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot.tokenizer_core import Token

STARTS = ("CREATE", "INSERT", "SELECT", "WITH", "SHOW", "DESCRIBE", "DROP", "EXPLAIN")
"""The keywords that a statement starts with; ``SET`` is too short to be recognised."""

KEYWORDS = (
    *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT"),
    *("JOIN", "UNION", "INTERVAL", "WITH", "TABLE", "INTO", "VALUES", "WATERMARK"),
    *("PARTITION", "BETWEEN"),
)

_NEAR = 0.8
_WORDS_BEFORE = 2


def keyword_near(word: str, keywords: Iterable[str] = KEYWORDS) -> str | None:
    """The keyword that a word is a slip of; None: it is one, or is near none.

    >>> keyword_near("FORM"), keyword_near("intervl"), keyword_near("from")
    ('FROM', 'INTERVAL', None)
    >>> keyword_near("forms")
    """
    upper = word.upper()
    if upper in keywords:
        return None
    for keyword in keywords:
        are_exchanged = sorted(upper) == sorted(keyword)
        if are_exchanged or SequenceMatcher(None, upper, keyword).ratio() >= _NEAR:
            return keyword
    return None


def slip_before(tokens: Sequence[Token], place: int) -> Replace | None:
    """The keyword that is misspelt where a statement cannot be read, or right before
    that place; None: there is none."""
    for token in reversed(tokens[max(0, place - _WORDS_BEFORE) : place + 1]):
        # A word in quotes is a name.
        is_word = token.text.isalpha() and token.end - token.start + 1 == len(
            token.text
        )
        if is_word and (keyword := keyword_near(token.text)):
            span = Span.of_token(token.start, token.end)
            return Replace(span, keyword, f"did you mean {keyword}?")
    return None
