"""The time of day, read once: when the script is planned. It is the same for every row
of a run, and another one in the next run. The time of a row is ``row_time()``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from arroyo_nb.functions.signature import (
    ClockTemplate,
    Nulls,
    ScalarFunction,
    Signature,
)
from arroyo_nb.schema import DATE, EPOCH, MICROSECOND, TIME, Timestamp, Type


def _micros(time: datetime) -> int:
    return (time - EPOCH) // MICROSECOND


def _of_day(time: datetime) -> int:
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    return (time - midnight) // MICROSECOND


def _row(
    name: str,
    result: Type,
    write: Callable[[datetime], str],
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    differs: str = "",
) -> ScalarFunction:
    return ScalarFunction(
        name,
        (Signature((), result),),
        ClockTemplate(write),
        doc,
        Nulls.NEVER,
        aliases,
        volatile="another time in the next run",
        example=f"{name}()",
        differs=differs,
    )


FUNCTIONS = (
    _row(
        "now",
        Timestamp(),
        lambda time: f"timestamp_micros({_micros(time)}L)",
        "when the script was planned",
        aliases=("current_timestamp",),
        differs="Arroyo's type has the zone +00:00",
    ),
    _row(
        "current_date",
        DATE,
        lambda time: f"DATE '{time.date().isoformat()}'",
        "the day on which the script was planned, in UTC",
        aliases=("today",),
    ),
    _row(
        "current_time",
        TIME,
        lambda time: f"{_of_day(time)}L",
        "the time of day at which the script was planned, in UTC",
    ),
)
