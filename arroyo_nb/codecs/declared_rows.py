"""Rows of Python as the columns of a declared table, where there is no Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Field, Schema, Type, arrow_type

Row: TypeAlias = Mapping[str, Any]


def _as_it_is(type_: Type, value: Any) -> Any:  # noqa: ARG001
    return value


class DeclaredRows:
    """Takes rows apart into columns: they take what Arrow can make of a value, and
    refuse the rest.

    Parameters
    ----------
    table
        The table's name, for errors.
    schema
        Its columns.
    adapt
        Makes of a value, by the type of its column, what Arrow is given.
    """

    def __init__(
        self,
        table: str,
        schema: Schema,
        adapt: Callable[[Type, Any], Any] = _as_it_is,
    ) -> None:
        self._table = table
        self._schema = schema
        self._adapt = adapt

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the rows."""
        return self._schema.names

    def columns(self, rows: Sequence[Row]) -> list[list[Any]]:
        """The values of each column.

        Raises
        ------
        RunProblem
            When a row has another column, or a value that its column does not take.
        """
        for row in rows:
            if not isinstance(row, Mapping):
                raise RunProblem(
                    f"a value of type {type(row).__name__} is not a row of "
                    f"'{self._table}'",
                    hint=f"emit mappings, as in {{'{self.names[0]}': ...}}, or tuples; "
                    "texts and bytes are sent as they are",
                )
            for name in row.keys() - {*self.names}:
                raise RunProblem(
                    f"the table '{self._table}' has no column '{name}' to be written",
                    hint=did_you_mean(str(name), self.names),
                )
        return [self._column(rows, field) for field in self._schema]

    def _column(self, rows: Sequence[Row], field: Field) -> list[Any]:
        import pyarrow as pa

        values = [self._adapt(field.type, row.get(field.name)) for row in rows]
        try:
            found = pa.array(values, arrow_type(field.type), from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
            raise self._refused(field, f"{field.type}: {problem}") from None
        if found.null_count and not field.nullable:
            raise self._refused(field, "NOT NULL, and a row has none")
        made: list[Any] = found.to_pylist()
        return made

    def _refused(self, field: Field, what: str) -> RunProblem:
        return RunProblem(f"the column '{field.name}' of '{self._table}' is {what}")
