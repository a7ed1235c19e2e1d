"""Damages of one file of a state folder, and what a resumed run may do about them."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KINDS = ("deleted", "emptied", "cut", "garbage", "older")

NOT_STATE = ("lock", "job.json")
"""Of who runs a folder, not of its state."""

PUT_BACK_S = 10.0
"""How long others may be about to write into a folder that is put back."""


@dataclass(frozen=True)
class Damage:
    """What happens to one file.

    Parameters
    ----------
    file
        Its path below the state folder.
    kind
        One of :data:`KINDS`.
    seed
        Of what is random in it.
    """

    file: str
    kind: str
    seed: int

    def apply(self, folder: Path, older: Path) -> bool:
        """Damage the file in a folder of state; ``older`` is a copy that was made
        before. False where the file stays as it was."""
        path, chance = folder / self.file, random.Random(self.seed)
        before, times = path.read_bytes(), path.stat()
        match self.kind:
            case "deleted":
                path.unlink()
                return True
            case "emptied":
                now = b""
            case "cut":
                now = before[: chance.randrange(max(1, len(before)))]
            case "garbage":
                at = chance.randrange(max(1, len(before)))
                size = max(1, len(before) // 4)
                now = before[:at] + chance.randbytes(size) + before[at + size :]
            case _:
                found = older / self.file
                # A file that is written once has a copy of the one before it.
                old = found if found.exists() else _sibling(path)
                now = old.read_bytes() if old is not None else before
        path.write_bytes(now)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return now != before

    def __str__(self) -> str:
        return f"{self.file} {self.kind} ({self.seed})"


def _sibling(path: Path) -> Path | None:
    """The file of the same kind that came before."""
    others = (p for p in path.parent.iterdir() if p.suffix == path.suffix)
    older = [p for p in others if p.is_file() and p.name < path.name]
    return max(older, default=None)


def files(folder: Path) -> list[str]:
    """The files of a state folder that may be damaged."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return sorted(str(path) for path in found if path.name not in NOT_STATE)


def damages(folder: Path, count: int, seed: int) -> Iterator[Damage]:
    """Random damages of a state folder. Each kind of file comes up as often as another,
    however many there are of it."""
    chance, kinds = random.Random(seed), {}
    for file in files(folder):
        kinds.setdefault(_kind(Path(file)), []).append(file)
    for _ in range(count):
        of_kind = kinds[chance.choice(sorted(kinds))]
        yield Damage(
            chance.choice(of_kind), chance.choice(KINDS), chance.getrandbits(32)
        )


def _kind(path: Path) -> str:
    return "/".join(part for part in path.parts[:-1] if not part.isdigit()) + (
        path.suffix or ""
    )


def put_back(copy: Path, folder: Path) -> None:
    """Have a folder as it was when it was copied, with the times of its files."""
    made = folder.with_name(f"{folder.name}.made")
    deadline = time.monotonic() + PUT_BACK_S
    copy_whole(copy, made, deadline)
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            made.rename(folder)
            return
        except OSError:
            # Spark tidies up the state of a run that has ended on a thread of its own,
            # and makes its folders anew meanwhile.
            if time.monotonic() > deadline:
                raise


def copy_whole(folder: Path, made: Path, deadline: float) -> None:
    """Copy a folder that others may be writing in: where a file goes meanwhile, as one
    does that is renamed when it is written, copy it again."""
    while True:
        try:
            shutil.copytree(folder, made)
            return
        except shutil.Error:
            shutil.rmtree(made, ignore_errors=True)
            if time.monotonic() > deadline:
                raise
