"""Which files of a run's folder must be there, and what was in them.

``manifest.json`` names every file that is never changed once its batch is committed,
with its size and a check sum. It is written behind the commits, at most once a second
and when the run ends: it never names a file before its batch is committed, so a kill
at any moment leaves a manifest that is true. What it does not name yet is checked by
its form alone (:mod:`arroyo_nb.state.checkpoint`).

Files that change with each batch, a sink's notes and the stamp, carry check sums of
their own, and the number of their batch (:mod:`arroyo_nb.sink_notes`).
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from arroyo_nb.durable_files import read_checked, write_checked
from arroyo_nb.errors import StateProblem

MANIFEST = "manifest.json"
VERSION = 1

_WHOLE_BYTES = 2**20
"""Of a larger file the first and the last half of so many bytes are summed up: Spark
and RocksDB check the blocks between when they read them."""

_STATE = re.compile(r"(\d+)\.(?:delta|snapshot|changelog|zip)\Z")
_NUMBER = re.compile(r"(\d+)(?:\.compact)?\Z")
_SNAPSHOT, _TABLE = ".zip", ".sst"
_STARTED = ("lookups/*.parquet", "sources/*/_begin.json")
"""Files that are written before the first batch."""


@dataclass(frozen=True)
class Entry:
    """A file as it was written."""

    size_bytes: int
    check: int

    @classmethod
    def of(cls, path: Path) -> Entry:
        """A file as it is now."""
        with path.open("rb") as file:
            size = path.stat().st_size
            if size <= _WHOLE_BYTES:
                return cls(size, zlib.crc32(file.read()))
            check = zlib.crc32(file.read(_WHOLE_BYTES // 2))
            file.seek(-(_WHOLE_BYTES // 2), 2)
            return cls(size, zlib.crc32(file.read(), check))


@dataclass(frozen=True)
class Manifest:
    """What a run's folder must have.

    Parameters
    ----------
    folder
        The run's.
    files
        Each file, by its path below the folder.
    first_batches
        The first batch of sinks that did not begin with batch 0, by their output.
    """

    folder: Path
    files: Mapping[str, Entry] = field(default_factory=dict)
    first_batches: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder. One that is missing or damaged names nothing: the
        files themselves are there."""
        path = folder / MANIFEST
        try:
            found = read_checked(path, "the manifest")
            if found["version"] == VERSION:
                files = {name: Entry(*entry) for name, entry in found["files"].items()}
                return cls(folder, files, found["first_batches"])
        # A manifest makes damage known sooner. Refusing to run because it is lost
        # itself would be the greater loss.
        except (OSError, KeyError, TypeError, AttributeError, StateProblem):
            pass
        return cls(folder)

    def write(self) -> None:
        """Put it into its folder, at once or not at all."""
        files = {name: [e.size_bytes, e.check] for name, e in self.files.items()}
        value: dict[str, Any] = {
            "version": VERSION,
            "files": files,
            "first_batches": dict(self.first_batches),
        }
        write_checked(self.folder / MANIFEST, value)

    def fault(self, path: Path) -> str | None:
        """What is wrong with a file that is needed; None: nothing that is known."""
        if not path.exists():
            return "is gone"
        if path.stat().st_size == 0:
            return "is empty"
        known = self.files.get(self.name(path))
        if known is None:
            return None
        now = Entry.of(path)
        # Checked first as it says more: a file that was cut off has another sum too.
        if now.size_bytes < known.size_bytes:
            return "is cut off or an older copy"
        return None if now == known else "is damaged or an older copy"

    def check(self, path: Path, meaning: str) -> None:
        """Refuse a file that is not as it was written.

        Raises
        ------
        StateProblem
            With what the file is for.
        """
        if (fault := self.fault(path)) is not None:
            raise StateProblem(path, fault, meaning)

    def name(self, path: Path) -> str:
        """What it calls a file."""
        return path.relative_to(self.folder).as_posix()

    def listed(self, *parts: str) -> Iterator[Path]:
        """The files that it names in a folder."""
        start = "".join(f"{part}/" for part in parts)
        return (self.folder / name for name in self.files if name.startswith(start))

    def without(self, is_left_out: Callable[[str], bool]) -> Manifest:
        """The manifest without some files."""
        kept = {n: entry for n, entry in self.files.items() if not is_left_out(n)}
        return self if len(kept) == len(self.files) else replace(self, files=kept)

    def updated(self, newest: Mapping[int, int]) -> Manifest:
        """The manifest with all that is committed; what Spark has removed is not in it.

        Parameters
        ----------
        newest
            The newest batch of each output that is committed; -1: none.
        """
        names = {}
        tables = (self.folder / n for n in self.files if n.endswith(_TABLE))
        committed = _committed(self.folder, newest)
        for path in chain(committed, filter(Path.exists, tables)):
            name = self.name(path)
            try:
                # A committed file never changes: each is summed up once, however often
                # the manifest is written.
                known = names[name] = self.files.get(name) or Entry.of(path)
                if path.suffix == _SNAPSHOT and known is not self.files.get(name):
                    # Its tables are written before it, and not at once.
                    for table in table_files(path):
                        of_state = path.parent / "SSTs" / table
                        names[self.name(of_state)] = Entry.of(of_state)
            except (FileNotFoundError, ValueError):
                continue  # Spark removes what is old meanwhile
        return self if names == self.files else replace(self, files=names)


def numbered(folder: Path) -> dict[int, Path]:
    """The files of one of Spark's logs, by their number; one that was compacted stands
    for all before it."""
    found: dict[int, Path] = {}
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if match := _NUMBER.match(path.name):
                found[int(match[1])] = path
    return found


def read_log(path: Path) -> list[str]:
    """The lines of a file of one of Spark's logs, behind their version.

    Raises
    ------
    ValueError
        When it is none.
    """
    # Not splitlines: a text in the log may have any other character that Python takes
    # for the end of a line.
    version, *lines = path.read_bytes().decode("utf-8").split("\n")
    if not re.fullmatch(r"v\d+", version) or not lines:
        raise ValueError("no version")
    return lines


def read_places(path: Path) -> list[Any]:
    """Where a batch ends in each source, as the log of offsets says: of a folder the
    number of its log, None before the first; of a topic its offsets.

    Raises
    ------
    ValueError
        When it does not say.
    """
    facts, *places = read_log(path)
    if not isinstance(json.loads(facts).get("batchWatermarkMs"), int):
        raise ValueError("no watermark")
    found = [None if line == "-" else json.loads(line) for line in places if line]
    return [
        p["logOffset"] if isinstance(p, dict) and "logOffset" in p else p for p in found
    ]


def state_version(path: Path) -> int | None:
    """Of which version of a state a file is; None: of none, or of all."""
    match = _STATE.match(path.name)
    return int(match[1]) if match else None


def table_files(snapshot: Path) -> dict[str, int]:
    """The files of RocksDB that a snapshot names, with their sizes.

    Raises
    ------
    ValueError
        When it is damaged.
    """
    try:
        with zipfile.ZipFile(snapshot) as file:
            if file.testzip() is not None:
                raise ValueError("a member is damaged")
            facts = json.loads(file.read("metadata").decode().split("\n", 1)[1])
            files = facts.get("sstFiles") or ()
            return {each["dfsSstFileName"]: each["sizeBytes"] for each in files}
    except (zipfile.BadZipFile, KeyError, IndexError, TypeError, OSError) as problem:
        raise ValueError(str(problem)) from problem


def _committed(folder: Path, newest: Mapping[int, int]) -> Iterator[Path]:
    if all(batch < 0 for batch in newest.values()):
        return
    for pattern in _STARTED:
        yield from folder.glob(pattern)
    for output, batch in newest.items():
        if batch >= 0:
            yield from _of_output(folder / "outputs" / str(output), batch)


def _of_output(output: Path, batch: int) -> Iterator[Path]:
    checkpoint = output / "checkpoint"
    for kind in ("offsets", "commits"):
        yield from _up_to(numbered(checkpoint / kind), batch)
    try:
        places = read_places(checkpoint / "offsets" / str(batch))
    except (OSError, ValueError):
        places = []
    for number, place in enumerate(places):
        log = checkpoint / "sources" / str(number)
        is_files = isinstance(place, int)
        yield from _up_to(numbered(log), place if is_files else 0)
    for path in sorted((checkpoint / "state").rglob("*")):
        version = state_version(path)
        if version is None:
            # Hidden ones are Hadoop's check sums and drafts, which it can do without.
            about = "_metadata" in path.parts or "_stateSchema" in path.parts
            if about and not path.name.startswith("."):
                yield from (path,) if path.is_file() else ()
        # A batch N writes the version N + 1 of a state.
        elif version <= batch + 1:
            yield path


def _up_to(log: Mapping[int, Path], newest: int) -> Iterable[Path]:
    return (path for number, path in log.items() if number <= newest)
