"""The grammar of queries and expressions, as overrides of sqlglot's PostgreSQL parser.

A method here replaces sqlglot's of the same name, and a table replaces its table: what
is not named is not read. Nothing is warned about or guessed: the first token that does
not fit is a :class:`GrammarError` with its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from arroyo_nb.source import Span

_INTERVAL_UNITS = {
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "WEEK", "MONTH", "YEAR"),
}
# What may stand behind an expression, or an operand, and is no operator.
_AFTER_EXPRESSION = {
    *(TokenType.COMMA, TokenType.R_PAREN, TokenType.ALIAS, TokenType.FROM),
    TokenType.SENTINEL,
}
_AFTER_OPERAND = _AFTER_EXPRESSION | {
    *(TokenType.EQ, TokenType.NEQ, TokenType.LTE, TokenType.GTE),
    *(TokenType.AND, TokenType.OR, TokenType.THEN, TokenType.ELSE, TokenType.END),
}
TYPED = "typed"
"""The text of an item of a select list, in its ``meta``."""

T = TypeVar("T")


class GrammarError(ParseError):
    """A syntax error with its place."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


def _call(name: str) -> Callable[..., exp.Anonymous]:
    def build(
        parser: QueryParser, left: exp.Expr | None, right: exp.Expr | None
    ) -> exp.Anonymous:
        if left is None:
            parser.raise_error("Expected a value before it", parser._prev)
        if right is None:
            parser.raise_error("Expected a value")
        return exp.Anonymous(this=name, expressions=[left, right])

    return build


_CALLED = (TokenType.STRUCT, TokenType.RANGE)
"""Types of other dialects before a bracket; here a function."""


def _no_paren_call(name: str) -> Callable[[], exp.Anonymous]:
    return partial(exp.Anonymous, this=name)


_TYPES = PostgresParser.TYPE_TOKENS - {TokenType.INTERVAL}
_LITERALS = frozenset(
    {TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING}
)


class QueryParser(PostgresParser):
    """Reads queries and what they are made of; anything else is an error."""

    # Empty: sqlglot would turn calls into its own classes, rename some and change their
    # arguments. Here each stays what was written, and our table of functions says what
    # it is.
    FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        name: PostgresParser.FUNCTION_PARSERS[name]
        for name in (
            *("CAST", "TRY_CAST", "EXTRACT"),
            *("OVERLAY", "POSITION", "SUBSTRING", "TRIM"),
        )
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        "CASE": PostgresParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {
        TokenType.CURRENT_DATE: _no_paren_call("current_date"),
        TokenType.CURRENT_TIME: _no_paren_call("current_time"),
        TokenType.CURRENT_TIMESTAMP: _no_paren_call("now"),
    }
    # `->` reads JSON, and `?` asks for a key: neither is what sqlglot has them for.
    LAMBDAS: ClassVar[dict[Any, Any]] = {}
    JSON_OPERATORS: ClassVar[dict[Any, Any]] = {
        TokenType.ARROW: _call("json_get"),
        TokenType.DARROW: _call("json_as_text"),
        TokenType.PLACEHOLDER: _call("json_contains"),
    }
    PLACEHOLDER_PARSERS: ClassVar[dict[Any, Any]] = {}
    PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **PostgresParser.PRIMARY_PARSERS,
        # E'..' and $$..$$ are strings like any other once they are read.
        TokenType.BYTE_STRING: PostgresParser.PRIMARY_PARSERS[TokenType.STRING],
        TokenType.HEREDOC_STRING: PostgresParser.PRIMARY_PARSERS[TokenType.STRING],
    }
    RANGE_PARSERS: ClassVar[dict[Any, Any]] = {
        token: PostgresParser.RANGE_PARSERS[token]
        for token in (
            *(TokenType.BETWEEN, TokenType.ILIKE, TokenType.IN, TokenType.IRLIKE),
            *(TokenType.IS, TokenType.LIKE, TokenType.RLIKE, TokenType.SIMILAR_TO),
        )
    }

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Stop with Arroyo-style words at the token that could not be read."""
        at = token or self._curr or self._prev
        is_there = token is not None or self._curr
        found = f"'{at.text}'" if is_there else "the end of the statement"
        raise GrammarError(_in_words(message, found), Span.of_token(at.start, at.end))

    def _placed(self, parse: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """What ``parse`` reads, knowing its first and last token."""
        # sqlglot keeps no place for most expressions; errors need one.
        first, before = self._curr, self._index
        made = parse(*args, **kwargs)
        # Of what took no token, `first` is the one after it.
        if isinstance(made, exp.Expr) and self._index > before:
            made.meta["start"], made.meta["end"] = first.start, self._prev.end
        return made

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        """A list; unlike sqlglot's, a separator at its end is an error."""
        made = super()._parse_csv(parse_method, sep=sep)
        if made and self._prev.token_type == sep:
            self.raise_error("")
        return made

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        return self._parse_csv(self._parse_item), None

    def _parse_item(self) -> exp.Expr | None:
        """An item of a select list, which knows how it was typed."""
        start = self._index
        made: exp.Expr | None = self._parse_expression()
        if made is not None:
            made.meta[TYPED] = self._typed(self._tokens[start : self._index])
        return made

    def _typed(self, tokens: list[Token]) -> str:
        """The text of tokens; a blank in place of all blanks and comments between."""
        parts, after = [], tokens[0].start
        for token in tokens:
            gap = " " if token.start > after else ""
            parts.append(gap + self.sql[token.start : token.end + 1])
            after = token.end + 1
        return "".join(parts)

    def _parse_disjunction(self) -> exp.Expr | None:
        """An expression. Most are a name or a literal alone, which sqlglot finds below
        a method for each precedence of operators, fourteen of them."""
        if self._next.token_type in _AFTER_EXPRESSION:
            atom: exp.Expr | None = self._parse_atom()
            if atom is not None:
                return atom
        return super()._parse_disjunction()

    def _parse_bitwise(self) -> exp.Expr | None:
        """An operand of a comparison, likewise."""
        index = self._index
        atom: exp.Expr | None = self._parse_atom()
        if atom is not None and self._curr.token_type in _AFTER_OPERAND:
            return atom
        self._retreat(index)
        return super()._parse_bitwise()

    def _parse_primary(self) -> exp.Expr | None:
        return self._placed(super()._parse_primary)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return self._placed(super()._parse_function_call, *args, **kwargs)

    def _parse_is_rhs(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """``UNKNOWN`` is a word here alone: what a BOOLEAN is that is NULL."""
        if self._match_text_seq("UNKNOWN"):
            return exp.var("UNKNOWN")
        return super()._parse_is_rhs(*args, **kwargs)

    def _parse_type(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """An operand. The type before a literal is that of the literal alone; sqlglot's
        is that of all that follows: ``DATE '2024-01-31'::TEXT`` would be a date."""
        literal = self._placed(self._parse_typed_literal)
        if literal is None:
            return super()._parse_type(*args, **kwargs)
        made: exp.Expr | None = self._parse_column_ops(literal)
        return made

    def _parse_typed_literal(self) -> exp.Cast | None:
        if self._curr.token_type not in _TYPES:
            return None
        index = self._index
        type_ = self._parse_types(check_func=True, allow_identifiers=False)
        if isinstance(type_, exp.DataType) and self._curr.token_type in _LITERALS:
            return exp.Cast(this=self._parse_primary(), to=type_)
        self._retreat(index)
        return None

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        if first.token_type in _CALLED and self._next.token_type == TokenType.L_PAREN:
            return None
        made = self._placed(super()._parse_types, *args, **kwargs)
        if isinstance(made, exp.DataType):
            made.meta["text"] = self._find_sql(first, self._prev)
        return made

    def _parse_join(self, *_: Any, **__: Any) -> exp.Join | None:
        """One join. sqlglot's also tries ``a JOIN b JOIN c ON .. ON ..``, going back
        over what it read, which takes time exponential in the number of joins."""
        if self._match(TokenType.COMMA):
            return exp.Join(this=self._parse_table())
        index = self._index
        method, side, kind = self._parse_join_parts()
        if not self._match(TokenType.JOIN):
            self._retreat(index)
            return None
        words = {"method": method, "side": side, "kind": kind}
        join = exp.Join(this=self._parse_table())
        for name, token in words.items():
            join.set(name, token.text.upper() if token else None)
        if self._match(TokenType.ON):
            join.set("on", self._parse_disjunction())
        elif self._match(TokenType.USING):
            join.set("using", self._parse_wrapped_id_vars())
        return join

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        if self._is_at_windows():
            return None
        return super()._parse_table_alias(*args, **kwargs)

    def _parse_query_modifiers(self, this: Any) -> Any:
        """The clauses behind FROM; WINDOW stands between HAVING and ORDER BY."""
        made = super()._parse_query_modifiers(this)
        if isinstance(made, exp.Select) and self._is_at_windows():
            self._advance()
            made.set("windows", self._parse_csv(self._parse_named_window))
            made = super()._parse_query_modifiers(made)
        return made

    def _is_at_windows(self) -> bool:
        """Whether ``WINDOW name AS`` comes: elsewhere WINDOW is a plain name."""
        if self._curr.text.upper() != "WINDOW":
            return False
        words = self._tokens[self._index : self._index + 3]
        return len(words) == 3 and words[2].token_type == TokenType.ALIAS

    def _parse_group(self, *args: Any, **kwargs: Any) -> exp.Group | None:
        return self._placed(super()._parse_group, *args, **kwargs)

    def _parse_limit(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """LIMIT, or FETCH, whose FIRST and NEXT are plain names to the tokenizer."""
        if not self._match(TokenType.FETCH, advance=False):
            return super()._parse_limit(*args, **kwargs)
        return self._placed(self._parse_fetch)

    def _parse_fetch(self) -> exp.Fetch:
        self._match(TokenType.FETCH)
        self._match_texts(("FIRST", "NEXT"))
        is_one = self._match_texts(("ROW", "ROWS"), advance=False)
        count = None if is_one else self._parse_term()
        return exp.Fetch(count=count, limit_options=self._parse_limit_options())

    def _parse_locks(self) -> list[exp.Lock]:
        first = self._curr
        made = super()._parse_locks()
        for lock in made:
            lock.meta["start"], lock.meta["end"] = first.start, self._prev.end
        return made

    def _parse_in(self, *args: Any, **kwargs: Any) -> exp.In:
        made = super()._parse_in(*args, **kwargs)
        # With nothing but its operand it is IN ().
        if len([value for value in made.args.values() if value]) == 1:
            self.raise_error("Expected a value", self._prev)
        return made

    def _parse_interval(self, *_: Any, **__: Any) -> exp.Interval | None:
        """``INTERVAL '5 minutes'``, ``INTERVAL '5' MINUTE``, with the text as typed."""
        values = (TokenType.STRING, TokenType.NUMBER)
        # Before anything but a literal INTERVAL is a name.
        if self._next.token_type not in values or not self._match(TokenType.INTERVAL):
            return None
        start = self._prev.start
        self._advance()
        value = exp.Literal.string(self._prev.text)
        unit = self._curr.text.upper()
        named = unit.removesuffix("S") in _INTERVAL_UNITS
        if named:
            self._advance()
        interval = exp.Interval(this=value, unit=exp.var(unit) if named else None)
        interval.meta["start"], interval.meta["end"] = start, self._prev.end
        return interval


def _in_words(message: str, found: str) -> str:
    message = message.split(" but got ")[0]
    wanted = message.removeprefix("Expecting ").removeprefix("Expected ")
    if wanted == message or "<class" in message:
        return f"syntax error at {found}"
    return f"syntax error at {found}: expected {wanted}"
