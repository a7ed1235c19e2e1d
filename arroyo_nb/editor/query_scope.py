"""What the names of a query mean at a place of it, while it is being typed.

The relations of FROM are found by their tokens; their columns are those of the plan of
each, so that a query has columns as soon as what it reads is finished.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.catalog import Relation
from arroyo_nb.editor.cell_tables import CellTables
from arroyo_nb.editor.tokens import EditorToken, closing, openings
from arroyo_nb.plan.nodes import Node
from arroyo_nb.schema import Schema

_ENDS_FROM = {
    *("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "WINDOW"),
    *("UNION", "EXCEPT", "INTERSECT", "QUALIFY"),
}
_BRANCHES = {"UNION", "EXCEPT", "INTERSECT"}
_STARTS_RELATION = {"FROM", "JOIN", ","}
_NO_ALIAS = {
    *("ON", "USING", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS"),
    *("NATURAL", "LATERAL", "AS", "SELECT", "SEMI", "ANTI"),
    *_ENDS_FROM,
}


@dataclass(frozen=True)
class ScopeRelation:
    """A relation of FROM.

    Parameters
    ----------
    name
        What the query calls it, in lower case; empty: it has no name.
    table
        The table or view; None: it is a query of WITH, or in brackets.
    plan
        The plan of that query; None: it has none yet.
    title
        What it is, such as ``the query late``.
    is_query
        Whether it is a query of WITH, or in brackets; else it is named as a table.
    """

    name: str
    table: Relation | None
    plan: Node | None
    title: str
    is_query: bool = False

    @property
    def schema(self) -> Schema:
        """Its columns; none where they are not known yet."""
        if self.table is not None:
            return self.table.schema
        return Schema() if self.plan is None else self.plan.schema


@dataclass(frozen=True)
class SelectItem:
    """An item of a select list that has a name.

    Parameters
    ----------
    name
        The name that AS gives it.
    start, end
        The places of the expression's tokens in the statement.
    """

    name: str
    start: int
    end: int


class QueryScope:
    """The query around a token of a statement.

    Parameters
    ----------
    statement
        The tokens of the statement.
    number
        Which statement of the cell it is.
    place
        The token.
    tables
        What the cell's statements may name.
    text
        The cell's text.
    """

    def __init__(
        self,
        statement: Sequence[EditorToken],
        number: int,
        place: int,
        tables: CellTables,
        text: str,
    ) -> None:
        self._code = statement
        self._number = number
        self._place = place
        self._tables = tables
        self._text = text

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        """The queries around the token as ranges of tokens, the innermost first."""
        found = [
            (opening + 1, closing(self._code, opening))
            for opening in openings(self._code, self._place)
            if self._code[opening + 1].word in ("SELECT", "WITH")
        ]
        for place, token in enumerate(self._code[: self._place + 1]):
            if token.word in ("SELECT", "WITH") and not openings(self._code, place):
                # WITH of options comes before no query.
                if token.word == "WITH" and self._is_options(place):
                    continue
                found.append((place, len(self._code)))
                break
        return found

    def _is_options(self, place: int) -> bool:
        return place + 1 < len(self._code) and self._code[place + 1].text == "("

    @cached_property
    def ctes(self) -> Mapping[str, Node]:
        """The queries of the WITH clauses that the token sees, as far as they have a
        plan, by name."""
        found: dict[str, Node] = {}
        for start, end in reversed(self._ranges):
            for name, first, last in self._with_queries(start, end):
                if first <= self._place < last:
                    break  # it sees those before it
                plan = self._plan(first, last, found)
                if plan is None:
                    found.pop(name, None)
                else:
                    found[name] = plan
        return found

    @cached_property
    def cte_names(self) -> frozenset[str]:
        """The names of all of them."""
        return frozenset(
            name for r in self._ranges for name, *_ in self._with_queries(*r)
        )

    def _with_queries(self, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Each query of a WITH: its name, and its first and last token but one."""
        if self._code[start].word != "WITH":
            return
        place = start + 1
        while place < end:
            name = self._code[place].name
            while place < end and self._code[place].word != "AS":
                place += 1
            opening = place + 1
            if opening >= end or self._code[opening].text != "(":
                return
            close = closing(self._code, opening)
            if name:
                yield name, opening + 1, close
            if close + 1 >= end or self._code[close + 1].text != ",":
                return
            place = close + 2

    def _plan(self, first: int, last: int, ctes: Mapping[str, Node]) -> Node | None:
        if not 0 <= first < last <= len(self._code):
            return None
        start, end = self._code[first].start, self._code[last - 1].end
        return self._tables.query(start, end, self._number, ctes)

    @cached_property
    def branch(self) -> tuple[int, int] | None:
        """The SELECT around the token, one of a UNION, as a range of tokens; None:
        there is none."""
        if not self._ranges:
            return None
        start, end = self._ranges[0]
        begin, finish = None, end
        for place in self._flat(start, end):
            if self._code[place].word == "SELECT" and place <= self._place:
                begin = place
            elif self._code[place].word in _BRANCHES and place > self._place:
                finish = place
                break
        return None if begin is None else (begin, finish)

    def _flat(self, start: int, end: int) -> Iterator[int]:
        """The tokens of a range that are in no bracket of it, and those brackets."""
        place = start
        while place < end:
            yield place
            is_opening = self._code[place].word in ("(", "[")
            place = closing(self._code, place) + 1 if is_opening else place + 1

    @cached_property
    def relations(self) -> tuple[ScopeRelation, ...]:
        """What the query reads, in order."""
        if self.branch is None:
            return ()
        found, is_from, is_next = [], False, False
        for place in self._flat(*self.branch):
            word = self._code[place].word
            if word in _ENDS_FROM:
                is_from = is_next = False
            elif word == "FROM" or (is_from and word in _STARTS_RELATION):
                is_from = is_next = True
            elif is_next and word != "LATERAL":
                is_next = False
                found.append(self._relation(place))
        return tuple(r for r in found if r is not None)

    def _relation(self, place: int) -> ScopeRelation | None:
        token = self._code[place]
        if token.text == "(":
            close = closing(self._code, place)
            alias = self._alias(close + 1)
            plan = self._plan(place + 1, close, self.ctes)
            return ScopeRelation(alias, None, plan, "the query in brackets", True)
        if not token.name:
            return None
        name = token.name.lower()
        alias = self._alias(place + 1) or name
        if name in self.cte_names:
            plan = self.ctes.get(name)
            return ScopeRelation(alias, None, plan, f"the query {name}", True)
        table = self._tables.get(name, self._number)
        return ScopeRelation(alias, table, getattr(table, "plan", None), name)

    def _alias(self, place: int) -> str:
        if place < len(self._code) and self._code[place].word == "AS":
            place += 1
        if place >= len(self._code) or self._code[place].word in _NO_ALIAS:
            return ""
        return self._code[place].name

    @cached_property
    def items(self) -> tuple[SelectItem, ...]:
        """The items of the select list that AS gives a name."""
        if self.branch is None:
            return ()
        start, end = self.branch
        found, begin, last = [], start + 1, None
        for place in self._flat(start + 1, end):
            word = self._code[place].word
            if word == "AS" and place + 1 < end and self._code[place + 1].name:
                last = SelectItem(self._code[place + 1].name, begin, place)
            elif word in (",", "FROM") or word in _ENDS_FROM:
                if last is not None:
                    found.append(last)
                begin, last = place + 1, None
                if word != ",":
                    return tuple(found)
        return tuple(found if last is None else (*found, last))

    @cached_property
    def result(self) -> Node | None:
        """The plan of the SELECT around the token; None: it has none yet."""
        return None if self.branch is None else self._plan(*self.branch, self.ctes)
