"""A class-data archive of a JVM: halves the start, and is never needed.

Java 17 and 21 write one with -XX:ArchiveClassesAtExit, Java 25 an AOT cache with
-XX:AOTCacheOutput. It is made once by a process of its own, at the lowest priority,
and named after everything it depends on: another Spark, Java, class path or flag has
another file. It is written under a temporary name and renamed, under a lock.

The module :mod:`arroyo_nb.engine.archive` is that process; a local Kafka broker has an
archive too, which :mod:`arroyo_nb.kafka.local.archive` makes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.command import (
    class_path,
    java_flags,
    spark_home,
    spark_version,
)
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import is_own
from arroyo_nb.engine.java import Java

_KEEP_UNUSED_S = 30 * 86_400
_RETRY_AFTER_S = 86_400
_SUFFIXES = (".jsa", ".aot")


class Archive(NamedTuple):
    """Where the archive of a Java and a Spark is, whether it exists or not."""

    path: Path
    is_aot: bool

    @property
    def has_usable_path(self) -> bool:
        """Whether Java can name it: it cuts names of archives at colons."""
        return os.pathsep not in str(self.path.absolute())

    @property
    def exists(self) -> bool:
        """Is it there, and is it ours?"""
        return self.has_usable_path and is_own(self.path)

    @property
    def failed(self) -> Path:
        """Says why it could not be made; keeps every start from trying again."""
        return self.path.with_suffix(".failed")

    @property
    def is_wanted(self) -> bool:
        """Should it be made? Not when there is one, nor a day after a failure."""
        if not self.has_usable_path:
            return False
        try:
            return time.time() - self.failed.stat().st_mtime > _RETRY_AFTER_S
        except OSError:
            return not self.exists

    @property
    def lock(self) -> Path:
        """What the process holds that makes it."""
        return self.path.with_suffix(".lock")

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
        """Flags that write it to a path when the JVM exits.

        Raises
        ------
        EngineProblem
            When Java cannot name it.
        """
        if not self.has_usable_path:
            raise EngineProblem(
                f"the cache folder '{self.path.parent}' has a '{os.pathsep}' in its "
                "path, at which Java cuts the name of an archive",
                hint="ARROYO_NB_CACHE names another folder",
            )
        flag = "AOTCacheOutput" if self.is_aot else "ArchiveClassesAtExit"
        return [f"-XX:{flag}={path}"]

    def discard(self) -> None:
        """Delete it: the JVM did not start with it."""
        with suppress(OSError):
            self.path.unlink()


def archive_for(java: Java) -> Archive:
    """The archive that fits a Java, the installed Spark and the flags in use."""
    jars = class_path(spark_home())
    return archive_of("spark", spark_version(), java, jars, java_flags(java))


def archive_of(
    program: str, version: str, java: Java, jars: Sequence[Path], flags: Sequence[str]
) -> Archive:
    """The archive of a program that is started with this class path and these flags."""
    is_aot = java.major >= 25
    key = _key(version, java, jars, flags)
    name = f"{program}-{version}-java-{java.version}-{key}"
    suffix = ".aot" if is_aot else ".jsa"
    return Archive(cache_folder() / f"{name}{suffix}", is_aot)


def _key(version: str, java: Java, jars: Sequence[Path], flags: Sequence[str]) -> str:
    status = [jar.stat() for jar in jars]
    facts = [
        *(version, java.build, str(java.home)),
        *flags,
        *(
            # As Java checks them itself: it ignores an archive of other jars.
            f"{jar} {stat.st_size} {stat.st_mtime_ns}"
            for jar, stat in zip(jars, status, strict=True)
        ),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def start_builder(
    module: str = "arroyo_nb.engine.archive",
) -> subprocess.Popen[bytes]:
    """Make an archive in a process of its own; it ends when its stdin closes."""
    return subprocess.Popen(
        [sys.executable, "-m", module, "--background"],
        # Never written to: when this process dies, however it does, the pipe closes,
        # and the builder ends.
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def remove_unused(folder: Path) -> None:
    """Delete archives that no start has used for a month, and torn ones."""
    for path in (*folder.glob("spark-*"), *folder.glob("kafka-*")):
        torn = ".part" in path.name
        if not torn and path.suffix not in _SUFFIXES:
            continue
        with suppress(OSError):  # another process may rename or delete it meanwhile
            age_s = time.time() - path.stat().st_mtime
            # The clock may be set by an hour while one is made.
            if age_s > (_RETRY_AFTER_S if torn else _KEEP_UNUSED_S):
                path.unlink()
