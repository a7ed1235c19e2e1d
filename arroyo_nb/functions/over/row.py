"""What one function of OVER is: to the planner, to a reader and to the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from arroyo_nb.over.rows import Compute
from arroyo_nb.schema import BIGINT_UNSIGNED, DOUBLE, Type

Parameter = Literal["value", "default", "offset", "n", "buckets"]
"""A value of the row, one that stands in for a row that is not there, or a constant."""


@dataclass(frozen=True, kw_only=True)
class OverFunction:
    """A function that has a meaning with OVER alone, or another one with it.

    Parameters
    ----------
    name
        What it is called.
    doc
        What it gives, in one line.
    example
        A call over :data:`arroyo_nb.functions.examples.TRIPS` with OVER (ORDER BY at),
        and its results from the first trip to the last, as in
        ``row_number() -> 1, 2, 3, 4, 5``.
    parameters
        Its arguments, of which the first ``required`` must be given.
    compute
        What makes its values.
    result
        Its type; None: that of its first argument, which may be NULL.
    is_framed
        Whether it sees the frame of a row, and not the whole partition.
    checks
        What is wrong with its constant argument, in words; None: nothing.
    """

    name: str
    doc: str
    example: str
    compute: Compute
    parameters: tuple[Parameter, ...] = ()
    required: int = 0
    result: Type | None = None
    is_framed: bool = False
    checks: Callable[[int], str | None] = lambda _: None

    @property
    def signature(self) -> str:
        """Its parameters; those in brackets may be left out."""
        needed = ", ".join(self.parameters[: self.required])
        optional = self.parameters[self.required :]
        tail = "".join(f"[, {name}" for name in optional) + "]" * len(optional)
        return needed + tail

    @property
    def takes_value(self) -> bool:
        """Whether it gives values of rows, and so may IGNORE NULLS."""
        return "value" in self.parameters


NUMBER, SHARE = BIGINT_UNSIGNED, DOUBLE
"""The types of a number from 1, and of a share from 0 to 1."""
