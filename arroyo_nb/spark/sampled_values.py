"""What is kept of a row that is drawn for the sample of a micro-batch: its key and its
first values, as one line of JSON.

Spark evaluates it for the drawn rows only, and it names no column that the query does
not read anyway: the others of a stream pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from arroyo_nb.connectors import is_streamed
from arroyo_nb.plan.nodes import Filter, Node, Source, WindowAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import BYTEA, TIME, Field, quoted, quoted_text
from arroyo_nb.spark.struct_fields import NarrowWatermark
from arroyo_nb.sql.syntax_tree import all_in

MOST_VALUES = 4
"""Columns of a row that are kept: the keys come first."""

MOST_CHARS = 40
"""Characters of a value, and of a column's name, that are kept; a value that is cut
ends with an ellipsis."""


def values_in_windows(node: WindowAggregate) -> str:
    """The values of a row that comes into windows, as Spark SQL; empty: none are kept.
    Its keys come first, then what is measured, then what a filter compares."""
    readers: list[Node] = [node]
    while isinstance(below := readers[-1].inputs[0], Filter):
        readers.append(below)
    return _as_json(node.inputs[0], readers)


def values_of_table(watermark: Node, root: Node) -> str:
    """The same of a row of a table, as the query reads it: what stands first in its
    result comes first."""
    return _as_json(watermark, reversed([*walk(root)]))


def _as_json(rows: Node, readers: Iterable[Node]) -> str:
    named = {field.name: field for field in rows.schema if field.type != TIME}
    read = dict.fromkeys(_names_read(readers))
    chosen = [named[name] for name in read if name in named]
    chosen = chosen or _first_columns(rows, [*named.values()])
    if not chosen:
        return ""
    shown = _shown_names(rows)
    pairs = (
        f"{quoted_text(shown.get(f.name, f.name)[:MOST_CHARS])}, {_text(f)}"
        for f in chosen[:MOST_VALUES]
    )
    struct = f"named_struct({', '.join(pairs)})"
    return f"to_json({struct}, map('ignoreNullFields', 'false'))"


def _names_read(readers: Iterable[Node]) -> Iterator[str]:
    parts = (part for node in readers for _, part in expressions(node))
    return (column.name for part in parts for column in all_in(part, exp.Column))


def _first_columns(rows: Node, fields: list[Field]) -> list[Field]:
    """The first columns of rows of which the query reads none by name. Those of a tape
    are there for the asking; of a topic's record they would be decoded for this."""
    sources = (node for node in walk(rows) if isinstance(node, Source))
    if any(is_streamed(source.table.connector) for source in sources):
        return []
    return fields[:2]


def _shown_names(rows: Node) -> dict[str, str]:
    """What columns that stand for a field of a struct are called in the query."""
    narrow = (node for node in walk(rows) if isinstance(node, NarrowWatermark))
    return {
        item.name: _path(item.expression)
        for node in narrow
        for item in node.items
        if isinstance(item.expression, exp.Dot)
    }


def _path(part: exp.Expr) -> str:
    names = []
    while isinstance(part, exp.Dot):
        names.append(part.expression.name)
        part = part.this
    return ".".join((part.name, *reversed(names)))


def _text(field: Field) -> str:
    column = quoted(field.name)
    text = f"CAST({column} AS STRING)"
    if field.type == BYTEA:
        text = f"hex(left({column}, {MOST_CHARS}))"
    cut = f"concat(left({text}, {MOST_CHARS - 1}), '…')"
    return f"IF(char_length({text}) > {MOST_CHARS}, {cut}, {text})"
