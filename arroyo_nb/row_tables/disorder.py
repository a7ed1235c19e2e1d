"""The disorder that a user asks for, as options, and rows that have it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import StreamRows, length_of_time, stream_rows
from arroyo_nb.row_tables.values import reader
from arroyo_nb.schema import MICROSECOND, Schema
from arroyo_nb.tape.disorder import Disorder

_SHARE = re.compile(r"\d+(\.\d+)?%?\Z", re.ASCII)
_INTEGER = re.compile(r"-?\d+\Z", re.ASCII)


def disordered(found: StreamRows, given: Mapping[str, Any]) -> StreamRows:
    """The rows as they arrive in a disorder; their micro-batches follow from that.

    Parameters
    ----------
    given
        Options by name, as texts or as the values themselves; none: the rows as they
        are.

    Raises
    ------
    CatalogProblem
        When an option is unknown or has no such value, or the rows have micro-batches
        of their own.
    """
    if not given:
        return found
    for name in given:
        if name not in OPTIONS:
            raise CatalogProblem(
                f"unknown disorder '{name}'", hint=did_you_mean(name, OPTIONS)
            )
    values = {name: OPTIONS[name](name, value) for name, value in given.items()}
    if found.are_grouped:
        raise CatalogProblem(
            "blank lines end micro-batches, and a disorder makes others",
            hint="remove the blank lines between the rows, or the disorder",
        )
    column, value, delay_us = values.get("delay", ("", "", 0))
    if "delay" in values and column not in found.schema:
        raise CatalogProblem(
            f"there is no column '{column}' for the delay",
            hint=did_you_mean(column, found.schema.names),
        )
    is_delayed = _matcher(found.schema, column, value)
    delayed = [is_delayed(row.get(column)) for row in found.rows]
    if "delay" in values and not any(delayed):
        raise CatalogProblem(f"no row has '{value}' in '{column}', to be delayed")
    disorder = Disorder(
        values.get("shuffle", 0),
        delay_us,
        values.get("duplicate", 0.0),
        values.get("gap", 0),
        values.get("burst", 0),
        values.get("seed", 0),
    )
    arrivals = disorder.apply(found.arrivals_us, delayed)
    return stream_rows(
        found.schema,
        [found.rows[arrival.row] for arrival in arrivals],
        found.event_time,
        [arrival.us for arrival in arrivals],
    )


def _matcher(schema: Schema, column: str, text: str) -> Callable[[Any], bool]:
    """What says whether a value of a column is the one that a text names: as a cell of
    the column is read, or as Python writes it."""
    read = reader(schema[column].type) if column in schema else None
    wanted = None
    if read is not None:
        with suppress(ValueError):
            wanted = read(text)
    return lambda value: value is not None and (value == wanted or str(value) == text)


def _time_us(name: str, value: Any) -> int:
    hint = f"write a length of time, such as {name}='10s'"
    written = value if isinstance(value, timedelta) else str(value)
    length = length_of_time(name, written, hint)
    if length < timedelta():
        raise CatalogProblem(f"the {name} '{value}' is negative", hint=hint)
    return length // MICROSECOND


def _delay(name: str, value: Any) -> tuple[str, str, int]:
    """The column, its value, and by how long, in microseconds."""
    column, _, rest = str(value).partition("=")
    text, _, length = rest.rpartition(":")
    if not (column and text and length):
        raise CatalogProblem(
            f"the delay '{value}' is not COLUMN=VALUE:TIME",
            hint="write user=bob:20s: the rows of bob arrive 20 seconds later",
        )
    return column, text, _time_us(name, length)


def _share(name: str, value: Any) -> float:
    if isinstance(value, float) and 0 <= value <= 1:
        return value
    text = str(value)
    if _SHARE.match(text):
        found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        if found <= 1:
            return found
    raise CatalogProblem(
        f"the share of '{name}' is '{value}'", hint="write 10%, or 0.1; 1 is every row"
    )


def _number(name: str, value: Any) -> int:
    try:
        text = str(value)
        if _INTEGER.match(text):
            return int(text)
    except ValueError:
        # Python neither reads nor writes a number of thousands of digits.
        raise CatalogProblem(
            f"the {name} has too many digits", hint=f"write {name}=7"
        ) from None
    raise CatalogProblem(
        f"the {name} '{text}' is no whole number", hint=f"write {name}=7"
    )


OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "shuffle": _time_us,
    "delay": _delay,
    "duplicate": _share,
    "gap": _time_us,
    "burst": _time_us,
    "seed": _number,
}
