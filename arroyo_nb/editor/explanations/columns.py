"""Columns: type, origin, and whether one is the event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable, Relation
from arroyo_nb.editor.explanations import Explanation, shortened
from arroyo_nb.editor.explanations.windows import length_in_words
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.query_scope import ScopeRelation, SelectItem
from arroyo_nb.editor.tokens import EditorToken
from arroyo_nb.plan.explain.node_lines import sql_text
from arroyo_nb.plan.nodes import Aggregate, Filter, Lookup, Node, Project, Scan
from arroyo_nb.plan.show_statements import description
from arroyo_nb.schema import Field, StructOf, Type

_DEEPEST = 50
"""So many select lists are opened on the way to a column's table."""


@dataclass(frozen=True)
class ColumnOrigin:
    """Where a column of a plan comes from: a column of a table, or an expression."""

    table: Relation | None = None
    column: str = ""
    expression: str = ""


def explain_alias(word: PointedWord) -> Explanation | None:
    """The name that AS gives to an item of a select list."""
    if word.near(-1).word != "AS":
        return None
    item = next((i for i in word.scope.items if i.name == word.token.name), None)
    return None if item is None else _item(word, item)


def explain_column(word: PointedWord) -> Explanation | None:
    """A column of what the query reads, a field of one, or an item by its name."""
    path = _path(word)
    if not path:
        return None
    relations = word.scope.relations
    for relation in relations:
        if len(path) > 1 and relation.name == path[0]:
            field = relation.schema.get(path[1])
            if field is not None:
                return _explained(relation, field, path[2:])
    for relation in relations:
        field = relation.schema.get(path[0])
        if field is not None:
            return _explained(relation, field, path[1:])
    item = next((i for i in word.scope.items if i.name == path[0]), None)
    return None if item is None else _item(word, item, path[1:])


def explain_declared(word: PointedWord) -> Explanation | None:
    """A column of the table that the statement itself declares."""
    name = word.token.name
    if word.statement[0].word != "CREATE" or not name or word.near(-1).word == ".":
        return None
    own = [t for t in word.statement[1:10] if t.name.lower() in word.tables.declared]
    table = word.tables.get(own[0].name, word.number + 1) if own else None
    field = None if table is None else table.schema.get(word.token.value.strip('"'))
    if table is None or field is None:
        return None
    return Explanation(str(field), _table_lines(table, field.name))


def explain_inserted(word: PointedWord) -> Explanation | None:
    """A column in the list of an INSERT."""
    code = word.statement
    if code[0].word != "INSERT" or len(code) < 4 or code[3].text != "(":
        return None
    table = word.tables.get(code[2].name, word.number)
    field = None if table is None else table.schema.get(word.token.name)
    if table is None or field is None:
        return None
    return Explanation(str(field), _table_lines(table, field.name))


def _path(word: PointedWord) -> list[str]:
    """The names before the word and the word, which dots join: ``place.at.lat``."""
    if not word.token.name:
        return []
    place, path = word.place, [word.token.name]
    while (
        place >= 2
        and word.statement[place - 1].text == "."
        and word.statement[place - 2].name
    ):
        place -= 2
        path.insert(0, word.statement[place].name)
    return path


def _explained(
    relation: ScopeRelation, field: Field, fields: Sequence[str]
) -> Explanation | None:
    whole = _inside(field, fields)
    if whole is None:
        return None
    lines = [f"A field of {field.name} of {relation.title}."] if fields else []
    if not fields:
        lines += _origin_lines(relation, field)
    return Explanation(str(whole), tuple(lines))


def _inside(field: Field, fields: Sequence[str]) -> Field | None:
    """A field of a struct, by the names that lead to it."""
    for name in fields:
        type_: Type = field.type
        if not isinstance(type_, StructOf):
            return None
        inner = next((f for f in type_.fields if f.name.lower() == name.lower()), None)
        if inner is None:
            return None
        field = inner
    return field


def _origin_lines(relation: ScopeRelation, field: Field) -> list[str]:
    if relation.table is not None and relation.plan is None:
        return list(_table_lines(relation.table, field.name))
    lines = [f"A column of {relation.title}."]
    found = (
        ColumnOrigin() if relation.plan is None else origin(relation.plan, field.name)
    )
    if found.expression:
        lines.append(f"It is {shortened(found.expression)}.")
    elif found.table is not None:
        lines += _table_lines(found.table, found.column)
    return lines


def _table_lines(table: Relation, column: str) -> tuple[str, ...]:
    role = next((r[3] for r in description(table).rows if r[0] == column), "")
    lines = [f"A column of {table.name}."]
    if isinstance(table, ConnectorTable) and table.watermark.column == column:
        mark = table.watermark
        behind = (
            f"the watermark is {length_in_words(mark.delay)} behind"
            if mark.expression is None
            else f"the watermark is {sql_text(mark.expression)}"
        )
        lines.append(f"The event time: {behind}.")
    elif role:
        lines.append(f"{role[:1].upper()}{role[1:]}.")
    return tuple(lines)


def origin(plan: Node, column: str) -> ColumnOrigin:
    """Where a column of a plan, as it was built, comes from."""
    for _ in range(_DEEPEST):
        match plan:
            case Scan(table=table) | Lookup(table=table):
                return ColumnOrigin(table, column)
            case Filter(input=below):
                plan = below
            case Aggregate(measures=measures) if measure := next(
                (m for m in measures if m.name == column), None
            ):
                values = ", ".join(map(sql_text, measure.arguments)) or "*"
                return ColumnOrigin(expression=f"{measure.function}({values})")
            case Project(items=items, input=below) | Aggregate(keys=items, input=below):
                made = next((i.expression for i in items if i.name == column), None)
                if made is None:
                    return ColumnOrigin()
                if not isinstance(made, exp.Column):
                    return ColumnOrigin(expression=sql_text(made))
                plan, column = below, made.name
            case _:
                inputs = [i for i in plan.inputs if column in i.schema]
                if len(inputs) != 1:
                    return ColumnOrigin()
                plan = inputs[0]
    return ColumnOrigin()


def _item(
    word: PointedWord, item: SelectItem, fields: Sequence[str] = ()
) -> Explanation:
    text = _text(word.text, word.statement[item.start : item.end])
    line = f"A name for {shortened(text)}."
    plan = word.scope.result
    field = None if plan is None else plan.schema.get(item.name)
    inside = None if field is None else _inside(field, fields)
    title = ".".join((item.name, *fields)) if inside is None else str(inside)
    return Explanation(title, (line,))


def _text(text: str, tokens: Sequence[EditorToken]) -> str:
    return text[tokens[0].start : tokens[-1].end] if tokens else ""
