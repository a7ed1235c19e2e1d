"""Make a class-data archive: start a JVM, have it work a little, let it write and exit.

What is started and what it does is the rehearsal's business. In the background the
process reads its stdin, which the kernel holds open. When the kernel is gone the JVM is
killed with its group, also in the middle of writing, when it no longer looks at its own
stdin.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from arroyo_nb.engine import folders
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.class_data import Archive, remove_unused
from arroyo_nb.engine.errors import EngineProblem, SlowStart

_kernel_is_gone = threading.Event()


class Rehearsal(Protocol):
    """A JVM whose classes are recorded while it does what others will do."""

    @property
    def pid(self) -> int:
        """Its process id, which is also its process group."""

    def perform(self, say: Callable[[str], None]) -> None:
        """Work a little; says how far it is."""

    def close(self) -> None:
        """End it in good order: it writes the archive then."""

    def kill(self) -> None:
        """End it now; may be called again."""

    def problem(self, message: str) -> EngineProblem:
        """An error that carries the end of its log."""


Start: TypeAlias = Callable[[Sequence[str], Path], Rehearsal]
"""Starts a rehearsal with flags for its JVM, in a work folder."""


def make(archive: Archive, start: Start, arguments: Sequence[str]) -> int:
    """Make an archive if it is missing; the exit status is 0 if it is there now.

    Parameters
    ----------
    arguments
        ``--force`` makes it anew; ``--background`` gives way to everybody else, and
        ends when stdin closes.
    """
    background = "--background" in arguments
    if background:
        _give_way(os.getpid())
    forced = "--force" in arguments
    try:
        is_there = _there(archive, start, forced=forced, background=background)
        remove_unused(archive.path.parent)
    except OSError as error:
        say(f"no archive: {error}")
        return 1
    return 0 if is_there else 1


def _there(archive: Archive, start: Start, *, forced: bool, background: bool) -> bool:
    """Make it where it is missing; whether it is there now."""
    while forced or not archive.exists:
        with lock(archive.lock) as mine:
            if mine:
                return _make(archive, start, background)
        say("another process is making it")
        if background:
            return False
        with lock(archive.lock, wait=True):
            pass  # it has made it, or given up
    say(f"{archive.path.name} is there")
    return True


def _make(archive: Archive, start: Start, background: bool) -> bool:
    """Make it; whether that went well."""
    try:
        _build(archive, start, background)
    except SlowStart as slow:  # no failure: the next kernel tries again
        say(f"no archive: {slow}")
        return False
    except Exception as error:
        if not _kernel_is_gone.is_set():  # else it is none either
            archive.failed.write_text(str(error), encoding="utf-8")
            say(f"no archive: {error}")
        return False
    return True


def _build(archive: Archive, start: Start, background: bool) -> None:
    started = time.monotonic()
    say("making an archive, once: it takes 1 minute, or 4 on two busy cores")
    part = archive.path.with_name(f"{archive.path.stem}.part-{os.getpid()}")
    work = folders.make_work_folder()
    jvm = start(archive.make(linked(part, work)), work)
    if background:
        _give_way(jvm.pid)
        _end_with_stdin(jvm, work, part)
    try:
        jvm.perform(say)
        say("writing the archive")
        jvm.close()
        if not part.exists():
            raise jvm.problem("java has written no archive")
        part.chmod(0o600)
        part.replace(archive.path)
        with suppress(FileNotFoundError):
            archive.failed.unlink()
    finally:
        _tidy(jvm, work, part)
    size_mb = archive.path.stat().st_size / 1e6
    say(f"{archive.path.name}: {size_mb:.0f} MB in {time.monotonic() - started:.0f} s")


def linked(path: Path, work: Path) -> Path:
    """A path of the same file whose name is plain, as that of a work folder is: Java 25
    leaves the writing to a second process, which misreads others."""
    folder = work / "cache"
    folder.symlink_to(path.parent.absolute())
    return folder / path.name


def _give_way(pid: int) -> None:
    os.setpriority(os.PRIO_PROCESS, pid, 19)
    # Desktop kernels share the processor between sessions first, and each of these
    # two processes leads a session, whose own priority is this file's.
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("19", encoding="ascii")


def _end_with_stdin(jvm: Rehearsal, work: Path, part: Path) -> None:
    def watch() -> None:
        with suppress(OSError):
            while sys.stdin.buffer.read(1):
                pass
        _kernel_is_gone.set()
        _tidy(jvm, work, part)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _tidy(jvm: Rehearsal, work: Path, part: Path) -> None:
    jvm.kill()
    shutil.rmtree(work, ignore_errors=True)
    with suppress(FileNotFoundError):
        part.unlink()


def say(text: str) -> None:
    """Tell who has started this."""
    sys.stderr.write(f"arroyo_nb archive: {text}\n")
    sys.stderr.flush()
