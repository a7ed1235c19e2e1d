"""CREATE TABLE without a connector -> a memory table (arroyo-semantics a.6)."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from arroyo_nb.catalog import MemoryTable
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.tables.columns import declared_columns
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.registry import nearest
from arroyo_nb.repairs import Rename
from arroyo_nb.sql.dialect import name_span, span_of
from arroyo_nb.sql.statements import CreateTable

MEMORY = "memory"
"""What ``connector`` says of a table that is none."""


def is_memory_table(options: Options) -> bool:
    """Whether a table has no connector, so that it is an edge of the dataflow."""
    given = options.given.get("connector")
    return given is None or given.args["value"].name == MEMORY


def memory_table(statement: CreateTable, options: Options) -> MemoryTable:
    """The memory table that a statement declares, still without its INSERT.

    Raises
    ------
    ArroyoError
        For the errors of the statement, all that are independent.
    """
    create, problems = statement.expression, ErrorCollector()
    problems.attempt(partial(_check_options, create, options))
    columns = [e for e in _entries(create) if isinstance(e, exp.ColumnDef)]
    name = f"the memory table {statement.name}"
    declared = declared_columns(columns, name, problems, internal=True)
    for column in columns if declared is not None and declared.generated else ():
        problems.attempt(partial(_check_stored, column))
    problems.raise_all()
    assert declared is not None
    if not declared.order:
        raise CatalogProblem(
            f"the memory table '{statement.name}' has no columns",
            span=name_span(create),
            hint=f"write CREATE TABLE {statement.name} (column TYPE, ...), or "
            f"CREATE VIEW {statement.name} AS SELECT ...",
        )
    return MemoryTable(statement.name, declared.physical)


def without_effect(statement: CreateTable) -> list[str]:
    """The constraints of a memory table, which mean nothing: a sentence each."""
    return [
        f"{statement.name} is a memory table: "
        f"{'WATERMARK FOR' if _is_watermark(entry) else entry.sql(dialect='postgres')} "
        "has no effect on it"
        for entry in _entries(statement.expression)
        if not isinstance(entry, exp.ColumnDef)
    ]


def _is_watermark(entry: exp.Expr) -> bool:
    return isinstance(entry, exp.WatermarkColumnConstraint)


def _entries(create: exp.Expr) -> list[exp.Expr]:
    schema = create.this
    return schema.expressions if isinstance(schema, exp.Schema) else []


def _check_options(create: exp.Expr, options: Options) -> None:
    if create.args.get("unique"):  # The grammar keeps TEMPORARY here.
        raise CatalogProblem(
            "a temporary table is looked up: it needs a connector",
            span=name_span(create),
            hint="write CREATE TEMPORARY TABLE ... WITH (connector = '...', ...)",
        )
    others = [name for name in options.given if name != "connector"]
    if not others:
        return
    if "connector" in options.given:
        raise CatalogProblem(
            "Memory tables do not allow with options",
            span=options.span(others[0]),
            hint="remove it",
        )
    raise CatalogProblem(
        "Memory tables do not allow with options; to create a connection table set the "
        "'connector' option",
        span=options.span(others[0]),
        hint=_connector_hint(options),
        repairs=[
            Rename(name, "connector")
            for name in options.given
            if nearest(name, ["connector"])
        ],
    )


def _connector_hint(options: Options) -> str:
    for name, given in options.given.items():
        if nearest(name, ["connector"]):
            value = given.args["value"].name
            return f"write connector = '{value}' in place of {name}"
    return "set the 'connector' option in WITH (...)"


def _check_stored(column: exp.ColumnDef) -> None:
    for constraint in column.constraints:
        if isinstance(constraint.kind, exp.ComputedColumnConstraint):
            raise CatalogProblem(
                "Virtual fields are not supported in memory tables; instead write a "
                "query",
                span=span_of(column),
                hint=f"declare {column.name} as the others, and compute it in the "
                "INSERT",
            )
