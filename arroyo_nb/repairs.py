"""What would mend an error, for an editor that offers it.

An error is made where its cause is known, and there its repairs are known too: no
editor has to read them out of a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from arroyo_nb.source import Span


class NearestName(str):
    """A hint that names what was meant: ``written`` is a slip of ``name``."""

    written: str = ""
    name: str = ""

    @classmethod
    def hint(cls, text: str, written: str, name: str) -> NearestName:
        """A hint of that text."""
        made = cls(text)
        made.written, made.name = written, name
        return made


@dataclass(frozen=True)
class Rename:
    """Within the place of the error a word becomes another one."""

    written: str
    name: str


@dataclass(frozen=True)
class Replace:
    """A part of the script becomes another text; an empty one is removed.

    Parameters
    ----------
    span
        The part.
    text
        What is typed there.
    title
        What that does, as a command; None: it is the text.
    """

    span: Span
    text: str
    title: str | None = None


@dataclass(frozen=True)
class AddGroupKey:
    """What stands at a place of a select list becomes a key of GROUP BY."""

    span: Span


@dataclass(frozen=True)
class AddNotNull:
    """Columns of the table that is declared become NOT NULL."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class AddWatermark:
    """The table of a name gets a watermark for one of its columns, which cannot be NULL
    then."""

    table: str
    column: str


@dataclass(frozen=True)
class RemoveOption:
    """An option of WITH is removed, with a comma beside it."""

    span: Span
    name: str


@dataclass(frozen=True)
class Together:
    """Several repairs that are one change."""

    title: str
    parts: tuple[Replace | RemoveOption, ...]


Repair: TypeAlias = (
    Rename | Replace | AddGroupKey | AddNotNull | AddWatermark | RemoveOption | Together
)


def rename(hint: str | None) -> tuple[Rename, ...]:
    """The repair that a hint names, where it names one."""
    if isinstance(hint, NearestName):
        return (Rename(hint.written, hint.name),)
    return ()


_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def quoted_name(name: str) -> str:
    """A name as it is written in SQL: in double quotes where it has capitals.

    >>> quoted_name("userId"), quoted_name("id")
    ('"userId"', 'id')
    """
    if _PLAIN.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as it is written in SQL.

    >>> quoted_text("O'Hare")
    "'O''Hare'"
    """
    return "'" + text.replace("'", "''") + "'"
