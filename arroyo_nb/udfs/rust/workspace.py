"""Where Rust UDFs are compiled and kept: a folder in the user's cache.

::

    rust/lock             held by who compiles
    rust/crates/          the crates
    rust/target/          what all of them share: the crates that they depend on
    rust/libraries/       a folder for each compiler, a file for each function
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusal
from arroyo_nb.udfs.rust.progress import Tell

_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Workspace:
    """The folder.

    Parameters
    ----------
    folder
        Its path.
    """

    folder: Path

    @property
    def crates(self) -> Path:
        """Where crates are written."""
        return self.folder / "crates"

    @property
    def target(self) -> Path:
        """Where they are compiled."""
        return self.folder / "target"

    @property
    def libraries(self) -> Path:
        """Where their libraries are kept."""
        return self.folder / "libraries"

    @contextmanager
    def locked(self, tell: Tell) -> Iterator[None]:
        """Be the only one who compiles; the end of the process ends the lock too."""
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tell("waiting for another process that compiles a Rust UDF")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def open_workspace() -> Workspace:
    """The user's folder: in ``ARROYO_NB_CACHE``, else in the user's cache folder; that
    of a user without a home goes with the process.

    Raises
    ------
    RunProblem
        When it cannot be made, or others can write it: they could run code as us.
    """
    folder = _cache_folder() / "rust"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve()
        status = folder.stat()
    except OSError as error:
        raise cannot_write(error, folder) from None
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
        raise RunProblem(
            f"the folder '{folder}' is not used: others can write it",
            hint="ARROYO_NB_CACHE names another folder",
        )
    return Workspace(folder)


def cannot_write(error: OSError, folder: Path) -> RunProblem:
    """That the folder takes no file."""
    return refusal(
        error,
        f"Rust UDFs cannot be compiled in '{folder}'",
        "cache folder",
        folder,
        hint="ARROYO_NB_CACHE names another folder",
    )


def _cache_folder() -> Path:
    """As :func:`arroyo_nb.engine.cache_folder.cache_folder`, which stands above."""
    named = os.environ.get("ARROYO_NB_CACHE")
    try:
        if named:
            return Path(named).expanduser()
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container's user may have none
        return Path(named or _passing_cache().name)
    return Path(base) / "arroyo_nb"


@cache
def _passing_cache() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="arroyo_nb-rust-")
