"""What is aggregated: the call, and how its rows are taken from a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from arroyo_nb.changelog.keys import Ints, whole
from arroyo_nb.lazy_imports import np, pa, pc

if TYPE_CHECKING:
    from arroyo_nb.changelog.multisets import Bags, Extreme


@dataclass(frozen=True)
class Order:
    """One column of the ORDER BY inside an aggregate call, of a rank or of a top-N."""

    column: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        down, first = " DESC" * self.descending, " NULLS FIRST" * self.nulls_first
        return f"{self.column}{down}{first}"


Totals: TypeAlias = Mapping[str, Any]
"""Part -> its total by slot: int64s, (high, low) floats, or integers of any length."""


@dataclass(frozen=True)
class Linear:
    """An aggregate as a function of the totals of some parts
    (:mod:`arroyo_nb.changelog.totals`)."""

    parts: tuple[str, ...]
    finish: Callable[[Totals, AggregateCall], pa.Array]


class Bag(Protocol):
    """What is kept of the values of groups, as a table; its ``str`` is the name of that
    table in saved states."""

    def schema(self, rows: pa.Schema) -> pa.Schema:
        """The columns: slot, values by position, weight."""

    def of_rows(self, rows: pa.Table, slots: Ints, weights: Ints) -> pa.Table:
        """The table of a batch of input rows, whose groups are ``slots``."""

    def merged(self, bag: pa.Table) -> pa.Table:
        """The table of several, one behind the other."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """How an aggregate is computed from what is kept of its rows.

    Parameters
    ----------
    totals
        From totals that subtract, by the family of the first argument's type: rows
        (there is none), integer, float, decimal; or any.
    multiset
        From all values that are there, where it cannot subtract, or is DISTINCT.
    keeps_nulls
        Whether a NULL is a value to it.
    extreme
        The one value that decides while no row is taken back.
    bag
        What is kept of the values, by their selection, where it is not all of them.
    """

    totals: Mapping[str, Linear] = field(default_factory=dict)
    multiset: Callable[[Bags, AggregateCall], pa.Array] | None = None
    keeps_nulls: bool = False
    extreme: Extreme | None = None
    bag: Callable[[Selection], Bag] | None = None


@dataclass(frozen=True)
class AggregateCall:
    """``function([DISTINCT] arguments [ORDER BY order]) FILTER (WHERE where) AS name``.

    Parameters
    ----------
    name, type
        The output column.
    function
        Arroyo's name for it.
    arguments, where
        Columns of the input; expressions are computed before. No argument: count(*).
    order
        For functions of a list. Without it values come in ascending order, NULLs last.
    parameter
        The constant argument: a delimiter, a position from 1, a fraction.
    kernel
        How it is computed.
    """

    name: str
    function: str
    type: pa.DataType
    arguments: tuple[str, ...] = ()
    where: str | None = None
    distinct: bool = False
    order: tuple[Order, ...] = ()
    parameter: str | int | float | None = None
    kernel: Kernel = field(kw_only=True, compare=False, repr=False)

    def __str__(self) -> str:
        constant = () if self.parameter is None else (repr(self.parameter),)
        inside = "DISTINCT " * self.distinct
        inside += ", ".join((*self.arguments, *constant)) or "*"
        if self.order:
            inside += f" ORDER BY {', '.join(map(str, self.order))}"
        where = f" FILTER (WHERE {self.where})" if self.where else ""
        return f"{self.function}({inside}){where} AS {self.name}"


@dataclass(frozen=True)
class Selection:
    """The rows that an aggregate sees: those of its filter, mostly without NULLs.

    Parameters
    ----------
    columns
        Arguments, none of which is NULL unless ``nulls``.
    also
        Further columns of those rows, as for an order.
    """

    columns: tuple[str, ...]
    where: str | None = None
    nulls: bool = False
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(self.columns + self.also) or "*"
        where = f" where {self.where}" if self.where else ""
        return f"{names}{where}{' with nulls' * self.nulls}"

    def rows_of(self, rows: pa.Table) -> tuple[Ints, list[pa.Array]]:
        """Positions of those rows, and their columns."""
        tested = [] if self.nulls else [rows[c] for c in self.columns]
        masks = [column.is_valid() for column in tested if column.null_count]
        if self.where is not None:
            masks.append(pc.fill_null(rows[self.where], False))
        columns = [whole(rows[c]) for c in self.columns + self.also]
        if not masks:
            return np.arange(len(rows)), columns
        kept = np.logical_and.reduce([mask.to_numpy() for mask in masks])
        positions = np.flatnonzero(kept)
        return positions, [column.take(pa.array(positions)) for column in columns]
