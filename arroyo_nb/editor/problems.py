"""A problem of a cell before it is told: an error of ours, its place, how bad it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arroyo_nb.editor.answers import Severity
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import Span


def _here(span: Span) -> Span:
    return span


@dataclass(frozen=True)
class CellProblem:
    """A problem and its place in a text.

    Parameters
    ----------
    error
        What is wrong, its hint and its repairs.
    span
        The place in the text.
    severity
        How bad it is.
    place
        The place in the text of a place that the error or a repair has.
    """

    error: ArroyoError
    span: Span
    severity: Severity = Severity.ERROR
    place: Callable[[Span], Span] = _here

    def moved(self, by: int) -> CellProblem:
        """The same in a text that has so many characters before this one."""
        return self.mapped(lambda span: Span(span.start + by, span.end + by))

    def mapped(self, place: Callable[[Span], Span]) -> CellProblem:
        """The same in a text in which each place is another one."""
        before = self.place
        return CellProblem(
            self.error,
            place(self.span),
            self.severity,
            lambda span: place(before(span)),
        )


def problems_of(
    error: ArroyoError, text: str, whole: Span | None = None
) -> Iterator[CellProblem]:
    """The problems that an error stands for.

    Parameters
    ----------
    text
        What its places are in.
    whole
        The place of one that has none itself; None: the first line that is not blank.
    """
    for problem in error.problems:
        yield CellProblem(problem, visible(problem.span or whole, text))


def visible(span: Span | None, text: str) -> Span:
    """A place that can be underlined: at least one character, brackets closed.

    >>> visible(Span(7, 12), "SELECT f(1, 2")
    Span(start=7, end=12)
    >>> visible(Span(7, 10), "SELECT f(1) FROM t")
    Span(start=7, end=11)
    >>> visible(Span(15, 24), "a JOIN (SELECT b FROM c) ON d")
    Span(start=7, end=24)
    >>> visible(Span(6, 6), "SELECT")
    Span(start=5, end=6)
    """
    if span is None:
        blank = len(text) - len(text.lstrip())
        line = text[blank:].partition("\n")[0].rstrip()
        span = Span(blank, blank + len(line))
    start = max(0, min(span.start, len(text)))
    end = max(start, min(span.end, len(text)))
    if start == end:
        start = max(0, min(start, len(text) - 1))
        # What is missing at the end of a text is underlined at its last word.
        while start and text[start : start + 1].isspace():
            start -= 1
        return Span(start, min(start + 1, len(text)))
    return _whole(start, end, text)


_SELECT = re.compile(r"\bSELECT\s+(?:DISTINCT\s+)?\Z", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)


def _whole(start: int, end: int, text: str) -> Span:
    """The place of a part of a syntax tree, with the brackets and the SELECT around it,
    for which a tree has no place."""
    depth = low = 0
    for at in range(start, end):
        depth += (text[at] == "(") - (text[at] == ")")
        low = min(low, depth)
    for _ in range(-low):
        opening = _opening(text, start)
        if opening is None:
            break
        start = opening
    for _ in range(depth - low):
        rest = text[end:].lstrip()
        if not rest.startswith(")"):
            break
        end = len(text) - len(rest) + 1
    found = _SELECT.search(text, 0, start)
    froms = _FROM.finditer(text, start, end)
    if found and any(_is_outside(text, start, f.start()) for f in froms):
        start = found.start()
    return Span(start, end)


def _is_outside(text: str, start: int, at: int) -> bool:
    """Whether no bracket is open at a place."""
    return text.count("(", start, at) == text.count(")", start, at)


def _opening(text: str, before: int) -> int | None:
    """The bracket that is open at a place."""
    depth = 0
    for at in range(before - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth < 0:
            return at
    return None
