"""Queries -> logical plan: FROM, WHERE, GROUP BY, HAVING and the select list.

Relations are bound from the inside out: every node's columns are known before an
expression over it is bound. What a SELECT carries beyond the clauses read here is
refused by name (:mod:`arroyo_nb.plan.refusals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from arroyo_nb.catalog import Catalog, LookupTable, MemoryTable, Relation, View
from arroyo_nb.connectors import Direction
from arroyo_nb.errors import (
    ArroyoError,
    CatalogProblem,
    PlanProblem,
    Unsupported,
)
from arroyo_nb.functions.types import common_type
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.binding import bind, bind_row_condition
from arroyo_nb.plan.expressions.naming import output_name, shown
from arroyo_nb.plan.expressions.scope import (
    ErrorCollector,
    Scope,
    SuppressedError,
    spelled,
    unique,
)
from arroyo_nb.plan.expressions.typing import (
    cast,
    column,
    is_nullable,
    place_of,
    type_of,
    typed,
)
from arroyo_nb.plan.nodes import (
    Aggregate,
    Filter,
    Lookup,
    Named,
    Node,
    NotInserted,
    Project,
    Scan,
    Union,
)
from arroyo_nb.plan.queries.grouping import Grouping, group
from arroyo_nb.plan.queries.joins import Joined, joined
from arroyo_nb.plan.queries.over import with_over
from arroyo_nb.plan.queries.unnest import unnested
from arroyo_nb.plan.refusals import refuse_clauses
from arroyo_nb.repairs import AddGroupKey
from arroyo_nb.schema import NULL, Field, check_visible
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.grammar import TYPED


@dataclass(frozen=True)
class Relations:
    """What a name in FROM may mean.

    Parameters
    ----------
    catalog
        Tables and views.
    ctes
        The queries of WITH clauses around, by name.
    broken
        Names whose definition failed: an error that is already reported.
    found
        The tables and views that were asked for, in order; shared by all that are
        made from this one.
    headers
        How the items of select lists were typed that have no name of their own, by the
        names that they get; shared as well.
    not_inserted
        The reads of memory tables that have no INSERT yet; shared as well.
    outermost
        Whether no query is around: nobody asks its columns by name.
    """

    catalog: Catalog
    ctes: Mapping[str, Node] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    found: list[Relation] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    not_inserted: list[NotInserted] = field(default_factory=list)
    outermost: bool = True

    def inner(self) -> Relations:
        """The same for a query within."""
        return replace(self, outermost=False)

    def get(self, name: str, span: Span | None) -> Node:
        """The plan of a relation.

        Raises
        ------
        CatalogProblem
            When there is no such table.
        PlanProblem
            When it cannot be read.
        """
        lowered = name.lower()
        if lowered in self.ctes:
            return self.ctes[lowered]
        # Its own error is reported; that the table is missing would be a second one for
        # one mistake.
        if lowered in self.broken:
            raise SuppressedError(f"Table {name} failed to be created")
        table = self.catalog.get(name, span=span)
        self.found.append(table)
        if isinstance(table, View):
            assert isinstance(table.plan, Node)
            self.headers.update(table.headers)
            return table.plan
        if isinstance(table, LookupTable):
            return Lookup(table, span=span)
        if isinstance(table, MemoryTable):
            if table.plan is None:
                self.not_inserted.append(NotInserted(table, span=span))
                return self.not_inserted[-1]
            assert isinstance(table.plan, Node)
            return table.plan
        if table.direction is Direction.SINK:
            raise PlanProblem(
                f"attempted to read from table '{table.name}', but it is a sink",
                span=span,
            )
        return Scan(table, span=span)


def plan_query(query: exp.Expr, relations: Relations) -> Node:
    """The logical plan of a query; its columns are named as a sink would see them.

    Raises
    ------
    ArroyoError
        For the errors of the query, all that are independent.
    """
    match query:
        case exp.Select():
            return _select(query, _with_ctes(query, relations))
        # EXCEPT and INTERSECT as well: `_branches` refuses them by name.
        case exp.SetOperation():
            return _union(query, _with_ctes(query, relations))
        case exp.Subquery():
            refuse_clauses(query)
            return plan_query(query.this, _with_ctes(query, relations))
        case exp.Values():
            raise Unsupported("VALUES is not supported", span=span_of(query))
        case _:
            raise PlanProblem("expected a query", span=span_of(query))


def _with_ctes(query: exp.Expr, relations: Relations) -> Relations:
    clause = query.args.get("with_")
    if clause is None:
        return relations
    if clause.args.get("recursive"):
        raise Unsupported("Recursive CTEs are not supported", span=span_of(clause))
    named: set[str] = set()
    for cte in clause.expressions:
        refuse_clauses(cte)
        alias = cte.args["alias"]
        identifier = alias.this
        name = spelled(identifier)
        if name in named:
            raise PlanProblem(
                f'WITH query name "{name}" specified more than once',
                span=span_of(identifier),
                hint="give each query of a WITH a name of its own",
            )
        named.add(name)
        # Each sees those before it, and hides a table of its name.
        plan = _with_names(plan_query(cte.this, relations.inner()), alias)
        relations = replace(relations, ctes={**relations.ctes, name: plan})
    return relations


def _select(select: exp.Select, relations: Relations) -> Node:
    refuse_clauses(select)
    refuse_clauses(select.args.get("distinct") or select)
    source = select.args.get("from_")
    if source is None:
        raise PlanProblem(
            "No timestamp field found in projection input: a SELECT needs a FROM",
            span=span_of(select),
        )
    read = partial(_relation, relations=relations.inner())
    found = joined(read(source.this), select.args.get("joins") or [], read)
    node, scope = found.node, found.scope
    problems = ErrorCollector()
    where = select.args.get("where")
    if where is not None:
        predicate = problems.attempt(partial(_condition, select, where.this, scope))
        if predicate is not None:
            node = Filter(node, predicate, span=span_of(where))
    items = _items(select, scope, problems, relations.headers)
    items = _told_apart(items) if relations.outermost else items
    grouping = problems.attempt(partial(group, select, node, scope, items))
    problems.raise_all()
    assert grouping is not None
    # After grouping: OVER is over the rows that GROUP BY leaves.
    node, items = with_over(grouping.node, grouping.items)
    node, items = unnested(node, items)
    grouping = replace(grouping, node=node, items=items)
    projected = _projected(select, grouping)
    return _once(projected) if select.args.get("distinct") else projected


def _condition(select: exp.Select, where: exp.Expr, scope: Scope) -> exp.Expr:
    """The condition of WHERE; where it has a name that SELECT gives, which comes later,
    the error says where such a condition stands."""
    try:
        return bind_row_condition(where, scope, "WHERE")
    except CatalogProblem as problem:
        for item in select.expressions:
            name = spelled(item.args["alias"]) if isinstance(item, exp.Alias) else None
            if name is not None and problem.span in _places(where, name):
                problem.hint = _later_hint(select, item.this, name)
        raise


def _places(where: exp.Expr, name: str) -> list[Span]:
    """Where columns begin with a name."""
    begins = (column.parts[0] for column in where.find_all(exp.Column))
    spans = (span_of(part) for part in begins if spelled(part) == name)
    return [span for span in spans if span is not None]


def _later_hint(select: exp.Select, value: exp.Expr, name: str) -> str:
    before = f"WHERE comes before '{name}' is computed"
    if select.args.get("group") is not None:
        return f"{before}: write the condition on '{name}' as HAVING, behind GROUP BY"
    calls = [call.name.lower() for call in value.find_all(exp.Anonymous)]
    if value.find(exp.Window) or "unnest" in calls:
        return f"{before}: write SELECT * FROM (SELECT ...) WHERE {name} ..."
    return f"{before}: write {_text(value)} in its place"


def _projected(select: exp.Select, grouping: Grouping) -> Node:
    items = grouping.items
    unique(
        (item.field for item in items),
        lambda one, other, name: PlanProblem(
            "Projections require unique expression names but the expression "
            f'"{name}" at position {one} and "{name}" at position {other} have the '
            'same name. Consider aliasing ("AS") one of them',
            span=place_of(items[other].expression),
        ),
    )
    for item in items:
        call = window_calls.find_window_call(item.expression)
        if call is not None:
            raise _ungrouped_window(call, grouping)
    return Project(grouping.node, items, span=span_of(select))


def _ungrouped_window(call: exp.Anonymous, grouping: Grouping) -> ArroyoError:
    place = place_of(call)
    repairs = [AddGroupKey(place)] if place else []
    if grouping.grouped:
        problem = window_calls.misplaced_window(call)
        if (other := grouping.window_call) is not None:
            problem.hint = (
                f"GROUP BY has another window, {shown(other)}: write that one here too"
            )
        else:
            problem.repairs = tuple(repairs)
        return problem
    return PlanProblem(
        "can't call a windowing function without grouping by it in an aggregate",
        span=place,
        hint=f"add GROUP BY {call.name}(...)",
        repairs=repairs,
    )


def _items(
    select: exp.Select, scope: Scope, problems: ErrorCollector, headers: dict[str, str]
) -> tuple[Named, ...]:
    """The select list, bound over the input; each item's error is its own, and a NULL
    keeps its place, so that an ordinal of GROUP BY still means the same item."""
    items: list[Named] = []
    inside = replace(scope, over=True)
    for expression in select.expressions:
        made = problems.attempt(partial(_item, expression, inside, headers))
        items.extend([_failed(expression)] if made is None else made)
    return tuple(items)


def _told_apart(items: tuple[Named, ...]) -> tuple[Named, ...]:
    """Columns of one name of two tables, the second as ``table.column``: DataFusion
    compares names with their qualifier, and a sink takes them by position."""
    first: dict[str, object] = {}
    told = []
    for item in items:
        meta = item.expression.meta
        is_itself = meta.get("written") == item.name
        qualified = meta.get("qualified") if is_itself else None
        other = first.setdefault(item.name, qualified)
        apart = bool(qualified and other) and other != qualified
        told.append(replace(item, name=str(qualified)) if apart else item)
    return tuple(told)


def _failed(expression: exp.Expr) -> Named:
    null = typed(exp.Null(), NULL)
    # So that GROUP BY does not report the same expression a second time.
    null.meta["failed"] = expression.unalias()
    return Named(expression.alias, null, NULL, nullable=True)


def _item(expression: exp.Expr, scope: Scope, headers: dict[str, str]) -> list[Named]:
    if expression.is_star and isinstance(expression, exp.Star | exp.Column):
        return _star(expression, scope)
    alias = None
    if isinstance(expression, exp.Alias):
        alias, expression = expression.args["alias"], expression.this
    bound = bind(expression, scope)
    if alias is not None:
        name = spelled(alias)
        check_visible(name, span_of(alias))
    else:
        # Arroyo's own name for it, which sinks and views see; the panel's header is
        # what was typed.
        name = output_name(bound)
        if name not in scope:  # else it is a column, or a cast of one
            headers[name] = expression.meta.get(TYPED, name)
    return [Named(name, bound, type_of(bound), is_nullable(bound))]


def _star(star: exp.Expr, scope: Scope) -> list[Named]:
    inner = star.this if isinstance(star, exp.Column) else star
    for word in ("except_", "replace", "rename"):
        if inner.args.get(word):
            raise Unsupported(
                f"* {word.strip('_').upper()} is not supported", span=span_of(star)
            )
    among = scope.relations
    if isinstance(star, exp.Column):
        among = tuple(r for r in among if r.name == spelled(star.parts[0]))
        if not among:
            name = star.parts[0].name
            raise PlanProblem(f"Invalid qualifier {name}", span=span_of(star))
    items = []
    for relation in among:
        for name, field_ in relation.columns.items():
            bound = relation.bound(name)
            bound.meta["span"] = span_of(star)
            items.append(Named(name, bound, field_.type, field_.nullable))
    return items


def _relation(source: exp.Expr, relations: Relations) -> Joined:
    """A table, a query or a JOIN in brackets, under its alias."""
    if not isinstance(source, exp.Table | exp.Subquery):
        raise _other_relation(source)
    refuse_clauses(source, but=("joins",))
    alias = source.args.get("alias")
    match source:
        # A function in FROM is a Table too, with a call in it.
        case exp.Table() if isinstance(source.this, exp.Identifier):
            identifier = source.this
            node = relations.get(identifier.name, span_of(identifier))
            found = Joined(node, Scope.of(node.schema, identifier.name.lower()))
        case exp.Subquery() if _is_relation(source.this):
            found = _relation(source.this, _with_ctes(source, relations))
        case exp.Subquery():
            node = plan_query(source.this, _with_ctes(source, relations))
            found = Joined(node, Scope.of(node.schema))
        case _:
            raise _other_relation(source)
    if alias is not None:
        found = replace(found, scope=found.scope.under_alias(alias))
    joins = source.args.get("joins") or []
    return joined(found, joins, partial(_relation, relations=relations))


def _is_relation(inner: exp.Expr) -> bool:
    """Whether brackets hold what FROM holds, and no query."""
    if isinstance(inner, exp.Subquery):
        named = inner.args.get("alias") or inner.args.get("joins")
        return bool(named) or _is_relation(inner.this)
    return isinstance(inner, exp.Table)


def _other_relation(source: exp.Expr) -> Unsupported:
    what = (
        "LATERAL is not supported"
        if isinstance(source, exp.Lateral)
        else "FROM takes a table or a query: functions, LATERAL and VALUES are not "
        "supported"
    )
    return Unsupported(what, span=span_of(source), hint=_rows_hint(source))


def _rows_hint(source: exp.Expr) -> str | None:
    """How rows of a list are made, where FROM calls ``unnest``."""
    call = source.this
    if not isinstance(call, exp.Anonymous) or call.name.lower() != "unnest":
        return None
    alias = source.args.get("alias")
    named = [column.name for column in alias.columns] if alias is not None else []
    lists = ", ".join(map(_text, call.expressions))
    return f"write unnest({lists}) AS {(named or ['x'])[0]} in the select list"


def _text(expression: exp.Expr) -> str:
    return expression.sql(dialect="postgres", normalize_functions=False)


def _once(node: Node) -> Node:
    """Each row of the relation once: it is grouped by all its columns."""
    below, values = selected(node)
    keys = tuple(Named(f.name, values[f.name], f.type, f.nullable) for f in node.schema)
    # A window comes first out of an aggregate: the order is made again.
    items = tuple(Named(f.name, column(f), f.type, f.nullable) for f in node.schema)
    return Project(Aggregate(below, keys, (), span=node.span), items, span=node.span)


def _union(query: exp.SetOperation, relations: Relations) -> Node:
    """A chain of UNION ALL as one node; columns are named by the first branch.

    UNION makes a set of all that stands before it, so of several only the last counts.
    """
    problems = ErrorCollector()
    branches = _branches(query)
    inner = relations.inner()
    made = [problems.attempt(partial(plan_query, b, inner)) for b, _ in branches]
    problems.raise_all()
    nodes = [node for node in made if node is not None]
    sets = [place for place, (_, distinct) in enumerate(branches) if distinct]
    if sets:
        together = sets[-1] + 1
        first = Union(_alike(nodes[:together], query), span=span_of(query))
        nodes = [_once(first), *nodes[together:]]
    if len(nodes) == 1:
        return nodes[0]
    return Union(_alike(nodes, query), span=span_of(query))


def _branches(query: exp.Expr) -> list[tuple[exp.Expr, bool]]:
    """The branches, each with whether UNION, not UNION ALL, joins it to those before
    it; the tree hangs to the left."""
    found: list[tuple[exp.Expr, bool]] = []
    while isinstance(query, exp.SetOperation):
        refuse_clauses(query)
        found.append((query.expression, bool(query.args.get("distinct"))))
        query = query.this
    return [(query, False), *reversed(found)]


def _alike(nodes: list[Node], query: exp.Expr) -> tuple[Node, ...]:
    widths = {len(node.schema) for node in nodes}
    if len(widths) > 1:
        raise PlanProblem(
            "UNION queries have different number of columns: "
            + ", ".join(str(len(node.schema)) for node in nodes),
            span=span_of(query),
        )
    targets = []
    for fields in zip(*(node.schema for node in nodes), strict=True):
        type_ = common_type(f.type for f in fields)
        if type_ is None:
            types = " and ".join(dict.fromkeys(str(f.type) for f in fields))
            raise PlanProblem(
                f"Incompatible inputs for Union: column '{fields[0].name}' has the "
                f"types {types}",
                span=span_of(query),
            )
        nullable = any(f.nullable for f in fields)
        targets.append(replace(fields[0], type=type_, nullable=nullable))
    return tuple(_renamed(node, targets) for node in nodes)


def _with_names(node: Node, alias: exp.TableAlias) -> Node:
    """A query whose columns an alias gives names of their own, if it does."""
    columns = Scope.of(node.schema).under_alias(alias).relations[0].columns
    return _renamed(node, [replace(f, name=name) for name, f in columns.items()])


def _renamed(node: Node, targets: list[Field]) -> Node:
    if list(node.schema) == targets:
        return node
    below, values = selected(node)
    items = tuple(
        Named(
            wanted.name,
            cast(values[given.name], wanted.type),
            wanted.type,
            wanted.nullable,
        )
        for given, wanted in zip(node.schema, targets, strict=True)
    )
    return Project(below, items, span=node.span)


def selected(node: Node) -> tuple[Node, dict[str, exp.Expr]]:
    """A relation's columns as expressions over another: a select list is opened, so
    that what is put on top of it makes no second one."""
    if isinstance(node, Project):
        return node.input, {item.name: item.expression for item in node.items}
    return node, {found.name: column(found) for found in node.schema}
