"""How a run is stopped, as Arroyo's stop modes have it (arroyo-semantics.md j.3)."""

from __future__ import annotations

from enum import Enum

from arroyo_nb.errors import RunProblem
from arroyo_nb.registry import did_you_mean


class StopMode(Enum):
    """What becomes of the rows that are on their way; each resumes exactly."""

    CHECKPOINT = "checkpoint"
    """The micro-batch that runs is ended, and is the last one."""
    GRACEFUL = "graceful"
    """The sources stop, and all that has come by now is read and told; windows that
    are then open stay open."""
    IMMEDIATE = "immediate"
    """The micro-batch that runs is given up: it is done again by who goes on."""


def stop_mode(word: str | StopMode) -> StopMode:
    """The mode of that name.

    Raises
    ------
    RunProblem
        When there is none.

    >>> stop_mode("graceful")
    <StopMode.GRACEFUL: 'graceful'>
    """
    try:
        return StopMode(word)
    except ValueError:
        modes = [mode.value for mode in StopMode]
        raise RunProblem(
            f"there is no stop mode '{word}'",
            hint=did_you_mean(str(word), modes) or f"it is one of {', '.join(modes)}",
        ) from None
