"""What a promotion shows: the job's folder, what was found, and how it is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from arroyo_nb.views.formatting import count, escaped, plain
from arroyo_nb.views.listing import CELL, COLUMNS_CHARS

LINE_CHARS = 400
_PRE = "margin:0;white-space:pre-wrap"


class Found(NamedTuple):
    """One finding: its severity, the code of its rule, its line in the spec (0: none),
    a sentence, and that line with carets under it."""

    severity: str
    code: str
    row: int
    message: str
    excerpt: str


def promoted(
    folder: Path,
    command: str,
    found: Sequence[Found],
    note: str = "",
    more: Sequence[str] = (),
) -> dict[str, str]:
    """A promotion as a MIME bundle.

    Parameters
    ----------
    folder
        From where the notebook is: links lead there.
    command
        What runs the job.
    note
        What else was done.
    more
        What else to know, a sentence each.
    """
    said = count(len(found), "finding") if found else "nothing found"
    said = f"{said}; {note}" if note else said
    text = [f"promoted to {folder}: {said}", *map(_line, found)]
    text += [*(f"  note: {each}" for each in more), f"run it: {command}"]
    notes = "".join(f"<p>note: {escaped(each, LINE_CHARS)}</p>" for each in more)
    rows = "".join(_row(folder, one) for one in found)
    html = (
        f"<p>promoted to {_link(folder, 'job.yaml', str(folder))}: "
        f"{escaped(said, LINE_CHARS)}</p>"
        f"<table><tbody>{rows}</tbody></table>{notes}"
        f"<p>run it: <code>{escaped(command, LINE_CHARS)}</code></p>"
    )
    lines = (plain(line, LINE_CHARS) for line in text)
    return {"text/html": html, "text/plain": "\n".join(lines)}


def _line(found: Found) -> str:
    at = f"job.yaml:{found.row}: " if found.row else ""
    return f"  {found.severity}: {at}{found.message} [{found.code}]"


def _row(folder: Path, found: Found) -> str:
    line = found.excerpt.split("\n")[0].strip()
    cells = (
        escaped(found.severity, COLUMNS_CHARS),
        _link(folder, f"lint.md#{found.code}", found.code),
        f"{escaped(found.message, LINE_CHARS)}"
        f'<pre style="{_PRE}">{escaped(line, LINE_CHARS)}</pre>',
    )
    return "<tr>" + "".join(f'<td style="{CELL}">{c}</td>' for c in cells) + "</tr>"


def _link(folder: Path, file: str, said: str) -> str:
    name, hash_, anchor = file.partition("#")
    # Names of files are bytes: those that are no UTF-8 are escaped in the text.
    path = quote(f"{folder.as_posix()}/{name}", errors="surrogateescape")
    there = path + hash_ + quote(anchor, errors="replace")
    return f'<a href="{there}">{escaped(said, LINE_CHARS)}</a>'
