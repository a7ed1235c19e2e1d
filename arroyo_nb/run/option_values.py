"""How users write the values of options: durations, sizes, times, speeds, folders.

Each function takes a text, or the value itself, and refuses what is neither.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem

DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*\Z")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
UNIT_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*\Z", re.IGNORECASE)
_UNITS_MS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_UNIT_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

CHECKPOINT = timedelta(seconds=30)
"""The time between checkpoints in real-time mode where no trigger is given. After a
crash, the rows since the last checkpoint are written again."""

LEAST_CHECKPOINT = timedelta(seconds=5)
"""The shortest time between checkpoints that Spark accepts."""

LONGEST_CHECKPOINT = timedelta(seconds=100)
"""A stop waits for the next checkpoint, and a job has two minutes for that."""

END: Literal["end"] = "end"
"""Written in place of an event time: the end that topics have when the run begins."""


def state_folder(named: str | Path) -> Path:
    """The folder that a user names to keep state in.

    Raises
    ------
    RunProblem
        When it is the address of a store, which has no folders.

    >>> state_folder("/mnt/state").as_posix()
    '/mnt/state'
    """
    text = str(named)
    # A path has lost one of the slashes.
    if (found := _ADDRESS.match(text)) is not None:
        raise RunProblem(
            f"state is kept in a folder: '{text}' is an address of '{found[1]}'",
            hint="name a folder; on a cluster one that is mounted at the same path on "
            "every node",
        )
    # Now: Spark wants an address, and the process may go to another folder.
    return user_path(named).absolute()


def size_bytes(value: str | int) -> int:
    """A size such as ``1GB``, ``200 MB``; a bare number is bytes.

    Raises
    ------
    RunProblem
        When it is not one.

    >>> size_bytes("1.5GB")
    1610612736
    """
    match = SIZE.match(str(value))
    if match is None:
        raise RunProblem(
            f"'{value}' is not a size", hint="write one like 200MB, 1GB or 0"
        )
    return int(float(match[1]) * _UNIT_BYTES[match[2].upper()])


def duration(value: str | timedelta | None) -> timedelta | None:
    """A duration such as ``250ms``, ``30s``, ``1.5 h``; a bare number is seconds.

    Raises
    ------
    RunProblem
        When it is not one, or not positive.

    >>> duration("250ms")
    datetime.timedelta(microseconds=250000)
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        length = value
    elif match := DURATION.match(value):
        length = _seconds(float(match[1]) * UNIT_S[match[2] or "s"])
    else:
        raise RunProblem(
            f"'{value}' is not a duration", hint="write one like 250ms, 30s, 5m or 2h"
        )
    if length <= timedelta():
        raise RunProblem("a duration must be positive", hint="leave it out instead")
    return length


def duration_literal(length: timedelta) -> str:
    """A duration in the largest unit of which it is a whole number.

    >>> duration_literal(timedelta(minutes=90))
    '90m'
    >>> duration_literal(timedelta(microseconds=1500))
    '1.5ms'
    """
    length_ms = length / timedelta(milliseconds=1)
    unit, size = next((u for u in _UNITS_MS if length_ms % u[1] == 0), _UNITS_MS[-1])
    return f"{length_ms / size:.3f}".rstrip("0").rstrip(".") + unit


def _seconds(count: float) -> timedelta:
    try:
        return timedelta(seconds=count)
    except OverflowError:
        raise RunProblem(
            f"a duration of {count:g} s is too long", hint="leave it out instead"
        ) from None


def checkpoint_interval(trigger: timedelta | None) -> timedelta:
    """The trigger of a run in real-time mode.

    Raises
    ------
    RunProblem
        When it is too short, or too long.

    >>> checkpoint_interval(None)
    datetime.timedelta(seconds=30)
    """
    chosen = trigger or CHECKPOINT
    if not LEAST_CHECKPOINT <= chosen <= LONGEST_CHECKPOINT:
        raise RunProblem(
            "in real-time mode the trigger is the time between checkpoints: from "
            f"{LEAST_CHECKPOINT.seconds}s to {LONGEST_CHECKPOINT.seconds}s",
            hint="no record waits for it: leave it out",
        )
    return chosen


def ending(value: str | datetime | None) -> datetime | Literal["end"] | None:
    """Until when to run: an event time as :func:`instant` reads it, or :data:`END`.

    Raises
    ------
    RunProblem
        When it is neither.

    >>> ending("end")
    'end'
    """
    return END if value == END else instant(value)


def instant(value: str | datetime | None) -> datetime | None:
    """An event time such as ``2013-02-08 12:00``, as naive UTC.

    Raises
    ------
    RunProblem
        When it is not one.

    >>> instant("2013-02-08T12:00:00+02:00")
    datetime.datetime(2013, 2, 8, 10, 0)
    """
    hint = (
        "write one like 2013-02-08 12:00, or end for the end that topics have now; to "
        "run for some time, write --for 30s (in Python stop_after='30s')"
    )
    return None if value is None else utc_time(value, hint)


def utc_time(value: str | datetime, hint: str) -> datetime:
    """A time as naive UTC; text without a zone is UTC.

    Raises
    ------
    RunProblem
        When it is none, with the hint.
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if time.tzinfo is None:
            return time
        return time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, AttributeError, OverflowError):
        # A date has no time zone; one before the year 1 is none in UTC.
        raise RunProblem(f"'{value}' is not a time", hint=hint) from None


def playing_speed(value: float | str) -> float | str:
    """``"max"``, or a positive factor on event time.

    Raises
    ------
    RunProblem
        When it is neither.
    """
    if value == "max":
        return "max"
    try:
        factor = float(value)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise RunProblem(
            f"speed '{value}' is not a positive number",
            hint="write 'max', or how many seconds of event time a second shows",
        )
    return factor
