"""Compile ``LocalFiles.java`` into the jar that the wheel carries.

Needs a JDK 17 or newer; run it when the source changes::

    python scripts/make_local_files.py
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

from arroyo_nb.engine.command import LOCAL_FILES, spark_home

SOURCE = LOCAL_FILES.with_name("LocalFiles.java")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Where a zip file's time begins: the same source gives the same bytes."""


def compiled(folder: Path) -> list[Path]:
    """The class files of the source, for the oldest Java that Spark runs on."""
    subprocess.run(
        [
            *("javac", "--release", "17", "-g:none", "-d", str(folder)),
            *("-cp", str(spark_home() / "jars" / "*"), str(SOURCE)),
        ],
        check=True,
    )
    return sorted(folder.rglob("*.class"))


def main() -> None:
    """Write the jar."""
    with (
        tempfile.TemporaryDirectory() as name,
        zipfile.ZipFile(LOCAL_FILES, "w", zipfile.ZIP_DEFLATED) as jar,
    ):
        for path in compiled(Path(name)):
            entry = zipfile.ZipInfo(str(path.relative_to(name)), EPOCH)
            jar.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
