"""The arms of CASE, and for which rows each of them is computed.

Spark computes what Python workers evaluate for every row, also in an arm that is not
taken: there it gets NULL, which no function fails on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from arroyo_nb.functions import Argument
from arroyo_nb.functions.datafusion import DataFusionText
from arroyo_nb.plan.expressions.functions import has_worker_call, is_computed_once

if TYPE_CHECKING:
    from arroyo_nb.spark.expressions import Write

LONGEST_GUARD = 5_000
"""Characters of a condition for what is part of another condition: that holds it twice
then, and so they would double from arm to arm."""


@dataclass(frozen=True)
class Arm:
    """A part of CASE.

    Parameters
    ----------
    condition
        Bound, and its Spark SQL; None: it is ELSE.
    value
        None: there is no ELSE.
    tests, writes
        What writes the condition and the value, for the rows that come to them.
    """

    condition: tuple[exp.Expr, str] | None
    value: exp.Expr | None
    tests: Write
    writes: Write


def arms(node: exp.Case, write: Write) -> Iterator[Arm]:
    """The arms in order, and what is ELSE."""
    guards = has_worker_call(node)
    others = write
    for arm in node.args["ifs"]:
        tests = _short(others, arm.this)
        condition = tests(arm.this)
        # A condition is written again into later arms: one that must be computed once
        # for a row cannot be.
        fixed = guards and not is_computed_once(arm.this)
        writes = others.where(condition) if fixed else others
        yield Arm((arm.this, condition), arm.args["true"], tests, writes)
        if fixed:
            others = others.where(f"NOT coalesce({condition}, FALSE)")
    yield Arm(None, node.args.get("default"), others, others)


def _short(write: Write, part: exp.Expr) -> Write:
    """What writes a condition: behind many others its functions are called for every
    row."""
    if len(write.only_where) <= LONGEST_GUARD or not has_worker_call(part):
        return write
    return replace(write, only_where="")


_NEVER_FAILS = (exp.Column, exp.Dot, exp.Literal, exp.Boolean, exp.Null, exp.Interval)


def guarded(made: Argument, node: exp.Expr, only_where: str) -> Argument:
    """An argument of what Python evaluates, which Spark computes where a condition is
    true alone. That of a call of DataFusion stands before its own arguments."""
    is_safe = isinstance(node, _NEVER_FAILS) or isinstance(made.sql, DataFusionText)
    if not only_where or is_safe:
        return made
    return replace(made, sql=f"(CASE WHEN {only_where} THEN {made.sql} END)")
