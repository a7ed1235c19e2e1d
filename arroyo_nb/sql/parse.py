"""Text -> statements; every statement with a syntax error is reported.

The script is cut at its semicolons before anything is parsed, so an error in one
statement hides none in the next, of whatever kind. Nesting is bounded on the tokens,
before the recursive parser sees them, and once more on the tree, where a long chain
of operators is as deep as it is long: no later stage can run out of stack.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from arroyo_nb.errors import ArroyoError, SyntaxProblem, Unsupported
from arroyo_nb.repairs import RemoveOption, Repair, Replace, Together, quoted_name
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.sql.commas import CLOSING, OPENING, missing_comma
from arroyo_nb.sql.comments import blanked
from arroyo_nb.sql.ddl import StatementParser
from arroyo_nb.sql.dialect import ArroyoDialect, span_of
from arroyo_nb.sql.grammar import GrammarError
from arroyo_nb.sql.keyword_slips import STARTS, keyword_near, slip_before
from arroyo_nb.sql.other_dialects import hint_of
from arroyo_nb.sql.show_statements import ASIDES, is_explain, parse_aside
from arroyo_nb.sql.statements import (
    CreateTable,
    CreateView,
    Explain,
    Insert,
    Query,
    SetOption,
    Statement,
)
from arroyo_nb.sql.syntax_tree import parts_of

MAX_BRACKETS = 100
"""How deep brackets, CASE and prefix operators may nest in the text."""

MAX_DEPTH = 250
"""How deep a syntax tree may be; each operator of a flat chain is one level."""

_BYTE_ORDER_MARK = "\ufeff"
_FRAMES = 20_000
_LOCK = RLock()
_DIALECT = ArroyoDialect()

_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.RLIKE}
_NUMBER = re.compile(r"\d+\.?\d*(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_NESTED_TYPES = {TokenType.ARRAY, TokenType.STRUCT}

# What Arroyo's parser knows and its planner refuses -> the planner's words.
_REFUSED = {
    **{word: f"{word} is not supported" for word in ("ANALYZE", "COPY")},
    **{
        word: f"Unsupported statement: {word}"
        for word in (
            *("ALTER", "BEGIN", "CALL", "COMMIT", "DELETE", "EXECUTE", "GRANT"),
            *("MERGE", "PREPARE", "REVOKE", "ROLLBACK", "TRUNCATE", "UPDATE"),
            *("USE", "VALUES"),
        )
    },
}
_REFUSED_CREATES = {
    *("DATABASE", "EXTERNAL", "FUNCTION", "INDEX", "MATERIALIZED", "SCHEMA"),
    *("SECRET", "SEQUENCE", "SOURCE", "SINK", "TYPE"),
}
_CURLY = re.compile("[\u201c\u201d\u201e\u2018\u2019]")
_ODD_QUOTE = re.compile(f"`|{_CURLY.pattern}")
_QUERY_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.INSERT}


@contextmanager
def deep_stack() -> Iterator[None]:
    """Room for the recursion that :data:`MAX_BRACKETS` levels of nesting need.

    Python's limit belongs to the process; frames of pure Python code live on the heap,
    so a higher limit costs nothing. The lock keeps two threads from restoring it under
    each other.
    """
    with _LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _FRAMES))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


@dataclass(frozen=True)
class Parsed:
    """What could be read of a script.

    Parameters
    ----------
    statements
        Those that are of the dialect, in order.
    problems
        What is wrong with each of the others.
    unread
        The tables and views that the others would have made, in lower case.
    """

    statements: tuple[Statement, ...]
    problems: tuple[ArroyoError, ...]
    unread: frozenset[str]


def parse_all(source: ScriptText) -> Parsed:
    """Each statement of a script, or what is wrong with it.

    Raises
    ------
    SyntaxProblem
        When the text cannot be cut into statements, or is blank.
    """
    chunks = _statements(tokens_of_script(source))
    if not chunks:
        raise SyntaxProblem("Query is empty!", hint="write a SELECT below").at(source)
    statements: list[Statement] = []
    problems: list[ArroyoError] = []
    unread: set[str] = set()
    parser = _DIALECT.parser()
    with deep_stack():
        for chunk in chunks:
            try:
                statements.append(_parse_one(chunk, source.text, parser))
            except ArroyoError as problem:
                span = Span.of_token(chunk[0].start, chunk[-1].end)
                found = hint_of(source.text[span.start : span.end])
                problem.hint = found or problem.hint
                problems.append(problem.at(source))
                # So that a later statement that reads it is not told that there is no
                # such table.
                unread.update(_declared_name(chunk))
    return Parsed(tuple(statements), tuple(problems), frozenset(unread))


def _declared_name(tokens: list[Token]) -> list[str]:
    """The name of the table or view that a statement makes, were it readable."""
    words = [token.text.lower() for token in tokens[:10]]
    if words[0].upper() in {*_REFUSED, *ASIDES}:
        return []
    for place, token in enumerate(tokens[: len(words)]):
        if token.token_type in (TokenType.TABLE, TokenType.VIEW):
            after = [w for w in words[place + 1 :] if w not in ("if", "not", "exists")]
            return after[:1]
    return []


def tokens_of_script(source: ScriptText) -> list[Token]:
    """The tokens of a script, without its comments.

    Raises
    ------
    SyntaxProblem
        When the text cannot be cut into tokens.
    """
    text = source.text
    if text.startswith(_BYTE_ORDER_MARK):
        # A blank in its place keeps every offset what it is in the user's text.
        text = " " + text[1:]
    try:
        # Comments are blanked out and not cut out: places in the text stay.
        return _DIALECT.tokenize(blanked(text))
    except TokenError as error:
        raise _unreadable(error, text).at(source) from None


def _unreadable(error: TokenError, text: str) -> SyntaxProblem:
    """sqlglot says ``Missing ' from 3:14``, where 14 is the text's first character."""
    found = re.search(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))
    if found is None:
        return SyntaxProblem("the text cannot be read", span=Span(0, len(text)))
    # What it calls a column counts from the beginning of the text, not of the line.
    start = int(found[2])
    return SyntaxProblem(
        f"unterminated text: the closing {found[1]} is missing",
        span=Span(start, start + 1),
    )


def semicolons(source: ScriptText) -> tuple[int, ...]:
    """The places of the semicolons that end statements: none of a comment or a text.

    Raises
    ------
    SyntaxProblem
        When the text cannot be cut into tokens.
    """
    ends = (t for t in tokens_of_script(source) if t.token_type is TokenType.SEMICOLON)
    return tuple(token.start for token in ends)


def _statements(tokens: list[Token]) -> list[list[Token]]:
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _parse_one(tokens: list[Token], text: str, parser: StatementParser) -> Statement:
    span = Span.of_token(tokens[0].start, tokens[-1].end)
    if (aside := parse_aside(tokens, span)) is not None:
        return aside
    if is_explain(tokens):
        return _explained(tokens, text, span, parser)
    _check_start(tokens)
    if _ODD_QUOTE.search(text, span.start, span.end):
        _check_quotes(tokens)
    _check_numbers(tokens)
    # Before the parser, which recurses: no RecursionError for text that can be judged
    # by its tokens.
    _check_nesting(tokens)
    try:
        (expression,) = parser.parse(tokens, text)
    except GrammarError as error:
        raise SyntaxProblem(
            error.message,
            span=error.span,
            hint=_hint(error, tokens),
            repairs=_repairs(error, tokens),
        ) from None
    except RecursionError:
        raise _too_deep(span) from None
    assert expression is not None
    _check_tree(expression, span)
    return _classify(expression, span)


def _explained(
    tokens: list[Token], text: str, span: Span, parser: StatementParser
) -> Explain:
    inner = _parse_one(tokens[1:], text, parser) if len(tokens) > 1 else None
    if not isinstance(inner, Query | Insert):
        raise SyntaxProblem("EXPLAIN takes a SELECT or an INSERT", span=span)
    return Explain(inner.expression, span, inner.name, inner)


def _hint(error: GrammarError, tokens: list[Token]) -> str | None:
    """What may be missing before the token that could not be read."""
    for place, token in enumerate(tokens):
        if token.start == error.span.start:
            is_at = error.message.startswith(f"syntax error at '{token.text}'")
            before = tokens[place - 1]
            if slip := slip_before(tokens, place):
                written = _written(tokens, slip.span)
                return f"did you mean {slip.text} instead of {written}?"
            if (
                is_at
                and place
                and before.text.upper() in ("GROUP", "ORDER", "PARTITION")
            ):
                return f"write {before.text.upper()} BY {token.text}"
            if is_at and place and before.token_type is TokenType.COMMA:
                return f"remove the comma before {token.text}"
            return missing_comma(tokens, place) if is_at else None
    return None


def _written(tokens: list[Token], span: Span) -> str:
    return next(token.text for token in tokens if token.start == span.start)


def _repairs(error: GrammarError, tokens: list[Token]) -> list[Repair]:
    """The comma that is to be removed before the token that could not be read, or the
    keyword that is meant."""
    for place, token in enumerate(tokens):
        if place and token.start == error.span.start:
            if slip := slip_before(tokens, place):
                return [slip]
            before = tokens[place - 1]
            if before.token_type is TokenType.COMMA:
                comma = Span.of_token(before.start, before.end)
                return [Replace(comma, "", "remove the comma")]
            if missing_comma(tokens, place) is not None:
                is_call = token.token_type is TokenType.L_PAREN
                end = tokens[place - 1 - is_call].end + 1
                return [Replace(Span(end, end), ",", "add a comma")]
            return []
    return []


def _check_start(tokens: list[Token]) -> None:
    first = tokens[0]
    span = Span.of_token(first.start, first.end)
    word = first.text.upper()
    if word in _REFUSED:
        raise Unsupported(_REFUSED[word], span=span)
    if first.token_type is TokenType.CREATE:
        words = [token.text.upper() for token in tokens[1:4]]
        kind = next((w for w in words if w not in ("OR", "REPLACE")), "")
        if kind in _REFUSED_CREATES:
            raise Unsupported(f"Unsupported statement: CREATE {kind}", span=span)
    elif first.token_type not in _QUERY_STARTS | {TokenType.SET}:
        meant = keyword_near(first.text, STARTS)
        raise SyntaxProblem(
            f"syntax error at '{first.text}'",
            span=span,
            hint=f"did you mean {meant}?"
            if meant
            else "a statement starts with CREATE, INSERT, SELECT, WITH, SET, SHOW, "
            "DESCRIBE, DROP or EXPLAIN",
            repairs=[Replace(span, meant, f"write {meant}")] if meant else [],
        )


def _check_quotes(tokens: list[Token]) -> None:
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.VAR and _CURLY.search(token.text):
            raise SyntaxProblem(
                f"syntax error at '{token.text}': curly quotes do not quote",
                span=Span.of_token(token.start, token.end),
                hint="write straight ones: 'text', \"name\"",
            )
        if token.token_type in (TokenType.UNKNOWN, TokenType.VAR) and "`" in token.text:
            closing = (t for t in tokens[place + 1 :] if "`" in t.text)
            raise SyntaxProblem(
                "syntax error at '`': backticks do not quote a name",
                span=Span.of_token(token.start, next(closing, token).end),
                hint='write it in double quotes, as in "name"',
                repairs=_without_backticks(tokens),
            )


def _without_backticks(tokens: list[Token]) -> list[Repair]:
    """Each name between backticks in the quotes that it needs."""
    found: list[Replace | RemoveOption] = []
    begin: int | None = None
    for place, token in enumerate(tokens):
        if token.text != "`":
            continue
        if begin is None:
            begin = place
            continue
        name = " ".join(t.text for t in tokens[begin + 1 : place])
        span = Span.of_token(tokens[begin].start, token.end)
        found.append(Replace(span, quoted_name(name)))
        begin = None
    return [Together("quote names as here", tuple(found))] if found else []


def _check_numbers(tokens: list[Token]) -> None:
    """``1e`` and ``.5.5`` are tokens to sqlglot."""
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.NUMBER:
            is_fraction = place and tokens[place - 1].token_type is TokenType.DOT
            if not _NUMBER.fullmatch(f"0.{token.text}" if is_fraction else token.text):
                raise SyntaxProblem(
                    f"syntax error at '{token.text}': this is not a number",
                    span=Span.of_token(token.start, token.end),
                )


def _check_nesting(tokens: list[Token]) -> None:
    # Each level takes a token: of fewer there is nothing to count.
    if len(tokens) <= MAX_BRACKETS:
        return
    brackets = prefixes = angles = 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        opens_type = (
            kind in _NESTED_TYPES
            and following is not None
            and following.token_type is TokenType.LT
        )
        brackets += (kind in OPENING) - (kind in CLOSING)
        # A `>` is a comparison unless a type is open.
        angles += opens_type - (kind is TokenType.GT and angles > 0)
        if max(brackets, prefixes, angles) > MAX_BRACKETS:
            raise _too_deep(Span.of_token(token.start, token.end))


def _check_tree(expression: exp.Expr, statement: Span) -> None:
    """A walk without recursion; chains hang to the left, so this counts operators."""
    parts = parts_of(expression)
    if any(isinstance(p, exp.Select) and not p.expressions for p in parts):
        raise SyntaxProblem("syntax error: SELECT names no column", span=statement)
    # Each level has a part: of fewer there is nothing to count.
    if len(parts) <= MAX_DEPTH:
        return
    level: list[exp.Expr] = [expression]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node.iter_expressions()]
    if level:
        raise _too_deep(span_of(level[0]) or statement)


def _too_deep(span: Span) -> SyntaxProblem:
    return SyntaxProblem(
        f"the statement is nested deeper than {MAX_BRACKETS} brackets "
        f"or chains more than {MAX_DEPTH} operators",
        span=span,
        hint="split it into views, or use IN (...) in place of a long chain",
    )


def _classify(expression: exp.Expr, span: Span) -> Statement:
    match expression:
        case exp.Create(expression=None):
            return CreateTable(expression, span, _table_name(expression))
        case exp.Create():
            return CreateView(expression, span, _table_name(expression))
        case exp.Insert():
            return Insert(expression, span, _table_name(expression))
        case exp.Set(expressions=[item]):
            return SetOption(expression, span, item.name)
        case exp.Query():
            return Query(expression, span, "")
        case _:
            raise SyntaxProblem("the statement is not a query", span=span)


def _table_name(statement: exp.Expr) -> str:
    table = statement.find(exp.Table)
    return "" if table is None else table.name
