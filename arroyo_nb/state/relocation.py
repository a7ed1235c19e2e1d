"""A checkpoint at another place than the one where it was made.

Spark names files in it with their whole paths: what has been read of a folder, and
where the schema of a state lies. A folder that was moved would be read again from the
beginning, so whoever opens it writes these names anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

_LOGS = (
    "outputs/*/checkpoint/sources/*/*",
    "outputs/*/checkpoint/state/*/_metadata/**/*",
)
"""Where a checkpoint names files, as JSON lines."""

_ESCAPED = re.compile(
    r"[^\w\x80-\U0010ffff/:@!$&'()*+,;=.~-]"
    r"|[\x80-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    re.ASCII,
)
"""What Java escapes in the path of a URI: of the letters beyond ASCII spaces only."""


def relocate(
    folder: Path, old: Path, is_sound: Callable[[Path], bool] = lambda _: True
) -> None:
    """Have the checkpoints in a run's folder name the files that are in it.

    Parameters
    ----------
    folder
        Where it is.
    old
        Where it was. One that was killed in this can be relocated again.
    is_sound
        Whether a file is as it was written; what is not is left as it is.
    """
    for path in logs(folder):
        if is_sound(path):
            text = path.read_text("utf-8", "surrogateescape")
            if (moved := _moved(text, old, folder)) != text:
                # Of the old text; Hadoop does without.
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
                # On the same file system, so that replacing is at once or not at all.
                draft = folder / "relocated.draft"
                draft.write_text(moved, "utf-8", "surrogateescape")
                draft.replace(path)


def logs(folder: Path) -> Iterator[Path]:
    """The files of the checkpoints in a run's folder that name files."""
    for path in sorted(chain.from_iterable(map(folder.glob, _LOGS))):
        if path.is_file() and path.suffix != ".crc":
            yield path


def _moved(text: str, old: Path, new: Path) -> str:
    """JSON lines with every file of a folder in another one.

    >>> line = '{"path":"file:///a%20b/sources/1","schema":"file:/a b/state/2"}'
    >>> _moved(line, Path("/a b"), Path("/c"))
    '{"path":"file:///c/sources/1","schema":"file:/c/state/2"}'
    """
    # Spark writes a path in both ways: as a URI in the logs of sources, as plain text
    # beside schemas.
    forms = (re.escape(_in_uri(old)), _in_uri(new)), (_json_pattern(old), _in_json(new))
    for before, after in forms:
        named = re.compile(rf"(file:(?://)?){before}/")
        text = named.sub(partial(_renamed_file, after), text)
    return text


def _renamed_file(folder: str, found: re.Match[str]) -> str:
    return f"{found[1]}{folder}/"


def _in_json(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)[1:-1]


def _json_pattern(path: Path) -> str:
    """What a path in a JSON text fits, whichever of its letters are escaped there:
    Spark's writers do not agree on them."""
    return "".join(map(_either, str(path)))


def _either(letter: str) -> str:
    plain = re.escape(json.dumps(letter, ensure_ascii=False)[1:-1])
    escaped = re.escape(json.dumps(letter)[1:-1])
    return plain if plain == escaped else f"(?:{plain}|(?i:{escaped}))"


def _in_uri(path: Path) -> str:
    return _ESCAPED.sub(_escaped, str(path))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(found[0]))
