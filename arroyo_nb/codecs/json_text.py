"""The JSON text of values of Python, by their own types.

Python's own encoder would write NaN, and has no word for a DECIMAL. Texts are those
that Spark writes for the same values.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from arroyo_nb.errors import RunProblem

_ESCAPED = re.compile(r"\\(?:u(00[01][0-9a-f])|.)")
"""What stands for a character of a JSON text, and which control character it is."""


class JsonText(str):
    """A text that is JSON already, and stands in a document as it is."""

    __slots__ = ()


def json_text(value: Any) -> str:
    """The JSON text of a value by its own type, as a sink would write it.

    >>> json_text({"at": datetime(2024, 1, 1, 12), "n": [1.0, float("nan")]})
    '{"at":"2024-01-01T12:00:00","n":[1.0,null]}'

    Raises
    ------
    RunProblem
        When there is none.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case JsonText():
            return str(value)
        case str():
            return _text(value)
        case int():
            return str(int(value))
        case float():
            return number_text(repr(float(value))) if math.isfinite(value) else "null"
        case Mapping():
            inner = (
                f"{encode_basestring(str(name))}:{json_text(one)}"
                for name, one in value.items()
            )
            return f"{{{','.join(inner)}}}"
        case list() | tuple():
            return f"[{','.join(map(json_text, value))}]"
        case _:
            return _other(value)


def _text(value: str) -> str:
    # Spark's has capitals for the control characters.
    return _ESCAPED.sub(
        lambda found: f"\\u{found[1].upper()}" if found[1] else found[0],
        encode_basestring(value),
    )


def _other(value: Any) -> str:
    # Of numpy; and pandas has values for what is missing that equal nothing.
    if hasattr(value, "tolist"):
        return json_text(value.tolist())
    if type(value).__name__ in ("NaTType", "NAType"):
        return "null"
    match value:
        case datetime():
            aware = value if value.tzinfo is None else value.astimezone(UTC)
            return f'"{aware.replace(tzinfo=None).isoformat(timespec=_digits(value))}"'
        case time():
            return f'"{value.replace(tzinfo=None).isoformat(timespec=_digits(value))}"'
        case date():
            return f'"{value.isoformat()}"'
        case Decimal():
            return f"{value:f}" if value.is_finite() else "null"
        case bytes() | bytearray() | memoryview():
            return f'"{base64.b64encode(value).decode()}"'
        case timedelta():
            return json.dumps(str(value))
        case _:
            raise RunProblem(
                f"a {type(value).__name__} has no form in JSON",
                hint="make it a text, a number, a time, a list or a mapping",
            )


def _digits(value: datetime | time) -> str:
    """How many digits of a second are written: none, 3 or 6."""
    if not value.microsecond:
        return "seconds"
    return "microseconds" if value.microsecond % 1000 else "milliseconds"


def number_text(text: str) -> str:
    """A number as Java writes it, so that a row is the same record whoever sends it:
    with an exponent below a thousandth, and from ten millions on."""
    number = Decimal(text)
    if not number or Decimal("1e-3") <= abs(number) < Decimal("1e7"):
        return text
    sign, digits, _ = number.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0")
    return f"{'-' * sign}{kept[0]}.{kept[1:] or '0'}e{number.adjusted()}"
