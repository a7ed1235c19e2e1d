"""The statements of a script, each with its syntax tree and its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.source import Span

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, eq=False)
class _Statement:
    """What every statement has.

    Parameters
    ----------
    expression
        sqlglot's tree of the whole statement.
    span
        First to last token, without the semicolon.
    name
        The table, view, target or option that it names; empty for a bare query.
    """

    expression: exp.Expr
    span: Span
    name: str


class CreateTable(_Statement):
    """``CREATE TABLE name (columns) WITH (options)``."""


class CreateView(_Statement):
    """``CREATE VIEW name AS query`` and ``CREATE TABLE name AS query``."""


class Insert(_Statement):
    """``INSERT INTO name query``."""


class Query(_Statement):
    """A bare SELECT: it goes to the preview."""


class SetOption(_Statement):
    """``SET name = value``."""


class ShowTables(_Statement):
    """``SHOW TABLES``, beyond Arroyo."""


class Describe(_Statement):
    """``DESCRIBE name``, beyond Arroyo."""


@dataclass(frozen=True, eq=False)
class Drop(_Statement):
    """``DROP TABLE name`` and ``DROP VIEW name``, beyond Arroyo.

    Parameters
    ----------
    view_only
        Whether it says VIEW.
    if_exists
        Whether nothing is wrong where there is none.
    """

    view_only: bool = False
    if_exists: bool = False


@dataclass(frozen=True, eq=False)
class Explain(_Statement):
    """``EXPLAIN`` of a query or an INSERT, beyond Arroyo: it does not run."""

    statement: Query | Insert


Aside: TypeAlias = ShowTables | Describe | Drop | Explain
"""Statements that Arroyo has not: they ask or tidy up, and nothing runs of them."""

Statement: TypeAlias = CreateTable | CreateView | Insert | Query | SetOption | Aside
