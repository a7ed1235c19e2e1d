"""What a writer must still know after a kill, and whether it is as new as the
checkpoint of its query.

A sink's notes and Spark's checkpoint are written one after the other. The notes of a
batch come before its commit, so notes that are older than the newest commit are an old
copy; notes of a later batch than the next one are those of another checkpoint.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arroyo_nb.durable_files import read_checked, state_disk, write_checked
from arroyo_nb.errors import StateProblem

_MEANING = "the sink's notes say which rows it has written"


@dataclass(frozen=True)
class ResumePoint:
    """Where a query goes on.

    Parameters
    ----------
    next_batch
        The batch that it writes next.
    offsets
        The file of the checkpoint that says which rows the next batch has.
    planned
        Whether that file is there: the batch then has the same rows as before. Else it
        is planned anew, with the rows that are there now.
    first_batch
        The first batch of this sink; a fork may begin another sink in mid-stream.
    """

    next_batch: int
    offsets: Path
    planned: bool = False
    first_batch: int = 0

    def check(
        self, notes: Path, newest: int | None, rewritable: Collection[int] = ()
    ) -> None:
        """Find out whether a sink's notes belong to the checkpoint.

        Parameters
        ----------
        notes
            Their file.
        newest
            The newest batch that they know, -1 before the first; None: there are none.
        rewritable
            Batches whose rows the sink can replace by others.

        Raises
        ------
        StateProblem
            When rows would be lost or come twice.
        """
        last = self.next_batch - 1
        if self.next_batch > self.first_batch:
            if newest is None:
                raise StateProblem(notes, "is gone", _MEANING)
            if newest < last:
                raise StateProblem(
                    notes,
                    "is an older copy",
                    f"{_MEANING}; it ends with batch {newest}, the checkpoint with "
                    f"batch {last}",
                )
        if newest is None or newest <= last or self.next_batch in rewritable:
            return
        if newest > self.next_batch:
            raise StateProblem(
                self.offsets.parents[1],
                "is an older copy",
                f"it ends with batch {last}, and the sink has batch {newest} already "
                f"('{notes}')",
            )
        if not self.planned:
            raise StateProblem(
                self.offsets,
                "is gone, empty or damaged",
                f"it says which rows batch {newest} has, and the sink has begun that "
                "batch already; computed again it may have other rows",
            )


class Notes:
    """One JSON object in a file; it is replaced as a whole, or not at all.

    Parameters
    ----------
    path
        The file; its folder is made if need be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with state_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> Any | None:
        """What was written last; None where nothing ever was.

        Raises
        ------
        StateProblem
            When it is not what was written: a disk lost it, or somebody else wrote
            there.
        """
        if not self.path.exists():
            return None
        return read_checked(self.path, _MEANING)

    def write(self, value: dict[str, Any]) -> None:
        """Replace it.

        Raises
        ------
        RunProblem
            When the state folder cannot be written.
        """
        with state_disk(self.path):
            write_checked(self.path, value)
