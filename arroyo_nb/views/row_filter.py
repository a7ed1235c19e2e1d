"""The filter of the table: rows that have every word that was typed.

The page sends ``find WORDS``; what is found is looked for in all rows that a panel
keeps, and not only in those that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import column, escaped
from arroyo_nb.views.truncation_notes import MOST_COLUMNS

MESSAGE = "find "
"""What the message of the filter begins with."""

MOST_CHARS = 100


def words_of(message: str) -> str:
    """What was typed, without blanks around it.

    >>> words_of("find  ann "), words_of("find ")
    ('ann', '')
    """
    return message.removeprefix(MESSAGE).strip()[:MOST_CHARS]


def filtered(snapshot: Snapshot, typed: str) -> Snapshot:
    """The picture with the rows whose cells have every word, in any case of letters."""
    words = typed.lower().split()
    if not words:
        return snapshot
    fits = [_fits(words, row) for row in _texts(snapshot, snapshot.rows)]
    keys = snapshot.row_keys
    pairs = zip(keys, fits, strict=False) if len(keys) == len(fits) else ()
    images = [change.after or change.before or () for change in snapshot.changes]
    changed = [_fits(words, row) for row in _texts(snapshot, images)]
    return replace(
        snapshot,
        rows=tuple(r for r, fit in zip(snapshot.rows, fits, strict=True) if fit),
        row_keys=tuple(key for key, fit in pairs if fit),
        changes=tuple(
            c for c, fit in zip(snapshot.changes, changed, strict=True) if fit
        ),
        found_rows=(sum(fits), len(fits)),
        find=typed,
    )


def _fits(words: Sequence[str], text: str) -> bool:
    return all(word in text for word in words)


def _texts(snapshot: Snapshot, rows: Sequence[Sequence[Any]]) -> list[str]:
    """The cells of each row as one text, as the table shows them."""
    shown = range(len(snapshot.columns[:MOST_COLUMNS]))
    cells = [
        column([row[at] if at < len(row) else None for row in rows]) for at in shown
    ]
    return [" ".join(map(_text, row)) for row in zip(*cells, strict=True)]


def is_hit(snapshot: Snapshot, text: str | None) -> bool:
    """Whether a cell has a word that is looked for."""
    return any(word in _text(text) for word in snapshot.find.lower().split())


def _text(cell: str | None) -> str:
    return "null" if cell is None else cell.lower()


def search_field(snapshot: Snapshot) -> str:
    """The field of the filter, and how many rows it found; empty where there is no row
    to look for."""
    if not (snapshot.rows or snapshot.changes or snapshot.find):
        return ""
    return (
        '<p class="search" data-key="search"><input type="search" data-do="find" '
        f'value="{escaped(snapshot.find)}" placeholder="Filter the rows: ann 10:00" '
        f'aria-label="Filter the rows"/> <span>{escaped(found_words(snapshot))}</span>'
        "</p>"
    )


def found_words(snapshot: Snapshot) -> str:
    """How many rows have what is looked for; empty: nothing is looked for."""
    if not snapshot.find:
        return ""
    hits, of = snapshot.found_rows
    which = "row" if of == 1 else "newest rows"
    return f"{hits:,} of {of:,} {which} {'has' if hits == 1 else 'have'} it"
