"""Arroyo's SQL as a thin sqlglot dialect on top of PostgreSQL's.

What sqlglot would translate is switched off, because nothing is translated here:
functions stay plain calls (``exp.Anonymous``) in the order their arguments were
written, array indexes and interval texts stay as typed, and a word that Arroyo's
parser does not reserve is a name. Every expression knows its place: identifiers,
literals and calls carry ``start`` and ``end`` (inclusive) in their ``meta``.

Source: Arroyo's sqlparser fork (arroyo-semantics a.1).
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar, cast

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer

from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import Span
from arroyo_nb.sql.ddl import StatementParser
from arroyo_nb.sql.syntax_tree import parts_of

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
# What mypyc says when a class that it compiled is asked for an object of a subclass.
_COMPILED = "interpreted classes cannot inherit from compiled"
_WORDS = {*_CLAUSES.split(), *_TYPES.split(), *_PHRASES}


def span_of(expression: exp.Expr) -> Span | None:
    """The place of an expression: its own tokens and those of everything in it."""
    start, end = sys.maxsize, -1
    for part in parts_of(expression):
        meta = part.meta
        if "start" in meta:
            start, end = min(start, meta["start"]), max(end, meta["end"])
    return None if end < 0 else Span.of_token(start, end)


def name_span(statement: exp.Expr) -> Span | None:
    """The place of the table that a statement names."""
    table = statement.find(exp.Table)
    return None if table is None else span_of(table)


class ArroyoDialect(Postgres):
    """The dialect; ``ArroyoDialect().tokenize`` and ``ArroyoDialect().parser`` are what
    is used."""

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
        # A command would swallow what follows it as one text.
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = StatementParser

    def parser(self, **options: Any) -> StatementParser:
        """A parser of statements; it may read any number of them.

        Raises
        ------
        ArroyoError
            When sqlglot is compiled. Its compiled classes call their own methods
            without looking for those of a subclass, and refuse to have any.
        """
        try:
            return cast(StatementParser, super().parser(**options))
        except TypeError as error:
            if _COMPILED not in str(error):
                raise
            raise ArroyoError(
                "the package sqlglotc is installed: it compiles sqlglot's parser, and "
                "a compiled parser cannot be extended to read Arroyo's SQL",
                hint="run `pip uninstall sqlglotc`, and restart Python; sqlglot itself "
                "stays",
            ) from None

    class Generator(PostgresGenerator):
        """Writes what the parser reads."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **PostgresGenerator.TRANSFORMS,
            exp.TryCast: lambda self, node: self.trycast_sql(node),
        }
