"""The grammar of the statements around a query: CREATE, INSERT and SET."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from arroyo_nb.sql.grammar import QueryParser


class StatementParser(QueryParser):
    """Reads Arroyo's statements; any other is a ``GrammarError``."""

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
            # To sqlglot both are properties; here those are the options alone.
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
