"""Values of the user's data in the sentences of the doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from arroyo_nb.doctor.words import instant, length, window

VALUE_CHARS = 40
"""A longer value is cut."""

LIST_ITEMS = 3
"""Elements of a list that are shown."""


def value_text(value: Any) -> str:
    """A value as one writes it in SQL, cut where it is long.

    >>> value_text("ann"), value_text(["bob", None]), value_text(7.5), value_text(True)
    ("'ann'", "['bob', NULL]", '7.5', 'true')
    >>> value_text({"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 1, 1)})
    '2026-01-01 00:00:00 – 01:00:00'
    """
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{_cut(value)}'"
        case bool():
            return str(value).lower()
        case bytes():
            return f"0x{value[:VALUE_CHARS].hex()}"
        case datetime():
            return instant(value)
        case timedelta():
            return length(value)
        case {"start": datetime() as start, "end": datetime() as end, **rest} if (
            not rest
        ):
            return window(start, end)
        case Mapping():
            fields = [f"{name}: {value_text(v)}" for name, v in value.items()]
            return f"{{{_listed(fields)}}}"
        case list() | tuple():
            return f"[{_listed([value_text(item) for item in value])}]"
    return _cut(str(value))


def key_text(parts: Sequence[Any]) -> str:
    """The key of a row: of several columns in brackets.

    >>> key_text(["ann"]), key_text(["ann", 7])
    ("'ann'", "('ann', 7)")
    """
    texts = [value_text(part) for part in parts]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _listed(texts: list[str]) -> str:
    return ", ".join(texts[:LIST_ITEMS]) + (", ..." if len(texts) > LIST_ITEMS else "")


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]}…"
