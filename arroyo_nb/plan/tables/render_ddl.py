"""A checked table back as text: the columns of its CREATE TABLE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from arroyo_nb.catalog import DEFAULT_DELAY, ConnectorTable
from arroyo_nb.schema import MICROSECOND, Field, ListOf, StructOf, Type

PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def written_columns(table: ConnectorTable) -> list[str]:
    """The columns of a table in declared order, then its watermark, as they would be
    written; and see :func:`written_event_time`."""
    return [*_columns(table), *_watermark(table)]


def written_event_time(table: ConnectorTable) -> Mapping[str, str]:
    """The options that declare the event time where the watermark is the usual one:
    WATERMARK FOR would take no column that may be NULL then."""
    mark = table.watermark
    usual = mark.expression is None and mark.delay == DEFAULT_DELAY
    return {"event_time_field": mark.column} if usual and mark.column else {}


def written_name(name: str) -> str:
    """An identifier, quoted where it would be read as something else."""
    from arroyo_nb.sql.ddl import StatementParser
    from arroyo_nb.sql.dialect import ArroyoDialect

    begins = StatementParser.SCHEMA_UNNAMED_CONSTRAINTS
    words = {word for phrase in begins for word in phrase.split()}
    words.update(ArroyoDialect.Tokenizer.KEYWORDS)
    if PLAIN_NAME.fullmatch(name) and name.upper() not in words:
        return name
    return '"' + name.replace('"', '""') + '"'


def written_type(type_: Type) -> str:
    """A type; names of fields that are words of the dialect are in quotes."""
    match type_:
        case StructOf(fields):
            inner = (f"{written_name(f.name)} {written_type(f.type)}" for f in fields)
            return f"STRUCT<{', '.join(inner)}>"
        case ListOf(element):
            return f"{written_type(element)}[]"
        case _:
            return str(type_)


def written_text(text: str) -> str:
    """A text literal."""
    return "'" + text.replace("'", "''") + "'"


def written_table(name: str, columns: Sequence[str], options: Mapping[str, str]) -> str:
    """A CREATE TABLE statement.

    Parameters
    ----------
    name, columns
        As they are written.
    options
        What stands behind WITH, as texts.
    """
    listed = f" (\n{_lines(columns)}\n)" if columns else ""
    pairs = [f"{_option(key)} = {written_text(text)}" for key, text in options.items()]
    return f"CREATE TABLE {name}{listed} WITH (\n{_lines(pairs)}\n);"


def _lines(parts: Sequence[str]) -> str:
    return ",\n".join(f"    {part}" for part in parts)


def _option(key: str) -> str:
    return key if PLAIN_NAME.fullmatch(key) else written_text(key)


def _columns(table: ConnectorTable) -> Iterator[str]:
    from arroyo_nb.sql.dialect import ArroyoDialect

    made = {generated.column.name: generated for generated in table.generated}
    for name in table.order:
        if (generated := made.get(name)) is not None:
            computed = generated.expression.sql(ArroyoDialect)
            column = f"{written_name(name)} {written_type(generated.column.type)}"
            yield f"{column} GENERATED ALWAYS AS ({computed}) STORED"
            continue
        yield _physical(table, table.physical[name])


def _physical(table: ConnectorTable, field: Field) -> str:
    words = [written_name(field.name), written_type(field.type)]
    if not field.nullable:
        words.append("NOT NULL")
    if field.name in table.spec.primary_key:
        words.append("PRIMARY KEY")
    if (key := table.spec.metadata.get(field.name)) is not None:
        words.append(f"METADATA FROM {written_text(key)}")
    return " ".join(words)


def _watermark(table: ConnectorTable) -> Iterator[str]:
    from arroyo_nb.sql.dialect import ArroyoDialect

    mark = table.watermark
    if mark.column is None or written_event_time(table):
        return
    name = written_name(mark.column)
    follows = ""
    if mark.expression is not None:
        follows = f" AS {mark.expression.sql(ArroyoDialect)}"
    elif mark.delay > timedelta():
        follows = f" AS {name} - INTERVAL '{mark.delay // MICROSECOND} microseconds'"
    yield f"WATERMARK FOR {name}{follows}"
