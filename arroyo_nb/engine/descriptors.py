"""How many files and connections a process may have open at once, and what to say when
it has them.

A shell calls it ``ulimit -n``. The soft limit is often 1,024, on macOS 256. Java raises
its own to the hard limit when it starts, and the Python workers are its children; only
the Python process of the notebook or of the job lives with the soft one.
"""

from __future__ import annotations

import errno
import os
import re
import resource
from collections.abc import Iterator
from contextlib import ExitStack

from arroyo_nb import durable_files
from arroyo_nb.engine.problem import EngineProblem

LEAST_OF_JAVA = 700
"""Spark has 280 jars open, and with some queries 450 descriptors in all."""

SPARE = 8
"""Descriptors that must be free where Spark is asked for rows: the rows come over a
connection, and where Python cannot open it, Spark waits for it for ever."""

RAISE = durable_files.RAISE

_USED_UP = re.compile(r"Too many open files(?P<everywhere> in system)?")
_IN_PYTHON = "[Errno 24]"


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


def shortage(error: BaseException, text: str = "") -> str | None:
    """What to say of an error that comes of too few descriptors; None of any other.

    Parameters
    ----------
    error
        The error, with what caused it.
    text
        What Java says of it, where it comes from there.
    """
    # An error of ours may be a copy that has a place, and not what caused it.
    said = getattr(error, "message", "").endswith(f": {os.strerror(errno.EMFILE)}")
    if said or any(_is_used_up(e) for e in _causes(error)):
        return _sentence("this Python process", _limits()[0])
    found = _USED_UP.search(text)
    if found is None:
        return None
    if found["everywhere"]:
        return "no file or connection can be opened: the system has no more for anybody"
    if _IN_PYTHON in text:
        return _sentence("this Python process", _limits()[0])
    return _sentence("Spark's Java process", _limits()[1])


def _is_used_up(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EMFILE


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen:
        seen.append(found)
        yield found
        found = found.__cause__ or found.__context__


def _sentence(process: str, limit: int) -> str:
    most = "" if limit == resource.RLIM_INFINITY else f" of {limit:,}"
    return (
        "no file or connection can be opened any more: "
        f"{process} has reached its limit{most}"
    )


def _limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)
