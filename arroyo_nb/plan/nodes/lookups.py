"""Rows beside what a table says of their keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from arroyo_nb.plan.nodes.base import Unary
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

    from arroyo_nb.catalog import LookupTable

Keeps: TypeAlias = Literal["inner", "left"]


@dataclass(frozen=True)
class LookupJoin(Unary):
    """A row of the input with the row of a lookup table that has its key.

    A key finds one row at most, so rows stay what they are: their event time, window,
    and whether they are taken back are those of the input. Nothing is remembered: who
    asks a store sees what it holds at that moment, and a value that changes later
    changes no row that was sent.

    Parameters
    ----------
    table
        Where rows are found.
    how
        ``left`` keeps rows that find nothing, with NULL in the table's columns.
    keys
        For each key column of the table, what it is found by, bound over the input;
        NULL finds nothing.
    columns
        Of the table's columns those that are read: what each is called here, and in
        the table.
    """

    table: LookupTable
    how: Keeps
    keys: tuple[tuple[exp.Expr, str], ...]
    columns: tuple[tuple[str, str], ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, then the table's."""
        found = self.table.schema
        beside = (
            replace(
                found[column],
                name=name,
                nullable=found[column].nullable or self.how == "left",
            )
            for name, column in self.columns
        )
        return Schema((*self.input.schema, *beside))
