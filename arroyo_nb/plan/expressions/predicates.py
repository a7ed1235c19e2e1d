"""NOT, IS, BETWEEN, IN and CASE: the operators that are not infix; chains of AND.

As in ``operators``, each function takes bound operands and returns the bound operator,
with the casts that Arroyo would make silently written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

from sqlglot import exp

from arroyo_nb.plan.expressions.operators import (
    ARITHMETIC,
    BITWISE,
    CASE,
    COMPARISONS,
    alike,
    binary,
    boolean,
    compared,
)
from arroyo_nb.plan.expressions.typing import is_nullable, type_of, typed
from arroyo_nb.schema import BOOLEAN

_STRICT = (*ARITHMETIC, *BITWISE, exp.Neg, exp.Paren, exp.Cast)
"""What is NULL where an operand is."""


def conjuncts(predicate: exp.Expr) -> list[exp.Expr]:
    """The operands of AND, from left to right."""
    parts, waiting = [], [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            parts.append(part)
    return parts


def all_of(parts: Iterable[exp.Expr]) -> exp.Expr | None:
    """Conditions as one; None where there is none."""
    return reduce(partial(binary, exp.And), parts) if (parts := [*parts]) else None


def rejects_nulls(predicate: exp.Expr, is_null: Callable[[exp.Expr], bool]) -> bool:
    """Whether a predicate is not true of a row with NULLs.

    Parameters
    ----------
    predicate
        Bound.
    is_null
        Whether an operand is NULL of that row; what is made of operands is not asked
        for.
    """
    match predicate:
        case exp.And():
            return any(rejects_nulls(part, is_null) for part in conjuncts(predicate))
        case exp.Or(this=one, expression=other):
            # Of OR both must reject; of AND one is enough.
            return rejects_nulls(one, is_null) and rejects_nulls(other, is_null)
        case exp.Not(this=exp.Is(this=tested, expression=exp.Null())):
            operands = [tested]
        case exp.Between() | exp.In():
            operands = [predicate.this]
        case exp.Column():
            operands = [predicate]
        case _ if isinstance(predicate, COMPARISONS):
            operands = [predicate.this, predicate.expression]
        case _:
            return False
    return any(_is_null(operand, is_null) for operand in operands)


def _is_null(operand: exp.Expr, is_null: Callable[[exp.Expr], bool]) -> bool:
    if is_null(operand):
        return True
    if not isinstance(operand, _STRICT):
        return False
    below = (operand.args.get(name) for name in ("this", "expression"))
    return any(_is_null(e, is_null) for e in below if isinstance(e, exp.Expr))


def inverted(operand: exp.Expr) -> exp.Expr:
    """``NOT operand``.

    Raises
    ------
    CatalogProblem
        When it is not a BOOLEAN.
    """
    operand = boolean(operand, "NOT")
    return typed(exp.Not(this=operand), BOOLEAN, nullable=is_nullable(operand))


def tested(operand: exp.Expr, for_: exp.Expr) -> exp.Expr:
    """``operand IS NULL``, ``IS TRUE`` or ``IS FALSE``; never NULL itself.

    Raises
    ------
    CatalogProblem
        When it is tested for a truth value and is not a BOOLEAN.
    """
    if isinstance(for_, exp.Boolean):
        operand = boolean(operand, "IS")
    return typed(exp.Is(this=operand, expression=for_), BOOLEAN, nullable=False)


def between(this: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """``this BETWEEN low AND high``, both included.

    Raises
    ------
    CatalogProblem
        When there is no one type to compare them in.
    """
    nullable = any(map(is_nullable, (this, low, high)))
    this, low, high = compared((this, low, high), "BETWEEN")
    return typed(exp.Between(this=this, low=low, high=high), BOOLEAN, nullable=nullable)


def among(this: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """``this IN (items)``.

    Raises
    ------
    CatalogProblem
        When there is no one type to compare them in.
    """
    nullable = any(map(is_nullable, (this, *items)))
    this, *items = compared((this, *items), "IN")
    return typed(exp.In(this=this, expressions=items), BOOLEAN, nullable=nullable)


def case(
    tests: Sequence[exp.Expr], values: Sequence[exp.Expr], default: exp.Expr | None
) -> exp.Expr:
    """``CASE WHEN test THEN value ... ELSE default END``; results get one type.

    Raises
    ------
    CatalogProblem
        When the results have none.
    """
    # The type is found from ELSE on.
    results = [default, *values] if default is not None else [*values]
    nullable = default is None or any(map(is_nullable, results))
    results = alike(results, CASE)
    otherwise = results.pop(0) if default is not None else None
    made = exp.Case(
        ifs=[exp.If(this=t, true=v) for t, v in zip(tests, results, strict=True)],
        default=otherwise,
    )
    return typed(made, type_of(otherwise or results[0]), nullable=nullable)
