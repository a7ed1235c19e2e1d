"""Compile the Java sources of the engine into the jars that the wheel carries.

Needs a JDK 17 or newer; run it when a source changes::

    python scripts/make_jars.py
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

from arroyo_nb.engine.command import (
    ARROW_SINK,
    LEFTOVERS,
    LOCAL_FILES,
    PANE_COUNTS,
    spark_home,
)
from arroyo_nb.engine.program import LEASH

SOURCES = {
    "ArrowSink.java": ARROW_SINK,
    "PaneCounts.java": PANE_COUNTS,
    "LocalFiles.java": LOCAL_FILES,
    "Leftovers.java": LEFTOVERS,
    "Leash.java": LEASH,
}
"""Each has a jar of its own, beside it: not every JVM has Hadoop's classes."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Where a zip file's time begins: the same source gives the same bytes."""


def compiled(source: Path, folder: Path) -> list[Path]:
    """The class files of a source, for the oldest Java that Spark runs on."""
    subprocess.run(
        [
            *("javac", "--release", "17", "-g:none", "-d", str(folder)),
            *("-cp", str(spark_home() / "jars" / "*"), str(source)),
        ],
        check=True,
    )
    return sorted(folder.rglob("*.class"))


def write(jar: Path, source: Path) -> None:
    """Write a jar."""
    with (
        tempfile.TemporaryDirectory() as name,
        zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in compiled(source, Path(name)):
            entry = zipfile.ZipInfo(str(path.relative_to(name)), EPOCH)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> None:
    """Write all jars."""
    for source, jar in SOURCES.items():
        write(jar, jar.with_name(source))


if __name__ == "__main__":
    main()
