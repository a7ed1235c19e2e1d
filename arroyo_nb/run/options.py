"""How a script is run, and how a user may write that."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.state.header import StateHeader, untold

DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*\Z")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
UNIT_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


CHECKPOINT = timedelta(seconds=30)
"""The time between checkpoints in real-time mode, where no trigger is given: what came
since the last one is written again by who goes on after a crash."""

LEAST_CHECKPOINT = timedelta(seconds=5)
"""The shortest one that Spark takes."""

LONGEST_CHECKPOINT = timedelta(seconds=100)
"""A stop waits for the next one, and a job has two minutes for that."""

FLUSH = timedelta(milliseconds=250)
JOB_FLUSH = timedelta(seconds=1)
"""How often live changes are told, where no trigger is given: to who looks at them, and
by a job, to which fewer and larger batches matter more."""


BUDGET_BYTES = 2**30
"""What a run keeps of its rows, where nothing else is said."""

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*\Z", re.IGNORECASE)
_UNIT_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

END: Literal["end"] = "end"
"""What is written in place of an event time for the end that topics have now."""


@dataclass(frozen=True)
class RunOptions:
    """How a script is run.

    Parameters
    ----------
    sinks
        Whether INSERTs write to their tables; else they are previewed.
    keep
        Whether rows of written sinks are kept for a preview too.
    speed
        ``"max"``, or how many times faster than event time chunks are released.
    trigger
        Least time between micro-batches; None: as soon as there are rows.
    flush
        Where no trigger is given, how often a source that is played at a speed
        releases rows, and the trigger of updating queries over a source without end.
    stop_after
        Wall time after which the run is stopped; the engine's start is not in it.
    until
        Event time (naive UTC) that the watermark must reach for the run to be stopped.
        :data:`END`: topics are read only to where they end when the run begins.
    stepping
        Whether chunks are released one by one, by ``Run.step``.
    traced
        Whether windows and late rows are counted.
    real_time
        Whether queries run in Spark's real-time mode; the trigger is then the time
        between checkpoints.
    printed
        Whether bare SELECTs go to standard output as JSON lines, and none are kept.
    budget_bytes
        What the rows that are kept may take on the disk; 0: only the newest are kept,
        in memory.
    spec
        What the state folder says of what is run, for who judges a change of it.
    differs
        Tells how the query whose state was found is another one, in lines.
    """

    sinks: bool = True
    keep: bool = False
    speed: float | str = "max"
    trigger: timedelta | None = None
    flush: timedelta = FLUSH
    stop_after: timedelta | None = None
    until: datetime | Literal["end"] | None = None
    stepping: bool = False
    traced: bool = True
    real_time: bool = False
    printed: bool = False
    budget_bytes: int = BUDGET_BYTES
    spec: str = ""
    differs: Callable[[StateHeader], str] = untold

    @property
    def ends(self) -> str:
        """The options by which the run ends early, as a cell writes them."""
        ends = (("--until", self.until), ("--for", self.stop_after))
        return " and ".join(f"{name} {value}" for name, value in ends if value)


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
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise RunProblem(
                f"'{value}' is not a time",
                hint="write one like 2013-02-08 12:00, or end for the end that topics "
                "have now; to run for some time, write --for 30s (in Python "
                "stop_after='30s')",
            ) from None
    if value is None or value.tzinfo is None:
        return value
    return value.astimezone(UTC).replace(tzinfo=None)


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
