"""The column list of a CREATE TABLE (arroyo-semantics a.4, columns)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from arroyo_nb.catalog import Generated
from arroyo_nb.connectors import NO_METADATA
from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported
from arroyo_nb.functions.types import fits
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.binding import bind
from arroyo_nb.plan.expressions.scope import ErrorCollector, Scope, unique
from arroyo_nb.plan.expressions.types import is_internal, type_from_sql
from arroyo_nb.plan.expressions.typing import cast, is_nullable, type_of
from arroyo_nb.plan.queries import aggregate_calls
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BIGINT, Field, Schema, Timestamp, Type, check_visible
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import all_in

_CLOCKS = re.compile(r"\b(?:proctime|now|current_timestamp|localtimestamp)\b", re.I)

_HANDLED = {
    exp.ComputedColumnConstraint,
    exp.NotNullColumnConstraint,
    exp.PrimaryKeyColumnConstraint,
}


@dataclass(frozen=True)
class Declared:
    """The column list of a CREATE TABLE.

    Parameters
    ----------
    order
        Names of all columns, as they were declared.
    physical
        What the connector delivers.
    generated
        What is computed from it.
    primary_key
        The columns that carry PRIMARY KEY, as they were declared.
    metadata
        Physical columns that the connector tells of a record beside it: the key of
        each.
    """

    order: tuple[str, ...]
    physical: Schema
    generated: tuple[Generated, ...]
    primary_key: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> Schema:
        """The columns that a record itself has."""
        return Schema(tuple(f for f in self.physical if f.name not in self.metadata))


def definitions(create: exp.Expr) -> Mapping[str, exp.ColumnDef]:
    """The columns of a CREATE TABLE as they are written, by name."""
    return {found.name: found for found in create.find_all(exp.ColumnDef)}


def declared_columns(
    entries: Sequence[exp.Expr],
    table: str,
    problems: ErrorCollector,
    metadata: Mapping[str, Type] = NO_METADATA,
    *,
    internal: bool = False,
) -> Declared | None:
    """The column list of a CREATE TABLE; every bad column is reported.

    Parameters
    ----------
    entries
        Columns and constraints as they were parsed.
    table
        What errors call the table and its connector.
    problems
        Takes the errors.
    metadata
        What METADATA FROM may name, with its type.
    internal
        Whether columns may have the types that no record can hold.

    Returns
    -------
    Declared or None
        None where a column is bad: what is built on it would be wrong.
    """
    definitions = [e for e in entries if isinstance(e, exp.ColumnDef)]
    for entry in entries:
        if not isinstance(entry, exp.ColumnDef | exp.WatermarkColumnConstraint):
            problems.append(_refused_entry(entry))
    fields = [
        problems.attempt(partial(_field, d, table, metadata, internal))
        for d in definitions
    ]
    known = [f for f in fields if f is not None]
    problems.attempt(partial(_check_names, known, definitions))
    if len(known) < len(fields):
        return None
    beside = {d.name: key for d in definitions for key in _metadata_keys(d)}
    makers = [None if d.name in beside else _generation(d) for d in definitions]
    stored = (f for f, made in zip(known, makers, strict=True) if made is None)
    physical = Schema(tuple(stored))
    generated = []
    for declared, made in zip(known, makers, strict=True):
        if made is not None:
            build = partial(_generated, declared, made, Scope.of(physical))
            generated.append(problems.attempt(build))
    if any(g is None for g in generated):
        return None
    order = tuple(f.name for f in known)
    keys = tuple(d.name for d in definitions if _is_key(d))
    return Declared(order, physical, tuple(g for g in generated if g), keys, beside)


def _is_key(definition: exp.ColumnDef) -> bool:
    kinds = (constraint.kind for constraint in definition.constraints)
    return any(isinstance(kind, exp.PrimaryKeyColumnConstraint) for kind in kinds)


def _refused_entry(entry: exp.Expr) -> ArroyoError:
    if isinstance(entry, exp.Identifier):
        return _untyped(entry.name, entry)
    return Unsupported(
        f"Unsupported table constraint `{entry.sql(dialect='postgres')}`",
        span=span_of(entry),
        hint="PRIMARY KEY stands after its column's type: id BIGINT PRIMARY KEY",
    )


def _untyped(name: str, entry: exp.Expr) -> CatalogProblem:
    """Flink computes a column with ``ts AS expression``."""
    text = entry.sql(dialect="postgres")
    return CatalogProblem(
        f"column '{name}' has no type",
        span=span_of(entry),
        hint="remove it: row_time() in a query is the event time of a row, which the "
        "connector gives where the table has no WATERMARK"
        if _CLOCKS.search(text)
        else f"write {name} TEXT, or for a computed column: {name} TIMESTAMP GENERATED "
        "ALWAYS AS (expression)",
    )


def _field(
    definition: exp.ColumnDef,
    table: str,
    metadata: Mapping[str, Type],
    internal: bool,
) -> Field:
    keys = _check_constraints(definition, table, metadata)
    if definition.kind is None:
        raise _untyped(definition.name, definition)
    type_ = type_from_sql(definition.kind)
    if is_internal(type_) and not internal:
        raise CatalogProblem(
            f"field '{definition.name}' has a type '{type_}' that cannot be used in a "
            "connection table",
            span=span_of(definition.kind),
            hint="declare a small whole number INT, a time TIMESTAMP, and cast it in a "
            "query",
        )
    required = any(
        isinstance(c.kind, exp.NotNullColumnConstraint)
        and not c.kind.args.get("allow_null")
        for c in definition.constraints
    )
    for key in keys:
        if type_ != metadata[key]:
            raise CatalogProblem(
                f"incorrect data type for metadata field '{key}'; expected "
                f"{metadata[key]}, but found {type_}",
                span=span_of(definition.kind),
                hint=_metadata_hint(definition.name, type_, key, metadata[key]),
            )
    return Field(definition.name, type_, nullable=not required)


def _metadata_hint(name: str, type_: Type, key: str, wanted: Type) -> str:
    declared = f"{wanted} METADATA FROM '{key}'"
    if not isinstance(type_, Timestamp) or wanted != BIGINT:
        return f"write {name} {declared}"
    return (
        f"write {name}_ms {declared}, {name} TIMESTAMP GENERATED ALWAYS AS "
        f"(to_timestamp_millis({name}_ms)) STORED"
    )


def _metadata_keys(definition: exp.ColumnDef) -> Iterator[str]:
    keys = (_metadata_key(constraint.kind) for constraint in definition.constraints)
    return (key for key in keys if key is not None)


def _check_constraints(
    definition: exp.ColumnDef, table: str, metadata: Mapping[str, Type]
) -> list[str]:
    """Refuses what is not handled; gives the keys of METADATA FROM."""
    keys = []
    for constraint in definition.constraints:
        # sqlglot puts IN and OUT there as they are.
        is_wrapped = isinstance(constraint, exp.ColumnConstraint)
        kind = constraint.kind if is_wrapped else constraint
        key = _metadata_key(kind)
        if key is not None and key in metadata:
            keys.append(key)
        elif key is not None:
            raise CatalogProblem(
                f"unknown metadata field '{key}' for {table}",
                span=span_of(definition),
                hint=did_you_mean(key, metadata),
            )
        elif type(kind) not in _HANDLED:
            words = type(kind).__name__.removesuffix("ColumnConstraint").upper()
            raise Unsupported(
                f"the column constraint {words} is not supported",
                span=span_of(definition),
            )
    return keys


def _metadata_key(kind: exp.Expr) -> str | None:
    """The key of ``METADATA FROM 'key'`` or, as it was once written,
    ``GENERATED ALWAYS AS (metadata('key'))``."""
    if isinstance(kind, exp.Property):
        return str(kind.args["value"].name)
    if not isinstance(kind, exp.ComputedColumnConstraint):
        return None
    found = [c for c in all_in(kind, exp.Anonymous) if c.name.lower() == "metadata"]
    if not found:
        return None
    call = found[0]
    if call is not kind.this:
        raise CatalogProblem(
            "Metadata columns must have only a single call to 'metadata'",
            span=span_of(call),
        )
    if len(call.expressions) != 1:
        raise CatalogProblem(
            "For metadata columns, metadata call must have a single argument",
            span=span_of(call),
        )
    (argument,) = call.expressions
    if not argument.is_string:
        raise CatalogProblem(
            "For metadata columns, metadata call must have a literal string argument",
            span=span_of(call),
        )
    return str(argument.name)


def _generation(definition: exp.ColumnDef) -> exp.Expr | None:
    for constraint in definition.constraints:
        if isinstance(constraint.kind, exp.ComputedColumnConstraint):
            made: exp.Expr = constraint.kind.this
            return made
    return None


def _generated(declared: Field, expression: exp.Expr, scope: Scope) -> Generated:
    bound = bind(expression, scope)
    _check_scalar(bound, "a generated column")
    given = type_of(bound)
    if not fits(given, declared.type):
        raise CatalogProblem(
            f"the generated column '{declared.name}' is declared {declared.type}, but "
            f"its expression is {given}",
            span=span_of(expression),
            hint=f"cast the expression to {declared.type}",
        )
    nullable = declared.nullable and is_nullable(bound)
    column = Field(declared.name, declared.type, nullable)
    return Generated(column, cast(bound, declared.type))


def _check_scalar(bound: exp.Expr, where: str) -> None:
    call = window_calls.find_window_call(bound)
    if call is not None:
        raise window_calls.misplaced_window(call)
    if aggregate_calls.find_aggregate(bound) is not None:
        raise CatalogProblem(f"aggregates are not allowed in {where}")


def _check_names(fields: list[Field], definitions: list[exp.ColumnDef]) -> None:
    for definition in definitions:
        check_visible(definition.name, span_of(definition.this))
    unique(
        fields,
        lambda _, other, name: CatalogProblem(
            f"invalid field names in schema: the column '{name}' is declared twice",
            span=span_of(definitions[other].this),
        ),
    )
