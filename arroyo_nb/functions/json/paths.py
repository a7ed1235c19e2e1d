"""Paths of JSONPath (RFC 9535) into a document, as Spark SQL.

A path is a row of segments; each makes of a list of values the list of those that it
selects of them, in order. All values are texts, as the document has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.json import find, quick
from arroyo_nb.functions.let_binding import let
from arroyo_nb.functions.signature import Argument
from arroyo_nb.schema import quoted_text
from arroyo_nb.source import Span


@dataclass(frozen=True)
class PathSlice:
    """``[start:end:step]``; ``[*]`` is all of it, and of an object all values."""

    start: int | None = None
    end: int | None = None
    step: int = 1
    of_objects: bool = False


Selector: TypeAlias = "str | int | PathSlice"
Segment: TypeAlias = "tuple[Selector, ...]"

ALL = PathSlice(of_objects=True)

_SHORT = re.compile(r"\.(?:(\*)|([A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*))")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_SLICE = re.compile(r"(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?)?")
_INDEX = re.compile(r"-?(?:0|[1-9]\d*)")
_BLANKS = re.compile(r"\s*")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def segments(text: str, span: Span | None) -> list[Segment]:
    """The segments of a path.

    >>> segments("$.a['b c'][0, -1]", None)
    [('a',), ('b c',), (0, -1)]

    Raises
    ------
    CatalogProblem
        When it is no path.
    Unsupported
        When it has a filter, or looks into all levels.
    """
    return _Parser(text, span).segments()


class _Parser:
    def __init__(self, text: str, span: Span | None) -> None:
        self._text, self._span, self._at = text.strip(), span, 0

    def segments(self) -> list[Segment]:
        if not self._took("$"):
            raise self._wrong("it begins with $")
        found: list[Segment] = []
        while self._at < len(self._text):
            if self._text.startswith("..", self._at):
                raise self._missing("'..'")
            if (short := self._match(_SHORT)) is not None:
                found.append((ALL if short[1] else short[2],))
            elif self._took("["):
                found.append(self._selectors())
            else:
                raise self._wrong(f"'{self._text[self._at :]}' is no step")
        return found

    def _selectors(self) -> Segment:
        found = [self._selector()]
        while not self._took("]"):
            if not self._took(","):
                raise self._wrong("a bracket is not closed")
            found.append(self._selector())
        return tuple(found)

    def _selector(self) -> Selector:
        self._match(_BLANKS)
        if self._took("*"):
            return ALL
        if self._text.startswith("?", self._at):
            raise self._missing("a filter")
        if (name := self._match(_QUOTED)) is not None:
            return re.sub(r"\\(u.{4}|.)", _unescaped, name[1] or name[2] or "")
        if (part := self._match(_SLICE)) is not None:
            start, end, step = (None if n is None else int(n) for n in part.groups())
            return PathSlice(start, end, 1 if step is None else step)
        if (index := self._match(_INDEX)) is not None:
            return int(index[0])
        raise self._wrong("a bracket holds a name in quotes, an index, or *")

    def _took(self, mark: str) -> bool:
        self._match(_BLANKS)
        is_there = self._text.startswith(mark, self._at)
        self._at += len(mark) * is_there
        return is_there

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        self._at = self._at if found is None else found.end()
        return found

    def _wrong(self, why: str) -> CatalogProblem:
        return CatalogProblem(
            f"'{self._text}' is not a JSONPath: {why}",
            span=self._span,
            hint="write $.name, $['name'], $.list[0] or $.list[*]",
        )

    def _missing(self, what: str) -> Unsupported:
        return Unsupported(
            f"{what} in a JSONPath is not supported",
            span=self._span,
            hint="name each step, make rows with unnest(extract_json(j, '$.list[*]')), "
            "and filter them with WHERE",
        )


def _unescaped(found: re.Match[str]) -> str:
    letter = found[1]
    if len(letter) > 1:
        return chr(int(letter[1:], 16))
    return _ESCAPES.get(letter, letter)


def all_texts(arguments: Sequence[Argument]) -> str:
    """The values at a path, as a list of JSON texts."""
    document, steps = _parts(arguments)
    found = _selected(find.find(document, [], whole=True), steps)
    return f"transform({found}, __n -> {find.compact('__n')})"


def first(of_text: str, by_spark: quick.Quick, arguments: Sequence[Argument]) -> str:
    """What is made of the first value at a path."""
    document, steps = _parts(arguments)
    single = [step[0] for step in steps if len(step) == 1]
    plain = [s for s in single if isinstance(s, str) or (isinstance(s, int) and s >= 0)]
    if len(plain) < len(steps):
        values = _selected(find.find(document, [], whole=True), steps)
        found = f"try_element_at({values}, 1)"
        return find.of(of_text)(found)
    ways = [quoted_text(s) if isinstance(s, str) else (str(s),) for s in plain]
    exact = find.of(of_text)(find.find(document, ways, whole=True))
    at = quick.path(document, plain)
    return exact if at is None else at.once_found(by_spark(at, exact))


def _parts(arguments: Sequence[Argument]) -> tuple[str, list[Segment]]:
    document, path = arguments
    if path.literal is None:
        raise Unsupported(
            "the path must be a literal", span=path.span, hint="write it as '$.name'"
        )
    return document.sql, segments(path.literal, path.span)


def _selected(document: str, steps: Sequence[Segment]) -> str:
    """The list of the values at a path; NULL where there is no document."""
    found = let("__d", document, "IF(__d IS NULL, NULL, array(__d))")
    for selectors in steps:
        lists = ", ".join(map(_of_one, selectors))
        each = lists if len(selectors) == 1 else f"concat({lists})"
        found = f"flatten(transform({found}, __n -> {each}))"
    return found


def _of_one(selector: Selector) -> str:
    """The list of what is selected of the value ``__n``."""
    match selector:
        case str():
            return _listed(find.member("__n", quoted_text(selector)))
        case int() if selector >= 0:
            return _listed(find.item("__n", str(selector)))
        case int():
            elements = _elements("__n")
            return _listed(f"try_element_at({elements}, {selector})")
        case PathSlice(of_objects=True):
            return find.values("__n")
        case PathSlice():
            places = _places(selector)
            return let(
                "__l", _elements("__n"), f"transform({places}, __i -> get(__l, __i))"
            )


def _elements(list_: str) -> str:
    return f"IF(startswith({list_}, '['), {find.values(list_)}, array())"


def _listed(value: str) -> str:
    return f"filter(array({value}), __x -> __x IS NOT NULL)"


def _places(part: PathSlice) -> str:
    """The places of a slice of the list ``__l``, from 0, in its order."""
    if part.step == 0:
        return "CAST(array() AS array<int>)"
    is_up = part.step > 0

    def bound(given: int | None, default: str) -> str:
        if given is None:
            return default
        from_start = str(given) if given >= 0 else f"(size(__l) {given})"
        low, high = ("0", "size(__l)") if is_up else ("-1", "size(__l) - 1")
        return f"least(greatest({from_start}, {low}), {high})"

    start = bound(part.start, "0" if is_up else "size(__l) - 1")
    end = bound(part.end, "size(__l)" if is_up else "-1")
    last = f"{end} {'-' if is_up else '+'} 1"
    is_none = f"{start} {'>=' if is_up else '<='} {end}"
    run = f"sequence({start}, {last}, {part.step})"
    return f"IF({is_none}, CAST(array() AS array<int>), {run})"
