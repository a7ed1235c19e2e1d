"""A case: an expression in Arroyo's dialect, over a table of one row."""

from __future__ import annotations

from dataclasses import dataclass

from arroyo_nb.schema import Type


@dataclass(frozen=True)
class Column:
    """A column of the row.

    Parameters
    ----------
    value
        As Arrow takes it of Python: a TIMESTAMP is a datetime without a zone.
    """

    name: str
    type: Type
    value: object


@dataclass(frozen=True)
class Case:
    """One expression.

    Parameters
    ----------
    kind
        What is tested: a function's name, an operator or a cast, and its types.
    parts
        The expressions within it that are cases of their own. What differs in a part
        is not held against the whole.
    operands
        What is between its operators, or the arguments of its call, as SQL.
    """

    expression: str
    columns: tuple[Column, ...] = ()
    kind: str = ""
    parts: tuple[Case, ...] = ()
    operands: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read."""
        return len(str(self))

    def __str__(self) -> str:
        row = ", ".join(f"{c.name} {c.type} = {c.value!r}" for c in self.columns)
        return self.expression + (f"  [{row}]" if row else "")


@dataclass(frozen=True)
class Outcome:
    """What an engine gives.

    Parameters
    ----------
    refusal
        Its message, where it refuses the expression before it sees a row.
    failure
        Its message, where it fails on the row.
    type
        The result's type in Arroyo's words.
    value
        The result; instants, days and durations are whole numbers.
    """

    refusal: str = ""
    failure: str = ""
    type: str = ""
    value: object = None

    def __str__(self) -> str:
        if self.refusal:
            return f"refused: {_first_line(self.refusal)}"
        if self.failure:
            return f"fails: {_first_line(self.failure)}"
        return f"{self.value!r} {self.type}"


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) < 160 else line[:157] + "..."
