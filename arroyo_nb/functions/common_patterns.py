r"""The regular expressions that Java and Rust mean alike, and their text for Java.

Arroyo's patterns are those of Rust's regex crate, Spark's are Java's. This reads a
small grammar in which each pattern has the same matches in both, on any text:
characters but letters of other scripts in any case, ``.``, sets of ASCII characters,
``\s``, groups, ``|``, repetitions of one character, and ``^`` and ``$`` at the ends.
What means something else to Java is written out for it: ``.`` as ``[^\n]``, ``$`` as
``\z``, ``k`` in any case as ``[kK\u212a]``. DataFusion matches all other patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

_Ranges: TypeAlias = "tuple[tuple[int, int], ...]"


def _between(*ends: str) -> _Ranges:
    return tuple((ord(text[0]), ord(text[-1])) for text in ends)


_ASCII_CLASSES = {
    "alnum": _between("09", "AZ", "az"),
    "alpha": _between("AZ", "az"),
    "ascii": _between("\x00\x7f"),
    "blank": _between("\t", " "),
    "cntrl": _between("\x00\x1f", "\x7f"),
    "digit": _between("09"),
    "graph": _between("!~"),
    "lower": _between("az"),
    "print": _between(" ~"),
    "punct": _between("!/", ":@", "[`", "{~"),
    "space": _between("\t\r", " "),
    "upper": _between("AZ"),
    "word": _between("09", "AZ", "__", "az"),
    "xdigit": _between("09", "AF", "af"),
}
# Unicode's White_Space.
_SPACE = (
    *_between("\t\r", " ", "\x85", "\xa0", "\u1680", "\u2000\u200a"),
    *_between("\u2028\u2029", "\u202f", "\u205f", "\u3000"),
)
_ESCAPED = frozenset(r"\.+*?()|[]{}^$/-")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_SPECIAL = frozenset(r"\.+*?()|[]{}^$")
# Characters that mean themselves in a set to Rust, and that no operator begins with.
_IN_SET = frozenset(" _./:,;@#%=+*?!()$|{}<>\"'")
_MOST_TIMES = 100
_MOST_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class CommonPattern:
    """A pattern that both engines mean alike.

    Parameters
    ----------
    java
        Its text for Java.
    groups
        How many groups it has; each takes part in every match.
    may_be_empty
        Whether it may match no character.
    """

    java: str
    groups: int
    may_be_empty: bool


@lru_cache(maxsize=1024)
def common_pattern(pattern: str, *, any_case: bool = False) -> CommonPattern | None:
    r"""A pattern that both engines mean alike; None where it may be another one.

    Parameters
    ----------
    any_case
        Whether letters stand for those of the other case too.

    Examples
    --------
    >>> common_pattern("^a.c$").java
    '^a[^\\n]c\\z'
    >>> common_pattern(r"\w+"), common_pattern("(a+)+"), common_pattern("a(?=b)")
    (None, None, None)
    """
    if len(pattern) > _MOST_CHARACTERS:
        return None
    reader = _Reader(pattern, any_case=any_case)
    try:
        java, empty = reader.alternatives(depth=0)
        if reader.place < len(pattern):
            return None
    except _Other:
        return None
    return CommonPattern(java, reader.groups, empty)


class _Other(Exception):
    """The pattern is none of the grammar."""


class _Reader:
    def __init__(self, pattern: str, *, any_case: bool) -> None:
        self.pattern = pattern
        self.any_case = any_case
        self.place = 0
        self.groups = 0

    def alternatives(self, depth: int) -> tuple[str, bool]:
        """What ``|`` separates: its text for Java, and whether it may be empty."""
        before = self.groups
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        # A group of one alternative takes no part in a match of another.
        if len(parts) > 1 and self.groups > before:
            raise _Other
        # To Java an anchor binds to one alternative, to a replaced match to none.
        texts = [text for text, _ in parts]
        if len(parts) > 1 and any(
            t.startswith("^") or t.endswith(r"\z") for t in texts
        ):
            raise _Other
        return "|".join(texts), any(empty for _, empty in parts)

    def _sequence(self, depth: int) -> tuple[str, bool]:
        pieces: list[str] = []
        empty = True
        if depth == 0 and self._take("^"):
            pieces.append("^")
        while self.place < len(self.pattern) and self._next not in "|)":
            if self._next == "$":
                self.place += 1
                if depth or self.place < len(self.pattern):
                    raise _Other
                pieces.append(r"\z")
                break
            text, may_be_empty = self._repeated(depth)
            pieces.append(text)
            empty = empty and may_be_empty
        return "".join(pieces), empty

    def _repeated(self, depth: int) -> tuple[str, bool]:
        is_group = self._next == "("
        before = self.groups
        text, empty = self._group(depth) if is_group else (self._character(), False)
        times = self._times()
        if times is None:
            return text, empty
        # Java repeats a group by recursion, and an empty one by rules of its own.
        if is_group and (times not in ("?", "??") or empty or self.groups > before):
            raise _Other
        return text + times, times[0] in "*?" or times.startswith(("{0,", "{0}"))

    def _times(self) -> str | None:
        """A repetition, greedy or not."""
        begin = self.place
        if self.place == len(self.pattern) or self._next not in "*+?{":
            return None
        if self._take("{"):
            end = self.pattern.find("}", self.place)
            counts = self.pattern[self.place : end].split(",") if end > 0 else []
            given = [c for c in counts if c]
            well = len(counts) in (1, 2) and counts[0] and all(map(_is_count, given))
            if not well or (len(given) == 2 and int(given[0]) > int(given[1])):
                raise _Other
            self.place = end + 1
        else:
            self.place += 1
        self._take("?")
        if self.place < len(self.pattern) and self._next in "*+?{":
            raise _Other
        return self.pattern[begin : self.place]

    def _group(self, depth: int) -> tuple[str, bool]:
        self.place += 1
        opening = "("
        if self._take("?"):
            if not self._take(":"):
                raise _Other
            opening = "(?:"
        else:
            self.groups += 1
        inner, empty = self.alternatives(depth + 1)
        if not self._take(")"):
            raise _Other
        return f"{opening}{inner})", empty

    def _character(self) -> str:
        if self._take("."):
            return r"[^\n]"
        if self._take("["):
            return self._set()
        if self._take("\\"):
            return _written(self._cased(self._escape()))
        one = self._next
        if one in _SPECIAL:
            raise _Other
        self.place += 1
        return _written(self._cased(((ord(one), ord(one)),)))

    def _escape(self) -> _Ranges:
        if self.place == len(self.pattern):
            raise _Other
        one = self._next
        self.place += 1
        if one == "s":
            return _SPACE
        one = _CONTROLS.get(one, one if one in _ESCAPED else "")
        if not one:
            raise _Other
        return ((ord(one), ord(one)),)

    def _set(self) -> str:
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        while not self._take("]"):
            ranges += self._set_item()
        if not ranges:
            raise _Other
        return _written(self._cased(ranges), negated=negated)

    def _set_item(self) -> _Ranges:
        if self.place == len(self.pattern):
            raise _Other
        if self.pattern.startswith("[:", self.place):
            end = self.pattern.find(":]", self.place)
            known = _ASCII_CLASSES.get(self.pattern[self.place + 2 : end])
            if known is None:
                raise _Other
            self.place = end + 2
            return known
        if self._take("\\"):
            return self._escape()
        one = self._next
        self.place += 1
        if one == "-":
            # A hyphen means itself at the end.
            if self.pattern[self.place : self.place + 1] != "]":
                raise _Other
            return _between("-")
        if not (one.isascii() and (one.isalnum() or one in _IN_SET)):
            raise _Other
        if self.pattern[self.place : self.place + 1] != "-":
            return _between(one)
        last = self.pattern[self.place + 1 : self.place + 2]
        if last == "]":
            return _between(one)
        if not (last.isascii() and last.isalnum() and one.isalnum() and one <= last):
            raise _Other
        self.place += 2
        return _between(one + last)

    def _cased(self, ranges: Iterable[tuple[int, int]]) -> _Ranges:
        """The ranges with the letters of the other case."""
        if not self.any_case:
            return tuple(ranges)
        ranges = [*ranges]
        more: list[tuple[int, int]] = []
        for low, high in ranges:
            if high > 127 and (low, high) not in _SPACE:
                raise _Other
            for code in range(low, min(high, 127) + 1):
                other = chr(code).swapcase()
                more.append((ord(other), ord(other)))
                # The two characters beyond ASCII whose other case is in it.
                more += _BEYOND.get(chr(code).lower(), ())
        return (*ranges, *more)

    @property
    def _next(self) -> str:
        return self.pattern[self.place]

    def _take(self, text: str) -> bool:
        taken = self.pattern.startswith(text, self.place)
        self.place += taken
        return taken


_BEYOND = {"k": _between("\u212a"), "s": _between("\u017f")}


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= _MOST_TIMES


def _written(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    """Characters in the syntax of Java."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    if not negated and len(merged) == 1 and merged[0][0] == merged[0][1]:
        return _java_character(merged[0][0])
    texts = [
        _java_character(low) + (f"-{_java_character(high)}" if high > low else "")
        for low, high in merged
    ]
    return f"[{'^' * negated}{''.join(texts)}]"


def _java_character(code: int) -> str:
    one = chr(code)
    if one.isascii() and (one.isalnum() or one in " _,;:@=\"'<>%!/~`"):
        return one
    return (
        f"\\x{{{code:x}}}"
        if not one.isascii() or code < 32 or code == 127
        else f"\\{one}"
    )
