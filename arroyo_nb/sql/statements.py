"""The five statements of a script, each with its syntax tree and its place."""

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


Statement: TypeAlias = CreateTable | CreateView | Insert | Query | SetOption
