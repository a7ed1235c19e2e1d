"""``:name`` in a script is the notebook's variable, bound as a typed SQL literal.

Strings, quoted names, comments, casts (``::``) and ``{{ NAME }}`` are left as they
are: the latter names an environment variable and is never resolved in what is kept.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.registry import nearest
from arroyo_nb.source import ScriptText, Span

TOKEN = re.compile(
    r"""
    (?<!\w)[eE]'(?:[^'\\]|\\.|'')*'        # a string with escapes
  | '(?:[^']|'')*'                         # a string
  | "(?:[^"]|"")*"                         # a quoted name
  | (?<!\w)\$(?P<tag>\w*)\$.*?\$(?P=tag)\$  # a dollar-quoted string
  | --[^\n]*
  | \{\{.*?\}\}
  | (?P<comment>/\*)
  | ::
  | (?<![\w\])"']):(?P<name>[^\W\d]\w*)     # not a path such as value:field
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT_EDGE = re.compile(r"/\*|\*/")

MOST_UNSIGNED = 2**64 - 1


@dataclass(frozen=True)
class BoundScript:
    """A script with its parameters written out, and where each part of it was typed.

    Parameters
    ----------
    text
        The script; ``NULL`` stands for a parameter that has no value.
    literals
        The places of the literals in ``text``, in order, each with the place of its
        parameter in what was typed.
    problems
        What is wrong with parameters, each at its place in what was typed.
    """

    text: str
    literals: tuple[tuple[Span, Span], ...]
    problems: tuple[ArroyoError, ...]

    def typed(self, span: Span) -> Span:
        """The place in what was typed; of a part of a literal the whole parameter.

        >>> bound_script("SELECT :n, x", {"n": 12345}).typed(Span(14, 15))
        Span(start=11, end=12)
        """
        start, _ = self._typed(span.start)
        _, last = self._typed(max(span.end - 1, span.start))
        return Span(start, last if span.end > span.start else start)

    def _typed(self, at: int) -> tuple[int, int]:
        """Where a character was typed: its begin and its end."""
        place = bisect_right(self.literals, at, key=lambda pair: pair[0].start) - 1
        if place < 0:
            return at, at + 1
        written, typed = self.literals[place]
        if at < written.end:
            return typed.start, typed.end
        return at - written.end + typed.end, at - written.end + typed.end + 1


def bind(script: str | ScriptText, values: Mapping[str, Any]) -> str:
    """The script with its parameters written out as literals.

    >>> bind("SELECT :n::TEXT, ':n' FROM t WHERE carrier = :c", {"n": 3, "c": "O'Hare"})
    "SELECT 3::TEXT, ':n' FROM t WHERE carrier = 'O''Hare'"

    Raises
    ------
    ArroyoError
        With the place of each parameter that has no value, or one that SQL has no
        literal for.
    """
    bound = bound_script(script, values)
    raise_all(bound.problems)
    return bound.text


def bound_script(script: str | ScriptText, values: Mapping[str, Any]) -> BoundScript:
    """The same with the places of all parameters; no problem is raised."""
    source = ScriptText.of(script)
    text, parts, done, length = source.text, list[str](), 0, 0
    problems: list[ArroyoError] = []
    literals: list[tuple[Span, Span]] = []
    for name, span in parameters(text):
        try:
            written = _bound(name, values, span)
        except SyntaxProblem as problem:
            problems.append(problem.at(source))
            written = "NULL"
        parts += [text[done : span.start], written]
        start = length + span.start - done
        length = start + len(written)
        literals.append((Span(start, length), span))
        done = span.end
    return BoundScript("".join((*parts, text[done:])), tuple(literals), tuple(problems))


def parameters(text: str) -> Iterator[tuple[str, Span]]:
    """The parameters of a script and their places, the colon included."""
    if ":" not in text:
        return
    at = 0
    while (token := TOKEN.search(text, at)) is not None:
        at = _comment_end(text, token.end()) if token["comment"] else token.end()
        if token["name"]:
            yield token["name"], Span(token.start(), token.end())


def _comment_end(text: str, at: int) -> int:
    """Where a block comment ends; they nest."""
    depth = 1
    for edge in COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _bound(name: str, values: Mapping[str, Any], span: Span) -> str:
    if name not in values:
        # What has no literal is none of the user's variables: a builtin, a module.
        usable = (n for n, v in values.items() if n[0] != "_" and _has_literal(v))
        hint = nearest(name, usable)
        raise SyntaxProblem(
            f"parameter ':{name}' has no value",
            span=span,
            hint=hint or f"assign the variable {name} in a cell before this one",
        )
    try:
        return literal(values[name])
    except ValueError as error:
        raise SyntaxProblem(
            f"parameter ':{name}' {error}",
            span=span,
            hint="a parameter is a number, text, boolean, date, time or None",
        ) from None


def _has_literal(value: Any) -> bool:
    try:
        literal(value)
    except ValueError:
        return False
    return True


def literal(value: Any) -> str:
    """A Python value as SQL.

    >>> literal(datetime(2013, 1, 1, 10)), literal(-2), literal(None)
    ("TIMESTAMP '2013-01-01 10:00:00'", '(-2)', 'NULL')

    Raises
    ------
    ValueError
        When there is no literal for it; the text ends a sentence about the value.
    """
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if value is None:
        return "NULL"
    write = next((w for kind, w in LITERALS if isinstance(value, kind)), None)
    if write is None:
        raise ValueError(f"is a {type(value).__name__}, which has no SQL literal")
    return write(value)


def _integer(value: int) -> str:
    if not -(2**63) <= value <= MOST_UNSIGNED:
        raise ValueError("is too large for BIGINT")
    return str(value) if value >= 0 else f"({value})"


def _double(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _string(value: str) -> str:
    if "\0" in value:
        raise ValueError("has a NUL character, which SQL text cannot hold")
    return "'" + value.replace("'", "''") + "'"


def _timestamp(value: datetime) -> str:
    utc = value.astimezone(UTC) if value.tzinfo is not None else value
    return f"TIMESTAMP '{utc.replace(tzinfo=None).isoformat(sep=' ')}'"


def _interval(value: timedelta) -> str:
    if value < timedelta():
        raise ValueError("is a negative length of time")
    seconds = f"{value.seconds}.{value.microseconds:06d}".rstrip("0").rstrip(".")
    days = f"{value.days} days " if value.days else ""
    return f"INTERVAL '{days}{seconds} seconds'"


# In this order: True is also an int, and a datetime is also a date.
LITERALS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda value: "TRUE" if value else "FALSE"),
    (int, _integer),
    (float, _double),
    (Decimal, lambda value: _double(float(value))),
    (str, _string),
    (datetime, _timestamp),
    (date, lambda value: f"CAST('{value.isoformat()}' AS DATE)"),
    (timedelta, _interval),
)
