"""WITH options: what connectors and formats say about theirs, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias


class Kind(Enum):
    """How an option's value is written (arroyo-semantics: option value syntax)."""

    STRING = "a single-quoted string"
    BOOL = "a boolean"
    UINT = "an unsigned integer"
    INT = "an integer"
    DOUBLE = "a double"
    DURATION = "an interval"
    SIZE = "a data size"
    FIELD = "a field"
    ARRAY = "a list"
    ENUM = "one of its values"


OptionValue: TypeAlias = str | bool | int | float | timedelta | tuple[str, ...]


@dataclass(frozen=True)
class Option:
    """One WITH option of a connector or a format.

    Parameters
    ----------
    name
        As written, dots included.
    kind
        How its value is parsed.
    doc
        One line for completion and help, with the unit of a number.
    required
        The script is refused without it.
    default
        What holds where it is not given.
    choices
        The values of an ENUM, in the spelling that is accepted.
    """

    name: str
    kind: Kind
    doc: str
    required: bool = False
    default: OptionValue | None = None
    choices: tuple[str, ...] = ()
