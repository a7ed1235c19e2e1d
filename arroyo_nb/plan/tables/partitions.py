"""PARTITIONED BY: how the files of a table are laid out (arroyo-semantics a.5)."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable, PartitionField
from arroyo_nb.connectors import ConnectorInfo, PartitionTransform
from arroyo_nb.errors import CatalogProblem, Unsupported, raise_all
from arroyo_nb.plan.expressions.scope import ErrorCollector, spelled
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import DATE, Timestamp
from arroyo_nb.sql.dialect import span_of


def partitions(create: exp.Expr, info: ConnectorInfo) -> tuple[PartitionField, ...]:
    """What PARTITIONED BY says, in order.

    Raises
    ------
    ArroyoError
        For each item that the connector does not take.
    """
    # The grammar keeps PARTITIONED BY among sqlglot's indexes.
    items = create.args.get("indexes") or []
    if items and not info.partition_transforms:
        raise Unsupported(
            f"the connector '{info.name}' takes no PARTITIONED BY",
            span=span_of(items[0]),
            hint="remove it, or set the option that the connector has for it in WITH "
            "(...)",
        )
    problems = ErrorCollector()
    made = [problems.attempt(partial(_partition, item, info)) for item in items]
    problems.raise_all()
    return tuple(filter(None, made))


def check_partitions(table: ConnectorTable) -> None:
    """Refuse partitions by columns that a table has not, or of another type.

    Raises
    ------
    ArroyoError
        For each of them.
    """
    raise_all(filter(None, (_column_problem(p, table) for p in table.partitions)))


def _partition(item: exp.Expr, info: ConnectorInfo) -> PartitionField:
    transforms = info.partition_transforms
    calls = " or ".join(_usage(t) for t in transforms.values())
    if not isinstance(item, exp.Anonymous):
        column = item.name if isinstance(item, exp.Column) else "column"
        raise CatalogProblem(
            "each item of PARTITIONED BY must be a call of a transform",
            span=span_of(item),
            hint=f"write identity({column})"
            if "identity" in transforms
            else f"write {calls}",
        )
    name, arguments = item.name.lower(), item.expressions
    transform = transforms.get(name)
    if transform is None:
        raise CatalogProblem(
            f"unknown partition transform '{name}'",
            span=span_of(item),
            hint=did_you_mean(name, tuple(transforms)) or f"write {calls}",
        )
    if len(arguments) != 1 + transform.takes_number:
        raise _misused(item, transform)
    column, *numbers = arguments
    if not isinstance(column, exp.Column) or len(column.parts) > 1:
        raise _misused(item, transform)
    if not all(number.is_int and int(number.name) > 0 for number in numbers):
        raise _misused(item, transform)
    span = span_of(column) or span_of(item)
    return PartitionField(name, spelled(column.this), transform.of_times, span)


def _usage(transform: PartitionTransform) -> str:
    return f"{transform.name}(column{', n' if transform.takes_number else ''})"


def _misused(item: exp.Expr, transform: PartitionTransform) -> CatalogProblem:
    number = " and a whole number of at least 1" if transform.takes_number else ""
    return CatalogProblem(
        f"the partition transform '{transform.name}' takes a column{number}",
        span=span_of(item),
        hint=f"write {_usage(transform)}",
    )


def _column_problem(
    partition: PartitionField, table: ConnectorTable
) -> CatalogProblem | None:
    field = table.physical.get(partition.column)
    if field is None:
        return CatalogProblem(
            f"PARTITIONED BY: the table has no column '{partition.column}'",
            span=partition.span,
            hint=did_you_mean(partition.column, table.physical.names),
        )
    is_time = field.type == DATE or isinstance(field.type, Timestamp)
    if partition.of_times and not is_time:
        return CatalogProblem(
            f"PARTITIONED BY {partition.transform}: the column '{field.name}' is "
            f"{field.type}, no time",
            span=partition.span,
            hint="partition by identity(column), or by a TIMESTAMP",
        )
    return None
