"""What the operating system refuses about files, in our words: a full disk, no free
descriptor, no permission.

A shell calls the limit of descriptors ``ulimit -n``: how many files and connections a
process may have open at once. The soft limit is often 1,024, on macOS 256.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arroyo_nb.errors import RunProblem

_FULL = (errno.ENOSPC, errno.EDQUOT)

RAISE = "allow more in the shell that starts Jupyter, or the job: ulimit -n 4096"
"""What to type where no file can be opened any more."""

PYTHON = "this Python process"


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no space left, on a disk or in a quota."""
    if not isinstance(error, OSError):
        return False
    # Arrow's errors may be without a number.
    return error.errno in _FULL or os.strerror(errno.ENOSPC) in str(error)


def is_out_of_descriptors(error: BaseException) -> bool:
    """Whether an error says that this process has no free descriptor."""
    if not isinstance(error, OSError):
        return False
    if error.errno is None:
        return os.strerror(errno.EMFILE) in str(error)
    return error.errno == errno.EMFILE


def free_bytes(folder: Path) -> int:
    """How many bytes its disk still takes."""
    while not folder.exists():
        folder = folder.parent
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def full_disk(what: str, path: Path | str) -> RunProblem:
    """That a disk is full: which one, by what lies on it, and how to go on.

    Parameters
    ----------
    what
        What lies there, such as ``state folder``.
    path
        Where.
    """
    return RunProblem(
        f"the disk of the {what} is full: '{path}'",
        hint="make space there and run it again; with the same state_dir= it resumes "
        "where it was",
    )


def out_of_descriptors(process: str = PYTHON) -> str:
    """That a process can open nothing more, and its limit.

    Parameters
    ----------
    process
        :data:`PYTHON`, which lives with the soft limit; any other is taken to have
        raised its own to the hard one, as Java does.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = soft if process == PYTHON else hard
    most = "" if limit == resource.RLIM_INFINITY else f" of {limit:,}"
    return (
        "no file or connection can be opened any more: "
        f"{process} has reached its limit{most}"
    )


def refusal(
    error: OSError, attempt: str, what: str, path: Path | str, hint: str | None = None
) -> RunProblem:
    """What to tell of an error of the system.

    Parameters
    ----------
    error
        What the system said.
    attempt
        What could not be done, such as ``cannot read 'orders.json'``.
    what
        What lies at the path, such as ``source``.
    path
        Where, as messages name it.
    hint
        The next step, where neither space nor descriptors are wanting.
    """
    if is_full(error):
        return full_disk(what, path)
    if is_out_of_descriptors(error):
        return RunProblem(out_of_descriptors(), hint=RAISE)
    # Arrow's errors are without a number, and so without the system's word for it.
    return RunProblem(f"{attempt}: {error.strerror or error}", hint=hint)


@contextmanager
def refusals(verb: str, name: str) -> Iterator[None]:
    """Tell what the system refuses; its own words have the path, which may be a secret.

    Parameters
    ----------
    verb
        What is done: ``read`` or ``write``.
    name
        What messages call the file.

    Raises
    ------
    RunProblem
        In place of each OSError.
    """
    try:
        yield
    except OSError as problem:
        if verb == "read" and isinstance(problem, FileNotFoundError):
            raise RunProblem(
                f"there is no file '{name}'",
                hint=f"paths are relative to '{Path.cwd()}'",
            ) from None
        what = "sink" if verb == "write" else "source"
        raise refusal(problem, f"cannot {verb} '{name}'", what, name) from None


def require_file(path: Path) -> None:
    """Refuse a path that can be no file to write, before anything is made for it.

    Raises
    ------
    RunProblem
        When a folder or a device is there, which a file that takes its place would
        remove, or when no system has such a name.
    """
    try:
        os.fsencode(path).decode()
        is_other = path.exists() and not path.is_file()
    except (OSError, ValueError) as problem:
        # Too long a name is refused with its number as it is opened.
        if isinstance(problem, OSError):
            return
        is_other = True
    if is_other or not path.name or "\0" in path.name:
        raise RunProblem(f"'{path}' is no path of a file", hint="name a file to write")
