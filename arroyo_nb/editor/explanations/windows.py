"""Windows: what their widths mean, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.tokens import EditorToken, TokenKind, closing, openings
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.expressions.intervals import parse_interval
from arroyo_nb.plan.expressions.window_calls import SHAPES

EXAMPLES = {
    "tumble": "tumble(INTERVAL '1 hour') AS window",
    "hop": "hop(INTERVAL '10 minutes', INTERVAL '1 hour') AS window",
    "session": "session(INTERVAL '30 minutes') AS window",
}
_GENERAL = {
    "tumble": "Windows of a fixed width, one after the other.",
    "hop": "Windows of a fixed width that overlap: one begins every slide.",
    "session": "Windows of a key, each until no row comes for a gap.",
}
_UNITS = (
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
    ("second", timedelta(seconds=1)),
    ("millisecond", timedelta(milliseconds=1)),
    ("microsecond", timedelta(microseconds=1)),
)


def length_in_words(length: timedelta) -> str:
    """A length of time in words, exact.

    >>> length_in_words(timedelta(hours=1)), length_in_words(timedelta(minutes=90))
    ('1 hour', '1 hour 30 minutes')
    """
    parts = []
    for unit, size in _UNITS:
        number, length = divmod(length, size)
        if number:
            parts.append(f"{number} {unit}{'s' * (number != 1)}")
    return " ".join(parts) or "0 seconds"


def explain_window(word: PointedWord) -> Explanation | None:
    """A window function, or the interval in one."""
    place = _call(word)
    if place is None:
        return None
    name = word.statement[place].name
    sizes = _sizes(word.statement[place + 2 : closing(word.statement, place + 1)])
    lines = [_in_words(name, sizes) or _GENERAL[name]]
    lines.append("A struct of start and end; the end is not part of the window.")
    parameters = ", ".join(f"{p} INTERVAL" for p in SHAPES[name])
    return Explanation(f"{name}({parameters})", tuple(lines), EXAMPLES[name])


def window_named(name: str) -> Explanation | None:
    """A window function by its lower-case name."""
    if name not in SHAPES:
        return None
    parameters = ", ".join(f"{p} INTERVAL" for p in SHAPES[name])
    return Explanation(f"{name}({parameters})", (_GENERAL[name],), EXAMPLES[name])


def _call(word: PointedWord) -> int | None:
    """The place of the window function that a word is, or is an interval of."""
    opens = openings(word.statement, word.place)[:1]
    is_interval = word.token.word == "INTERVAL" or word.near(-1).word == "INTERVAL"
    is_text = word.token.kind is TokenKind.STRING
    places = [word.place]
    places += [opens[0] - 1] if opens and (is_interval or is_text) else []
    for place in places:
        is_call = place + 1 < len(word.statement) and (
            word.statement[place + 1].text == "("
        )
        if is_call and word.statement[place].name in SHAPES:
            return place
    return None


def _sizes(code: Sequence[EditorToken]) -> list[timedelta]:
    """The intervals of a call, as far as they can be read."""
    found = []
    for place, token in enumerate(code):
        if token.kind is TokenKind.STRING:
            unit = code[place + 1].word if place + 1 < len(code) else ""
            try:
                interval = parse_interval(token.value, unit if unit.isalpha() else None)
            except ArroyoError:
                return []
            if interval.months or interval.duration <= timedelta():
                return []
            found.append(interval.duration)
    return found


def _in_words(name: str, sizes: Sequence[timedelta]) -> str | None:
    words = [length_in_words(size) for size in sizes]
    match name, words:
        case "tumble", [width]:
            return f"Windows of {width}, one after the other."
        case "hop", [slide, width]:
            rows = sizes[1] / sizes[0]
            each = f"; a row is in {rows:.0f} of them" if rows == int(rows) else ""
            return f"Windows of {width}, one begins every {slide}{each}."
        case "session", [gap]:
            return f"Windows of a key, each until no row comes for {gap}."
        case _:
            return None


def explain_interval(word: PointedWord) -> Explanation | None:
    """An interval outside of a window's call."""
    text = word.near(1) if word.token.word == "INTERVAL" else word.token
    is_named = word.token.word == "INTERVAL" or word.near(-1).word == "INTERVAL"
    if not is_named or text.kind is not TokenKind.STRING:
        return None
    behind = word.near(2 if word.token.word == "INTERVAL" else 1).word
    try:
        interval = parse_interval(text.value, behind if behind.isalpha() else None)
    except ArroyoError as problem:
        return Explanation("INTERVAL", (problem.message,))
    months = f"{interval.months} months " if interval.months else ""
    exact = length_in_words(abs(interval.duration)) if interval.duration else ""
    return Explanation(f"INTERVAL {text.text}", (f"{months}{exact}".strip() or "0",))
