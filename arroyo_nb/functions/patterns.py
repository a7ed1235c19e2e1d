"""Regular expressions in the text of a script: are they any.

Rust is not asked: Python's own parser reads the pattern, once what only Rust writes is
replaced by something of the same shape. It is believed only where Rust agrees, so a
pattern that is refused here would have failed in the run.
"""

from __future__ import annotations

import re
import warnings

_ESCAPED = re.compile(
    r"\\(?:[pPxu](?:\{\w+\}|[0-9a-fA-F]{2,4}|\w)|k<\w+>|.)|\[:\^?\w+:\]", re.DOTALL
)
_NAMED = re.compile(r"\(\?P?<([A-Za-z]\w*)>")
_FLAGS = re.compile(r"\(\?([A-Za-z-]+)(:|\))")
_CLASS = re.compile(r"\[\^?\]?(?:\[[^\]]*\]|[^\]])*\]")
_OPEN_COUNT = re.compile(r"\{(?!\d+(?:,\d*)?\})")
_NOT_IN_RUST = re.compile(
    r"(?P<look_around>\(\?<?[=!])|(?P<atomic_group>\(\?>)"
    r"|(?<!\\)(?:\\\\)*(?P<back_reference>\\[1-9]|\\k<)"
)
# Letters that mean nothing after a backslash, to Rust.
_NO_ESCAPES = frozenset("CEFGHIJKLMNOQRTVXYZceghijlmoqy")
# Letters that want a name, a number or a group after them.
_INCOMPLETE = frozenset((r"\p", r"\P", r"\x", r"\u", r"\k"))

ANOTHER_WAY = (
    "put what is wanted into a group, as in regexp_match(text, 'a([0-9]+)b')[1]; or "
    "write two conditions, as in text ~ 'a' AND NOT text ~ 'b'"
)
"""What to write in place of look-around and back references."""

# What Python calls an error and Rust as well.
_AGREED = (
    *("missing )", "unbalanced parenthesis", "unterminated character set"),
    *("nothing to repeat", "unknown extension", "unexpected end"),
    *("bad escape (end of pattern)", "min repeat greater", "missing <"),
)


def fault(pattern: str) -> str | None:
    r"""Why a pattern is no regular expression; None where it is one.

    >>> fault("(a"), fault(r"\p{L}+(?<word>x)")
    ('missing ), unterminated subpattern', None)
    """
    for escape in _ESCAPED.findall(pattern):
        if escape[1] in _NO_ESCAPES or escape in _INCOMPLETE:
            return f"unknown escape {escape}"
    if any("x" in flags for flags, _ in _FLAGS.findall(pattern)):
        # Comments may hold anything.
        return None
    if (refused := _NOT_IN_RUST.search(_CLASS.sub("a", pattern))) is not None:
        named = next(name for name, text in refused.groupdict().items() if text)
        return f"{named.replace('_', '-')} {refused[0]}, which Rust's patterns have not"
    plain = _plain(pattern)
    found = _compiled(plain)
    if isinstance(found, re.Pattern):
        open_count = _OPEN_COUNT.search(_CLASS.sub("a", plain))
        return "a repetition { that is not closed" if open_count else None
    unsure = "{" if found == "multiple repeat" else "\\"
    if found.startswith(("multiple repeat", "bad character range")):
        return None if unsure in pattern else found
    return found if found.startswith(_AGREED) else None


def _compiled(plain: str) -> re.Pattern[str] | str:
    """The pattern as Python reads it, or what it says against it."""
    with warnings.catch_warnings():
        # [[:alpha:]] and [a&&b] are sets of sets to Rust and Java, not yet to Python.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile(plain)
        except re.error as error:
            return error.msg


def _plain(pattern: str) -> str:
    """What escapes stand for is one letter; groups have neither names nor flags."""
    # An anchor may be repeated, but not to Python.
    unescaped = _NAMED.sub("(", _ESCAPED.sub("a", pattern)).replace("$", "a")
    return _FLAGS.sub(lambda found: "(?:" + found[2].strip(":"), unescaped)
