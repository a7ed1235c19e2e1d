"""The SQL of a cell in one style: keywords in upper case, one clause a line.

What comes out is parsed again, and must be the same statements with the same comments;
else nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.layout import FRESH, KEPT, EndComment, Layout, laid_out
from arroyo_nb.editor.sql_layout import StatementWords, statement_layout
from arroyo_nb.editor.sql_parts import sql_span
from arroyo_nb.editor.tokens import EditorToken, TokenKind, tokens_of
from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import deep_stack, parse_all
from arroyo_nb.sql.statements import Explain, Statement

_ASIDE_NAMES = {"DESCRIBE", "DROP"}


def format_cell(cell: CellText) -> str:
    """The whole text of a cell with its SQL in one style; the first line, and in a test
    what is around the query, stay.

    Raises
    ------
    ArroyoError
        When the cell has no SQL, or what it has cannot be parsed.
    """
    span = sql_span(cell)
    if span is None:
        raise SyntaxProblem(
            f"a cell of %%{cell.magic.name} without a query has no SQL to format",
            hint="format a cell of %%arroyo, or a test with a query below WHEN",
        )
    before, sql = cell.text[: span.start], cell.text[span.start : span.end]
    made = format_sql(sql)
    if span.start == cell.start and span.end == len(cell.text):
        return before + made
    # In a test a line that begins with EXPECT follows.
    return f"{before.rstrip()}\n{made}\n\n{cell.text[span.end :]}".rstrip("\n")


def format_sql(sql: str) -> str:
    """A script in one style.

    Raises
    ------
    ArroyoError
        When it cannot be parsed; it is the error of the planner.

    >>> print(format_sql("select a, B from t where a>1 -- all"))
    SELECT a, B
    FROM t
    WHERE a > 1 -- all
    """
    if all(token.kind is TokenKind.COMMENT for token in tokens_of(sql)):
        return sql
    with deep_stack():
        statements = _parsed(sql)
        made = _written(sql, statements)
        _check_same(sql, statements, made)
    return made


def _parsed(sql: str) -> tuple[Statement, ...]:
    # A variable of the notebook stands where an expression does; a name of the same
    # length keeps each place.
    text = list(sql)
    for token in tokens_of(sql):
        if token.kind is TokenKind.PARAMETER:
            text[token.start] = "_"
    parsed = parse_all(ScriptText("".join(text)))
    raise_all(parsed.problems)
    return parsed.statements


def _written(sql: str, statements: Sequence[Statement]) -> str:
    tokens = tokens_of(sql)
    lead, trail, left = _comments(sql, tokens)
    chunks: list[list[EditorToken]] = [[]]
    for token in tokens:
        if token.kind is not TokenKind.COMMENT:
            chunks[-1].append(token)
            if token.text == ";" and token.kind is TokenKind.SYMBOL:
                chunks.append([])
    texts, starts, ends = [], list[int](), list[int]()
    parsed = iter(statements)
    for chunk in filter(None, chunks):
        code = chunk[:-1] if chunk[-1].text == ";" else chunk
        names, calls = (
            _names(next(parsed), code) if code else (frozenset(), frozenset())
        )
        words = StatementWords(code, names, calls, lead, trail)
        made: list[Layout] = [*statement_layout(words)] if code else []
        if len(code) < len(chunk):
            made += _semicolon(chunk[-1], lead, trail)
        texts.append(laid_out(made))
        starts.append(chunk[0].start)
        ends.append(chunk[-1].end)
    parts = [texts[0]]
    for place in range(1, len(texts)):
        gap = sql[ends[place - 1] : starts[place]]
        is_short = "\n" not in texts[place - 1] and "\n" not in texts[place]
        parts.append("\n" if is_short and _blank_lines(gap) == 0 else "\n\n")
        parts.append(texts[place])
    comments = "".join(f"\n{comment.text.rstrip()}" for comment in left)
    return "".join(parts) + comments


def _blank_lines(gap: str) -> int:
    return max(0, sum(not line.strip() for line in gap.split("\n")[1:-1]))


def _semicolon(
    token: EditorToken,
    lead: dict[int, list[EditorToken]],
    trail: dict[int, list[EditorToken]],
) -> list[Layout]:
    made: list[Layout] = []
    for comment in lead.get(token.start, ()):
        made += [FRESH, comment.text.rstrip(), KEPT]
    made.append(";")
    for comment in trail.get(token.start, ()):
        made.append(EndComment(comment.text.rstrip()))
    return made


def _comments(
    sql: str, tokens: Sequence[EditorToken]
) -> tuple[
    dict[int, list[EditorToken]], dict[int, list[EditorToken]], list[EditorToken]
]:
    """The comments before each token on lines of their own, those behind it on its
    line, and those behind the last token."""
    lead: dict[int, list[EditorToken]] = {}
    trail: dict[int, list[EditorToken]] = {}
    waiting: list[EditorToken] = []
    last: EditorToken | None = None
    for place, token in enumerate(tokens):
        if token.kind is not TokenKind.COMMENT:
            lead[token.start] = waiting
            waiting, last = [], token
            continue
        before = tokens[place - 1] if place else None
        is_behind = before is not None and "\n" not in sql[before.end : token.start]
        if last is not None and is_behind and not waiting:
            # `a -- why` and then a comma: the comma stays at what it ends.
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            moves = following is not None and following.word in (",", ";")
            owner = following if moves and token.text.startswith("--") else last
            assert owner is not None
            trail.setdefault(owner.start, []).append(token)
        else:
            waiting.append(token)
    return lead, trail, waiting


def _names(
    statement: Statement, code: Sequence[EditorToken]
) -> tuple[frozenset[int], frozenset[int]]:
    """Where the tree of a statement has names, and names of functions."""
    names = {
        part.meta["start"]
        for part in statement.expression.find_all(exp.Identifier)
        if "start" in part.meta
    }
    following = dict(zip(code, [*code[1:], None], strict=True))
    calls = {
        part.meta["start"]
        for part in statement.expression.find_all(exp.Anonymous)
        if "start" in part.meta
    }
    # A call with words between its arguments begins with a keyword; `a -> 'b'` is a
    # call in the tree alone, and begins with a name.
    called = {
        token.start
        for token, after in following.items()
        if token.kind is TokenKind.WORD
        and token.start in calls
        and after is not None
        and after.text == "("
    }
    if code[0].word in _ASIDE_NAMES and not isinstance(statement, Explain):
        names.add(code[-1].start)
    return frozenset(names - called), frozenset(called)


def _check_same(sql: str, statements: Sequence[Statement], made: str) -> None:
    """Refuse what is not the same SQL.

    Raises
    ------
    ArroyoError
        When a token, a comment or a tree is another one.
    """
    again = _parsed(made)
    trees = [s.expression for s in statements], [s.expression for s in again]
    if trees[0] != trees[1] or _content(sql) != _content(made):
        raise ArroyoError(
            "the cell is left as it is: it would mean something else when formatted",
            hint="please report the cell",
        )


def _content(sql: str) -> tuple[list[str], list[str]]:
    """The tokens in one case, texts and quoted names as they are, and the comments."""
    tokens = tokens_of(sql)
    code = [t.word or t.text for t in tokens if t.kind is not TokenKind.COMMENT]
    comments = [t.text.rstrip() for t in tokens if t.kind is TokenKind.COMMENT]
    return code, comments
