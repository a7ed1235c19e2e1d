"""Where a run goes on, as its checkpoint says before it starts."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from arroyo_nb.state.files import OUTPUTS

BEGINNING = "from the beginning"


def resume_point(folder: Path) -> str:
    """Where the run of a folder goes on, in words: of each query the last batch that is
    committed, and the offsets that it read up to."""
    outputs = folder / OUTPUTS
    queries = sorted(outputs.iterdir()) if outputs.is_dir() else []
    points = (_point(query / "checkpoint") for query in queries)
    return "; ".join(filter(None, points)) or BEGINNING


def _point(checkpoint: Path) -> str:
    with suppress(OSError):
        names = (path.name for path in (checkpoint / "commits").iterdir())
        for batch in sorted(int(name) for name in names if name.isdigit())[::-1]:
            # One whose plan a power cut has emptied is planned anew.
            if offsets := _offsets(checkpoint / "offsets" / str(batch)):
                return f"after batch {batch} ({offsets})"
    return ""


def _offsets(path: Path) -> str:
    """What Spark's offset log says: a version, a line of settings, and a line of JSON
    for each source; empty where it cannot be read."""
    with suppress(OSError, ValueError):
        lines = path.read_text("utf-8").splitlines()[2:]
        return ", ".join(_text(json.loads(line)) for line in lines if line != "-")
    return ""


def _text(offset: object) -> str:
    if not isinstance(offset, dict):
        return str(offset)
    if "logOffset" in offset:
        return f"chunk {offset['logOffset']}"
    return ", ".join(
        f"{topic} {number}:{at}"
        for topic, places in offset.items()
        if isinstance(places, dict)
        for number, at in sorted(places.items(), key=lambda place: int(place[0]))
    )
