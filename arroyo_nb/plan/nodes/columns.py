"""The columns that a node makes, each with the bound expressions it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.schema import Field, Type

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Named:
    """An output column: a bound expression under the name a sink would see."""

    name: str
    expression: exp.Expr
    type: Type
    nullable: bool = True

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)


@dataclass(frozen=True)
class Measure:
    """One aggregate of a group.

    Parameters
    ----------
    name
        Output column.
    function
        Lower-case Arroyo name: count, sum, min, max, avg.
    arguments
        Bound expressions over the input; none for ``count(*)``.
    type
        Type of the result; ``nullable`` likewise.
    distinct
        Each distinct argument counts once.
    where
        The FILTER predicate, bound; rows for which it is not true do not count.
    """

    name: str
    function: str
    arguments: tuple[exp.Expr, ...]
    type: Type
    nullable: bool = True
    distinct: bool = False
    where: exp.Expr | None = None

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)
