"""WITH options: what connectors and formats say about theirs, as values.

A text may name environment variables, as ``{{ NAME }}``. Plans keep the reference, and
so does what is told, drawn or noted down; a run asks for the value at each start, and
only what opens the file or the connection ever holds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.source import Span

REFERENCE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class OptionKind(Enum):
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


class Holds(Enum):
    """What the value of an option is, where more than its table must know."""

    PATH = "a path of a file or a folder"
    ADDRESS = "an address of the server that has the rows"
    OBJECT = "the name of what a server has: a topic, a table"
    SECRET = "a password or a key"


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
    fills_in
        Whether the default stands among a table's options where it is not given; else
        who reads them can tell one from the other.
    choices
        The values of an ENUM, in the spelling that is accepted.
    only
        ``source`` or ``sink``, where the other does not take it; empty: both do.
    elsewhere
        What the option is called in other systems, for the hint of an error; one that
        means this option only with one value, as ``name=value``.
    translated
        Its value for one of another system; empty: that does not say it, and an
        ``example`` is written.
    example
        A value that plans, for hints and for a table to begin with.
    in_identity
        Whether another value of it makes another table to a saved state. Credentials
        and settings of a client do not: the rows are the same.
    holds
        What its value is, for what treats all paths, addresses or secrets alike; None:
        a value like any other.
    in_arroyo
        Whether Arroyo takes it too.
    suggested
        Whether a table to begin with has it, with its ``example``, although it is not
        required: one of several must be given.
    """

    name: str
    kind: OptionKind
    doc: str
    required: bool = False
    default: OptionValue | None = None
    fills_in: bool = True
    choices: tuple[str, ...] = ()
    only: str = ""
    elsewhere: tuple[str, ...] = ()
    translated: Callable[[str], str] | None = None
    example: str = ""
    in_identity: bool = True
    holds: Holds | None = None
    in_arroyo: bool = True
    suggested: bool = False

    def written(self, value: str) -> str:
        """The option as it is written for a value of another system.

        >>> choices = ("latest", "earliest")
        >>> offset = Option("offset", OptionKind.ENUM, "", choices=choices)
        >>> offset.written("earliest-offset")
        "offset = 'earliest'"
        >>> offset.written("timestamp")
        "offset = 'latest' or 'earliest'"
        """
        if self.translated is not None:
            value = self.translated(value) or self.example
        spelled = value.replace("-", "_")
        near = [c for c in self.choices if spelled.startswith(c)] or list(self.choices)
        values = " or ".join(f"'{one}'" for one in near or [value])
        name = f"'{self.name}'" if "." in self.name else self.name
        return f"{name} = {values}"


def resolved(
    options: Mapping[str, OptionValue], table: str, *, span: Span | None = None
) -> dict[str, OptionValue]:
    """The options of a table with the values of the environment variables they name.

    Parameters
    ----------
    options
        As the table was declared.
    table, span
        Its name and where it is used, for the error.

    Raises
    ------
    RunProblem
        When a variable is not set.

    >>> os.environ["TOWN"] = "Aarhus"
    >>> resolved({"path": "/data/{{ TOWN }}.json", "rows": 3}, "trips")
    {'path': '/data/Aarhus.json', 'rows': 3}
    """
    texts = {name: value for name, value in options.items() if isinstance(value, str)}
    for name, text in texts.items():
        for variable in REFERENCE.findall(text):
            if variable not in os.environ:
                raise RunProblem(
                    f"the environment variable '{variable}' is not set; the option "
                    f"'{name}' of the table '{table}' needs it",
                    span=span,
                    hint=f"set it first, in a notebook with %env {variable}=...",
                )
    return {**options, **{name: substituted(text) for name, text in texts.items()}}


def substituted(text: str) -> str:
    """The text with the values of those variables that are set."""
    return REFERENCE.sub(lambda found: os.environ.get(found[1], found[0]), text)
