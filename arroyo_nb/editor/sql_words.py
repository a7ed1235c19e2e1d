"""The words of SQL that may be unfinished: no parser is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arroyo_nb.editor.tokens import code_of, tokens_of


@dataclass(frozen=True)
class SqlWord:
    """A word, a text in quotes, or a sign, and where it stands."""

    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """As keywords are compared."""
        return self.text.upper()

    def is_name(self, name: str) -> bool:
        """Whether it names that column or table."""
        if self.text.startswith('"'):
            return self.text[1:-1].replace('""', '"') == name
        return self.text.lower() == name.lower()


def sql_words(text: str, start: int, end: int) -> list[SqlWord]:
    """The words of a part of a text, without comments."""
    return [
        SqlWord(token.text, token.start, token.end)
        for token in code_of(tokens_of(text, start, end))
    ]


def closing(words: Sequence[SqlWord], opening: int) -> int | None:
    """The number of the bracket that closes the one of that number."""
    depth = 0
    for number in range(opening, len(words)):
        depth += (words[number].text == "(") - (words[number].text == ")")
        if depth == 0:
            return number
    return None


def enclosing_select(words: Sequence[SqlWord], at: int) -> int | None:
    """The number of the SELECT whose clauses a place of the text is in."""
    depth = low = 0
    for number in range(len(words) - 1, -1, -1):
        word = words[number]
        if word.start >= at:
            continue
        depth += (word.text == ")") - (word.text == "(")
        low = min(low, depth)
        if depth == low and word.upper == "SELECT":
            return number
    return None


_ENDS = {"UNION", "EXCEPT", "INTERSECT", ";"}
_AFTER_GROUPS = {"HAVING", "ORDER", "LIMIT", "QUALIFY", "EMIT", "FETCH", "OFFSET"}


@dataclass(frozen=True)
class SelectClauses:
    """The clauses of one SELECT, by the numbers of their words.

    Parameters
    ----------
    items
        Its select list: the first word and the one behind the last.
    source
        The word FROM; None: it has none.
    groups
        What stands behind GROUP BY; None: it has none.
    end
        The word behind the last one.
    groups_before
        The word that a GROUP BY would stand before.
    """

    items: tuple[int, int]
    source: int | None
    groups: tuple[int, int] | None
    end: int
    groups_before: int


def select_clauses(words: Sequence[SqlWord], select: int) -> SelectClauses:
    """Find the clauses of the SELECT of that number."""
    depth, source, begin, group_end = 0, None, None, None
    end, after = len(words), None
    for number in range(select + 1, len(words)):
        word = words[number]
        if depth == 0 and (word.text == ")" or word.upper in _ENDS):
            end = number
            break
        depth += (word.text == "(") - (word.text == ")")
        if depth:
            continue
        if word.upper == "FROM" and source is None:
            source = number
        elif word.upper == "BY" and words[number - 1].upper == "GROUP":
            begin = number + 1
        elif word.upper in _AFTER_GROUPS and after is None and source is not None:
            after = number
            group_end = number if begin is not None else None
    first = select + 1
    if first < end and words[first].upper in ("DISTINCT", "ALL"):
        first += 1
    groups = None if begin is None else (begin, group_end or end)
    last = end if source is None else source
    return SelectClauses((first, last), source, groups, end, after or end)


def split_items(
    words: Sequence[SqlWord], part: tuple[int, int]
) -> list[tuple[int, int]]:
    """The items of a list with commas, by the numbers of their words."""
    items, depth, first = list[tuple[int, int]](), 0, part[0]
    for number in range(*part):
        text = words[number].text
        depth += (text in "([") - (text in ")]")
        if text == "," and depth == 0:
            items.append((first, number))
            first = number + 1
    items.append((first, part[1]))
    return [item for item in items if item[0] < item[1]]
