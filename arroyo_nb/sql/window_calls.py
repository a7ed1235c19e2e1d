"""The window functions that a script calls, by their places in its text."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from arroyo_nb.source import ScriptText, Span
from arroyo_nb.sql.parse import tokens_of_script

WINDOW_FUNCTIONS = ("tumble", "hop", "session")


@dataclass(frozen=True)
class WindowCall:
    """A call: ``function`` in lower case, ``span`` from its name to the bracket."""

    function: str
    span: Span


def window_calls(source: ScriptText) -> tuple[WindowCall, ...]:
    """The calls of window functions, in their order; none of a comment or a text.

    >>> [c.function for c in window_calls(ScriptText("SELECT hop (1, f(2)), 'hop(1)'"))]
    ['hop']

    Raises
    ------
    SyntaxProblem
        When the text cannot be cut into tokens.
    """
    tokens, found = tokens_of_script(source), []
    for at, token in enumerate(tokens[:-1]):
        name = token.text.lower()
        is_call = tokens[at + 1].token_type is TokenType.L_PAREN
        if name in WINDOW_FUNCTIONS and is_call and _is_function(tokens, at):
            end = _closing(tokens, at + 1)
            found.append(WindowCall(name, Span.of_token(token.start, end)))
    return tuple(found)


def _is_function(tokens: list[Token], at: int) -> bool:
    """Whether a name before a bracket is called: ``t AS hop (a)`` names a table."""
    is_text = tokens[at].token_type is TokenType.STRING
    return not is_text and not (at and tokens[at - 1].token_type is TokenType.ALIAS)


def _closing(tokens: list[Token], opening: int) -> int:
    """Where the bracket ends that a token opens; else where the text does."""
    depth = 0
    for token in tokens[opening:]:
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if depth == 0:
            return token.end
    return tokens[-1].end
