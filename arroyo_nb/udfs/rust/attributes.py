"""What the author of an async Rust UDF says in ``#[udf(...)]``."""

from __future__ import annotations

import re
from typing import Any

from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.udfs.definition import UdfOptions
from arroyo_nb.udfs.durations import read_duration
from arroyo_nb.udfs.rust.syntax import Function, RustText, text_of

_KNOWN = ("ordered", "unordered", "allowed_in_flight", "timeout")
_MOST_IN_FLIGHT = 2**32 - 1


def read_options(text: RustText, function: Function) -> UdfOptions:
    """The options of a function; those of one that is not async mean nothing, as in
    Arroyo, and are not read.

    Raises
    ------
    ArroyoError
        When one is not known, or its value is not.
    """
    attribute = function.attribute("udf")
    tokens = attribute and attribute.child_by_field_name("arguments")
    if tokens is None or not function.is_async:
        return UdfOptions()
    values: dict[str, Any] = {}
    try:
        for part in filter(None, map(str.strip, text_of(tokens)[1:-1].split(","))):
            values |= _option(*map(str.strip, part.partition("=")))
    except ArroyoError as problem:
        problem.span = problem.span or text.span(tokens)
        raise
    return UdfOptions(**values)


def _option(name: str, equals: str, value: str) -> dict[str, Any]:
    match name, equals:
        case (("ordered" | "unordered"), ""):
            return {"ordered": name == "ordered"}
        case "allowed_in_flight", "=":
            return {name: _calls(value)}
        case "timeout", "=":
            if not re.fullmatch(r'"[^"]*"', value):
                raise CatalogProblem(
                    f"the timeout {value} is no text", hint='write timeout = "10s"'
                )
            return {name: read_duration(value[1:-1])}
    if name in _KNOWN:
        example = f'{name} = "10s"' if name == "timeout" else f"{name} = 100"
        raise CatalogProblem(
            f"the attribute '{name}' is not written so",
            hint=f"write {name if name.endswith('ordered') else example}",
        )
    raise CatalogProblem(
        f"unsupported attribute '{name}'", hint=did_you_mean(name, _KNOWN)
    )


def _calls(value: str) -> int:
    number = re.fullmatch(r"(\d[\d_]*)(?:[iu](?:8|16|32|64|128|size))?", value)
    if number is None:
        raise CatalogProblem("expected number", hint="write allowed_in_flight = 100")
    calls = int(number[1].replace("_", ""))
    if not 0 < calls <= _MOST_IN_FLIGHT:
        raise CatalogProblem(f"allowed_in_flight is from 1 to {_MOST_IN_FLIGHT}")
    return calls
