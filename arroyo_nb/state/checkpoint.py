"""Spark's checkpoint of a query, read before Spark is: whether it can be resumed.

Spark resumes from the newest file of two logs: ``offsets/N`` says which rows batch N
has, ``commits/N`` that it is done. It reads them, and the state of the operators, when
the query starts, and tells damage in words of its own. So all that it will read is
looked at here: by the manifest, and where that does not name a file yet, by its form.

A power cut leaves the newest files of a log empty. Where ``commits/N`` is damaged or
gone, batch N is written again with the same rows. Where ``offsets/N`` is, it is planned
anew, if the sink can still replace what it has of that batch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from arroyo_nb.connectors import ResumePoint
from arroyo_nb.errors import StateProblem
from arroyo_nb.state.files import BEAT, HEARTBEAT
from arroyo_nb.state.manifest import (
    Manifest,
    numbered,
    read_log,
    read_places,
    state_version,
    table_files,
)

_PLAN = "it says which rows a batch has"
_FILES = "it says which files of a source the query has read"
_STATE = "it holds the state of an operator (windows, keys) up to the newest batch"
_ABOUT = "it describes the state of an operator (windows, keys)"
_CHUNK = "it has rows of the batch that is to be written again"


@dataclass(frozen=True)
class Checkpoint:
    """Where a query goes on, and what is mended before.

    Parameters
    ----------
    path
        The checkpoint's folder.
    next_batch
        The batch that comes next.
    planned
        Whether it has the rows that it had before.
    removed
        Files that are removed before Spark reads them.
    beats
        Heartbeats that are written again.
    unnamed
        Whether the file with the query's name is gone or damaged: it gets another.
    read, logged
        The newest chunk of each tape, by its folder's name: of which all rows are
        written, and which any batch has.
    committed
        How far each log of a source is committed, by its folder.
    """

    path: Path
    next_batch: int = 0
    planned: bool = False
    removed: tuple[Path, ...] = ()
    beats: tuple[Path, ...] = ()
    unnamed: bool = False
    read: Mapping[str, int] = field(default_factory=dict)
    logged: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[Path, int] = field(default_factory=dict)

    def resume(self, first_batch: int = 0) -> ResumePoint:
        """The same for the sink."""
        plan = self.path / "offsets" / str(self.next_batch)
        return ResumePoint(self.next_batch, plan, self.planned, first_batch)

    def mend(self) -> None:
        """Have it as Spark can read it; whoever is killed in this begins again."""
        if not self.planned and self.next_batch == 0 and self.removed:
            # Spark takes no checkpoint for a new one that has any of these.
            for name in ("offsets", "commits", "sources", "state"):
                shutil.rmtree(self.path / name, ignore_errors=True)
        for path in self.removed:
            path.unlink(missing_ok=True)
        if self.unnamed:
            # It tells queries apart while they run; nothing else depends on it.
            name = json.dumps({"id": str(uuid4())})
            (self.path / "metadata").write_text(name)
        for path in self.beats:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(BEAT)

    def is_unsettled(self, path: Path) -> bool:
        """Whether a file is of a batch that is not committed: it may come again."""
        if not path.is_relative_to(self.path):
            return False
        kind, *_ = path.relative_to(self.path).parts
        if kind in ("offsets", "commits"):
            return int(path.stem) >= self.next_batch
        if path.parent in self.committed:
            return int(path.stem) > self.committed[path.parent]
        return (state_version(path) or 0) > self.next_batch


def inspect_checkpoint(path: Path, manifest: Manifest) -> Checkpoint:
    """Find out where a query goes on.

    Parameters
    ----------
    path
        The checkpoint's folder.
    manifest
        Of the run's folder.

    Raises
    ------
    StateProblem
        When a file that is needed is gone or damaged, and nothing else says the same.
    """
    offsets, commits = (numbered(path / log) for log in ("offsets", "commits"))
    removed: list[Path] = []
    # What says that a batch is done is no loss: it is written again.
    if commits and not _is_sound(commits[max(commits)], manifest, commit=True):
        removed.append(commits.pop(max(commits)))
        _check_log(commits, manifest, "it says that a batch is done", commit=True)
    if offsets and not _is_sound(offsets[max(offsets)], manifest):
        removed.append(offsets.pop(max(offsets)))
    planned, done = max(offsets, default=-1), max(commits, default=-1)
    # One lost plan can be made again, as the newest; of more than one it is unknown
    # which rows the batches had.
    if done > planned + 1:
        raise StateProblem(path / "offsets" / str(done), "is gone", _PLAN)
    # A commit without its plan: Spark would go on behind a batch of which it knows no
    # offsets.
    if done > planned:
        removed.append(commits.pop(done))
        done = max(commits, default=-1)
    next_batch = planned + 1 if done == planned else planned
    # Spark reads two: the batch to be run, and where it begins, which is the end of the
    # one before.
    for batch in (planned, planned - 1):
        if batch >= 0:
            log = {batch: offsets.get(batch, path / "offsets" / str(batch))}
            _check_log(log, manifest, _PLAN)
    return _CheckpointReader(path, manifest, next_batch, done != planned).checkpoint(
        removed
    )


class _CheckpointReader:
    """Looks at what the next batch of a query needs."""

    def __init__(
        self, path: Path, manifest: Manifest, next_batch: int, planned: bool
    ) -> None:
        self._path = path
        self._manifest = manifest
        self._next_batch = next_batch
        self._planned = planned

    def checkpoint(self, removed: list[Path]) -> Checkpoint:
        """Where the query goes on, once all that it needs was looked at."""
        read: dict[str, int] = {}
        logged: dict[str, int] = {}
        committed: dict[Path, int] = {}
        beats: list[Path] = []
        before = self._places(self._next_batch - 1)
        now = self._places(self._next_batch) if self._planned else before
        for number, place in enumerate(now):
            log = self._path / "sources" / str(number)
            if isinstance(place, int) or (place is None and _is_of_files(log)):
                done = before[number] if number < len(before) else None
                committed[log] = done if isinstance(done, int) else -1
                planned = -1 if place is None else place
                entries, ahead = self._entries(log, planned)
                removed += ahead
                for file, at in entries:
                    key, name = file.parent.name, file.name
                    # Only what the batch still has to read must be there: chunks that
                    # are committed are removed as the run goes on.
                    if at > committed[log]:
                        beats += self._needed(file)
                    if name.startswith("chunk-"):
                        chunk = int(file.stem.removeprefix("chunk-"))
                        logged[key] = max(logged.get(key, 0), chunk)
                        if at <= committed[log]:
                            read[key] = max(read.get(key, 0), chunk)
            else:
                for file in self._manifest.listed(*self._parts(log)):
                    self._manifest.check(file, _FILES)
        self._check_state()
        return Checkpoint(
            self._path,
            self._next_batch,
            self._planned,
            tuple(dict.fromkeys(removed)),
            tuple(beats),
            self._is_unnamed(),
            read,
            logged,
            committed,
        )

    def _is_unnamed(self) -> bool:
        if not (self._path / "offsets").is_dir():
            return False
        try:
            facts = json.loads((self._path / "metadata").read_bytes())
            return not isinstance(facts["id"], str)
        except (OSError, ValueError, KeyError, TypeError):
            return True

    def _places(self, batch: int) -> list[object]:
        if batch < 0:
            return []
        return read_places(self._path / "offsets" / str(batch))

    def _parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self._manifest.folder).parts

    def _entries(
        self, folder: Path, newest: int
    ) -> tuple[list[tuple[Path, int]], list[Path]]:
        """The files that a query has read, each with the number of its log; and logs of
        a batch that was never planned."""
        log = numbered(folder)
        ahead = [log[number] for number in log if number > newest]
        if any(path.suffix for path in ahead):
            # A compacted one stands for all before it, which may be gone.
            # Removing it would lose what is committed too.
            newest, ahead = max(log), []
        start = max((n for n in log if log[n].suffix and n <= newest), default=0)
        found: list[tuple[Path, int]] = []
        for number in range(start, newest + 1):
            path = log.get(number, folder / str(number))
            self._manifest.check(path, _FILES)
            try:
                entries = [json.loads(line) for line in read_log(path) if line]
                numbers = {entry["batchId"] for entry in entries}
                # Each file of the log has the entries of its own number, unless it was
                # compacted.
                if not path.suffix and numbers - {number}:
                    raise StateProblem(path, "is an older copy", _FILES)
                found += [(self._file(e["path"]), e["batchId"]) for e in entries]
            except (ValueError, KeyError, TypeError):
                raise StateProblem(path, "is damaged", _FILES) from None
        return found, ahead

    def _file(self, address: str) -> Path:
        """A file of the run's folder, wherever that was when it was read."""
        # By its name in the run's folder: that may have been moved since it was logged.
        path = Path(unquote(urlsplit(address).path))
        return self._manifest.folder / "sources" / path.parent.name / path.name

    def _needed(self, file: Path) -> Iterator[Path]:
        """Heartbeats that the next batch reads; a chunk that is gone is refused."""
        if file.parent.name == HEARTBEAT:
            yield file
        elif not file.exists():
            raise StateProblem(file, "is gone", _CHUNK)

    def _check_state(self) -> None:
        state = self._path / "state"
        for path in self._manifest.listed(*self._parts(state)):
            # What has a version is checked store by store below, from the snapshot on
            # that Spark would read; older ones may be gone.
            if state_version(path) is None and path.suffix != ".sst":
                self._check_about(path)
        if self._next_batch == 0 or not state.is_dir():
            return
        for operator in sorted(state.iterdir()):
            for store in self._stores(operator):
                self._check_store(store)

    def _check_about(self, path: Path) -> None:
        """Refuse a state of which a description is gone that counts: each start of a
        query adds one, and Spark removes the older ones some batches later, with the
        schemas that they name."""
        operator, newest = path.parents[2], _newest_description(path.parents[2])
        is_schema = path.parents[1] == operator / "_stateSchema" and newest.exists()
        # As bytes: whether it is damaged is looked at with what it says of the stores.
        is_unnamed = is_schema and path.name.encode() not in newest.read_bytes()
        if not is_unnamed and not _is_before(path, newest):
            self._manifest.check(path, _ABOUT)

    def _stores(self, operator: Path) -> Iterator[Path]:
        """Where the states of an operator lie: one a partition, or several."""
        metadata = _newest_description(operator)
        try:
            facts = json.loads("".join(read_log(metadata)))["stateStoreInfo"]
            stores = [(each["storeName"], each["numPartitions"]) for each in facts]
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            raise StateProblem(metadata, "is damaged or empty", _ABOUT) from None
        for name, partitions in stores:
            for number in range(partitions):
                place = operator / str(number)
                yield place if name == "default" else place / name

    def _check_store(self, store: Path) -> None:
        """Refuse a state of which a part is missing: Spark begins with the newest
        snapshot, and adds the changes since."""
        version, found = self._next_batch, {}
        if store.is_dir():
            for path in store.iterdir():
                if (at := state_version(path)) is not None and at <= version:
                    found[at, path.suffix in (".snapshot", ".zip")] = path
        # What lies before the newest snapshot is never read again.
        start = max((at for at, whole in found if whole), default=0)
        if start:
            self._check_snapshot(found[start, True])
        suffix = next((p.suffix for (_, whole), p in found.items() if not whole), "")
        for at in range(start + 1, version + 1):
            default = store / f"{at}{suffix or '.delta'}"
            self._manifest.check(found.get((at, False), default), _STATE)

    def _check_snapshot(self, path: Path) -> None:
        self._manifest.check(path, _STATE)
        if path.suffix != ".zip":
            return
        try:
            tables = table_files(path)
        except ValueError:
            raise StateProblem(path, "is damaged", _STATE) from None
        for name, size in tables.items():
            table = path.parent / "SSTs" / name
            self._manifest.check(table, _STATE)
            # The snapshot knows the sizes of its tables, also where the manifest is
            # behind it.
            if table.stat().st_size != size:
                raise StateProblem(table, "is cut off or an older copy", _STATE)


def _newest_description(operator: Path) -> Path:
    """What says which states an operator has."""
    # The place of Spark's first format; the second has a log, whose newest file counts.
    first = operator / "_metadata" / "metadata"
    log = numbered(operator / "_metadata" / "v2")
    return first if first.exists() or not log else log[max(log)]


def _is_before(path: Path, newest: Path) -> bool:
    """Whether a file is an earlier one of the newest's log."""
    if path.parent != newest.parent or not path.stem.isdecimal():
        return False
    return int(path.stem) < int(newest.stem)


def _check_log(
    log: Mapping[int, Path], manifest: Manifest, meaning: str, *, commit: bool = False
) -> None:
    """Refuse the newest file of a log, where that cannot be read."""
    if not log:
        return
    path = log[max(log)]
    manifest.check(path, meaning)
    if not _is_sound(path, manifest, commit=commit):
        raise StateProblem(path, "is damaged", meaning)


def _is_sound(path: Path, manifest: Manifest, *, commit: bool = False) -> bool:
    if manifest.fault(path) is not None:
        return False
    try:
        if commit:
            json.loads("".join(read_log(path)))["nextBatchWatermarkMs"]
        else:
            read_places(path)
    except (ValueError, KeyError, TypeError):
        return False
    return True


def _is_of_files(log: Path) -> bool:
    """Whether a log of a source names files; of a topic it has offsets."""
    for path in numbered(log).values():
        return b'"path"' in path.read_bytes()
    return False


def newest_chunks(checkpoints: tuple[Checkpoint, ...], key: str) -> tuple[int, int]:
    """Of a tape, the newest chunk that all queries have written, and the newest that
    any of them knows."""
    # Only queries that read this tape have a say in what of it may go.
    read = [each.read.get(key, 0) for each in checkpoints if key in each.logged]
    logged = chain([0], (each.logged.get(key, 0) for each in checkpoints))
    return min(read, default=0), max(logged)
