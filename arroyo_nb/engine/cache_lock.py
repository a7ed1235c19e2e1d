"""A lock between processes: a file that one of them holds."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock for as long as the block lasts; gives False when another does.

    Parameters
    ----------
    path
        The file, which is made, its folder too, and stays.
    wait
        Until the other process lets go, instead of giving False.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True  # closing the file lets go, and so does the end of the process
