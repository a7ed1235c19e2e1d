"""Walking sqlglot's trees: each expression is walked several times on its way into a
plan, and most of them are a column or a short call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)


def parts_of(
    expression: exp.Expr, prune: Callable[[exp.Expr], bool] | None = None
) -> list[exp.Expr]:
    """An expression and all that is in it, level by level.

    The order is that of sqlglot's ``walk()``, which takes three times as long: it is
    two generators for each part.

    Parameters
    ----------
    expression
        Where to begin.
    prune
        Nothing below a part for which this is true is walked.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> [part.key for part in parts_of(parse_one("a + 1"))]
    ['add', 'column', 'literal', 'identifier']
    """
    found = [expression]
    # What is appended to the list is walked by the same loop.
    for part in found:
        if prune is not None and prune(part):
            continue
        for value in part.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [item for item in value if isinstance(item, exp.Expr)]
    return found


def all_in(expression: exp.Expr, kind: type[E]) -> list[E]:
    """The parts of an expression that are of a class, level by level.

    >>> from sqlglot import parse_one
    >>> [column.name for column in all_in(parse_one("a + f(b)"), exp.Column)]
    ['a', 'b']
    """
    return [part for part in parts_of(expression) if isinstance(part, kind)]
