"""Bound expressions as their author wrote them: the text, its line and its clause.

Binding changes an expression: it adds casts, drops brackets and names columns anew. The
span that it keeps has no words such as ``NOT``, ``NULL`` and ``)``, which are no parts
of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

    from arroyo_nb.source import ScriptText

CLAUSES = ("WHERE", "HAVING", "ON")
"""Clauses that have conditions."""

_WIDER = sorted(product(range(3), range(5)), key=sum)
"""Words before and behind a span that may belong to it, the fewest first."""


@dataclass(frozen=True)
class WrittenText:
    """What stands in a script: on one line, the line where it begins, and the clause
    that it is in (of :data:`CLAUSES`; empty: in none of them)."""

    text: str
    line: int
    clause: str


def written_text(bound: exp.Expr, source: ScriptText) -> WrittenText | None:
    """A bound expression as it stands in a script; None: it is not in it, as of a view
    of an earlier cell.

    Parameters
    ----------
    bound
        A part of a plan.
    source
        The script of the plan.
    """
    from arroyo_nb.plan.expressions.typing import place_of

    if (span := place_of(bound)) is None:
        return None
    tokens = _tokens(source.text)
    inside = [n for n, t in enumerate(tokens) if span.start <= t.start < span.end]
    if not inside:
        return None
    # An expression of another script has its span there: what stands at these
    # characters here says whether it is this one.
    meaning = _meaning(bound)
    for before, behind in _WIDER:
        first, last = inside[0] - before, inside[-1] + behind
        if first < 0 or last >= len(tokens):
            continue
        start = tokens[first].start
        text = source.text[start : tokens[last].end + 1]
        written = _parsed(text) if _is_balanced(tokens[first : last + 1]) else None
        if written is not None and _meaning(written) == meaning:
            line, _ = source.place(start)
            return WrittenText(" ".join(text.split()), line, _clause(tokens[:first]))
    return None


def bound_text(bound: exp.Expr) -> str:
    """A bound expression as one would write it, without the casts that binding added.

    Parameters
    ----------
    bound
        A part of a plan.
    """
    from sqlglot import exp

    from arroyo_nb.plan.explain.node_lines import sql_text

    made = _replaced(bound, exp.Cast, replacement=_without_added_cast)
    return sql_text(made).replace('"', "")


def _replaced(
    expression: exp.Expr,
    *kinds: type[exp.Expr],
    replacement: Callable[[exp.Expr], exp.Expr],
) -> exp.Expr:
    """A copy with other nodes in place of all of these kinds."""
    from sqlglot import exp

    root = exp.Paren(this=expression.copy())  # so that each node has a parent
    for node in list(root.this.find_all(*kinds)):
        node.replace(replacement(node))
    made: exp.Expr = root.this
    return made


def _without_added_cast(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    from arroyo_nb.plan.expressions.typing import place_of

    # A cast that stands in the script has a place of its own.
    is_added = isinstance(node.this, exp.Null) or place_of(node) == place_of(node.this)
    return node.this if is_added else node


@lru_cache(maxsize=4)
def _tokens(text: str) -> Sequence[Token]:
    """The words of a script; none of a text that is no SQL."""
    from sqlglot.errors import SqlglotError

    from arroyo_nb.sql.comments import blanked
    from arroyo_nb.sql.dialect import ArroyoDialect

    try:
        return ArroyoDialect().tokenize(blanked(text))
    except SqlglotError:
        return ()


def _parsed(text: str) -> exp.Expr | None:
    """A text as one expression; None: it is none."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.sql.dialect import ArroyoDialect

    dialect, query = ArroyoDialect(), f"SELECT {text}"
    try:
        select, *more = dialect.parser().parse(dialect.tokenize(query), query)
    except (SqlglotError, ArroyoError, RecursionError):
        return None
    # Of `SELECT a FROM b` more is set than the list.
    if more or not isinstance(select, exp.Select) or select.args.get("from_"):
        return None
    items = select.expressions
    is_one = len(items) == 1 and not isinstance(items[0], exp.Alias)
    return items[0] if is_one else None


def _is_balanced(tokens: Sequence[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += _depth(token)
        if depth < 0:
            return False
    return not depth


def _depth(token: Token) -> int:
    return (token.text in "([") - (token.text in ")]") if len(token.text) == 1 else 0


def _clause(before: Sequence[Token]) -> str:
    """The clause that is open behind these words."""
    closed = 0
    for token in reversed(before):
        closed = max(0, closed - _depth(token))
        if not closed and (word := token.text.upper()) in CLAUSES:
            return word
    return ""


_CASTS = re.compile(r"cast\(([^()]*) as [^()]+\)")
_NAMED_LITERALS = re.compile(r"\b(?:int64|float64|utf8|boolean)\(([^()]*)\)")
"""As they stand in the name of an aggregate's column: ``sum(t.n + Int64(1))``."""
_QUALIFIERS = re.compile(r"\b[a-z_]\w*\.")
_MARKS = re.compile(r"[\s()]")


def _meaning(expression: exp.Expr) -> str:
    """An expression without what binding changes: casts, qualifiers, brackets, the
    units of intervals."""
    from sqlglot import exp

    from arroyo_nb.sql.dialect import ArroyoDialect

    kinds = exp.Cast, exp.Paren, exp.Interval
    plain = _replaced(expression, *kinds, replacement=_plain)
    text = plain.sql(dialect=ArroyoDialect, normalize_functions=False).lower()
    text = re.sub("[\"']", "", text)
    for pattern in (_CASTS, _NAMED_LITERALS):
        text = pattern.sub(r"\1", text)
    return _MARKS.sub("", _QUALIFIERS.sub("", text))


def _plain(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.plan.expressions.intervals import exact
    from arroyo_nb.plan.expressions.literals import written_interval

    if not isinstance(node, exp.Interval):
        inner: exp.Expr = node.this
        return inner
    try:
        length = node.meta.get("interval") or exact(written_interval(node))
    except ArroyoError:  # of months, which have no length
        return node
    return exp.Literal.string(str(length))
