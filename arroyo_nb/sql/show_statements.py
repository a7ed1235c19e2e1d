"""SHOW TABLES, DESCRIBE, DROP and EXPLAIN: what people type, and Arroyo refuses.

They are read from their tokens: no query is in them but that of EXPLAIN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.source import Span
from arroyo_nb.sql.statements import Describe, Drop, Explain, ShowTables

ARROYO_SAYS: Mapping[type, str] = {
    ShowTables: "Unsupported statement: SHOW",
    Describe: "DESCRIBE is not supported",
    Drop: "Unsupported statement: DROP",
    Explain: "EXPLAIN is not supported",
}
"""Arroyo's refusals, for the strict mode."""

ASIDES = {"SHOW", "DESCRIBE", "DESC", "DROP", "EXPLAIN"}
"""The first words of these statements."""

_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}


def is_explain(tokens: Sequence[Token]) -> bool:
    """Whether a statement begins with EXPLAIN."""
    return tokens[0].text.upper() == "EXPLAIN"


def parse_aside(
    tokens: Sequence[Token], span: Span
) -> ShowTables | Describe | Drop | None:
    """SHOW TABLES, DESCRIBE or DROP; None: it is another statement.

    Raises
    ------
    SyntaxProblem
        When what follows its first word does not fit; the hint says what does.
    """
    if tokens[0].text.upper() not in ASIDES:
        return None
    words = [token.text.upper() for token in tokens]
    match words:
        case ["SHOW", "TABLES"]:
            return ShowTables(exp.null(), span, "")
        case ["DESCRIBE" | "DESC", "TABLE" | "VIEW", _] | ["DESCRIBE" | "DESC", _]:
            return Describe(exp.null(), span, _name(tokens[-1]))
        case ["DROP", "TABLE" | "VIEW", "IF", "EXISTS", _] | [
            "DROP",
            "TABLE" | "VIEW",
            _,
        ]:
            view, some = words[1] == "VIEW", len(words) > 3
            return Drop(exp.null(), span, _name(tokens[-1]), view, some)
        case ["SHOW", "TOPICS", *_]:
            raise _unfit(tokens, "%arroyo topics lists the topics of a broker")
        case ["SHOW", "CREATE" | "COLUMNS", *_]:
            raise _unfit(tokens, "DESCRIBE name shows the columns of a table or view")
        case ["SHOW", "JOBS" | "QUERIES", *_]:
            raise _unfit(tokens, "%arroyo ps lists what runs")
        case ["SHOW", "FUNCTIONS", *_]:
            raise _unfit(tokens, "press Tab in a cell: it lists and completes them")
        case ["SHOW", *_]:
            raise _unfit(tokens, "SHOW TABLES lists the tables and views")
        case ["DESCRIBE" | "DESC", *_]:
            raise _unfit(tokens, "write DESCRIBE and the name of a table or view")
        case ["DROP", *_]:
            raise _unfit(tokens, "write DROP TABLE or DROP VIEW, and a name")
        case _:
            return None


def _name(token: Token) -> str:
    if token.token_type not in _NAMES:
        raise _unfit([token, token], "write the name of a table")
    return str(token.text)


def _unfit(tokens: Sequence[Token], hint: str) -> SyntaxProblem:
    at = tokens[1] if len(tokens) > 1 else tokens[0]
    place = Span.of_token(at.start, at.end)
    return SyntaxProblem(f"syntax error at '{at.text}'", span=place, hint=hint)
