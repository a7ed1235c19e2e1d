"""The operators and casts that DataFusion evaluates, because Spark means another value.

A row of :data:`_RULES` tells for the operands of a bound operator how it is written in
DataFusion's SQL. What has no row, or an empty text for these operands, is evaluated by
Spark. Functions say the same in a field of their own
(:attr:`arroyo_nb.functions.signature.ScalarFunction.datafusion`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from arroyo_nb.functions import casts, regex
from arroyo_nb.functions.decimals import has_all_digits
from arroyo_nb.plan.expressions.months import may_have_months
from arroyo_nb.plan.expressions.operators import COMPARISONS, NULL_SAFE, SYMBOLS
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, INT, Decimal


@dataclass(frozen=True)
class DataFusionOperator:
    """How an operator is written.

    Parameters
    ----------
    template
        SQL of DataFusion with ``{0}``, ``{1}`` for the operands.
    operands
        Bound expressions, in order.
    """

    template: str
    operands: tuple[exp.Expr, ...]


def operator_in_datafusion(node: exp.Expr) -> DataFusionOperator | None:
    """How DataFusion evaluates a bound operator or cast; None: Spark evaluates it."""
    rule = _RULES.get(type(node))
    template = "" if rule is None else rule(node)
    return DataFusionOperator(template, _operands(node)) if template else None


def _operands(node: exp.Expr) -> tuple[exp.Expr, ...]:
    match node:
        case exp.Binary():
            return (node.left, node.right)
        case exp.Between():
            return (node.this, node.args["low"], node.args["high"])
        case exp.Case():
            arms = [part for arm in node.args["ifs"] for part in arm.iter_expressions()]
            default = node.args.get("default")
            return (*arms, *([] if default is None else [default]))
    return (node.this, *node.expressions)


def _regular_expression(node: exp.Binary) -> str:
    any_case = isinstance(node, exp.RegexpILike)
    pattern = node.right.name if node.right.is_string else None
    if regex.in_spark(pattern, any_case=any_case):
        return ""
    return "({0} ~* {1})" if any_case else "({0} ~ {1})"


def _cast(node: exp.Cast) -> str:
    tries = isinstance(node, exp.TryCast)
    literal = node.this.name if node.this.is_string else None
    return casts.datafusion_cast(
        type_of(node.this), type_of(node), tries=tries, literal=literal
    )


_SHIFTED_BY_SPARK = (INT, BIGINT)
"""What Spark's shifts take and give."""


def _bits(operator: str) -> Callable[[exp.Binary], str]:
    return lambda node: (
        f"({{0}} {operator} {{1}})" if type_of(node) == BIGINT_UNSIGNED else ""
    )


def _shift(operator: str) -> Callable[[exp.Binary], str]:
    return lambda node: (
        "" if type_of(node) in _SHIFTED_BY_SPARK else f"({{0}} {operator} {{1}})"
    )


def _decimal_quotient(node: exp.Div) -> str:
    match type_of(node), type_of(node.left), type_of(node.right):
        case Decimal() as type_, Decimal() as dividend, Decimal() as divisor:
            in_spark = has_all_digits(type_, dividend, divisor)
            return "" if in_spark else "({0} / {1})"
    return ""


def _of_months(template: str | Callable[[Any], str]) -> Callable[[Any], str]:
    """The rule of an operator that Spark evaluates but for intervals with months."""

    def rule(node: exp.Expr) -> str:
        if not any(map(may_have_months, _operands(node))):
            return ""
        return template if isinstance(template, str) else template(node)

    return rule


def _case(node: exp.Case) -> str:
    arms = range(len(node.args["ifs"]))
    text = "".join(f" WHEN {{{2 * n}}} THEN {{{2 * n + 1}}}" for n in arms)
    default = node.args.get("default")
    otherwise = "" if default is None else f" ELSE {{{2 * len(arms)}}}"
    return f"CASE{text}{otherwise} END"


def _in(node: exp.In) -> str:
    items = range(1, len(node.expressions) + 1)
    return f"({{0}} IN ({', '.join(f'{{{n}}}' for n in items)}))"


_RULES: dict[type[exp.Expr], Callable[[Any], str]] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.RegexpLike: _regular_expression,
    exp.RegexpILike: _regular_expression,
    exp.BitwiseAnd: _bits("&"),
    exp.BitwiseOr: _bits("|"),
    exp.BitwiseXor: _bits("^"),
    exp.BitwiseLeftShift: _shift("<<"),
    exp.BitwiseRightShift: _shift(">>"),
    exp.Div: _decimal_quotient,
    **{
        kind: _of_months(f"({{0}} {SYMBOLS[kind]} {{1}})")
        for kind in (exp.Add, exp.Sub, *COMPARISONS, *NULL_SAFE)
    },
    exp.Neg: _of_months("(-{0})"),
    exp.Is: _of_months("({0} IS NULL)"),
    exp.Between: _of_months("({0} BETWEEN {1} AND {2})"),
    exp.In: _of_months(_in),
    exp.Case: _of_months(_case),
}
