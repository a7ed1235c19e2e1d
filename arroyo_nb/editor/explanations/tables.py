"""Tables and views: columns, watermark and connector."""

from __future__ import annotations

from arroyo_nb.catalog import ConnectorTable, LookupTable, MemoryTable, Relation, View
from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.explanations.windows import length_in_words
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.query_scope import ScopeRelation
from arroyo_nb.plan.explain.node_lines import sql_text
from arroyo_nb.plan.nodes import Node, is_updating
from arroyo_nb.plan.show_statements import description, kind
from arroyo_nb.schema import Schema

MOST_COLUMNS = 40
"""More columns than these are counted."""

_BEFORE_TABLE = {"FROM", "JOIN", "INTO", "DESCRIBE", "TABLE", "VIEW", "EXISTS"}


def explain_table(word: PointedWord) -> Explanation | None:
    """The table that a word names where a table is named."""
    name = word.token.name.lower()
    if not name:
        return None
    if word.near(-1).word in _BEFORE_TABLE or _is_relation(word):
        return _named(word, name)
    return None


def explain_owner(word: PointedWord) -> Explanation | None:
    """The table or the query that a name before a dot, or anywhere else, means."""
    name = word.token.name
    for relation in word.scope.relations if name else ():
        if relation.name == name:
            return _of_scope(relation, word)
    return _named(word, name.lower()) if name else None


def _is_relation(word: PointedWord) -> bool:
    """Whether it stands behind a comma of FROM, or is the alias of a relation."""
    is_listed = word.near(-1).word == "," and word.near(1).word != "("
    names = [r.title for r in word.scope.relations] if is_listed else []
    return word.token.name in names and word.token.name not in {
        f.name for r in word.scope.relations for f in r.schema
    }


def _named(word: PointedWord, name: str) -> Explanation | None:
    if name in word.scope.cte_names:
        plan = word.scope.ctes.get(name)
        return query_explanation(f"{name}: a query of WITH", plan)
    is_own = word.statement[0].word == "CREATE" and word.near(-1).word in (
        *("TABLE", "VIEW", "EXISTS"),
    )
    table = word.tables.get(name, word.number + 1 if is_own else word.number)
    return None if table is None else table_explanation(table)


def _of_scope(relation: ScopeRelation, word: PointedWord) -> Explanation | None:
    if relation.table is not None:
        made = table_explanation(relation.table)
        return Explanation(
            made.title
            if relation.name == relation.table.name.lower()
            else f"{relation.name}: {made.title}",
            made.lines,
        )
    # That there is no such table is said by its problem.
    declared = word.tables.declared.get(relation.title, ())
    if not relation.is_query and not any(place < word.number for place in declared):
        return None
    is_own = relation.name == relation.title
    title = relation.title if is_own else f"{relation.name}: {relation.title}"
    return query_explanation(title, relation.plan)


def query_explanation(title: str, plan: Node | None) -> Explanation:
    """A query that has a name: its columns, as far as it has a plan."""
    if plan is None:
        return Explanation(title, ("Its columns are not known: it is not finished.",))
    updating = ("Its rows are updated.",) if is_updating(plan) else ()
    return Explanation(title, (*updating, *_columns(plan.schema)))


def table_explanation(table: Relation) -> Explanation:
    """What a table is, and its columns."""
    lines = list(_facts(table))
    rows = description(table).rows
    for name, type_, null, role in rows[:MOST_COLUMNS]:
        words = " ".join(part for part in (name, type_, null) if part)
        lines.append(f"{words}  ({role})" if role else words)
    if len(rows) > MOST_COLUMNS:
        lines.append(f"and {len(rows) - MOST_COLUMNS} more columns")
    return Explanation(f"{table.name}: {kind(table)}", tuple(lines))


def _facts(table: Relation) -> tuple[str, ...]:
    match table:
        case ConnectorTable():
            made_as = f", format {table.format}" if table.format else ""
            updating = ("Its records are changes of rows.",) if table.updating else ()
            watermark = (watermark_line(table),) if _is_read(table) else ()
            return (f"Connector {table.connector}{made_as}.", *watermark, *updating)
        case LookupTable():
            how = "asked for each key" if table.asked else "read whole, once"
            keys = ", ".join(table.keys)
            by = f" by {keys}" if keys else ""
            return (f"Connector {table.connector}: looked up{by}, {how}.",)
        case MemoryTable(plan=None):
            return ("It has no INSERT yet.",)
        case MemoryTable() | View():
            plan = table.plan
            is_changed = isinstance(plan, Node) and is_updating(plan)
            return ("Its rows are updated.",) if is_changed else ()


def _is_read(table: ConnectorTable) -> bool:
    return table.direction.value == "source"


def watermark_line(table: ConnectorTable) -> str:
    """How the watermark of a source is made, in a sentence."""
    mark = table.watermark
    if mark.expression is not None:
        return f"Event time {mark.column}, watermark {sql_text(mark.expression)}."
    delay = length_in_words(mark.delay)
    if mark.column is None:
        return f"No WATERMARK is declared: by arrival, {delay} behind."
    return f"Event time {mark.column}, watermark {delay} behind."


def _columns(schema: Schema) -> tuple[str, ...]:
    lines = [str(field) for field in schema][:MOST_COLUMNS]
    left = len(schema) - len(lines)
    return (*lines, f"and {left} more columns") if left > 0 else tuple(lines)
