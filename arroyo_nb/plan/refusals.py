"""The clauses and expressions that the grammar reads and nothing here runs.

sqlglot keeps each clause as an argument of its node. A class lists the arguments that
are handled; any other argument that is set is refused, by Arroyo's words where it
refuses too. So nothing in a script is silently ignored.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from arroyo_nb.errors import Unsupported
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of

_HANDLED: dict[type[exp.Expr], set[str]] = {
    exp.Select: {
        *("expressions", "distinct", "from_", "joins", "where", "group", "having"),
        *("windows", "with_"),
    },
    exp.Union: {"this", "expression", "with_"},
    exp.Subquery: {"this", "alias", "with_"},
    exp.Table: {"this", "alias"},
    exp.TableAlias: {"this", "columns"},
    exp.CTE: {"this", "alias"},
    exp.Group: {"expressions"},
    exp.Insert: {"this", "expression"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Distinct: {"expressions"},
    exp.Window: {"this", "partition_by", "order", "over", "spec", "alias"},
}

_WORDS = {
    "order": "ORDER BY is not currently supported",
    "limit": "LIMIT is not currently supported",
    "offset": "LIMIT is not currently supported (OFFSET)",
    "fetch": "LIMIT is not currently supported (FETCH)",
    "on": "SELECT DISTINCT ON is not supported",
    "joins": "a JOIN after a query in brackets needs a SELECT ... FROM before it",
    "laterals": "LATERAL is not supported",
    "locks": "FOR UPDATE and FOR SHARE are not supported",
    "qualify": "QUALIFY is not supported",
    "sample": "TABLESAMPLE is not supported",
    "db": "a schema in a table name is not supported",
    "catalog": "a catalog in a table name is not supported",
    "rollup": "ROLLUP is not supported",
    "cube": "CUBE is not supported",
    "grouping_sets": "GROUPING SETS is not supported",
    "all": "GROUP BY ALL is not supported",
    "returning": "RETURNING is not supported",
}

_TOP_N = (
    "for a top N, select row_number() OVER (ORDER BY ...) AS n in a "
    "subquery, and filter with WHERE n <= ... outside"
)
_HINTS = {
    **dict.fromkeys(("order", "limit", "fetch"), _TOP_N),
    "on": "select row_number() OVER (PARTITION BY ... ORDER BY ...) AS n in a "
    "subquery, and filter with WHERE n = 1 outside",
    "qualify": "select the OVER call with a name in a subquery, and filter with WHERE "
    "outside",
}

# Class of an expression -> its name in the error.
_EXPRESSIONS: dict[type[exp.Expr], str] = {
    exp.Subquery: "a scalar subquery",
    exp.Exists: "EXISTS",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Escape: "LIKE ... ESCAPE",
    exp.Pow: "the operator ^",
    exp.BitwiseNot: "the operator ~ before a number",
    exp.Tuple: "a row value",
    exp.HexString: "a hexadecimal literal",
    exp.BitString: "a bit string",
    exp.National: "a national string",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Order: "ORDER BY inside a function that is not an aggregate",
    exp.Collate: "COLLATE",
    exp.Cube: "CUBE",
    exp.Rollup: "ROLLUP",
    exp.GroupingSets: "GROUPING SETS",
    exp.Struct: "a struct literal",
    exp.Concat: "a text right after another one",
}


def refused(expression: exp.Expr) -> Unsupported:
    """The error for an expression that nothing binds."""
    words = _EXPRESSIONS.get(type(expression), expression.key.upper())
    hint = "write power(x, y)" if isinstance(expression, exp.Pow) else None
    if isinstance(expression, exp.AtTimeZone):
        hint = _zone_hint(expression)
    return Unsupported(f"{words} is not supported", hint=hint)


_UTC = ("UTC", "GMT", "Z", "ETC/UTC")


def _zone_hint(node: exp.AtTimeZone) -> str:
    """How the time of a zone is computed: by its distance from UTC."""
    time, zone = node.this.sql(dialect="postgres"), node.args["zone"].name
    if zone.upper() in _UTC:
        return f"write {time} alone: all times are in UTC"
    try:
        hours = [
            datetime(2026, month, 1, tzinfo=ZoneInfo(zone)).utcoffset() or timedelta()
            for month in (1, 7)
        ]
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return (
            f"all times are in UTC: add the distance, as in {time} + INTERVAL '1 hour'"
        )
    winter, summer = (_distance(offset) for offset in hours)
    written = f"all times are in UTC: write {time} {winter} for the time of {zone}"
    return written if winter == summer else f"{written}, {summer} in July"


def _distance(offset: timedelta) -> str:
    minutes = round(abs(offset).total_seconds() / 60)
    hours, rest = divmod(minutes, 60)
    text = f"{minutes} minutes" if rest else f"{hours} hour{'s' * (hours != 1)}"
    return f"{'-' if offset < timedelta() else '+'} INTERVAL '{text}'"


def refuse_clauses(node: exp.Expr, but: Collection[str] = ()) -> None:
    """Check that only handled clauses are there, and those of ``but``.

    Raises
    ------
    Unsupported
        For the first other one, at its place.
    """
    if isinstance(node, exp.SetOperation):
        _refuse_set_operation(node)
    handled = _HANDLED.get(type(node), set())
    for name, value in node.args.items():
        if value and name not in {*handled, *but} and not _is_set_flag(node, name):
            # sqlglot keeps FETCH where it keeps LIMIT.
            word = value.key if isinstance(value, exp.Fetch) else name.strip("_")
            words = _WORDS.get(word, f"{word.upper()} is not supported")
            place = _place(value) or span_of(node)
            hint = _HINTS.get(word)
            if isinstance(node, exp.Table) and word in ("db", "catalog"):
                hint = (
                    f"write {node.name}: a table has a name alone; %arroyo peek "
                    f"{node.name} writes the table of a topic"
                )
            raise Unsupported(words, span=place, hint=hint)
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias):
        refuse_clauses(alias)


def _is_set_flag(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.SetOperation) and name == "distinct"


def _refuse_set_operation(node: exp.SetOperation) -> None:
    word = type(node).__name__.upper()
    if not isinstance(node, exp.Union):
        raise Unsupported(f"{word} is not supported", span=span_of(node))


def _place(value: object) -> Span | None:
    first = value[0] if isinstance(value, list) else value
    return span_of(first) if isinstance(first, exp.Expr) else None
