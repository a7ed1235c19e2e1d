"""What a job has counted, over all its processes.

The counts are noted in the folder of the run once a second, and at the end, and the
next process goes on from them. After a kill the batches of the last second are missing:
the rows are in the sink, and are not counted again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arroyo_nb.run.observe.snapshot import Snapshot

PROGRESS = "progress.json"


@dataclass(frozen=True)
class Counts:
    """Rows read, written, too late, and dropped as malformed; and records with fields
    that the schema of their table does not know."""

    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    dropped_rows: int = 0
    unknown_records: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot) -> Counts:
        """What a run has counted."""
        return cls(
            snapshot.rows_in,
            snapshot.rows_out,
            snapshot.late_rows,
            # What the folder of the run had before, the runs before have counted.
            sum(s.dropped_rows - s.dropped_before for s in snapshot.sources),
            sum(source.unknown_records for source in snapshot.sources),
        )

    def __add__(self, other: Counts) -> Counts:
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + others[name] for name in mine})

    def __sub__(self, other: Counts) -> Counts:
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] - others[name] for name in mine})


def read_progress(folder: Path) -> Mapping[str, Any]:
    """What the job in a folder noted last; empty where nothing can be read."""
    with suppress(OSError, ValueError):
        found = json.loads((folder / PROGRESS).read_text("utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def noted_counts(folder: Path) -> Counts:
    """The counts of the processes before this one."""
    found = read_progress(folder).get("counts")
    known = found if isinstance(found, dict) else {}
    values = ((field.name, known.get(field.name)) for field in fields(Counts))
    return Counts(**{n: value for n, value in values if isinstance(value, int)})


def write_progress(folder: Path, progress: Mapping[str, Any]) -> None:
    """Note where the job in a folder stands; at once or not at all."""
    draft = folder / f"{PROGRESS}.draft"
    draft.write_text(json.dumps(progress, default=str), "utf-8")
    draft.replace(folder / PROGRESS)
