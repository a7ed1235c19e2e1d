"""The tables and views that a statement of a cell may name, the cell's own among them.

A statement is planned alone, with what it names: the statement under the pointer is
mostly not finished, and one that is wrong must not hide what the others declare. What
nobody asks for is not planned.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from arroyo_nb.catalog import Catalog, Relation
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.background_reads import reads_version
from arroyo_nb.editor.cell_statements import CellStatements
from arroyo_nb.editor.secret_values import HIDDEN, secret_values
from arroyo_nb.editor.tokens import EditorToken, TokenKind, tokens_of
from arroyo_nb.errors import ArroyoError
from arroyo_nb.functions.user_defined import user_defined
from arroyo_nb.notebook_variables import bind
from arroyo_nb.plan.build import Script
from arroyo_nb.plan.expressions.clock import at_one_time
from arroyo_nb.plan.nodes import Node
from arroyo_nb.plan.queries.ordering import split_ordering
from arroyo_nb.plan.queries.select import Relations, plan_query
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import deep_stack, parse_all
from arroyo_nb.sql.statements import CreateTable, CreateView, Query, Statement

MOST_KEPT = 1000
"""So many declarations are kept between questions."""


@contextmanager
def planning(context: EditorContext) -> Iterator[None]:
    """In the block, statements can be planned."""
    with deep_stack(), at_one_time(), user_defined(context.catalog.functions):
        yield


def _declared(text: str, catalog: Catalog) -> Relation | None:
    """What a statement declares; None: nothing yet, or nothing at all."""
    try:
        (statement,) = parse_all(ScriptText(text)).statements
    # Nothing or more than one is no statement of ours either.
    except (ArroyoError, ValueError):
        return None
    if not isinstance(statement, CreateTable | CreateView):
        return None
    # The rules of streaming don't change its columns.
    script = Script(catalog, lambda _: (), text)
    script.read(statement)
    return None if script.problems else script.catalog.get(statement.name)


class _Declared:
    """What statements declare, kept from question to question: while one statement is
    typed the others stay as they are."""

    def __init__(self) -> None:
        # The catalog is kept, so that no other object gets the identity of one in it.
        self._kept: OrderedDict[object, tuple[Catalog, Relation | None]] = OrderedDict()

    def get(self, text: str, names: Sequence[str], catalog: Catalog) -> Relation | None:
        """What a statement declares.

        Parameters
        ----------
        text
            The statement.
        names
            All names in it, in lower case.
        catalog
            What they mean.
        """
        tables, functions = catalog.tables, catalog.functions
        means = tuple((id(tables.get(n)), id(functions.get(n))) for n in names)
        key = (text, means, reads_version())
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._kept[key] = catalog, _declared(text, catalog)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key][1]


_DECLARED = _Declared()


class CellTables:
    """What the statements of a cell may name.

    Parameters
    ----------
    statements
        Those of the cell.
    text
        The text that their places are of.
    context
        What was there before the cell.
    """

    def __init__(
        self,
        statements: CellStatements,
        text: str,
        context: EditorContext,
    ) -> None:
        self._statements = statements
        self._text = text
        self._context = context
        self._declared = statements.declared
        self._made: dict[int, Relation | None] = {}

    @property
    def declared(self) -> Mapping[str, list[int]]:
        """The statements that declare each table or view, by its lower-case name."""
        return self._declared

    def get(self, name: str, before: int | None = None) -> Relation | None:
        """A table or view as a statement sees it.

        Parameters
        ----------
        name
            Its name, in any case.
        before
            The number of the statement; None: as it is behind the cell.
        """
        places = self._declared.get(name.lower(), [])
        earlier = [p for p in places if before is None or p < before]
        if earlier and (made := self._relation(earlier[-1])) is not None:
            return made
        known = self._context.catalog.tables.get(name.lower())
        if known is not None or not places or before is None:
            return known
        # Its declaration may be about to be moved up.
        return None if before in places else self._relation(places[-1])

    def catalog(self, names: Sequence[EditorToken], before: int) -> Catalog:
        """A catalog in which tables that some tokens may name are those of the cell."""
        catalog = self._context.catalog
        for name in {t.name.lower() for t in names if t.name}:
            if name in self._declared and (made := self.get(name, before)) is not None:
                catalog = catalog.define(made)
        return catalog

    def query(
        self, start: int, end: int, before: int, ctes: Mapping[str, Node]
    ) -> Node | None:
        """The plan of a query of the cell, as it was built; None: it has none yet.

        Parameters
        ----------
        start, end
            Where it is in the text.
        before
            The number of the statement that it is in.
        ctes
            The queries of WITH clauses around it, by name.
        """
        catalog = self.catalog(tokens_of(self._text, start, end), before)
        try:
            statement = self._parsed(start, end)
            if not isinstance(statement, Query):
                return None
            relations = Relations(catalog, ctes=ctes)
            query = split_ordering(statement.expression).query
            return plan_query(query, relations)
        # Unfinished: what is there of it is found by its tokens.
        except ArroyoError:
            return None

    def _relation(self, place: int) -> Relation | None:
        if place in self._made:
            return self._made[place]
        # A view that reads itself finds no such table.
        self._made[place] = None
        tokens = self._statements[place]
        text = self.bound_text(tokens[0].start, tokens[-1].end)
        catalog = self.catalog(tokens, place)
        names = sorted({token.name.lower() for token in tokens if token.name})
        self._made[place] = _DECLARED.get(text, names, catalog)
        return self._made[place]

    def _parsed(self, start: int, end: int) -> Statement | None:
        parsed = parse_all(ScriptText(self.bound_text(start, end)))
        return parsed.statements[0] if len(parsed.statements) == 1 else None

    def bound_text(self, start: int, end: int) -> str:
        """A part of the text with the variables of the notebook; one that is missing
        is taken for a NULL."""
        text = self._text[start:end]
        if ":" not in text:
            return text
        missing = {
            token.text[1:]: None
            for token in tokens_of(text)
            if token.kind is TokenKind.PARAMETER
        }
        variables = self._context.variables
        # An explanation may quote an expression.
        hidden = {name: HIDDEN for name, _ in secret_values(text, variables)}
        try:
            return bind(text, {**missing, **variables, **hidden})
        except ArroyoError:
            return bind(text, missing)
