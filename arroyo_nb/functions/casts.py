"""CAST between Arroyo types, as Spark SQL text.

A cast that cannot be done fails the run (ANSI mode); TRY_CAST gives NULL. Most casts
mean the same in both engines; the table holds those that do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from arroyo_nb.formats._text import timestamp_text
from arroyo_nb.schema import Primitive, Timestamp, Type, spark_type

_Template: TypeAlias = Callable[[str, Type, Type], str]

_INTEGERS = frozenset(("TINYINT", "SMALLINT", "INT", "BIGINT"))
_FROM_NUMBER = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}
_TO_NUMBER = {0: "unix_seconds", 3: "unix_millis", 6: "unix_micros"}
_TRUNCATED = {0: "SECOND", 3: "MILLISECOND"}
_LARGEST = {
    "TINYINT UNSIGNED": 2**8 - 1,
    "SMALLINT UNSIGNED": 2**16 - 1,
    "INT UNSIGNED": 2**32 - 1,
    "BIGINT UNSIGNED": 2**64 - 1,
}


def cast(value: str, source: Type, target: Type, *, tries: bool = False) -> str:
    """The SQL text of a cast.

    >>> from arroyo_nb.schema import BIGINT, INT
    >>> cast("`a`", INT, BIGINT)
    'CAST(`a` AS bigint)'
    """
    if source == target:
        return value
    special = _SPECIAL.get((_kind(source), _kind(target)))
    if special is not None:
        return special(value, source, target)
    text = f"{'TRY_CAST' if tries else 'CAST'}({value} AS {spark_type(target)})"
    return _checked(text, target, tries)


def _kind(type_: Type) -> str:
    match type_:
        case Timestamp():
            return "timestamp"
        case Primitive(name) if name in _INTEGERS:
            return "integer"
        case Primitive("TEXT" | "JSON"):
            return "text"
        case _:
            return "other"


def _checked(text: str, target: Type, tries: bool) -> str:
    """Spark's types for unsigned integers are wider: their range is checked here."""
    largest = _LARGEST.get(str(target))
    if largest is None:
        return text
    # The words of Spark's own error, which is told as one of ours.
    found = f"'[CAST_OVERFLOW] the value ', {text}, ' cannot be cast to \"{target}\"'"
    failure = f"concat({found})"
    otherwise = "NULL" if tries else f"raise_error({failure})"
    fits = f"coalesce({text} BETWEEN 0 AND {largest}, TRUE)"
    return f"IF({fits}, {text}, {otherwise})"


def _to_text(value: str, _source: Type, _target: Type) -> str:
    return timestamp_text(value)


def _from_number(value: str, _source: Type, target: Type) -> str:
    """A number counts the timestamp's own unit; Spark keeps microseconds."""
    assert isinstance(target, Timestamp)
    if target.digits == 9:
        return f"timestamp_micros(CAST(floor({value} / 1000BD) AS BIGINT))"
    return f"{_FROM_NUMBER[target.digits]}({value})"


def _to_number(value: str, source: Type, target: Type) -> str:
    assert isinstance(source, Timestamp)
    if source.digits == 9:
        number = f"(unix_micros({value}) * 1000L)"
    else:
        number = f"{_TO_NUMBER[source.digits]}({value})"
    return f"CAST({number} AS {spark_type(target)})"


def _precision(value: str, _source: Type, target: Type) -> str:
    assert isinstance(target, Timestamp)
    unit = _TRUNCATED.get(target.digits)
    return value if unit is None else f"date_trunc('{unit}', {value})"


_SPECIAL: dict[tuple[str, str], _Template] = {
    ("timestamp", "text"): _to_text,
    ("integer", "timestamp"): _from_number,
    ("timestamp", "integer"): _to_number,
    ("timestamp", "timestamp"): _precision,
}
