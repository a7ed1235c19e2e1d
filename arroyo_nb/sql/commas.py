"""A guess at the commonest slip: two items of a list without a comma between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot.tokenizer_core import Token, TokenType

OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}

_VALUES = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING}
_ENDS = _VALUES | {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_LISTS = {TokenType.SELECT, TokenType.GROUP_BY}
_CLAUSES = _LISTS | {
    *(TokenType.FROM, TokenType.WHERE, TokenType.HAVING, TokenType.ORDER_BY),
    *(TokenType.LIMIT, TokenType.FETCH, TokenType.OFFSET),
}


def missing_comma(tokens: Sequence[Token], place: int) -> str | None:
    """A hint for the token that could not be read, if it seems to begin an item.

    A word that another word follows may as well be a clause with a slip in its name,
    as is what stands where no FROM follows: nothing is said then.

    Parameters
    ----------
    tokens
        Those of the statement.
    place
        Which of them could not be read.
    """
    # Of `dest count(*)` the second word was read as the first one's name.
    is_call = tokens[place].token_type is TokenType.L_PAREN
    first = place - 1 if is_call else place
    around = [token.token_type for token in tokens[max(first - 1, 0) : first + 2]]
    if len(around) < 2 or around[0] not in _ENDS or around[1] not in _VALUES:
        return None
    within = tokens[place + 1 : place + 2] if is_call else []
    if (around[2:3] and around[2] in _VALUES) or any(_opens(t) for t in within):
        return None
    clause = _clause(reversed(tokens[:first]), CLOSING, OPENING)
    behind = _clause(tokens[place:], OPENING, CLOSING)
    if clause not in _LISTS or (
        clause is TokenType.SELECT and behind is not TokenType.FROM
    ):
        return None
    return f"is a comma missing before '{tokens[first].text}'?"


def _opens(token: Token) -> bool:
    """Whether brackets that begin with it belong to OVER or FILTER."""
    return token.token_type in _CLAUSES | {TokenType.PARTITION_BY}


def _clause(
    tokens: Iterable[Token], deeper: set[TokenType], back: set[TokenType]
) -> TokenType | None:
    """The next word of a clause in the same brackets; None: there is none."""
    depth = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind in deeper) - (kind in back)
        if depth < 0:
            return None
        if depth == 0 and kind in _CLAUSES:
            return kind
    return None
