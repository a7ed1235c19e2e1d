"""How many files and connections a process may have open at once, and what to say when
it has them.

Java raises its own to the hard limit when it starts, and the Python workers are its
children; only the Python process of the notebook or of the job lives with the soft one.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack

from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.file_errors import (
    PYTHON,
    RAISE,
    is_out_of_descriptors,
    out_of_descriptors,
)

LEAST_OF_JAVA = 700
"""Spark has 280 jars open, and with some queries 450 descriptors in all."""

SPARE = 8
"""Descriptors that must be free where Spark is asked for rows: the rows come over a
connection, and where Python cannot open it, Spark waits for it for ever."""

USED_UP = r"Too many open files(?: in system)?"
"""What the system says, as a pattern."""

_EVERYWHERE, _IN_PYTHON = "in system", "[Errno 24]"
_JAVA = "Spark's Java process"


def check_limit() -> None:
    """Refuse to start Spark where it could not run.

    Raises
    ------
    EngineProblem
        When Java could not open its files and connections.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard >= LEAST_OF_JAVA:
        return
    raise EngineProblem(
        f"Spark cannot run with {hard} open files and connections: it needs "
        f"{LEAST_OF_JAVA}, and no process started here may have more",
        hint=f"{RAISE} (where that is refused, ask who set the hard limit, ulimit -Hn)",
    )


def check_spare() -> None:
    """Refuse to ask Spark for rows that could not be received.

    Raises
    ------
    OSError
        When there are fewer than :data:`SPARE` free descriptors.
    """
    with ExitStack() as opened:
        for _ in range(SPARE):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))


def shortage(error: BaseException) -> str | None:
    """What to say of an error that comes of too few descriptors of this process; None
    of any other."""
    if any(map(is_out_of_descriptors, _causes(error))):
        return out_of_descriptors()
    return None


def shortage_message(said: str) -> str:
    """What to say where Java, or a Python worker, was told by the system that there are
    too few.

    Parameters
    ----------
    said
        :data:`USED_UP`, with what stands before it.
    """
    if said.endswith(_EVERYWHERE):
        return "no file or connection can be opened: the system has no more for anybody"
    return out_of_descriptors(PYTHON if _IN_PYTHON in said else _JAVA)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen:
        seen.append(found)
        yield found
        found = found.__cause__ or found.__context__
