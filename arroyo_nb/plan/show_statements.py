"""What SHOW TABLES, DESCRIBE and EXPLAIN answer: rows of words, or a text."""

from __future__ import annotations

from dataclasses import dataclass

from arroyo_nb.catalog import (
    Catalog,
    ConnectorTable,
    LookupTable,
    MemoryTable,
    Relation,
)


@dataclass(frozen=True)
class StatementAnswer:
    """The answer to one statement.

    Parameters
    ----------
    columns, rows
        A table of words; no columns: there is none.
    text
        What EXPLAIN says.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""

    def __str__(self) -> str:
        if not self.columns:
            return self.text
        lines = (self.columns, *self.rows)
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def tables(catalog: Catalog) -> StatementAnswer:
    """The tables and views by name, what each is, and its columns."""
    rows = [
        (table.name, kind(table), str(table.schema))
        for _, table in sorted(catalog.tables.items())
    ]
    return StatementAnswer(("table", "kind", "columns"), tuple(rows))


def description(table: Relation) -> StatementAnswer:
    """The columns of a table: name, type, and what else holds of each."""
    rows = [
        (f.name, str(f.type), "" if f.nullable else "NOT NULL", _role(table, f.name))
        for f in table.schema
    ]
    return StatementAnswer(("column", "type", "null", "role"), tuple(rows))


def kind(table: Relation) -> str:
    """What a table is, in two words."""
    if isinstance(table, ConnectorTable):
        return f"{table.connector} {table.direction.value}"
    if isinstance(table, LookupTable):
        return f"{table.connector} lookup"
    return "memory table" if isinstance(table, MemoryTable) else "view"


def _role(table: Relation, column: str) -> str:
    if isinstance(table, LookupTable):
        return "key" if column in table.keys else ""
    if not isinstance(table, ConnectorTable):
        return ""
    roles = []
    if column in table.spec.primary_key:
        roles.append("primary key")
    if (key := table.spec.metadata.get(column)) is not None:
        roles.append(f"metadata '{key}'")
    if any(generated.column.name == column for generated in table.generated):
        roles.append("generated")
    mark = table.watermark
    if mark.column == column:
        seconds = mark.delay.total_seconds()
        late = "an expression" if mark.expression is not None else f"{seconds:g} s"
        roles.append(f"event time, watermark delay {late}")
    return ", ".join(roles)
