"""The windows of Flink, ksqlDB and Spark, rewritten as this dialect has them.

::

    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR)) GROUP BY window_start
    FROM t WINDOW TUMBLING (SIZE 1 HOUR)
    GROUP BY TUMBLE(at, INTERVAL '1' HOUR), or window(at, '1 hour')

become ``SELECT tumble(INTERVAL '1 hour') AS window, ... FROM t GROUP BY window``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arroyo_nb.editor.answers import Edit
from arroyo_nb.editor.sql_words import (
    SelectClauses,
    SqlWord,
    closing,
    enclosing_select,
    select_clauses,
    split_items,
)
from arroyo_nb.editor.tokens import TokenKind, tokens_of

TITLE = "write the window as in this dialect"

_NAME = "window"
_FIELDS = {"WINDOW_START", "WINDOW_END", "WINDOW_TIME", "WINDOWSTART", "WINDOWEND"}
_LENGTH = r"(\d+)\s*'?\s*(SECOND|MINUTE|HOUR|DAY)S?\s*'?"
_ONE = re.compile(rf"\s*(?:INTERVAL\s*)?'?\s*{_LENGTH}\s*", re.IGNORECASE)


def _interval(text: str) -> str | None:
    """A length of time as it is written here.

    >>> _interval("INTERVAL '10' MINUTES"), _interval("30 SECONDS")
    ("INTERVAL '10 minutes'", "INTERVAL '30 seconds'")
    """
    found = _ONE.fullmatch(text)
    if found is None:
        return None
    plural = "" if found[1] == "1" else "s"
    return f"INTERVAL '{found[1]} {found[2].lower()}{plural}'"


def _tumble(*lengths: str) -> str | None:
    return f"tumble({lengths[0]})" if len(lengths) == 1 else None


def _hop(*lengths: str) -> str | None:
    return f"hop({lengths[0]}, {lengths[1]})" if len(lengths) == 2 else None


def _session(*lengths: str) -> str | None:
    return f"session({lengths[0]})" if len(lengths) == 1 else None


def _of_spark(*lengths: str) -> str | None:
    """Spark's has the width first, and a slide perhaps."""
    return _tumble(*lengths) or _hop(*reversed(lengths))


_CALLS: Mapping[str, Callable[..., str | None]] = {
    "TUMBLE": _tumble,
    "HOP": _hop,
    "SESSION": _session,
    "WINDOW": _of_spark,
    "SESSION_WINDOW": _session,
    **{
        f"{kind}_{part}": make
        for kind, make in (("TUMBLE", _tumble), ("HOP", _hop), ("SESSION", _session))
        for part in ("START", "END", "ROWTIME")
    },
}
_CLAUSES: Mapping[str, Callable[..., str | None]] = {
    "TUMBLING": _tumble,
    # The size comes first, then the advance.
    "HOPPING": lambda *lengths: _hop(*reversed(lengths)),
    "SESSION": _session,
}


@dataclass(frozen=True)
class _Window:
    """A window of another dialect: its words, and the call that it is here.

    ``table`` has the words of the table that it stands around.
    """

    first: int
    last: int
    call: str
    table: tuple[int, int] | None = None


def rewritten_windows(text: str, words: Sequence[SqlWord], at: int) -> tuple[Edit, ...]:
    """The changes that rewrite the window of the SELECT that a place is in; none where
    it has no such window, or where its rows are not grouped.

    Parameters
    ----------
    text
        The whole cell.
    words
        Those of the statement.
    at
        The place.
    """
    select = enclosing_select(words, at)
    if select is None:
        return ()
    clauses = select_clauses(words, select)
    if window := _clause(text, words, clauses):
        return _Rewriting(text, words, clauses, [window]).edits()
    if window := _table_function(text, words, clauses):
        if clauses.groups is None:
            return ()
        return _Rewriting(text, words, clauses, [window]).edits()
    calls = list(_calls(text, words, clauses))
    if not calls or clauses.groups is None:
        return ()
    return _Rewriting(text, words, clauses, calls).edits()


def _clause(
    text: str, words: Sequence[SqlWord], clauses: SelectClauses
) -> _Window | None:
    """ksqlDB's ``WINDOW TUMBLING (SIZE 30 SECONDS)``."""
    for number in range(clauses.source or clauses.end, clauses.end - 2):
        make = _CLAUSES.get(words[number + 1].upper)
        last = closing(words, number + 2)
        if words[number].upper != "WINDOW" or make is None or last is None:
            continue
        inside = text[words[number + 2].end : words[last].start]
        # How late rows may be is said at the table.
        inside = re.split(r",\s*(?:GRACE|RETENTION)\b", inside, flags=re.IGNORECASE)[0]
        found = [match[0] for match in re.finditer(_LENGTH, inside, re.IGNORECASE)]
        call = make(*filter(None, map(_interval, found)))
        if call is not None:
            return _Window(number, last + 1, call)
    return None


def _table_function(
    text: str, words: Sequence[SqlWord], clauses: SelectClauses
) -> _Window | None:
    """Flink's ``FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR))``."""
    if clauses.source is None:
        return None
    first = number = clauses.source + 1
    is_wrapped = words[number].upper == "TABLE" if number < clauses.end else False
    if is_wrapped:
        number += 2
    if number + 1 >= clauses.end or words[number + 1].text != "(":
        return None
    last = closing(words, number + 1)
    make = _CALLS.get(words[number].upper)
    if last is None or make is None:
        return None
    arguments = split_items(words, (number + 2, last))
    if len(arguments) < 3:
        return None
    call = make(*_lengths(text, words, arguments[2:]))
    table = arguments[0]
    if words[table[0]].upper == "TABLE":
        table = (table[0] + 1, table[1])
    return (call and _Window(first, last + 1 + is_wrapped, call, table)) or None


def _lengths(
    text: str, words: Sequence[SqlWord], arguments: Sequence[tuple[int, int]]
) -> list[str]:
    written = (text[words[a].start : words[b - 1].end] for a, b in arguments)
    return [length for length in map(_interval, written) if length is not None]


def _calls(
    text: str, words: Sequence[SqlWord], clauses: SelectClauses
) -> Iterator[_Window]:
    """``TUMBLE(at, INTERVAL '1' HOUR)``, ``window(at, '1 hour')``, and fields of them:
    calls of windows whose first argument is a time."""
    for part in filter(None, (clauses.items, clauses.groups)):
        for number in range(part[0], part[1] - 1):
            make = _CALLS.get(words[number].upper)
            if make is None or words[number + 1].text != "(":
                continue
            last = closing(words, number + 1)
            if last is None:
                continue
            arguments = split_items(words, (number + 2, last))
            if len(arguments) < 2 or _lengths(text, words, arguments[:1]):
                continue
            call = make(*_lengths(text, words, arguments[1:]))
            if call is not None:
                yield _Window(number, last + 1, call)


class _Rewriting:
    """The changes of one SELECT whose windows are known."""

    def __init__(
        self,
        text: str,
        words: Sequence[SqlWord],
        clauses: SelectClauses,
        windows: Sequence[_Window],
    ) -> None:
        self._text = text
        self._words = words
        self._clauses = clauses
        self._windows = windows
        self._call = windows[0].call
        self._name = _NAME

    def edits(self) -> tuple[Edit, ...]:
        """The changes, in the order of their places."""
        if any(window.call != self._call for window in self._windows):
            return ()
        items = self._items()
        if items is None:
            return ()
        edits = [items, *self._groups(), *self._sources(), *self._emit()]
        return tuple(sorted(edits, key=lambda edit: edit.start))

    def _written(self, part: tuple[int, int]) -> str:
        return self._text[self._words[part[0]].start : self._words[part[1] - 1].end]

    def _window_of(self, item: tuple[int, int]) -> _Window | None:
        return next((w for w in self._windows if w.first == item[0]), None)

    def _items(self) -> Edit | None:
        """The select list: the window once, and what is none of its fields."""
        kept: list[str] = []
        has_window = False
        part = self._clauses.items
        start = at = self._words[part[0]].start
        comments = ""
        for item in split_items(self._words, part):
            first = self._words[item[0]]
            is_field = first.upper in _FIELDS
            # More than a name for the field would be lost with it.
            if first.text == "*" or (is_field and not self._is_named(item)):
                return None
            window = self._window_of(item)
            rest = [word.text for word in self._words[item[0] : item[1]]]
            is_dropped = is_field or (window is not None and "_" in first.text)
            is_written = not is_dropped and window is None
            item_end = self._words[item[1] - 1].end
            # What is written again has its own comments in it.
            comments += self._comments(at, first.start if is_written else item_end)
            at = item_end
            if is_dropped:
                continue
            if window is None:
                kept.append(comments + self._written(item))
                comments = ""
            elif not has_window:
                has_window = True
                behind = rest[window.last - item[0] :]
                self._name = behind[-1] if behind and behind[-1] != "." else _NAME
                kept.append(f"{comments}{self._call} AS {self._name}")
                comments = ""
        if not has_window:
            kept.insert(0, f"{self._call} AS {self._name}")
        behind_last = f" {comments}".rstrip(" ")
        return Edit(start, self._words[part[1] - 1].end, ", ".join(kept) + behind_last)

    def _comments(self, start: int, end: int) -> str:
        """The comments of a part of the text, to stand before an item."""
        return "".join(
            f"{token.text.rstrip()}{chr(10) if token.text.startswith('--') else ' '}"
            for token in tokens_of(self._text, start, end)
            if token.kind is TokenKind.COMMENT
        )

    def _is_named(self, item: tuple[int, int]) -> bool:
        """Whether an item is a name alone, or one with another name behind it."""
        behind = [word.upper for word in self._words[item[0] + 1 : item[1]]]
        return len(behind) - (behind[:1] == ["AS"]) <= 1

    def _groups(self) -> Iterator[Edit]:
        clauses, words = self._clauses, self._words
        if clauses.groups is None:
            window = self._windows[0]
            at = words[window.last - 1].end
            yield Edit(at, at, f" GROUP BY {self._name}")
            return
        first, last = clauses.groups
        if first == last:  # GROUP BY is being typed
            end = words[first - 1].end
            yield Edit(end, end, f" {self._name}")
            return
        yield Edit(words[first].start, words[last - 1].end, self._keys(clauses.groups))

    def _keys(self, groups: tuple[int, int]) -> str:
        """The keys of GROUP BY: the window, and what is none of its fields."""
        words = self._words
        keys, kept = {self._name}, [self._name]
        at, comments = words[groups[0]].start, ""
        for key in split_items(words, groups):
            written, first = self._written(key), words[key[0]]
            is_window = first.upper in _FIELDS or self._window_of(key) is not None
            is_kept = not is_window and written not in keys
            key_end = words[key[1] - 1].end
            # What is written again has its own comments in it.
            comments += self._comments(at, first.start if is_kept else key_end)
            at = key_end
            if is_kept:
                keys.add(written)
                kept.append(comments + written)
                comments = ""
        return ", ".join(kept) + f" {comments}".rstrip(" ")

    def _sources(self) -> Iterator[Edit]:
        """FROM, without the window that stood there."""
        words = self._words
        for window in self._windows:
            if window.table is not None:
                start, end = words[window.first].start, words[window.last - 1].end
                yield Edit(start, end, self._written(window.table))
            elif words[window.first].upper == "WINDOW" and self._is_clause(window):
                start = words[window.first - 1].end
                yield Edit(start, words[window.last - 1].end, "")

    def _is_clause(self, window: _Window) -> bool:
        return self._words[window.first + 1].upper in _CLAUSES

    def _emit(self) -> Iterator[Edit]:
        words = self._words
        for number in range(self._clauses.items[1], self._clauses.end - 1):
            if words[number].upper == "EMIT":
                start = words[number - 1].end
                yield Edit(start, words[self._clauses.end - 1].end, "")
                return
