"""What an editor is told: places, problems and their fixes, explanations.

Places count characters of the whole cell from 0 and are half-open. A page counts
UTF-16 code units: :mod:`arroyo_nb.editor.connection` is the one place that converts.
Every text is plain; who shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import Plan


@dataclass(frozen=True)
class EditorContext:
    """What a cell would be planned against.

    Parameters
    ----------
    catalog
        Tables, views and functions of the session.
    strict
        Whether what differs from Arroyo is refused.
    variables
        The notebook's variables, for ``:name`` and ``{{ NAME }}``.
    runs
        The plans of the session's runs, by name; None: they are not known.
    """

    catalog: Catalog
    strict: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    runs: Mapping[str, Plan] | None = None


class Severity(Enum):
    """How bad a problem is."""

    ERROR = "error"
    """The cell does not run."""

    WARNING = "warning"
    """It runs, and differs from Arroyo or is likely a mistake."""

    HINT = "hint"
    """It runs, and strict mode would refuse it."""


@dataclass(frozen=True)
class Edit:
    """Characters ``[start, end)`` become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fix:
    """A change that mends a problem.

    Parameters
    ----------
    title
        What it does, as a command: ``change to 'price'``.
    edits
        They do not overlap; all places are those before any of them.
    """

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Diagnostic:
    """A problem of the cell and its place."""

    start: int
    end: int
    severity: Severity
    message: str
    hint: str | None = None
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Hover:
    """What the thing at a place is.

    Parameters
    ----------
    start, end
        The word that is explained.
    title
        Its name and type, or its signature.
    lines
        Sentences about it, or one column a line.
    example
        SQL that uses it.
    badge
        How exact it is: ``exact``, ``micro-batch`` or ``differs``.
    """

    start: int
    end: int
    title: str
    lines: tuple[str, ...] = ()
    example: str | None = None
    badge: str | None = None


@dataclass(frozen=True)
class ResultColumn:
    """A column of what the last SELECT of a cell gives."""

    name: str
    type: str
    nullable: bool = True
    event_time: bool = False
