"""A node of a plan in one line, and expressions as one would write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial, reduce

from sqlglot import exp

from arroyo_nb.functions.over import over_function
from arroyo_nb.over.frame import OverFrame, usual_frame
from arroyo_nb.plan.explain.lookups import looked_up
from arroyo_nb.plan.expressions.intervals import in_words
from arroyo_nb.plan.expressions.naming import BINDING
from arroyo_nb.plan.expressions.operators import SYMBOLS, binary
from arroyo_nb.plan.nodes import (
    Aggregate,
    Filter,
    Hop,
    Join,
    Joining,
    LatestRow,
    Lookup,
    LookupJoin,
    Measure,
    Named,
    Node,
    Numbered,
    Ordering,
    Over,
    OverColumn,
    OverFunctions,
    Project,
    Scan,
    SessionWindow,
    Sink,
    Source,
    Stateful,
    Tumble,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingRank,
    Watermark,
    Window,
    WindowAggregate,
    WindowJoin,
    WindowOver,
    is_updating,
)
from arroyo_nb.sql.dialect import ArroyoDialect

# Texts are an alternative, so that a quoted name inside one stays as it is.
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"([a-z_][a-z0-9_]*)\"""")


def described(node: Node) -> str:
    """One node in one line."""
    timed = isinstance(node, Stateful) and node.timed
    return _described(node) + " (timed)" * timed


def _described(node: Node) -> str:
    match node:
        case Scan(table=table):
            return f"Scan {table.name}"
        case Lookup(table=table):
            return f"Lookup {table.name}"
        case LookupJoin(keys=keys):
            return looked_up(node, [sql_text(key) for key, _ in keys])
        case Source(table=table):
            return f"Source {table.name} ({_kind(node)}): {table.physical}"
        case Watermark():
            return f"Watermark {_watermark(node)}"
        case LatestRow(table=table, keys=keys):
            return f"LatestRow of {table} by {', '.join(keys)}"
        case Project(items=items):
            return f"Project {', '.join(map(_item, items)) or 'nothing'}"
        case Filter(predicate=predicate):
            return f"Filter {sql_text(predicate)}"
        case Unnest(list=unnested, element=element):
            return f"Unnest {sql_text(unnested)} AS {element.name}"
        case Union():
            return "Union"
        case Aggregate(keys=keys, measures=measures):
            return f"Aggregate {_grouped(keys, measures)}"
        case WindowAggregate():
            window = window_text(node.assign) if node.assign else "the input's window"
            groups = _grouped(node.keys, node.measures)
            return f"WindowAggregate {window} AS {node.window_name}; {groups}"
        case UpdatingAggregate(keys=keys, measures=measures):
            return f"UpdatingAggregate {_grouped(keys, measures)}"
        case Numbered():
            return f"{type(node).__name__} {_ranked(node)}"
        case OverFunctions():
            return f"{type(node).__name__} {_over(node)}"
        case Joining():
            return f"{type(node).__name__} {_joined(node)}"
        case Sink():
            kind = _kind(node)
            sorting = ", ".join(map(str, node.order))
            order = f" ORDER BY {sorting}" if sorting else ""
            limit = "" if node.limit is None else f" LIMIT {node.limit}"
            what = f" ({kind})" if kind else ""
            return f"Sink {node.name}{what}: {node.schema}{order}{limit}"
        case _:
            return type(node).__name__


def _kind(node: Source | Sink) -> str:
    """The connector, and whether rows are changed as well as appended, once the passes
    have decided that."""
    connector = [] if node.table is None else [node.table.connector]
    decided = node.kinds.isdisjoint((Scan, Aggregate, Over, Join))
    updating = ["updating"] if decided and is_updating(node) else []
    return ", ".join([*connector, *updating])


def window_text(window: Window | None) -> str:
    """A window in Arroyo's words.

    >>> from datetime import timedelta
    >>> window_text(Hop(timedelta(seconds=5), timedelta(seconds=10)))
    'hop(5s, 10s)'
    """
    match window:
        case Tumble(width):
            return f"tumble({in_words(width)})"
        case Hop(slide, width):
            return f"hop({in_words(slide)}, {in_words(width)})"
        case SessionWindow(gap):
            return f"session({in_words(gap)})"
        case None:
            return "no window"


def _watermark(node: Watermark) -> str:
    time = "the source's"
    if node.event_time is not None:
        time = sql_text(node.event_time)
    elif isinstance(node.input, Source) and node.input.table.spec.event_time:
        time = node.input.table.spec.event_time
    if node.expression is not None:
        return f"_timestamp = {time}, watermark = {sql_text(node.expression)}"
    return f"_timestamp = {time}, delay {in_words(node.delay)}"


def _item(item: Named) -> str:
    text = sql_text(item.expression)
    return text if text == item.name else f"{text} AS {item.name}"


def _grouped(keys: Iterable[Named], measures: Iterable[Measure]) -> str:
    by = ", ".join(map(_item, keys)) or "nothing"
    return f"by {by}; {', '.join(map(_measure, measures)) or 'no measures'}"


def _joined(node: Joining) -> str:
    tests = [binary(exp.EQ, one, other) for one, other in node.keys]
    tests += [node.condition] if node.condition is not None else []
    on = sql_text(reduce(partial(binary, exp.And), tests)) if tests else "nothing"
    if isinstance(node, WindowJoin):
        return f"{node.how} {window_text(node.window)}{f' ON {on}' * bool(tests)}"
    return f"{node.how} ON {on}"


def _measure(measure: Measure) -> str:
    given = list(map(sql_text, measure.arguments)) or ["*"]
    if measure.parameter is not None:
        given.append(repr(measure.parameter))
    word = "DISTINCT " if measure.distinct else ""
    order = ", ".join(map(_ordering, measure.order))
    inside = f"{word}{', '.join(given)}{' ORDER BY ' * bool(order)}{order}"
    text = f"{measure.function}({inside})"
    if measure.where is not None:
        text += f" FILTER (WHERE {sql_text(measure.where)})"
    return text if text == measure.name else f"{text} AS {measure.name}"


def _ranked(node: Numbered) -> str:
    by = ", ".join(map(sql_text, node.keys)) or "nothing"
    order = ", ".join(map(_ordering, node.order)) or "all columns"
    numbers = ", ".join(f"{n.function}() AS {n.name}" for n in node.numbers)
    text = f"by {by}, ordered by {order}; {numbers or 'no numbers'}"
    limit = node.limit if isinstance(node, UpdatingRank) else None
    return f"{text}; {limit.function}() <= {limit.last}" if limit else text


def _over(node: OverFunctions) -> str:
    by = ", ".join(map(sql_text, node.keys)) or "nothing"
    order = ", ".join(map(_ordering, node.order)) or "all columns"
    usual = usual_frame(ordered=bool(node.order))
    columns = ", ".join(_over_column(column, usual) for column in node.columns)
    text = f"by {by}, ordered by {order}; {columns}"
    limit = node.limit if isinstance(node, WindowOver) else None
    return f"{text}; {limit.function}() <= {limit.last}" if limit else text


def _over_column(column: OverColumn, usual: OverFrame) -> str:
    measure = column.measure
    if over_function(measure.function) is None:
        text = _measure(measure).removesuffix(f" AS {measure.name}")
    else:
        given = [*map(sql_text, measure.arguments)]
        # The constant comes right behind the value, before a default.
        if measure.parameter is not None:
            given.insert(1, str(measure.parameter))
        text = f"{measure.function}({', '.join(given)})"
    text += " IGNORE NULLS" * column.ignores_nulls
    if column.frame not in (None, usual):
        text += f" {column.frame}"
    return text if text == measure.name else f"{text} AS {measure.name}"


def _ordering(item: Ordering) -> str:
    way = " DESC" if item.descending else ""
    # Arroyo has NULLs last, first where the order descends.
    nulls = f" NULLS {'FIRST' if item.nulls_first else 'LAST'}"
    usual = item.nulls_first == item.descending
    return f"{sql_text(item.expression)}{way}{'' if usual else nulls}"


def sql_text(expression: exp.Expr) -> str:
    """A bound expression as one would write it."""
    text = _bracketed(expression).sql(dialect=ArroyoDialect, normalize_functions=False)
    return _QUOTED.sub(lambda found: found[1] or found[0], text)


def _bracketed(expression: exp.Expr) -> exp.Expr:
    """A copy with the parentheses that its operators need."""
    made = expression.copy()
    for parent in list(made.find_all(*SYMBOLS, exp.Not, exp.Neg, exp.Between, exp.In)):
        for name in ("this", "expression"):
            child = parent.args.get(name)
            if child is not None and _binding(child) < _needed(parent, name):
                child.replace(exp.Paren(this=child.copy()))
    return made


def _needed(parent: exp.Expr, name: str) -> int:
    """How tightly an operand must bind; the right one more than the operator."""
    own = _binding(parent)
    return own + (name == "expression" and type(parent) not in (exp.And, exp.Or))


def _binding(node: exp.Expr) -> int:
    if isinstance(node, exp.Not):
        return BINDING["AND"] + 1
    if isinstance(node, exp.Between | exp.In | exp.Is):
        return BINDING["="]
    if type(node) in SYMBOLS:
        return BINDING.get(SYMBOLS[type(node)], BINDING["="] + 1)
    return 100 - isinstance(node, exp.Neg)
