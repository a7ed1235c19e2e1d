"""What to write where the types of operands do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlglot import exp

from arroyo_nb.functions.types import is_number
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import (
    DATE,
    INTERVAL,
    JSON_VALUE,
    TEXT,
    StructOf,
    Timestamp,
    Type,
)

_UNITS = {"seconds": 1, "millis": 10**3, "micros": 10**6, "nanos": 10**9}
_FIRST_S, _LAST_S = 631_152_000, 4_102_444_800
"""The years 1990 to 2099: a number that lies there, in one of the units, is a time."""
_SOME_TIME = "'2024-01-31 12:30:00'"


def comparison_hint(operands: Sequence[exp.Expr], *, compares: bool) -> str:
    """What to write where operands have no type in common; ``compares``: they are those
    of a comparison, in which a number may be meant as a time."""
    types = [type_of(operand) for operand in operands]
    numbers = [one for one in operands if is_number(type_of(one))]
    if JSON_VALUE in types:
        return "write ->> in place of ->, which gives the text of a JSON value"
    if any(isinstance(type_, StructOf) for type_ in types):
        return "compare one field of the struct, as in w.start"
    texts = [one for one in operands if type_of(one) == TEXT]
    if INTERVAL in types and texts:
        return _interval_hint(texts[0])
    if compares and INTERVAL in types and numbers:
        return _length_hint(numbers)
    if compares and any(map(_is_time, types)) and numbers:
        return _time_hint(numbers)
    return "write CAST(... AS TYPE), so that they have one type"


def arithmetic_hint(symbol: str, left: exp.Expr, right: exp.Expr) -> str | None:
    """What to write where an operator does not take its operands; None: nothing is
    known."""
    return (
        _days_hint(symbol, left, right)
        or _arrow_hint(symbol, left, right)
        or _text_hint(symbol, left, right)
    )


def _is_time(type_: Type) -> bool:
    return isinstance(type_, Timestamp) or type_ == DATE


def _literal(operand: exp.Expr) -> str | None:
    """The text of a number that is written; None: it is computed."""
    if isinstance(operand, exp.Neg):
        text = _literal(operand.this)
        return None if text is None else f"-{text}"
    if isinstance(operand, exp.Cast):
        return _literal(operand.this)
    is_number = isinstance(operand, exp.Literal) and not operand.is_string
    return operand.name if is_number else None


def _interval_hint(text: exp.Expr) -> str:
    if text.is_string:
        return f"write INTERVAL '{text.name}' in place of '{text.name}'"
    name = text.name if isinstance(text, exp.Column) else "..."
    return f"write CAST({name} AS INTERVAL)"


def _length_hint(numbers: Sequence[exp.Expr]) -> str:
    """Beside a length of time, such as the difference of two times."""
    text = next(filter(None, map(_literal, numbers)), None)
    if text is None:
        return "a difference of times is compared with an INTERVAL, as in " + (
            "INTERVAL '30 minutes'"
        )
    return (
        f"write INTERVAL '{text} minutes' in place of {text}, with the unit that you "
        "mean: seconds, minutes, hours, days"
    )


def _time_hint(numbers: Sequence[exp.Expr]) -> str:
    text = next(filter(None, map(_literal, numbers)), None)
    if text is None:
        names = [one.name for one in numbers if isinstance(one, exp.Column)]
        return (
            f"make a time of the number: to_timestamp_millis({(names or ['...'])[0]}), "
            "or to_timestamp_seconds, by its unit"
        )
    if (day := _day(text)) is not None:
        return f"write '{day}' in place of {text}: a time is written as a text"
    for name, per_s in _UNITS.items():
        if text.isdigit() and _FIRST_S * per_s <= int(text) <= _LAST_S * per_s:
            return f"write to_timestamp_{name}({text}): a number is no time"
    return f"write a time as a text, as in {_SOME_TIME}"


def _day(digits: str) -> str | None:
    """The day, or the time of a day, that digits alone spell.

    >>> _day("20130304"), _day("20130304101500"), _day("20131399")
    ('2013-03-04', '2013-03-04 10:15:00', None)
    """
    forms = {4: "%Y", 8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
    if len(digits) not in forms or not digits.isdigit():
        return None
    try:
        found = datetime.strptime(digits, forms[len(digits)])
    except ValueError:
        return None
    return str(found) if len(digits) == 14 else str(found.date())


def _days_hint(symbol: str, left: exp.Expr, right: exp.Expr) -> str | None:
    if type_of(left) != DATE or not is_number(type_of(right)):
        return None
    days = _literal(right) or "1"
    return f"write {symbol} INTERVAL '{days} day{'s' * (days != '1')}'"


def _arrow_hint(symbol: str, left: exp.Expr, right: exp.Expr) -> str | None:
    # Of j -> 'a' + 1 only the right side is here: the arrow binds less tightly.
    is_key = isinstance(left, exp.Literal) and left.is_string
    if not is_key or not is_number(type_of(right)):
        return None
    return (
        f"where '{left.name}' is the key of an arrow, write "
        f"(column -> '{left.name}')::BIGINT {symbol} ..."
    )


def _text_hint(symbol: str, *operands: exp.Expr) -> str | None:
    texts = [operand for operand in operands if type_of(operand) == TEXT]
    if not texts:
        return None
    text = texts[0].name if isinstance(texts[0], exp.Column) else "..."
    joins = "join texts with ||, or " if symbol == "+" else ""
    return f"{joins}write CAST({text} AS BIGINT) where the text is a number"
