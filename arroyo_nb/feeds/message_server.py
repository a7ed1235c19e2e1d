"""A server that messages are read from or written to, and what errors say of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached


@dataclass(frozen=True)
class MessageServer:
    """The server of a table.

    Parameters
    ----------
    table
        The table that is read or written, for errors.
    shown
        What errors call its address.
    """

    table: str
    shown: str

    kind: ClassVar[str]
    """What stands before its address in errors."""

    address_options: ClassVar[str]
    """Which options have its address, for errors."""

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"{self.kind} at {self.shown}"

    def away(self, why: str) -> Unreached:
        """The error for a server that does not answer."""
        return Unreached(
            f"the table '{self.table}' cannot reach {self.name}: {why}",
            hint=f"start it, or look at {self.address_options}",
        )

    def refusal(self, what: str, why: str, hint: str | None = None) -> RunProblem:
        """The error for a server that answers, and refuses."""
        return RunProblem(
            f"{self.name} {what} the table '{self.table}': {why}", hint=hint
        )


@contextmanager
def variable_problems(table: str) -> Iterator[None]:
    """Turns what is wrong with the value of a variable, which is known when a run
    starts, into an error of the run.

    Parameters
    ----------
    table
        The name of the table whose options have the variable.

    Raises
    ------
    RunProblem
        In place of a CatalogProblem.
    """
    try:
        yield
    except CatalogProblem as problem:
        raise RunProblem(
            f"the table '{table}' cannot be used: {problem.message}", hint=problem.hint
        ) from None
