"""Tokens of a statement -> where its lines may end: one clause a line.

It works on the tokens and not on the tree: a tree has no comments, and not each way to
write a thing. The tree says which words are names, so that no name is taken for a
keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arroyo_nb.editor.explanations.types import TYPE_WORDS
from arroyo_nb.editor.layout import (
    BLANK,
    FRESH,
    HARD,
    KEPT,
    LINE,
    SOFT,
    EndComment,
    Group,
    Indented,
    Layout,
)
from arroyo_nb.editor.tokens import EditorToken, TokenKind

_KEYWORDS = frozenset(
    """
    ALL ALWAYS AND ANTI ANY AS ASC BETWEEN BOTH BY CASE CAST CREATE CROSS CURRENT
    DESC DESCRIBE DISTINCT DROP ELSE END ESCAPE EXCEPT EXCLUDE EXISTS EXPLAIN
    EXTRACT FALSE FETCH FILTER FIRST FOLLOWING FOR FROM FULL GENERATED GROUP HAVING
    IF IGNORE ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN KEY LAST LATERAL
    LEADING LEFT LIKE LIMIT METADATA NATURAL NO NOT NULL NULLS OFFSET ON ONLY OR
    ORDER OTHERS OUTER OVER OVERLAY PARTITION PARTITIONED PLACING POSITION PRECEDING
    PRECISION PRIMARY RANGE REPLACE RESPECT RIGHT ROW ROWS SELECT SEMI SET SHOW
    SIMILAR STORED SUBSTRING TABLE TABLES TEMP TEMPORARY THEN TIES TO TRAILING TRIM
    TRUE TRY_CAST UNBOUNDED UNION UNSIGNED USING VALUES VARYING VIEW VIRTUAL
    WATERMARK WHEN WHERE WINDOW WITH WITHIN
    """.split()  # noqa: SIM905
)
_CALLS = {
    *("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"),
}
_CLAUSES = {
    *("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT"),
    *("OFFSET", "FETCH", "UNION", "EXCEPT", "INTERSECT", "WITH"),
}
_JOIN_WORDS = {
    *("NATURAL", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"),
    "JOIN",
}
_HEAD_WORDS = {"BY", "DISTINCT", "ALL", *_JOIN_WORDS}
_CONDITIONS = {"WHERE", "HAVING", "ON"}
_FRAMES = {"PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"}
_NO_BLANK_BEFORE = {")", "]", ",", ".", "::", ";", "["}
_NO_BLANK_BEHIND = {"(", "[", ".", "::"}
_SIGNS = {"-", "+"}
_OPERATORS = {
    *("=", "==", "=>", "<", ">", "<=", ">=", "<>", "!=", "<=>", "<<", "||", "->"),
    *("->>", "+", "-", "*", "/", "%", "~", "~*", "!~", "!~*", "?", "^", "&", "|", "#"),
}


@dataclass(frozen=True)
class StatementWords:
    """The tokens of a statement with what the tree says of them.

    Parameters
    ----------
    tokens
        The code, without comments and semicolon.
    names
        The beginnings of tokens that are names.
    calls
        The beginnings of names of functions.
    lead
        By the beginning of a token: the comments on lines of their own before it.
    trail
        The same for the comments that follow it on its line.
    """

    tokens: Sequence[EditorToken]
    names: frozenset[int]
    calls: frozenset[int]
    lead: dict[int, list[EditorToken]]
    trail: dict[int, list[EditorToken]]


def statement_layout(words: StatementWords) -> list[Layout]:
    """A statement."""
    return _Writer(words).statement()


def written_word(token: EditorToken, words: StatementWords) -> str:
    """A token as it is written: keywords and types in upper case."""
    upper = token.text.upper()
    is_word = token.kind is TokenKind.WORD
    is_name = token.start in words.names or token.start in words.calls
    is_known = upper in _KEYWORDS or upper in TYPE_WORDS
    return upper if is_word and is_known and not is_name else token.text


class _Writer:
    """Writes ranges of the tokens of one statement."""

    def __init__(self, words: StatementWords) -> None:
        self._words = words
        self._code = words.tokens
        self._keys = [self._key(token) for token in words.tokens]
        self._closes = self._brackets()
        self._led: set[int] = set()

    def _key(self, token: EditorToken) -> str:
        """A keyword or a symbol; of a name, a text or a number nothing."""
        if token.kind is TokenKind.SYMBOL:
            return token.text
        if token.kind is not TokenKind.WORD or token.start in self._words.names:
            return ""
        return "" if token.start in self._words.calls else token.text.upper()

    def _brackets(self) -> dict[int, int]:
        """The end of each bracket, of each CASE, and of each list of a type."""
        found: dict[int, int] = {}
        opened: list[tuple[int, str]] = []
        ends = {"(": ")", "[": "]", "CASE": "END", "<": ">"}
        for place, key in enumerate(self._keys):
            is_type = key == "<" and self._keys[place - 1] in ("STRUCT", "ARRAY")
            if key in ("(", "[", "CASE") or is_type:
                opened.append((place, ends[key]))
            elif opened and key == opened[-1][1]:
                found[opened.pop()[0]] = place
        return found

    def statement(self) -> list[Layout]:
        """All of it: what stands before a query, and the query clause by clause."""
        end = len(self._code)
        start = next((p for p in self._flat(0, end) if self._begins_query(p)), end)
        if start == 0:
            return self._query(0, end, HARD)
        head = self._inline(0, start)
        return [*head, HARD, *self._query(start, end, HARD)] if start < end else head

    def _flat(self, start: int, end: int) -> Iterator[int]:
        """The tokens of a range that are in no bracket of it, and those brackets."""
        place = start
        while place < end:
            yield place
            place = self._closes.get(place, place) + 1

    def _begins_query(self, place: int) -> bool:
        key = self._keys[place]
        # WITH of options opens a bracket, WITH of a query names one.
        names_query = key == "WITH" and self._after(place) != "("
        # A query in brackets begins a statement only.
        is_bracket = key == "(" and place == 0
        return key == "SELECT" or names_query or is_bracket

    def _after(self, place: int) -> str:
        return self._keys[place + 1] if place + 1 < len(self._keys) else ""

    def _query(self, start: int, end: int, between: Layout) -> list[Layout]:
        """The clauses of a query, each on a line of its own where ``between`` ends
        one."""
        heads = [p for p in self._flat(start, end) if self._begins_clause(p, start)]
        if not heads or heads[0] != start:
            heads.insert(0, start)
        made: list[Layout] = []
        for first, last in zip(heads, [*heads[1:], end], strict=True):
            if made:
                made.append(between)
            made.extend(self._clause(first, last))
        return made

    def _begins_clause(self, place: int, start: int) -> bool:
        key = self._keys[place]
        before = self._keys[place - 1] if place > start else ""
        if key in _JOIN_WORDS:
            return before not in _JOIN_WORDS
        if key == "FROM":
            return before != "DISTINCT"
        if key == "WITH":
            return place == start
        # A query in brackets behind UNION.
        is_branch = key == "(" and before in ("UNION", "ALL", "EXCEPT", "INTERSECT")
        return key in _CLAUSES or is_branch

    def _clause(self, start: int, end: int) -> list[Layout]:
        head = start + 1
        while head < end and self._keys[head] in _HEAD_WORDS:
            head += 1
        key = self._keys[start]
        lead = self._lead(start)
        return [*lead, *self._after_lead(key, start, head, end)]

    def _after_lead(self, key: str, start: int, head: int, end: int) -> list[Layout]:
        """A clause without the comments before it: they would end its lines."""
        if head == end:
            return self._inline(start, end)
        if key in ("(", "UNION", "EXCEPT", "INTERSECT", "LIMIT", "OFFSET", "FETCH"):
            return self._inline(start, end)
        before = self._inline(start, head)
        if key in _CONDITIONS:
            return [Group([*before, BLANK, *self._condition(head, end)])]
        if key in _JOIN_WORDS:
            return [Group([*before, BLANK, *self._joined(head, end)])]
        items = self._items(head, end)
        if key == "WITH":
            return [*before, BLANK, *self._listed(items, HARD)]
        if len(items) == 1:
            return [*before, BLANK, *self._condition(*items[0])]
        return [Group([*before, Indented([LINE, *self._listed(items, LINE)])])]

    def _joined(self, start: int, end: int) -> list[Layout]:
        """What is joined, and the condition."""
        on = next(
            (p for p in self._flat(start, end) if self._keys[p] in ("ON", "USING")), end
        )
        made = self._inline(start, on)
        if on < end:
            is_on = self._keys[on] == "ON"
            inside = (
                self._condition(on + 1, end) if is_on else self._inline(on + 1, end)
            )
            made.append(
                Indented([LINE, *self._inline(on, on + 1), BLANK, Group(inside)])
            )
        return made

    def _items(self, start: int, end: int) -> list[tuple[int, int]]:
        """The ranges between the commas of a list; a comma belongs to what it ends."""
        commas = [p for p in self._flat(start, end) if self._keys[p] == ","]
        begins = [start, *(p + 1 for p in commas)]
        ends = [*(p + 1 for p in commas), end]
        return [(b, e) for b, e in zip(begins, ends, strict=True) if b < e]

    def _listed(
        self, items: Sequence[tuple[int, int]], between: Layout
    ) -> list[Layout]:
        made: list[Layout] = []
        for start, end in items:
            if made:
                made.append(between)
            made += [*self._lead(start), Group(self._condition(start, end))]
        return made

    def _condition(self, start: int, end: int) -> list[Layout]:
        """An expression, whose lines may begin with AND and OR."""
        places, is_between = [], False
        for place in self._flat(start, end):
            if self._keys[place] == "BETWEEN":
                is_between = True
            elif self._keys[place] == "AND" and is_between:
                is_between = False
            elif self._keys[place] in ("AND", "OR") and place > start:
                places.append(place)
        made = self._inline(start, (places or [end])[0])
        for first, last in pairwise([*places, end]):
            made.append(Indented([LINE, *self._inline(first, last)]))
        return made

    def _inline(self, start: int, end: int) -> list[Layout]:
        """Tokens in a row; lines may end in the brackets among them only."""
        made: list[Layout] = []
        for place in self._flat(start, end):
            if place > start and self._has_blank(place):
                made.append(BLANK)
            close = self._closes.get(place)
            if close is None:
                made.extend(self._token(place))
            elif self._keys[place] == "CASE":
                made.append(self._case(place, close))
            elif self._keys[place] == "<":
                made.extend(self._flat_tokens(place, close + 1))
            else:
                made.append(self._bracket(place, close))
        return made

    def _flat_tokens(self, start: int, end: int) -> list[Layout]:
        """The list of a type: ``STRUCT<a INT, b TEXT[]>``."""
        made: list[Layout] = []
        for place in range(start, end):
            if place > start and self._has_blank(place):
                made.append(BLANK)
            made.extend(self._token(place))
        return made

    def _bracket(self, start: int, close: int) -> Layout:
        first = self._keys[start + 1]
        before = self._keys[start - 1] if start else ""
        inside: list[Layout]
        if start + 1 == close:
            inside = []
        elif first in ("SELECT", "WITH"):
            inside = self._query(start + 1, close, LINE)
        elif first in _FRAMES and before in ("OVER", "GROUP", "AS"):
            inside = self._frame(start + 1, close)
        else:
            items = self._items(start + 1, close)
            inside = self._listed(items, LINE)
        opening, closing = self._token(start), self._token(close)
        if not inside:
            return Group([*opening, *closing])
        return Group([*opening, Indented([SOFT, *inside]), SOFT, *closing])

    def _frame(self, start: int, end: int) -> list[Layout]:
        """PARTITION BY, ORDER BY and the frame of OVER."""
        heads = [p for p in self._flat(start, end) if self._keys[p] in _FRAMES]
        made: list[Layout] = []
        for first, last in zip(heads, [*heads[1:], end], strict=True):
            if made:
                made.append(LINE)
            made.extend(self._inline(first, last))
        return made

    def _case(self, start: int, close: int) -> Layout:
        heads = [
            p for p in self._flat(start + 1, close) if self._keys[p] in ("WHEN", "ELSE")
        ]
        first = heads[0] if heads else close
        head = self._inline(start + 1, first)
        inside: list[Layout] = []
        for begin, end in zip(heads, [*heads[1:], close], strict=True):
            inside += [LINE, *self._lead(begin), Group(self._condition(begin, end))]
        return Group(
            [
                *self._token(start),
                *([BLANK, *head] if head else []),
                Indented(inside),
                LINE,
                *self._token(close),
            ]
        )

    def _lead(self, place: int) -> list[Layout]:
        """The comments before a token, where they have not been written yet."""
        made: list[Layout] = []
        if place not in self._led:
            self._led.add(place)
            for comment in self._words.lead.get(self._code[place].start, ()):
                made += [FRESH, comment.text.rstrip(), KEPT]
        return made

    def _token(self, place: int) -> list[Layout]:
        """A token with the comments at it."""
        token = self._code[place]
        made = self._lead(place)
        made.append(written_word(token, self._words))
        for comment in self._words.trail.get(token.start, ()):
            if comment.text.startswith("--"):
                made += [EndComment(comment.text.rstrip()), HARD]
            else:
                made += [BLANK, comment.text.rstrip(), BLANK]
        return made

    def _has_blank(self, place: int) -> bool:
        """Whether a blank stands before a token, behind the one before it."""
        before, key = self._keys[place - 1], self._keys[place]
        is_adjacent = self._code[place - 1].end == self._code[place].start
        if key == ":" or before == ":" or (before == key == ">" and is_adjacent):
            return False
        if self._is_sign(place - 1):
            # Two of them would begin a comment.
            return key in _SIGNS
        if key in _NO_BLANK_BEFORE or before in _NO_BLANK_BEHIND:
            return key == "[" and before in _OPERATORS | {"IN", ","}
        if key == "(":
            return not self._is_called(place - 1)
        is_type = place in self._closes and key == "<"
        ends_type = key == ">" and place in self._closes.values()
        begins_list = before == "<" and place - 1 in self._closes
        return not (is_type or ends_type or begins_list)

    def _is_called(self, place: int) -> bool:
        token = self._code[place]
        return (
            token.start in self._words.calls
            or self._keys[place] in _CALLS
            or self._keys[place] in TYPE_WORDS
            or self._keys[place] in ("(", "[")
        )

    def _is_sign(self, place: int) -> bool:
        """Whether a minus or a plus is of one value, and not between two."""
        if self._keys[place] not in _SIGNS:
            return False
        before = self._keys[place - 1] if place else "("
        is_word = before.isalpha() and before not in ("END", "NULL", "TRUE", "FALSE")
        return before in _OPERATORS or before in ("(", "[", ",", ":") or is_word
