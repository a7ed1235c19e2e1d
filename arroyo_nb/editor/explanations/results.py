"""What a query gives: its columns, how its rows come, and how exact they are."""

from __future__ import annotations

import re
from dataclasses import replace

from arroyo_nb.catalog import View
from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import EditorContext, Hover
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.explanations.keywords import phrase_named
from arroyo_nb.editor.explanations.tables import MOST_COLUMNS
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.tokens import openings
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan import Plan
from arroyo_nb.plan.description import column_rows
from arroyo_nb.plan.nodes import is_updating
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.result_columns import result_columns
from arroyo_nb.plan.tables.render_ddl import written_name
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.plan_steps import EXACT, node_badge, worst

_RUN_NAME = re.compile(r"%%\w+\s+(?P<name>\w+)\s*<<")
_APPENDS = "Append: a row that came does not change."
_UPDATES = "Updating: a row may be changed or removed by later ones."


def explain_result(word: PointedWord) -> Explanation | None:
    """The SELECT of a statement that is in no brackets: the result of the statement."""
    if word.token.word != "SELECT" or openings(word.statement, word.place):
        return None
    code = word.statement
    if code[0].word == "CREATE":
        return None
    plan = _plan(word, word.tables.bound_text(code[0].start, code[-1].end))
    distinct = word.near(1).word == "DISTINCT"
    said = phrase_named("SELECT DISTINCT" if distinct else "SELECT")
    if plan is None or not plan.sinks or said is None:
        return None
    lines, badge = _result(plan)
    return replace(said, lines=(*said.lines, *lines), badge=badge)


def explain_view(word: PointedWord) -> Explanation | None:
    """The name of a view where it is declared."""
    is_named = word.near(-1).word in ("VIEW", "EXISTS")
    if word.statement[0].word != "CREATE" or not is_named or not word.token.name:
        return None
    view = word.tables.get(word.token.name, word.number + 1)
    if not isinstance(view, View):
        return None
    plan = _plan(word, f"SELECT * FROM {written_name(view.name)}", view)
    if plan is None:
        return None
    lines, badge = _result(plan)
    return Explanation(f"{view.name}: view", lines, badge=badge)


def explain_run_name(cell: CellText, at: int, context: EditorContext) -> Hover | None:
    """The name that the first line gives the run: what the run gives."""
    from arroyo_nb.editor.sql_check import check_sql

    found = _RUN_NAME.match(cell.text)
    is_at = found is not None and found.start("name") <= at <= found.end("name")
    if found is None or not is_at or cell.magic.content is not Content.SQL:
        return None
    strict = context.strict or "--strict" in cell.line.split()
    plan = check_sql(cell.body, context.catalog, context.variables, strict=strict).plan
    lines, badge = _result(plan) if plan is not None and plan.sinks else ((), None)
    named = ("Names the run and its variable.", *lines)
    return Hover(*found.span("name"), f"{found['name']}: run", named, badge=badge)


def _plan(word: PointedWord, text: str, view: View | None = None) -> Plan | None:
    catalog = word.tables.catalog(word.statement, word.number)
    try:
        return plan_script(text, catalog if view is None else catalog.define(view))
    except ArroyoError:
        return None


def _result(plan: Plan) -> tuple[tuple[str, ...], str]:
    """The lines about the last result of a plan, and its badge."""
    sink = plan.sinks[-1]
    rows = column_rows(result_columns(sink))
    lines = [_UPDATES if is_updating(sink.input) else _APPENDS]
    for *words, role in rows[:MOST_COLUMNS]:
        line = " ".join(filter(None, words))
        lines.append(f"{line}  ({role})" if role else line)
    if len(rows) > MOST_COLUMNS:
        lines.append(f"and {len(rows) - MOST_COLUMNS} more columns")
    nodes = list(walk(sink))
    windowed = any(node_badge(node, windowed=False)[0] != EXACT for node in nodes)
    badge, _ = worst([node_badge(node, windowed=windowed) for node in nodes])
    return tuple(lines), badge
