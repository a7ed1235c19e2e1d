"""What operators take and give, as DataFusion decides it (arroyo-semantics i.3).

Each function takes bound operands and returns the bound operator, with the casts that
Arroyo would make silently written out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.types import (
    as_decimal,
    calculated_type,
    case_type,
    compared_type,
    is_integer,
    is_number,
    is_unsigned,
)
from arroyo_nb.plan.expressions.arroyo_values import copies_arroyo
from arroyo_nb.plan.expressions.intervals import Interval
from arroyo_nb.plan.expressions.type_hints import arithmetic_hint, comparison_hint
from arroyo_nb.plan.expressions.typing import (
    cast,
    interval_literal,
    is_nullable,
    type_of,
    typed,
)
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    BOOLEAN,
    DATE,
    INTERVAL,
    JSON,
    JSON_VALUE,
    NULL,
    TEXT,
    Decimal,
    Timestamp,
    Type,
)
from arroyo_nb.sql.syntax_tree import parts_of

SYMBOLS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "BIT_XOR",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.And: "AND",
    exp.Or: "OR",
    exp.DPipe: "||",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
}
"""The infix operators, as DataFusion writes them in names and messages."""

ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
BITWISE = (
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
    *(exp.BitwiseLeftShift, exp.BitwiseRightShift),
)
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
NULL_SAFE = (exp.NullSafeEQ, exp.NullSafeNEQ)


def binary(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """An infix operator over bound operands.

    Raises
    ------
    CatalogProblem
        When it does not take operands of these types.
    """
    if kind in ARITHMETIC:
        return _arithmetic(kind, left, right)
    if kind in BITWISE:
        return _bitwise(kind, left, right)
    if kind in COMPARISONS or kind in NULL_SAFE:
        left, right = compared((left, right), f"comparison operation {SYMBOLS[kind]}")
        return _typed_operator(kind, left, right, BOOLEAN, never_null=kind in NULL_SAFE)
    if kind in (exp.And, exp.Or):
        word = SYMBOLS[kind]
        return _typed_operator(kind, boolean(left, word), boolean(right, word), BOOLEAN)
    if kind is exp.DPipe:
        _check_joined(left, right)
    return _typed_operator(
        kind,
        as_text(left, SYMBOLS[kind]),
        as_text(right, SYMBOLS[kind]),
        TEXT if kind is exp.DPipe else BOOLEAN,
    )


def negated(operand: exp.Expr) -> exp.Expr:
    """Unary minus; an interval literal is folded."""
    type_ = type_of(operand)
    if isinstance(operand, exp.Interval):
        return interval_literal(-operand.meta["calendar"])
    if not (is_number(type_) or type_ in (INTERVAL, NULL)):
        raise CatalogProblem(f"Negation only supports numeric, not {type_}")
    if is_unsigned(type_):
        raise CatalogProblem(
            f"Negation only supports signed numbers, not {type_}",
            hint="cast it to BIGINT first",
        )
    return typed(exp.Neg(this=operand), type_, nullable=is_nullable(operand))


def boolean(operand: exp.Expr, operator: str) -> exp.Expr:
    """The operand of AND, OR, NOT or a condition.

    Raises
    ------
    CatalogProblem
        When it is not a BOOLEAN.
    """
    type_ = type_of(operand)
    if type_ not in (BOOLEAN, NULL):
        raise CatalogProblem(
            f"Cannot infer common argument type for logical boolean operation "
            f"{operator}: the operand is {type_}, not BOOLEAN",
            span=operand.meta.get("span"),
        )
    return cast(operand, BOOLEAN)


def as_text(operand: exp.Expr, operator: str) -> exp.Expr:
    """The operand of a text operator: whatever is not text is cast to it."""
    type_ = type_of(operand)
    if operator != SYMBOLS[exp.DPipe] and type_ not in (TEXT, JSON, NULL):
        raise CatalogProblem(
            f"There isn't a common type to coerce {type_} and TEXT in {operator} "
            "expression",
            span=operand.meta.get("span"),
        )
    return cast(operand, TEXT)


def _check_joined(left: exp.Expr, right: exp.Expr) -> None:
    """One of both is a text; any other value is its text then."""
    types = (type_of(left), type_of(right))
    if not any(type_ in (TEXT, JSON, JSON_VALUE) for type_ in types):
        raise CatalogProblem(
            f"Cannot infer common argument type for operator ||: {types[0]} and "
            f"{types[1]}",
            hint="join texts, as in CAST(x AS TEXT) || y; || joins lists too",
        )


CASE = "CASE"
"""Where operands are the results of CASE, or what it compares."""

AS_TEXT = "number_as_text"
"""What marks a number that is compared as text."""


def alike(operands: Sequence[exp.Expr], where: str) -> list[exp.Expr]:
    """The operands, cast to the one type that Arroyo compares them in.

    Raises
    ------
    CatalogProblem
        When there is none.
    """
    types = [type_of(operand) for operand in operands]
    common = case_type(types) if where == CASE else compared_type(types)
    if common is None:
        named = ", ".join(map(str, types[:-1])) + f" and {types[-1]}"
        raise CatalogProblem(
            f"Cannot infer common argument type for {where}: {named}",
            hint=comparison_hint(operands, compares=where != CASE),
        )
    found = [cast(operand, common) for operand in operands]
    for one, type_ in zip(found, types, strict=True):
        if common == TEXT and is_number(type_):
            # Nobody wrote this cast: plan.hints tells of it.
            one.meta[AS_TEXT] = True
    return found


def compared(operands: Sequence[exp.Expr], where: str) -> list[exp.Expr]:
    """The operands of a comparison, the first with the others, cast as by
    :func:`alike`; but a TIMESTAMP of a row is compared in its own unit with constants
    of a coarser one, which DataFusion casts in its place.

    Raises
    ------
    CatalogProblem
        When they have no type in common.
    """
    digits = [t.digits for t in map(type_of, operands) if isinstance(t, Timestamp)]
    constant = [not any(map(_is_of_row, parts_of(operand))) for operand in operands]
    if len(digits) == len(operands) and constant.count(False) == 1:
        of_row = digits[constant.index(False)]
        if of_row == max(digits):
            return [cast(operand, Timestamp(of_row)) for operand in operands]
    return alike(operands, where)


def _is_of_row(part: exp.Expr) -> bool:
    is_time = isinstance(part, exp.Anonymous) and part.name == "row_time"
    return is_time or isinstance(part, exp.Column)


def _arithmetic(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    pair = (type_of(left), type_of(right))
    if isinstance(left, exp.Interval) and isinstance(right, exp.Interval):
        return _folded(kind, left, right)
    temporal = _temporal(kind, *pair)
    if temporal is not None:
        digits = [t.digits for t in pair if isinstance(t, Timestamp)]
        if len(digits) > 1:
            # Arrow subtracts in the coarser of two units.
            left, right = (cast(side, Timestamp(min(digits))) for side in (left, right))
        return _typed_operator(kind, left, right, temporal)
    common = calculated_type(*pair)
    if common is None or common == NULL:
        raise CatalogProblem(
            f"Cannot coerce arithmetic expression {pair[0]} {SYMBOLS[kind]} {pair[1]} "
            "to valid types",
            hint=arithmetic_hint(SYMBOLS[kind], left, right),
        )
    if copies_arroyo() and any(isinstance(type_, Decimal) for type_ in pair):
        # Arroyo makes the DECIMAL an UNSIGNED, without what is behind the point.
        common = next(filter(is_unsigned, pair), common)
    if isinstance(common, Decimal):
        return _decimal(kind, left, right)
    return _typed_operator(kind, cast(left, common), cast(right, common), common)


def _folded(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    one: Interval = left.meta["calendar"]
    other: Interval = right.meta["calendar"]
    if kind in (exp.Add, exp.Sub):
        return interval_literal(one + (other if kind is exp.Add else -other))
    raise CatalogProblem(
        f"Cannot coerce arithmetic expression INTERVAL {SYMBOLS[kind]} INTERVAL to "
        "valid types"
    )


def _temporal(kind: type[exp.Expr], left: Type, right: Type) -> Type | None:
    def is_time(type_: Type) -> bool:
        return isinstance(type_, Timestamp) or type_ == DATE

    if kind not in (exp.Add, exp.Sub):
        return None
    # A DATE stays a DATE, as in DataFusion; PostgreSQL makes it a timestamp.
    if right == INTERVAL and (is_time(left) or left == INTERVAL):
        return left
    if kind is exp.Add and left == INTERVAL and is_time(right):
        return right
    if kind is exp.Sub and is_time(left) and is_time(right):
        return INTERVAL
    return None


def _decimal(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Operands keep their own precision; the result's is Arrow's rule."""
    types = (type_of(left), type_of(right))
    if BIGINT_UNSIGNED in types and not any(isinstance(t, Decimal) for t in types):
        # No whole number holds both: both are the decimal that holds the larger one.
        types = (BIGINT_UNSIGNED, BIGINT_UNSIGNED)
    one, other = _operand_decimal(*types), _operand_decimal(*reversed(types))
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    match kind:
        case exp.Mul:
            result = (one.precision + other.precision + 1, one.scale + other.scale)
        case exp.Div:
            places = min(38, one.scale + 4)
            result = (one.precision - one.scale + other.scale + places, places)
        case exp.Mod:
            least = min(one.precision - one.scale, other.precision - other.scale)
            result = (least + scale, scale)
        case _:
            result = (whole + scale + 1, scale)
    type_ = Decimal(min(38, result[0]), min(38, result[1]))
    return _typed_operator(kind, cast(left, one), cast(right, other), type_)


def _operand_decimal(own: Type, other: Type) -> Decimal:
    return as_decimal(other if own == NULL else own)


def _bitwise(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    pair = (type_of(left), type_of(right))
    common = _bits_type(*pair)
    if common is None:
        raise CatalogProblem(
            f"Cannot infer common type for bitwise operation {pair[0]} {SYMBOLS[kind]} "
            f"{pair[1]}"
        )
    return _typed_operator(kind, cast(left, common), cast(right, common), common)


def _bits_type(one: Type, other: Type) -> Type | None:
    """A whole number: beside one another number is made one, and all beside a BIGINT
    UNSIGNED are made that."""
    whole = [type_ for type_ in (one, other) if is_integer(type_)]
    if not whole or calculated_type(one, other) is None:
        return None
    if BIGINT_UNSIGNED in whole:
        return BIGINT_UNSIGNED
    return calculated_type(whole[0], whole[-1])


def _typed_operator(
    kind: type[exp.Expr],
    left: exp.Expr,
    right: exp.Expr,
    type_: Type,
    *,
    never_null: bool = False,
) -> exp.Expr:
    nullable = not never_null and (is_nullable(left) or is_nullable(right))
    made = kind(this=left, expression=right)
    if kind is exp.Div:
        # Without this sqlglot's generator casts an operand to print the quotient.
        made.set("typed", True)
    return typed(made, type_, nullable=nullable)
