"""Calls of scalar functions over bound arguments, as the function's signature wants."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import copysign, nan
from typing import Any

from sqlglot import exp

from arroyo_nb import functions
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats import usual_format
from arroyo_nb.functions import aggregates, json, over
from arroyo_nb.functions.datafusion import text_literal, type_name
from arroyo_nb.functions.user_defined import user_functions
from arroyo_nb.plan.expressions.access_hints import element_hint
from arroyo_nb.plan.expressions.arroyo_values import copies_arroyo
from arroyo_nb.plan.expressions.clock import PLANNED_AT, planning_time
from arroyo_nb.plan.expressions.datafusion_operators import operator_in_datafusion
from arroyo_nb.plan.expressions.months import may_have_months
from arroyo_nb.plan.expressions.scope import CLOCK
from arroyo_nb.plan.expressions.typing import (
    cast,
    is_nullable,
    place_of,
    type_of,
    typed,
    whole_number,
)
from arroyo_nb.plan.expressions.window_calls import WINDOWS
from arroyo_nb.registry import did_you_mean
from arroyo_nb.repairs import Rename
from arroyo_nb.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    NULL,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.sql.syntax_tree import parts_of

UNSUPPORTED_FUNCTIONS = {
    **{word: f"{word.upper()} is not supported" for word in ("all", "any", "some")},
    "grouping": "grouping() needs GROUPING SETS, which is not supported",
    "multi_hash": "multi_hash() is not supported: Spark has no XXH3",
    "row": "a row value is not supported",
    "metadata": "metadata() may only be called in a generated column",
    **{f: f"{f}() needs OVER" for f in over.names() if not aggregates.primary(f)},
}
"""Arroyo's functions that are not run: name -> the words that refuse it."""

_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}

WORDED: dict[type[exp.Expr], tuple[Callable[[Any], str], tuple[str, ...]]] = {
    exp.Extract: (lambda _: "date_part", ("this", "expression")),
    exp.Overlay: (lambda _: "overlay", ("this", "expression", "from_", "for_")),
    exp.StrPosition: (lambda _: "strpos", ("this", "substr")),
    exp.Substring: (lambda _: "substr", ("this", "start", "length")),
    exp.Trim: (
        lambda node: _TRIMS[node.args.get("position") or "BOTH"],
        ("this", "expression"),
    ),
}
"""Calls with words between their arguments: the function's name, and sqlglot's names
of the arguments in the order of the plain call."""


def function_name(call: exp.Anonymous) -> str:
    """The name of a function as it is known: quoted, its case counts."""
    return call.name if isinstance(call.this, exp.Identifier) else call.name.lower()


def plain_call(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """The function and the arguments of a call that is written with words.

    >>> name, arguments = plain_call(exp.Trim(this=exp.column("a"), position="LEADING"))
    >>> name, [argument.sql() for argument in arguments]
    ('ltrim', ['a'])
    """
    name, places = WORDED[type(node)]
    given = [node.args[place] for place in places if node.args.get(place) is not None]
    if isinstance(node, exp.Extract):
        # The part is a bare word to the grammar, a text to date_part.
        given[0] = exp.Literal.string(node.this.name.lower())
    return name(node), given


ROW_TIME = "row_time"
USER_FUNCTION = "user_function"
"""Of a bound call of a user's function, in its ``meta``: the function."""
_ARROYOS = "arroyos_function"
"""The same of a call that has Arroyo's value, which differs from ours."""


def called(call: exp.Anonymous) -> functions.ScalarFunction | None:
    """The function that a bound call calls; None: it is none of a table's."""
    own: functions.ScalarFunction | None = call.meta.get(USER_FUNCTION)
    own = own or call.meta.get(_ARROYOS)
    return own or functions.scalar(call.name)


def has_arroyos_value(part: exp.Expr) -> bool:
    """Whether a bound call has Arroyo's own value, as in strict mode, where ours is
    another."""
    return _ARROYOS in part.meta


def volatile(part: exp.Expr) -> str:
    """What a bound call gives that is not the same when it is computed again, in words;
    empty: it is the same, or no call."""
    if not isinstance(part, exp.Anonymous):
        return ""
    function = called(part)
    return "" if function is None else function.volatile


def is_computed_once(expression: exp.Expr) -> bool:
    """Whether a bound expression must not be computed twice for a row."""
    return any(map(called_once, parts_of(expression)))


def called_once(part: exp.Expr) -> bool:
    """Whether a bound call is to be made once for a row: made again it may give another
    value, or ask a server again."""
    user = part.meta.get(USER_FUNCTION) if isinstance(part, exp.Anonymous) else None
    return bool(volatile(part)) or (user is not None and user.udf.is_async)


def has_worker_call(expression: exp.Expr) -> bool:
    """Whether Python workers evaluate a part of a bound expression for all rows, also
    where Spark would not: a UDF, or what DataFusion evaluates."""
    return any(calls_udf(part) or in_datafusion(part) for part in parts_of(expression))


def in_datafusion(part: exp.Expr) -> bool:
    """Whether DataFusion evaluates a bound operator, cast or call."""
    if not isinstance(part, exp.Anonymous):
        return operator_in_datafusion(part) is not None
    function = called(part)
    return function is not None and function.evaluates_in_datafusion(
        [_argument(argument) for argument in part.expressions]
    )


def calls_udf(part: exp.Expr) -> bool:
    """Whether a part of a bound expression calls a UDF that is no aggregate."""
    return isinstance(part, exp.Anonymous) and USER_FUNCTION in part.meta


ELSEWHERE = {
    **{
        part: f"write date_part('{part}', ...)"
        for part in ("year", "month", "week", "day", "hour", "minute", "second")
    },
    **dict.fromkeys(
        ("datediff", "date_diff", "timestampdiff"),
        "subtract one timestamp from the other",
    ),
    **dict.fromkeys(
        ("dateadd", "date_add", "timestampadd"), "add an INTERVAL to the timestamp"
    ),
    **{
        f"{kind}_{word}": "name the window and read its field: SELECT "
        f"window.{part} FROM (SELECT {call} AS window, count(*) AS n FROM ... GROUP BY "
        "window)"
        for kind, call in (
            ("tumble", "tumble(INTERVAL '1 hour')"),
            ("hop", "hop(INTERVAL '5 minutes', INTERVAL '1 hour')"),
            ("session", "session(INTERVAL '1 minute')"),
        )
        for word, part in (("start", "start"), ("end", "end"), ("rowtime", "end"))
    },
    "window_time": "write window.end: a field of the window",
    "window": "write tumble(INTERVAL '5 minutes') AS window, or hop(slide, width), and "
    "GROUP BY window; the event time is the table's WATERMARK column",
    "session_window": "write session(INTERVAL '5 minutes') AS window, and GROUP BY "
    "window",
    **dict.fromkeys(
        ("proctime", "rowtime", "event_time"),
        "write row_time(): the event time of a row; where the table has no WATERMARK, "
        "the connector gives it",
    ),
    **dict.fromkeys(
        ("mz_now", "current_watermark", "watermark", "withwatermark"),
        "write WATERMARK FOR at AS at - INTERVAL '5 seconds' in CREATE TABLE; windows "
        "close by it",
    ),
    **dict.fromkeys(
        ("dropduplicates", "drop_duplicates", "dropduplicateswithinwatermark"),
        "write SELECT DISTINCT",
    ),
    **dict.fromkeys(
        ("collect_list", "collect_set", "listagg", "group_concat", "list_agg"),
        "write array_agg(x), array_agg(DISTINCT x), or string_agg(x, ',')",
    ),
    **dict.fromkeys(
        ("latest_by_offset", "last"),
        "write last_value(x ORDER BY at)",
    ),
    **dict.fromkeys(
        ("earliest_by_offset", "first"),
        "write first_value(x ORDER BY at)",
    ),
    "max_by": "max_by(x, y): write last_value(x ORDER BY y) FILTER (WHERE y IS NOT "
    "NULL)",
    "min_by": "min_by(x, y): write first_value(x ORDER BY y) FILTER (WHERE y IS NOT "
    "NULL)",
    **dict.fromkeys(
        (
            *("getdate", "sysdate", "localtimestamp", "curdate", "curtime"),
            "unix_millis",
        ),
        CLOCK,
    ),
    **dict.fromkeys(
        ("percentile_approx", "approx_percentile", "percentile", "percentile_cont"),
        "write approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
    ),
    "approx_count_distinct": "write approx_distinct(x)",
    **dict.fromkeys(("count_if", "countif"), "write count(*) FILTER (WHERE x)"),
    "count_distinct": "write count(DISTINCT x)",
    "any_value": "write first_value(x ORDER BY at)",
    **dict.fromkeys(("safe_cast", "try_convert"), "write TRY_CAST(x AS TYPE)"),
    "regexp_extract": "write regexp_match(text, 'pattern')[1]",
    **dict.fromkeys(("any", "some"), "write array_has(list, x), or x IN (1, 2)"),
    "topk": "number the rows with row_number() OVER (PARTITION BY ... ORDER BY ...) AS "
    "n in a subquery, and WHERE n <= 5 outside",
    "to_timestamp_ltz": "write to_timestamp_millis(x), or to_timestamp(x) for seconds",
    **dict.fromkeys(
        ("unix_timestamp", "to_epoch"), "write to_unixtime(x), which is in seconds"
    ),
    **dict.fromkeys(("len", "size"), "write length(text), or array_length(list)"),
    "multi_hash": "write sha256(concat_ws('-', a, b)), which is a hash of all its "
    "arguments too",
    "isnull": "write x IS NULL",
    "isnotnull": "write x IS NOT NULL",
    "ucase": "write upper(text)",
    "lcase": "write lower(text)",
    **dict.fromkeys(
        (
            *("extractjsonfield", "get_json_object", "from_json", "parse_json"),
            *("json_value", "json_query", "json_extract", "json_extract_scalar"),
            *("json_parse", "json_extract_string", "json_extract_path_text"),
            *("jsonb_extract_path_text", "jsonb_path_query"),
        ),
        "write column ->> 'field', or declare the column STRUCT<field TYPE, ...> and "
        "read column.field",
    ),
    **dict.fromkeys(
        (
            *("to_json_string", "to_json", "to_jsonb", "json_format", "tojsonstring"),
            *("row_to_json", "array_to_json", "json_stringify"),
        ),
        f"select the value as it is: a sink with format = '{usual_format()}' writes "
        "structs and lists, and CAST(x AS TEXT) is the text of a number",
    ),
    **dict.fromkeys(("iif", "if"), "write CASE WHEN ... THEN ... ELSE ... END"),
    "as_value": "write the column itself",
}
"""What other engines have a function for, and how it is written here."""


CALLED = {
    "ucase": "upper",
    "lcase": "lower",
    "approx_count_distinct": "approx_distinct",
    **dict.fromkeys(("collect_list", "list_agg"), "array_agg"),
    **dict.fromkeys(("listagg", "group_concat"), "string_agg"),
    **dict.fromkeys(("unix_timestamp", "to_epoch"), "to_unixtime"),
    **dict.fromkeys(("proctime", "rowtime", "event_time"), "row_time"),
}
"""Those that take the same here under another name."""


def scalar_function(name: str, hint: str | None = None) -> functions.ScalarFunction:
    """The scalar function of a name.

    Parameters
    ----------
    hint
        What to write where there is none; else the hint tells another way, or names
        the nearest.

    Raises
    ------
    CatalogProblem
        When there is none.
    """
    if (found := functions.scalar(name)) is not None:
        return found
    known = {*functions.names(), *aggregates.names(), *WINDOWS, *user_functions()}
    raise CatalogProblem(
        f"Invalid function '{name}'",
        hint=hint or ELSEWHERE.get(name) or did_you_mean(name, known),
        repairs=[Rename(name, CALLED[name])] if name in CALLED else (),
    )


def function_call(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    """A bound call of a scalar function.

    Raises
    ------
    CatalogProblem
        When there is no such function, or it does not take these arguments.
    """
    made = exp.Anonymous(this=name, expressions=arguments)
    # No row of the table: which time it is depends on the node that it is in.
    if name == ROW_TIME and not arguments:
        return typed(made, Timestamp(), nullable=False)
    function = scalar_function(name)
    if copies_arroyo() and function.arroyos is not None:
        function = made.meta[_ARROYOS] = function.arroyos
    if name in json.NAMES and arguments:
        arguments = _whole_path(arguments)
    arguments = _with_intervals(function, arguments)
    made.set("expressions", arguments)
    given = [_argument(argument) for argument in arguments]
    try:
        type_ = function.check([a.type for a in given], [a.literal for a in given])
    except functions.SignatureProblem as problem:
        if given and isinstance(given[0].type, ListOf):
            is_column = isinstance(arguments[0], exp.Column)
            list_ = arguments[0].name if is_column else "list"
            if isinstance(element := given[0].type.element, StructOf):
                problem.hint = element_hint(list_, given[0].type)
            else:
                problem.hint = f"{problem.hint}; an element of {list_} is {element}"
        raise
    # What a literal may not be is told now, where its place is known.
    function.spark(given)
    if function.udf is not None:
        made.meta[USER_FUNCTION] = function
    if isinstance(function.template, functions.ClockTemplate):
        made.meta[PLANNED_AT] = planning_time()
    nullable = function.nullable([is_nullable(argument) for argument in arguments])
    return typed(made, type_, nullable=nullable)


def json_cast(value: exp.Expr, type_: Type) -> exp.Expr:
    """What ``->`` gives, as a value of a type: NULL where it is of another one.

    Raises
    ------
    CatalogProblem
        When no value of JSON is of that type.
    """
    name = json.getter(type_)
    if name is None:
        raise CatalogProblem(
            f"Unsupported CAST from {type_of(value)} to {type_}",
            hint=f"cast its text, which ->> gives: CAST(j ->> 'a' AS {type_})",
        )
    return function_call(name, [value])


def _whole_path(arguments: list[exp.Expr]) -> list[exp.Expr]:
    """The arguments of ``j -> 'a' -> 'b'`` as one path into the document."""
    inner, *steps = arguments
    while isinstance(inner, exp.Anonymous) and inner.name == json.GET:
        inner, *before = inner.expressions
        steps = [*before, *steps]
    return [inner, *steps]


def _with_intervals(
    function: functions.ScalarFunction, arguments: list[exp.Expr]
) -> list[exp.Expr]:
    """Text is read as an interval where the function takes nothing else."""
    # A function that takes an interval has one signature; NULL is no parameter and
    # fills up for arguments beyond it.
    wanted = [*function.signatures[0].parameters, *(NULL for _ in arguments)]
    return [
        cast(argument, INTERVAL)
        if parameter == INTERVAL and argument.is_string
        else argument
        for argument, parameter in zip(arguments, wanted, strict=False)
    ]


def described(argument: exp.Expr, sql: str) -> functions.Argument:
    """A bound argument, as a function's row reads it, with its Spark SQL."""
    return functions.Argument(
        sql,
        type_of(argument),
        literal=argument.name if argument.is_string else None,
        number=whole_number(argument),
        duration=argument.meta.get("interval"),
        constant=_constant(argument),
        has_months=may_have_months(argument),
        span=place_of(argument),
    )


def _constant(argument: exp.Expr) -> str | None:
    if isinstance(argument, exp.Interval):
        return f"INTERVAL {text_literal(argument.meta['calendar'].text)}"
    type_ = type_of(argument)
    if type_ in (FLOAT, DOUBLE) and _is_negative_zero(argument):
        # Spark takes two calls for one where their arguments are -0.0 and 0.0.
        return f"CAST('-0.0' AS {type_name(type_)})"
    is_time = isinstance(type_, Timestamp) or type_ == DATE
    if not is_time or type(argument) is not exp.Cast:
        return None
    inner = argument.this
    constant = text_literal(inner.name) if inner.is_string else _constant(inner)
    return None if constant is None else f"CAST({constant} AS {type_name(type_)})"


def _is_negative_zero(argument: exp.Expr) -> bool:
    """Whether it is -0.0, or a cast of that or of its text."""
    value = _floating(argument)
    return value == 0 and copysign(1, value) < 0


def _floating(constant: exp.Expr) -> float:
    """The value of a FLOAT or DOUBLE; NaN where it is no constant."""
    if constant.is_string or type_of(constant) in (FLOAT, DOUBLE):
        match constant:
            case exp.Literal():
                with suppress(ValueError):
                    return float(constant.name)
            case exp.Neg():
                return -_floating(constant.this)
            case exp.Cast() | exp.Paren():
                return _floating(constant.this)
    return nan


def _argument(argument: exp.Expr) -> functions.Argument:
    return described(argument, "?")
