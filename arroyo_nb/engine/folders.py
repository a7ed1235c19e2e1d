"""The work folder of this process, and sweeping those of processes that are gone.

A folder's name carries the pid, the start time of the process and the pid namespace:
``arroyo_nb-PID-START-NAMESPACE-RANDOM``. A pid alone is not enough, since pids are
reused; and a container that shares the temporary folder cannot see our pids, so a
folder of another namespace is left alone. State folders are named by the user, carry
no such stamp and are therefore never swept.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.paths import is_plain

_NAME = re.compile(r"arroyo_nb-(\d+)-(\d+)-([0-9a-z]+)-\w+\Z")

_own: list[Path] = []
"""The work folders of this process, and of the one that it was forked from."""

# A Unix socket's path has at most 104 bytes on macOS, 108 on Linux; Spark's sockets
# are ".<uuid>.sock" inside the work folder, whose own name has up to 50 characters.
_LONGEST_BASE = 104 - 1 - 42 - 1 - 50


class Owner(NamedTuple):
    """Who made a work folder.

    Attributes
    ----------
    pid
        Its process.
    start
        When that process started, in a unit of the system's own; 0 when unknown.
    namespace
        Where the pid means something.
    """

    pid: int
    start: int
    namespace: str


def make_work_folder(base: Path | None = None) -> Path:
    """A new private folder of this process (mode 0700), under the temporary folder."""
    me = Owner(os.getpid(), process_start(os.getpid()) or 0, pid_namespace())
    prefix = f"arroyo_nb-{me.pid}-{me.start}-{me.namespace}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base or default_base()))
    _own.append(folder)
    return folder


def remove_own() -> None:
    """Delete the work folders that this process has made."""
    for folder in _own:
        made_by = owner_of(folder)
        # A forked child must not take its parent's folders away.
        if made_by is not None and made_by.pid == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def default_base() -> Path:
    """The temporary folder, or /tmp where that one's path is too long for sockets, or
    is not plain: the JVM, Spark and log4j read more into it, each something else."""
    base = Path(tempfile.gettempdir())
    short = Path("/tmp")
    fits = len(str(base)) <= _LONGEST_BASE and is_plain(base)
    return base if fits or not short.is_dir() else short


def foreign(path: Path) -> str | None:
    """What on the way to a folder another user has made in a folder that all share, as
    ``/tmp`` is: whoever could guess its name; None: nothing."""
    for whole in (path.absolute(), Path(os.path.realpath(path))):
        for folder in (whole, *whole.parents):
            try:
                made, around = folder.lstat(), folder.parent.stat()
            except OSError:
                continue  # it is still to be made
            is_shared = around.st_mode & stat.S_ISVTX and around.st_mode & stat.S_IWOTH
            if is_shared and made.st_uid not in (os.getuid(), 0):
                return (
                    f"'{folder}' was made by another user, of number {made.st_uid}, "
                    f"and in '{folder.parent}' anybody can make a folder"
                )
    return None


def is_own(path: Path) -> bool:
    """Whether it is there, and only this user can write it: whoever can write what is
    run can run code as us."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def sweep(base: Path | None = None) -> list[Path]:
    """Delete the work folders of this user whose process is gone; returns them."""
    swept = []
    for folder in (base or default_base()).glob("arroyo_nb-*"):
        if _is_mine(folder) and _is_orphan(folder):
            shutil.rmtree(folder, ignore_errors=True)
            swept.append(folder)
    return swept


def owner_of(folder: Path) -> Owner | None:
    """Who made a folder, from its name; None when it is not a work folder."""
    found = _NAME.match(folder.name)
    return Owner(int(found[1]), int(found[2]), found[3]) if found else None


def _is_mine(folder: Path) -> bool:
    # lstat: a link of someone else's that points at a folder of ours is not ours.
    try:
        status = folder.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not folder.is_symlink()


def _is_orphan(folder: Path) -> bool:
    owner = owner_of(folder)
    if owner is None or owner.namespace != pid_namespace():
        return False
    start = process_start(owner.pid)
    # Where start times are unknown (0) a living pid is enough to keep the folder.
    return start is None or (0 not in (start, owner.start) and start != owner.start)


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since boot.

    Returns
    -------
    int or None
        None when there is no such process, or only its status for its parent to
        read; 0 when the system does not tell.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # it lives, and is someone else's
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # The second field is the command in parentheses and may hold spaces and ")".
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def pid_namespace() -> str:
    """Where the pids of this process mean something; ``0`` where the system has but
    one such place."""
    try:
        return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink())) or "0"
    except OSError:
        return "0"
