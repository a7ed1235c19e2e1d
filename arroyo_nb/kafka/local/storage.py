"""The folder that a broker keeps its log in, formatted.

Kafka wants it formatted by a tool of its own, which takes as long as the broker's
start. What it writes depends on the version alone, so it is cached, and each broker
gets a copy with a name of its own for its cluster.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import is_own
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.program import Program, tail

_META = "meta.properties"


def format_storage(
    folder: Path,
    settings: Path,
    java: Java,
    jars: Sequence[Path],
    check: Callable[[], None],
) -> None:
    """Format the folder that a settings file names for the log.

    Parameters
    ----------
    folder
        The folder; it is created here.
    check
        Is called again and again; what it raises ends it.
    """
    cached = _cached_folder(jars)
    if not is_own(cached):
        _run_tool(folder, settings, java, jars, check)
        _cache(folder, cached)
        return
    shutil.copytree(cached, folder)
    meta = folder / _META
    text = meta.read_text(encoding="utf-8")
    meta.write_text(
        re.sub(r"(?m)^cluster\.id=.*$", f"cluster.id={_new_id()}", text),
        encoding="utf-8",
    )


def _cached_folder(jars: Sequence[Path]) -> Path:
    names = "\n".join(jar.name for jar in jars)
    key = hashlib.sha256(names.encode()).hexdigest()[:12]
    return cache_folder() / f"kafka-storage-{key}"


def _cache(folder: Path, cached: Path) -> None:
    part = cached.with_name(f"{cached.name}.part-{uuid.uuid4().hex[:8]}")
    with suppress(OSError):  # another process may have been faster
        shutil.copytree(folder, part)
        part.rename(cached)
    shutil.rmtree(part, ignore_errors=True)


def _run_tool(
    folder: Path,
    settings: Path,
    java: Java,
    jars: Sequence[Path],
    check: Callable[[], None],
) -> None:
    tool = Program(
        java,
        *("kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", str(settings)),
        jars=jars,
        log=folder.with_name("format.log"),
        flags=("-XX:TieredStopAtLevel=1", "-Xshare:auto"),
    )
    try:
        tool.works_until(lambda: not tool.alive, check)
    finally:
        tool.kill()
    if tool.status != 0:
        raise EngineProblem(
            "the folder of the local broker cannot be formatted",
            hint=f"the end of the tool's log:\n{tail(tool.log)}",
        )


def _new_id() -> str:
    """An id as Kafka writes them: one that begins with a dash would be an option."""
    return base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
