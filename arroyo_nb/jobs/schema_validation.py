"""Values with places against a JSON Schema: what is wrong, and where.

The schema that is published is the one that is enforced. It keeps to the words that
are read here; the test of the schema sees to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.yaml_values import Item
from arroyo_nb.registry import did_you_mean

Schema: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[Item, Any, Schema], Iterator[PromoteProblem]]

_TYPES = {
    "object": (dict, "a mapping"),
    "array": (tuple, "a list"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


@cache
def job_schema() -> Schema:
    """The JSON Schema of job specs."""
    text = files("arroyo_nb.jobs").joinpath("job.schema.json").read_text("utf-8")
    schema: Schema = json.loads(text)
    return schema


def problems(item: Item, schema: Schema) -> Iterator[PromoteProblem]:
    """Whatever in a value is not as its schema has it, each with its place."""
    kind = schema.get("type")
    if kind is not None and not _is(item, kind):
        yield _other_type(item, kind)
        return
    for word, wanted in schema.items():
        if word in CHECKS:
            yield from CHECKS[word](item, wanted, schema)


def _is(item: Item, kind: str) -> bool:
    # True is an int to Python.
    type_ = _TYPES[kind][0]
    return isinstance(item.value, type_) and isinstance(item.value, bool) == (
        type_ is bool
    )


def _other_type(item: Item, kind: str) -> PromoteProblem:
    scalar = not isinstance(item.value, dict | tuple)
    return PromoteProblem(
        f"this must be {_TYPES[kind][1]}",
        span=item.span if scalar else item.key,
        hint="put it in quotes" if scalar and kind == "string" else None,
    )


def _required(item: Item, wanted: list[str], _: Schema) -> Iterator[PromoteProblem]:
    for key in wanted:
        if key not in item.entries:
            # Of the root there is no key: its first one shows where.
            first = next(iter(item.entries.values()), item)
            yield PromoteProblem(f"'{key}' is missing", span=first.key)


def _properties(
    item: Item, wanted: Mapping[str, Schema], _: Schema
) -> Iterator[PromoteProblem]:
    for key, schema in wanted.items():
        if key in item.entries:
            yield from problems(item.entries[key], schema)


def _others(
    item: Item, wanted: Schema | bool, schema: Schema
) -> Iterator[PromoteProblem]:
    known = schema.get("properties", {})
    for key, value in item.entries.items():
        if key in known:
            continue
        if isinstance(wanted, bool):
            hint = did_you_mean(key, known)
            yield PromoteProblem(f"unknown key '{key}'", span=value.key, hint=hint)
        else:
            yield from problems(value, wanted)


def _items(item: Item, wanted: Schema, _: Schema) -> Iterator[PromoteProblem]:
    for one in item.elements:
        yield from problems(one, wanted)


def _unique(item: Item, _: bool, __: Schema) -> Iterator[PromoteProblem]:
    seen = []
    for one in item.elements:
        if one.plain in seen:
            yield PromoteProblem(f"'{one.plain}' stands here twice", span=one.span)
        seen.append(one.plain)


def _const(item: Item, wanted: object, _: Schema) -> Iterator[PromoteProblem]:
    if not _same(item.plain, wanted):
        yield PromoteProblem(f"this must be {wanted}", span=item.span)


def _enum(item: Item, wanted: list[str], _: Schema) -> Iterator[PromoteProblem]:
    if not any(_same(item.plain, one) for one in wanted):
        known = " or ".join(f"'{one}'" for one in wanted)
        yield PromoteProblem(f"this must be {known}", span=item.span)


def _same(one: object, other: object) -> bool:
    """As JSON compares: true is not 1."""
    return type(one) is type(other) and one == other


def _pattern(item: Item, wanted: str, schema: Schema) -> Iterator[PromoteProblem]:
    if re.search(wanted.replace("$", r"\Z"), item.plain) is None:
        yield PromoteProblem(
            f"'{item.plain}' is not as it must be written: {wanted}",
            span=item.span,
            hint=schema.get("description"),
        )


def _shortest(item: Item, _: int, __: Schema) -> Iterator[PromoteProblem]:
    if not item.plain:
        yield PromoteProblem("this must not be empty", span=item.key)


def _least(item: Item, wanted: int, _: Schema) -> Iterator[PromoteProblem]:
    if item.plain < wanted:
        yield PromoteProblem(f"this must be {wanted} or more", span=item.span)


def _most(item: Item, wanted: int, _: Schema) -> Iterator[PromoteProblem]:
    if item.plain > wanted:
        yield PromoteProblem(f"this must be {wanted} or less", span=item.span)


CHECKS: Mapping[str, Check] = {
    "required": _required,
    "properties": _properties,
    "additionalProperties": _others,
    "items": _items,
    "uniqueItems": _unique,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "minLength": _shortest,
    "minimum": _least,
    "maximum": _most,
}
"""What each word of a schema checks."""
