"""Numbers."""

from __future__ import annotations

from arroyo_nb.functions.signature import (
    Kind,
    Result,
    ScalarFunction,
    Signature,
)
from arroyo_nb.schema import BIGINT, DOUBLE

_SAME = (Signature((Kind.NUMBER,), Result.FIRST),)
_DOUBLE = (Signature((DOUBLE,), DOUBLE),)
_DOUBLES = (Signature((DOUBLE, DOUBLE), DOUBLE),)
_BIGINTS = (Signature((BIGINT, BIGINT), BIGINT),)


def _plain(name: str, doc: str) -> ScalarFunction:
    return ScalarFunction(name, _DOUBLE, f"{name}({{0}})", doc)


FUNCTIONS = (
    _plain("sqrt", "square root; NaN of a negative number"),
    ScalarFunction("abs", _SAME, "abs({0})", "absolute value"),
)
