"""The columns that a node makes, each with the bound expressions it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.functions.aggregates import AggregateFunction, aggregate
from arroyo_nb.over.frame import OverFrame
from arroyo_nb.schema import BIGINT_UNSIGNED, Field, Type
from arroyo_nb.source import Span

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Named:
    """An output column: a bound expression under the name a sink would see."""

    name: str
    expression: exp.Expr
    type: Type
    nullable: bool = True

    @cached_property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)


@dataclass(frozen=True)
class Ordering:
    """One expression of the ORDER BY inside an aggregate or OVER."""

    expression: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Measure:
    """One aggregate of a group.

    Parameters
    ----------
    name
        Output column.
    function
        Lower-case Arroyo name, a key of
        :mod:`arroyo_nb.functions.aggregates`.
    arguments
        Bound expressions over the input; none for ``count(*)``. The constant argument
        that some functions have is not among them.
    type
        Type of the result; ``nullable`` likewise.
    distinct
        Each distinct argument counts once.
    where
        The FILTER predicate, bound; rows for which it is not true do not count.
    order
        The order of a list, or of what is first; bound over the input.
    parameter
        The constant argument: a delimiter, a position from 1, a fraction.
    user
        The function, where it is a UDF: its name may mean another one later.
    """

    name: str
    function: str
    arguments: tuple[exp.Expr, ...]
    type: Type
    nullable: bool = True
    distinct: bool = False
    where: exp.Expr | None = None
    order: tuple[Ordering, ...] = ()
    parameter: str | int | float | None = None
    user: AggregateFunction | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def row(self) -> AggregateFunction:
        """What the function is; it is one that aggregates."""
        return self.user or aggregate(self.function)

    @cached_property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)


@dataclass(frozen=True)
class OverColumn:
    """One function with OVER.

    Parameters
    ----------
    measure
        The call; ``function`` is an aggregate, or a key of
        :mod:`arroyo_nb.functions.over`.
    frame
        The rows that it sees; None: all of the partition, whatever OVER says.
    ignores_nulls
        Whether rows whose first argument is NULL are passed over.
    """

    measure: Measure
    frame: OverFrame | None = None
    ignores_nulls: bool = False

    @property
    def name(self) -> str:
        """Output column."""
        return self.measure.name

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return self.measure.field


@dataclass(frozen=True)
class Number:
    """The number of a row among those of its key, from 1.

    Parameters
    ----------
    name
        Output column.
    function
        ``row_number``, ``rank`` or ``dense_rank``.
    """

    name: str
    function: str

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, BIGINT_UNSIGNED, nullable=False)


@dataclass(frozen=True)
class Limit:
    """The rows whose number by ``function`` is ``last`` or less; ``last`` is not 0."""

    function: str
    last: int
