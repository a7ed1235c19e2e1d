"""Calls of DataFusion: what Spark would evaluate to another value than Arroyo.

Arroyo evaluates expressions with Apache DataFusion. An expression that Spark does not
mean alike becomes a call of a function that Spark's Python workers have DataFusion
evaluate (:mod:`arroyo_nb.spark.datafusion_batches`). The name of the function is a hash
of what it evaluates, so that a run that is started again has the same plan. This module
writes calls only: planning a script does not load DataFusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from arroyo_nb.functions.let_binding import is_another_each_time
from arroyo_nb.repairs import quoted_name
from arroyo_nb.schema import NULL, ListOf, StructOf, Type, quoted

_Pieces: TypeAlias = "tuple[str | int, ...]"
"""SQL of DataFusion; a number is the place of an argument."""

_OPERAND = re.compile(r"\{(\d+)\}")
_NAME = re.compile(r"`(_df_[0-9a-f]{16})`")


@dataclass(frozen=True)
class DataFusionCall:
    """A function of Spark SQL that DataFusion evaluates.

    Parameters
    ----------
    expression
        SQL of DataFusion; its columns are ``a0``, ``a1`` and so on.
    arguments
        The types of these columns.
    result
        The type of the value.
    """

    expression: str
    arguments: tuple[Type, ...]
    result: Type

    @property
    def name(self) -> str:
        """What Spark calls it: the same for the same expression, in each run."""
        types = ", ".join(map(str, self.arguments))
        text = f"{self.expression}\n{types}\n{self.result}"
        return f"_df_{sha256(text.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Operand:
    """An operand of an expression.

    Parameters
    ----------
    sql
        Its Spark SQL.
    type
        Its type.
    constant
        The SQL of DataFusion for a literal; None: it is none, or stands for a column.
    """

    sql: str
    type: Type
    constant: str | None = None


@dataclass(frozen=True)
class _Evaluated:
    pieces: _Pieces
    arguments: tuple[Operand, ...]


class DataFusionText(str):
    """The Spark SQL of a call. A call around it takes its expression into its own, so
    that nested calls are evaluated in one."""

    evaluated: _Evaluated


_recorded: ContextVar[dict[str, DataFusionCall] | None] = ContextVar(
    "datafusion_calls", default=None
)


def text_literal(value: str) -> str:
    """A text as DataFusion reads it.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def type_name(type_: Type) -> str:
    """A type as DataFusion's SQL has it: names of fields as they are.

    >>> from arroyo_nb.schema import INT, Field
    >>> type_name(ListOf(StructOf((Field("my A", INT),))))
    'STRUCT<"my A" INT>[]'
    """
    match type_:
        case ListOf(element):
            return f"{type_name(element)}[]"
        case StructOf(fields):
            named = (f"{quoted_name(f.name)} {type_name(f.type)}" for f in fields)
            return f"STRUCT<{', '.join(named)}>"
    return str(type_)


def datafusion_call(
    template: str, operands: Sequence[Operand], result: Type, *, only_where: str = ""
) -> DataFusionText:
    """The Spark SQL of a call that DataFusion evaluates.

    Parameters
    ----------
    template
        SQL of DataFusion in which ``{0}``, ``{1}`` are the operands.
    operands
        In order.
    result
        The type of the value, as Arroyo has it.
    only_where
        A condition in Spark SQL: the value is looked at where it is true. Empty: for
        all rows. Elsewhere the arguments are NULL, which no function fails on.

    Examples
    --------
    >>> from arroyo_nb.schema import TEXT
    >>> pattern = Operand("?", TEXT, text_literal("a+"))
    >>> print(datafusion_call("{0} ~ {1}", [Operand("`t`", TEXT), pattern], TEXT))
    `_df_ff71a56451ad359f`(`t`)
    """
    pieces: list[str | int] = []
    leaves: dict[tuple[str, Type, int, int], Operand] = {}

    def leaf(argument: Operand, of: int, number: int = 0) -> int:
        """The place of an argument: one for all that are written alike, but for those
        that are another value each time, as both of ``uuid() ~ uuid()``."""
        own = (of, number) if is_another_each_time(argument.sql) else (0, 0)
        key = (argument.sql, argument.type, *own)
        leaves.setdefault(key, argument)
        return [*leaves].index(key)

    for place, part in enumerate(_OPERAND.split(template)):
        if place % 2 == 0:
            pieces.append(part)
            continue
        number = int(part)
        operand = operands[number]
        if operand.constant is not None:
            pieces.append(operand.constant)
        elif operand.type == NULL:
            pieces.append("NULL")
        elif isinstance(operand.sql, DataFusionText):
            inner = operand.sql.evaluated
            places = [leaf(a, number, n) for n, a in enumerate(inner.arguments)]
            pieces += [p if isinstance(p, str) else places[p] for p in inner.pieces]
        else:
            sql = operand.sql
            if only_where:
                sql = f"(CASE WHEN {only_where} THEN {sql} END)"
            pieces.append(leaf(Operand(sql, operand.type), number))
    arguments = tuple(leaves.values())
    shown = "".join(p if isinstance(p, str) else f'"a{p}"' for p in pieces)
    call = DataFusionCall(shown, tuple(a.type for a in arguments), result)
    if (recorded := _recorded.get()) is not None:
        recorded[call.name] = call
    # Spark calls no function of Arrow batches without a column: it has its length.
    given = ", ".join(a.sql for a in arguments) or "TRUE"
    made = DataFusionText(f"{quoted(call.name)}({given})")
    made.evaluated = _Evaluated(("(", *pieces, ")"), arguments)
    return made


@contextmanager
def recorded_calls() -> Iterator[Mapping[str, DataFusionCall]]:
    """What is written in the block, by the names of the functions."""
    recorded: dict[str, DataFusionCall] = {}
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)


def called_in(sql: str) -> frozenset[str]:
    """The names of the functions that a Spark SQL text calls DataFusion by."""
    return frozenset(_NAME.findall(sql))
