"""Small files that survive a kill and a loss of power.

A file is a JSON object with a check sum of its own. It is replaced by a rename, after
its bytes have reached the disk: a reader finds the old object or the new one, and
knows one that was damaged since.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from arroyo_nb.errors import StateProblem
from arroyo_nb.file_errors import refusal

_CHECK = "check"


@contextmanager
def state_disk(path: Path, what: str = "state folder") -> Iterator[None]:
    """Say which file of a state folder cannot be written.

    Raises
    ------
    RunProblem
        In place of each OSError.
    """
    try:
        yield
    except OSError as problem:
        raise refusal(
            problem,
            f"cannot write '{path}' in the {what}",
            what,
            path,
            hint="let this user write there, or name another folder by state_dir=",
        ) from None


def read_checked(path: Path, meaning: str) -> dict[str, Any]:
    """A JSON object that :func:`write_checked` wrote; one of an earlier version has no
    check sum.

    Raises
    ------
    StateProblem
        When it is damaged; ``meaning`` says what the file is for.
    OSError
        When it cannot be read.
    """
    try:
        value = json.loads(path.read_bytes())
        check = value.pop(_CHECK, None)
    except (ValueError, AttributeError, TypeError):
        empty = path.stat().st_size == 0
        fault = "is empty" if empty else "is damaged"
        raise StateProblem(path, fault, meaning) from None
    if check is not None and check != _check_sum(value):
        raise StateProblem(path, "is damaged", meaning)
    assert isinstance(value, dict)
    return value


def write_checked(path: Path, value: dict[str, Any]) -> None:
    """Replace a file by a JSON object and its check sum, at once or not at all.

    Raises
    ------
    OSError
        When it cannot be written; nothing stays behind.
    """
    draft = path.with_name(f".{path.name}.tmp")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump({**value, _CHECK: _check_sum(value)}, file)
            file.flush()
            # A rename may reach the disk before what was written does.
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


@contextmanager
def replaced_whole(path: Path) -> Iterator[Path]:
    """A file to write in the place of one; it takes that place once all is written, and
    is gone where something was raised."""
    # Two may write at once, and a name may be as long as the system allows.
    unfinished = path.with_name(f".{uuid4().hex}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have the disk take what was written to a file, or the names in a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _check_sum(value: Any) -> str:
    # Through JSON: keys that were numbers are text when they are read.
    text = json.dumps(json.loads(json.dumps(value)), sort_keys=True)
    return f"{zlib.crc32(text.encode()):08x}"
