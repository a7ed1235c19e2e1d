"""Chunks of a run that every query has read: moved out of the folder that Spark lists
at each trigger, which takes 40 ms with 1,000 files, and found again by their number.

Only the process that holds the lock of a run's folder moves them. A run that is resumed
begins with all of them back in their place: its checkpoint may be an older copy.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from itertools import chain
from pathlib import Path

from arroyo_nb.tape.format import HEADER, chunk_numbers, chunk_path

READ = "_read"
"""The folder that they are moved into, below that of the chunks: Spark skips names that
begin so."""


def put_aside(folder: Path, number: int) -> None:
    """Move a chunk away; one that is gone is left out, and one that cannot be moved
    stays listed."""
    path = chunk_path(folder, number)
    with suppress(OSError):
        (folder / READ).mkdir(exist_ok=True)
        path.rename(folder / READ / path.name)


def put_back(folder: Path) -> None:
    """Move all of them back.

    Raises
    ------
    OSError
        When one cannot be moved.
    """
    if (folder / READ).is_dir():
        for path in (folder / READ).iterdir():
            path.rename(folder / path.name)


def found_path(folder: Path, number: int) -> Path:
    """File of a chunk, wherever it is."""
    aside = chunk_path(folder / READ, number)
    return aside if aside.exists() else chunk_path(folder, number)


def found_numbers(folder: Path) -> tuple[int, ...]:
    """Numbers of all chunks, wherever they are; ascending."""
    folders = (f for f in (folder, folder / READ) if f.is_dir())
    return tuple(sorted(set(chain.from_iterable(map(chunk_numbers, folders)))))


def link_all(folder: Path, target: Path) -> None:
    """Make another folder of the tape with all its chunks: the same files where that is
    possible, else copies with their modification times, which order them.

    Raises
    ------
    OSError
        When one is gone or cannot be read, or the folder cannot be made.
    """
    target.mkdir(parents=True)
    shutil.copy2(folder / HEADER, target / HEADER)
    for number in found_numbers(folder):
        file, copy = found_path(folder, number), chunk_path(target, number)
        try:
            os.link(file, copy)
        except OSError:  # another disk, or one without links
            shutil.copy2(file, copy)
