"""Arroyo's grammar as a thin sqlglot dialect on top of PostgreSQL's.

What sqlglot would translate is switched off, because nothing is translated here:
functions stay plain calls (``exp.Anonymous``) in the order their arguments were
written, array indexes and interval texts stay as typed, and a word that Arroyo's
parser does not reserve is a name. Every expression knows its place: identifiers,
literals and calls carry ``start`` and ``end`` (inclusive) in their ``meta``.

Source: Arroyo's sqlparser fork (arroyo-semantics a.1).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from arroyo_nb.source import Span

_CLAUSES = """
ALL ANTI AND ANY AS ASC BETWEEN CASE CREATE CROSS CUBE CURRENT_DATE CURRENT_TIME
CURRENT_TIMESTAMP DEFAULT DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH FILTER
FOR FROM FULL FUNCTION HAVING ILIKE IN INNER INSERT INTERSECT INTO IS JOIN LATERAL LEFT
LIKE LIMIT NATURAL NOT NULL OFFSET ON OR OUTER OVER QUALIFY RANGE RECURSIVE REFERENCES
REPLACE RIGHT ROLLUP ROWS SELECT SEMI SET TABLE TABLESAMPLE TEMP TEMPORARY THEN TRUE
UNION UNIQUE USING VALUES VIEW WHEN WHERE WITH
"""
_TYPES = """
ARRAY BIGINT BOOL BOOLEAN BYTEA CHAR CHARACTER DATE DATETIME DECIMAL DOUBLE FLOAT4
FLOAT8 INT INT2 INT4 INT8 INTEGER INTERVAL JSON NUMERIC REAL SMALLINT STRING STRUCT
TEXT TIME TIMESTAMP TIMESTAMPTZ TINYINT VARCHAR
"""
_PHRASES = {
    "CHAR VARYING",
    "CHARACTER VARYING",
    "DOUBLE PRECISION",
    "FOREIGN KEY",
    "GROUP BY",
    "GROUPING SETS",
    "ORDER BY",
    "PARTITION BY",
    "PARTITIONED BY",
    "PRIMARY KEY",
    "SIMILAR TO",
}
_WORDS = {*_CLAUSES.split(), *_TYPES.split(), *_PHRASES}
_INTERVAL_UNITS = {
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "WEEK", "MONTH", "YEAR"),
}
T = TypeVar("T")


class GrammarError(ParseError):
    """A syntax error with its place."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


def span_of(expression: exp.Expr) -> Span | None:
    """The place of an expression: its own tokens and those of everything in it."""
    found: Span | None = None
    for node in expression.walk():
        if "start" in node.meta:
            own = Span.of_token(node.meta["start"], node.meta["end"])
            found = own if found is None else found | own
    return found


def name_span(statement: exp.Expr) -> Span | None:
    """The place of the table that a statement names."""
    table = statement.find(exp.Table)
    return None if table is None else span_of(table)


def _call(name: str) -> Callable[..., exp.Anonymous]:
    def build(parser: Parser, left: exp.Expr | None, right: exp.Expr) -> exp.Anonymous:
        if left is None:
            parser.raise_error("Expected a value before it", parser._prev)
        return exp.Anonymous(this=name, expressions=[left, right])

    return build


def _no_paren_call(name: str) -> Callable[[], exp.Anonymous]:
    return partial(exp.Anonymous, this=name)


class Parser(PostgresParser):
    """Reads Arroyo's statements; anything else is a :class:`GrammarError`."""

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
    PROPERTY_PARSERS: ClassVar[dict[Any, Any]] = {}
    CONSTRAINT_PARSERS: ClassVar[dict[Any, Any]] = {
        **{
            name: PostgresParser.CONSTRAINT_PARSERS[name]
            for name in (
                *("CHECK", "DEFAULT", "FOREIGN KEY", "NOT", "NULL"),
                *("PRIMARY KEY", "REFERENCES", "UNIQUE"),
            )
        },
        "GENERATED": lambda self: self._parse_generated(),
        "METADATA": lambda self: self._parse_metadata(),
        "WATERMARK": lambda self: self._parse_watermark(),
    }
    SCHEMA_UNNAMED_CONSTRAINTS: ClassVar[set[str]] = {
        *("CHECK", "FOREIGN KEY", "PRIMARY KEY", "UNIQUE", "WATERMARK"),
    }
    STATEMENT_PARSERS: ClassVar[dict[Any, Any]] = {
        TokenType.CREATE: lambda self: self._parse_create(),
        TokenType.INSERT: lambda self: self._parse_insert(),
        TokenType.SET: lambda self: self._parse_set(),
    }

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Stop with Arroyo-style words at the token that could not be read."""
        at = token or self._curr or self._prev
        is_there = token is not None or self._curr
        found = f"'{at.text}'" if is_there else "the end of the statement"
        raise GrammarError(_in_words(message, found), Span.of_token(at.start, at.end))

    def _placed(self, parse: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """What ``parse`` reads, knowing its first and last token."""
        first, before = self._curr, self._index
        made = parse(*args, **kwargs)
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

    def _parse_primary(self) -> exp.Expr | None:
        return self._placed(super()._parse_primary)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return self._placed(super()._parse_function_call, *args, **kwargs)

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
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

    def _parse_group(self, *args: Any, **kwargs: Any) -> exp.Group | None:
        return self._placed(super()._parse_group, *args, **kwargs)

    def _parse_locks(self) -> list[exp.Lock]:
        first = self._curr
        made = super()._parse_locks()
        for lock in made:
            lock.meta["start"], lock.meta["end"] = first.start, self._prev.end
        return made

    def _parse_in(self, *args: Any, **kwargs: Any) -> exp.In:
        made = super()._parse_in(*args, **kwargs)
        if len([value for value in made.args.values() if value]) == 1:
            self.raise_error("Expected a value", self._prev)
        return made

    def _parse_interval(self, *_: Any, **__: Any) -> exp.Interval | None:
        """``INTERVAL '5 minutes'``, ``INTERVAL '5' MINUTE``, with the text as typed."""
        values = (TokenType.STRING, TokenType.NUMBER)
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

    def _parse_insert(self) -> exp.Insert | exp.MultitableInserts:
        insert = super()._parse_insert()
        if insert.find(exp.Table) is None or isinstance(insert.this, exp.Query):
            self.raise_error("Expected a table")
        if insert.expression is None:
            self.raise_error("Expected a query")
        return insert

    def _parse_generated(self) -> exp.ComputedColumnConstraint:
        if not self._match_text_seq("ALWAYS") or not self._match(TokenType.ALIAS):
            self.raise_error("Expected ALWAYS AS")
        expression = self._parse_wrapped(self._parse_disjunction)
        self._match_texts(("STORED", "VIRTUAL"))
        return exp.ComputedColumnConstraint(this=expression)

    def _parse_metadata(self) -> exp.Property:
        if not self._match(TokenType.FROM) or not self._match(TokenType.STRING):
            self.raise_error("Expected FROM and a quoted key")
        return exp.Property(this="metadata", value=exp.Literal.string(self._prev.text))

    def _parse_watermark(self) -> exp.WatermarkColumnConstraint:
        start = self._prev.start
        if not self._match(TokenType.FOR):
            self.raise_error("Expected FOR")
        column = self._parse_column()
        expression = self._match(TokenType.ALIAS) and self._parse_disjunction()
        clause = exp.WatermarkColumnConstraint(
            this=column, expression=expression or None
        )
        clause.meta["start"], clause.meta["end"] = start, self._prev.end
        return clause

    def _parse_create(self) -> exp.Create:
        replace = self._match_pair(TokenType.OR, TokenType.REPLACE)
        temporary = self._match(TokenType.TEMPORARY)
        if not self._match_set((TokenType.TABLE, TokenType.VIEW)):
            self.raise_error("Expected TABLE or VIEW")
        kind = self._prev.text.upper()
        exists = self._parse_exists(not_=True)
        table = self._parse_schema(this=self._parse_table_parts(schema=True))
        options = self._parse_options() if self._match(TokenType.WITH) else []
        partitions: list[exp.Expr] = []
        if self._match(TokenType.PARTITION_BY):
            partitions = self._parse_wrapped_csv(self._parse_disjunction)
        query = self._parse_ddl_select() if self._match(TokenType.ALIAS) else None
        return exp.Create(
            this=table,
            kind=kind,
            expression=query,
            exists=exists,
            replace=replace,
            properties=exp.Properties(expressions=options),
            indexes=partitions or None,
            unique=temporary or None,
        )

    def _parse_options(self) -> list[exp.Expr]:
        return self._parse_wrapped_csv(partial(self._placed, self._parse_option))

    def _parse_option(self) -> exp.Expr | None:
        """One ``key = value``; what is not of that form comes back as it is."""
        key = self._parse_string() or self._parse_id_var(any_token=True)
        if key is None:
            self.raise_error("Expecting the name of an option")
        if not self._match(TokenType.EQ):
            return key
        return exp.Property(this=key, value=self._parse_disjunction())

    def _parse_set(self, *_: Any, **__: Any) -> exp.Set:
        name = self._parse_id_var(any_token=True)
        if name is None:
            self.raise_error("Expecting an option")
        if not self._match(TokenType.EQ) and not self._match_text_seq("TO"):
            return exp.Set(expressions=[name])
        values = self._parse_csv(self._parse_disjunction)
        return exp.Set(expressions=[exp.SetItem(this=name, expressions=values)])


def _in_words(message: str, found: str) -> str:
    message = message.split(" but got ")[0]
    wanted = message.removeprefix("Expecting ").removeprefix("Expected ")
    if wanted == message or "<class" in message:
        return f"syntax error at {found}"
    return f"syntax error at {found}: expected {wanted}"


class Arroyo(Postgres):
    """The dialect; ``Arroyo().tokenize`` and ``Arroyo().parser`` are what is used."""

    INDEX_OFFSET = 0
    NORMALIZE_NOT_NULL = True
    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = True

    class Tokenizer(Postgres.Tokenizer):
        """Reserves only what Arroyo does."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                word: token
                for word, token in Postgres.Tokenizer.KEYWORDS.items()
                if word in _WORDS or not (word[0].isalpha() or word[0] in "{+-%|")
            },
            **{word: Tokenizer.KEYWORDS[word] for word in ("->", "->>", "||")},
            "FLOAT": TokenType.FLOAT,
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = Parser

    class Generator(PostgresGenerator):
        """Writes what the parser reads."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **PostgresGenerator.TRANSFORMS,
            exp.TryCast: lambda self, node: self.trycast_sql(node),
        }
