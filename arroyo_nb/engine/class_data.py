"""A class-data archive of Spark's JVM: halves the start, and is never needed.

Java 17 and 21 write one with -XX:ArchiveClassesAtExit, Java 25 an AOT cache with
-XX:AOTCacheOutput. It is made once by a process of its own, at the lowest priority,
and named after everything it depends on: another Spark, Java, class path or flag has
another file. It is written under a temporary name and renamed, under a lock.

:mod:`arroyo_nb.engine.archive` is that process.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.command import (
    class_path,
    java_flags,
    spark_home,
    spark_version,
)
from arroyo_nb.engine.java import Java

_KEEP_UNUSED_S = 30 * 86_400
_RETRY_AFTER_S = 86_400
_SUFFIXES = (".jsa", ".aot")


class Archive(NamedTuple):
    """Where the archive of a Java and a Spark is, whether it exists or not."""

    path: Path
    is_aot: bool

    @property
    def exists(self) -> bool:
        """Is it there, and is it ours? Who can write it can run code as us."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return status.st_uid == os.getuid() and not status.st_mode & 0o022

    @property
    def failed(self) -> Path:
        """Says why it could not be made; keeps every start from trying again."""
        return self.path.with_suffix(".failed")

    @property
    def is_wanted(self) -> bool:
        """Should it be made? Not when there is one, nor a day after a failure."""
        try:
            return time.time() - self.failed.stat().st_mtime > _RETRY_AFTER_S
        except OSError:
            return not self.exists

    def use(self) -> list[str]:
        """Flags that use it, where it exists; one that fits no longer is ignored."""
        if not self.exists:
            return []
        with suppress(OSError):
            os.utime(self.path)  # what is used is kept, see remove_unused
        if self.is_aot:
            return [f"-XX:AOTCache={self.path}", "-Xlog:aot=off", "-Xlog:cds=off"]
        quiet = ["-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto", *quiet]

    def make(self, path: Path) -> list[str]:
        """Flags that write it to a path when the JVM exits."""
        flag = "AOTCacheOutput" if self.is_aot else "ArchiveClassesAtExit"
        return [f"-XX:{flag}={path}"]

    def discard(self) -> None:
        """Delete it: the JVM did not start with it."""
        with suppress(OSError):
            self.path.unlink()


def archive_for(java: Java) -> Archive:
    """The archive that fits a Java, the installed Spark and the flags in use."""
    is_aot = java.major >= 25
    name = f"spark-{spark_version()}-java-{java.version}-{_key(java)}"
    suffix = ".aot" if is_aot else ".jsa"
    return Archive(cache_folder() / f"{name}{suffix}", is_aot)


def cache_folder() -> Path:
    """``ARROYO_NB_CACHE``, else a folder in the user's cache folder."""
    named = os.environ.get("ARROYO_NB_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "arroyo_nb"


def _key(java: Java) -> str:
    jars = class_path(spark_home())
    status = [jar.stat() for jar in jars]
    facts = [
        *(spark_version(), java.build, str(java.home)),
        *java_flags(java),
        *(
            f"{jar} {stat.st_size} {stat.st_mtime_ns}"
            for jar, stat in zip(jars, status, strict=True)
        ),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def start_builder() -> subprocess.Popen[bytes]:
    """Make the archive in a process of its own; it ends when its stdin closes."""
    return subprocess.Popen(
        [sys.executable, "-m", "arroyo_nb.engine.archive", "--background"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def lock(archive: Archive, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock on making an archive; gives False when another process does.

    Parameters
    ----------
    wait
        Until the other process lets go, instead of giving False.
    """
    archive.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with archive.path.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True  # closing the file lets go, and so does the end of the process


def remove_unused(folder: Path) -> None:
    """Delete archives that no start has used for a month, and torn ones."""
    for path in folder.glob("spark-*"):
        torn = ".part" in path.name
        if not torn and path.suffix not in _SUFFIXES:
            continue
        with suppress(OSError):  # another process may rename or delete it meanwhile
            age_s = time.time() - path.stat().st_mtime
            if age_s > (3600 if torn else _KEEP_UNUSED_S):
                path.unlink()
