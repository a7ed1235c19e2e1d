"""Copies of Spark's signed jars, without their signatures.

Java leaves the classes of a signed jar out of every archive, and checks each of them
against the signature as it loads it. Spark's compiler of expressions, Janino, is
signed: 400 classes, a third of a second of each start. Nobody asks who has signed it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo, is_zipfile

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import is_own
from arroyo_nb.engine.paths import is_entry

SIGNED = ("commons-compiler-", "janino-")
"""What the names of Spark's signed jars begin with."""

_MANIFEST = "META-INF/MANIFEST.MF"
_SIGNATURES = (".SF", ".DSA", ".RSA", ".EC")
_EPOCH_S = 315_532_800
"""Of zip files, 1980: an archive fits jars of the very time that it was made with."""


def unsigned(jar: Path) -> Path:
    """The copy of a signed jar, made once for all kernels; the jar itself if it is not
    signed, or where no copy can be kept."""
    if not jar.name.startswith(SIGNED):
        return jar
    with suppress(OSError, BadZipFile, EngineProblem):
        status = jar.stat()
        build = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
        copy = cache_folder() / f"spark-{jar.stem}-{build.hexdigest()[:8]}.jar"
        # A link or a copy of the copy would be of another time in each work folder.
        if not is_entry(copy):
            return jar
        # One that a crash of the machine has cut would take Janino away for ever.
        if not (is_own(copy) and is_zipfile(copy)):
            _write(jar, copy)
        if is_own(copy):  # there are file systems whose files are everybody's
            return copy
    return jar


def _write(jar: Path, copy: Path) -> None:
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(".part", copy.stem, copy.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with ZipFile(file, "w") as out:
                _put_unsigned(jar, out)
            file.flush()
            os.fsync(file.fileno())
        os.utime(part, (_EPOCH_S, _EPOCH_S))
        Path(part).replace(copy)
    except BaseException:
        Path(part).unlink()
        raise


def _put_unsigned(jar: Path, out: ZipFile) -> None:
    with ZipFile(jar) as signed:
        for name in signed.namelist():
            content = signed.read(name)
            if name == _MANIFEST:
                # Behind its first section are the digests of all the others.
                content = content.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
                content += b"\n\n"
            elif name.startswith("META-INF/") and name.endswith(_SIGNATURES):
                continue
            out.writestr(ZipInfo(name), content, ZIP_DEFLATED)
