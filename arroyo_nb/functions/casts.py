"""CAST between Arroyo types, as Spark SQL text.

A cast that cannot be done fails the run (ANSI mode); TRY_CAST gives NULL. Most casts
mean the same in both engines; the table holds those that do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from arroyo_nb.codecs.timestamps import timestamp_text
from arroyo_nb.functions.datafusion import Operand, datafusion_call, text_literal
from arroyo_nb.functions.let_binding import once
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    TEXT,
    Decimal,
    Primitive,
    Timestamp,
    Type,
    spark_type,
)

_Template: TypeAlias = Callable[[str, Type, Type, bool], str]

_SIGNED = frozenset(map(Primitive, ("TINYINT", "SMALLINT", "INT", "BIGINT")))
_FROM_NUMBER = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}
_TO_NUMBER = {0: "unix_seconds", 3: "unix_millis", 6: "unix_micros"}
_TRUNCATED = {0: "SECOND", 3: "MILLISECOND"}
_LARGEST = {
    "TINYINT UNSIGNED": 2**8 - 1,
    "SMALLINT UNSIGNED": 2**16 - 1,
    "INT UNSIGNED": 2**32 - 1,
    "BIGINT UNSIGNED": 2**64 - 1,
}


def cast(
    value: str,
    source: Type,
    target: Type,
    *,
    literal: str | None = None,
    tries: bool = False,
) -> str:
    """The SQL text of a cast.

    Parameters
    ----------
    literal
        The value of a text literal.
    tries
        Whether it is TRY_CAST.

    >>> from arroyo_nb.schema import BIGINT, INT
    >>> cast("`a`", INT, BIGINT)
    'CAST(`a` AS bigint)'
    """
    if source == target:
        return value
    if template := datafusion_cast(source, target, tries=tries):
        constant = None if literal is None else text_literal(literal)
        return datafusion_call(template, [Operand(value, source, constant)], target)
    special = _SPECIAL.get((_kind(source), _kind(target)))
    if special is not None:
        return special(value, source, target, tries)
    text = f"{'TRY_CAST' if tries else 'CAST'}({value} AS {spark_type(target)})"
    return _checked(text, target, tries)


def datafusion_cast(source: Type, target: Type, *, tries: bool = False) -> str:
    """How DataFusion is asked for a cast: its SQL with ``{0}`` for the value; empty:
    Spark means it alike.

    >>> from arroyo_nb.schema import INTERVAL, TEXT
    >>> datafusion_cast(TEXT, INTERVAL)
    'CAST({0} AS INTERVAL)'
    """
    if (source, target) not in _IN_DATAFUSION:
        return ""
    return f"{'TRY_CAST' if tries else 'CAST'}({{0}} AS {target})"


def _kind(type_: Type) -> str:
    match type_:
        case Timestamp():
            return "timestamp"
        case Primitive("TEXT" | "JSON"):
            return "text"
        case Primitive("FLOAT" | "DOUBLE"):
            return "floating"
        case Decimal():
            return "number"
        case Primitive("BIGINT UNSIGNED"):
            return "unsigned"
        case Primitive("DATE"):
            return "date"
        case _ if type_ in _SIGNED or str(type_) in _LARGEST:
            return "number"
        case _:
            return "other"


def _checked(text: str, target: Type, tries: bool) -> str:
    """Spark's types for unsigned integers are wider: their range is checked here."""
    if str(target) not in _LARGEST:
        return text
    # The words of Spark's own error, which is told as one of ours.
    found = f"'[CAST_OVERFLOW] the value ', {{0}}, ' cannot be cast to \"{target}\"'"
    return in_range(
        text, target, otherwise="NULL" if tries else f"raise_error(concat({found}))"
    )


def in_range(text: str, type_: Type, *, otherwise: str) -> str:
    """A value of Spark's wider type for an unsigned integer; ``otherwise``, in which
    ``{0}`` is the value, where it is out of the unsigned range.

    The text stands there once: nested, it would double in length with each level.
    """
    fits = f"coalesce(n BETWEEN 0 AND {_LARGEST[str(type_)]}, TRUE)"
    checked = f"n -> IF({fits}, n, {otherwise.format('n')})"
    return f"element_at(transform(array({text}), {checked}), 1)"


def _to_text(value: str, _source: Type, _target: Type, _tries: bool) -> str:
    return once(lambda texts: timestamp_text(texts[0]), [value])


def _from_number(value: str, source: Type, target: Type, tries: bool) -> str:
    """A number counts whole units of the timestamp's own; Spark keeps microseconds."""
    assert isinstance(target, Timestamp)
    # Spark's functions would keep a fraction, or not take the type.
    if source not in _SIGNED:
        value = cast(value, source, BIGINT, tries=tries)
    # `div` rounds instants before 1970 up, and BIGINT / BIGINT is an inexact DOUBLE.
    if target.digits == 9:
        return f"timestamp_micros(CAST(floor({value} / 1000BD) AS BIGINT))"
    return f"{_FROM_NUMBER[target.digits]}({value})"


def _to_number(value: str, source: Type, target: Type, tries: bool) -> str:
    assert isinstance(source, Timestamp)
    if source.digits == 9:
        number = f"(unix_micros({value}) * 1000L)"
    else:
        number = f"{_TO_NUMBER[source.digits]}({value})"
    return cast(number, BIGINT, target, tries=tries)


def _days(value: str, source: Type, target: Type, tries: bool) -> str:
    """A number counts days since 1970."""
    if source == DATE:
        return cast(f"unix_date({value})", INT, target, tries=tries)
    return f"date_from_unix_date({cast(value, source, INT, tries=tries)})"


def _precision(value: str, _source: Type, target: Type, _tries: bool) -> str:
    assert isinstance(target, Timestamp)
    unit = _TRUNCATED.get(target.digits)
    return value if unit is None else f"date_trunc('{unit}', {value})"


def _floating_text(value: str, source: Type, _target: Type, _tries: bool) -> str:
    """The shortest digits, as Spark's are, but with an exponent only where it is below
    -5 (a FLOAT's: -6) or above 15. Spark's text is ``1.5E9`` from seven digits on."""
    least = -6 if source == FLOAT else -5
    exponent = "CAST(substring_index(t, 'E', -1) AS INT)"
    # 16 digits before the point, for an exponent of 15, and 22 after it.
    digits = "CAST(CAST(t AS DECIMAL(38, 22)) AS STRING)"
    plain = f"regexp_replace({digits}, '([.][0-9]+?)0+$', '$1')"
    written = (
        "CASE WHEN NOT contains(t, 'E') THEN replace(t, 'Infinity', 'inf') "
        f"WHEN {exponent} BETWEEN {least} AND 15 THEN {plain} "
        "ELSE replace(replace(t, '.0E', 'E'), 'E', 'e') END"
    )
    texts = f"array(CAST({value} AS STRING))"
    return f"element_at(transform({texts}, t -> {written}), 1)"


# The first number beyond BIGINT, and the last DOUBLE below the end of BIGINT UNSIGNED.
_HALF = "9223372036854775808"
_LAST = "18446744073709549568"


def _unsigned(value: str, source: Type, target: Type, tries: bool) -> str:
    """What is a DECIMAL to Spark is cut off as other whole numbers are, not rounded."""
    write = partial(_whole, source, "TRY_CAST" if tries else "CAST")
    return _checked(once(lambda texts: write(texts[0]), [value]), target, tries)


def _whole(source: Type, word: str, value: str) -> str:
    whole = spark_type(BIGINT_UNSIGNED)
    # By way of BIGINT: it truncates, and refuses a NaN and a fraction in a text.
    small = f"CAST({word}({value} AS bigint) AS {whole})"
    match source:
        case Decimal(_, scale) if scale:
            value = f"IF({value} < 0, ceil({value}), floor({value}))"
        case Primitive("TEXT" | "JSON"):
            large = f"{word}({value} AS {whole})"
            return f"IF({value} RLIKE '^[+]?[0-9]+$', {large}, {small})"
        case Primitive("FLOAT" | "DOUBLE"):
            # Spark reads the digits that are shown of it, a part of those it has.
            above = f"CAST(CAST({value} - {_HALF}D AS bigint) AS {whole})"
            large = f"CAST({above} + {_HALF}BD AS {whole})"
            return f"IF({value} BETWEEN {_HALF}D AND {_LAST}D, {large}, {small})"
    return f"{word}({value} AS {whole})"


_IN_DATAFUSION = frozenset({(TEXT, INTERVAL)})

_SPECIAL: dict[tuple[str, str], _Template] = {
    ("timestamp", "text"): _to_text,
    ("floating", "text"): _floating_text,
    ("floating", "timestamp"): _from_number,
    ("timestamp", "floating"): _to_number,
    **dict.fromkeys((("number", "timestamp"), ("unsigned", "timestamp")), _from_number),
    **dict.fromkeys((("timestamp", "number"), ("timestamp", "unsigned")), _to_number),
    **{(kind, "unsigned"): _unsigned for kind in ("floating", "number", "text")},
    ("timestamp", "timestamp"): _precision,
    **dict.fromkeys((("number", "date"), ("date", "number")), _days),
}
