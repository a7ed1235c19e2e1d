"""Copies of large states on the disk of a worker's machine.

::

    LOG-VERSION     which segments a state has, and which of their groups are there
    LOG.SEGMENT     the tables of a segment, and its index

A batch adds a segment and names the state anew; the segments that it has merged go.
Files are not compressed, so that a table that is read lies in the file still. What
cannot be written or read is not there: nothing is lost with it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.state_segments import Groups, Index, Segment
from arroyo_nb.changelog.state_tables import Layout, put_stream, read_stream
from arroyo_nb.changelog.zset import int64s
from arroyo_nb.errors import RunProblem

UNUSED_S = 3600
"""A copy that was not written for so long is of a query that has ended, or waits."""

_LOG = 32
"""How many characters of a file's name are that of its log."""

_SEGMENT, _THERE = "segment", "there"
_HASH, _GROUP, _START = "hash", "group", "start"


@dataclass(frozen=True)
class StateFiles:
    """The copies.

    Parameters
    ----------
    folder
        Where they are; None: nowhere.
    """

    folder: Path | None

    @classmethod
    def of_worker(cls) -> StateFiles:
        """Those of the machine on which this Spark worker runs: where Spark has its own
        temporary files, which it deletes with the executor."""
        folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
        return cls(Path(folders[0]) / "arroyo_nb-state" if folders[0] else None)

    def read(
        self, log: bytes, version: bytes, layout: Layout, keys: tuple[str, ...]
    ) -> Groups | None:
        """The state of a log, if it is there."""
        if self.folder is None:
            return None
        try:
            file = pa.memory_map(str(self.folder / _state_name(log, version)))
            read = [
                (self._segment(name, layout, keys), packed)
                for name, packed in _read_state(file)
            ]
        except (OSError, RunProblem):
            return None
        # There is one at least; a file that was cut may say that there is none.
        if not read:
            return None
        there = [np.unpackbits(bits, count=len(s)).view(np.bool_) for s, bits in read]
        return Groups(tuple(s for s, _ in read), tuple(there), layout, keys)

    def write(self, log: bytes, version: bytes, groups: Groups) -> None:
        """Put a state in the place of the one before."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            segments = [self._written(log, segment) for segment in groups.segments]
            groups = replace(groups, segments=tuple(segments))
            self._write(_state_name(log, version), partial(_write_state, groups))
        except OSError:
            self.remove(log)
        else:
            names = {segment.name for segment in segments}
            self.remove(log, but={*names, _state_name(log, version)})

    def remove(self, log: bytes, but: Collection[str] = ()) -> None:
        """Remove what there is of a log: also what a batch has left that failed."""
        for entry in self._entries():
            if entry.name.startswith(log.hex()) and entry.name not in but:
                _remove(Path(entry))

    def remove_unused(self) -> None:
        """Remove the states of queries that write no more."""
        written: defaultdict[str, list[tuple[float, Path]]] = defaultdict(list)
        for entry in self._entries():
            with suppress(OSError):
                # Another worker may just have removed it.
                at = entry.stat().st_mtime
                # Of one log: segments stay while the state is written beside them.
                written[entry.name[:_LOG]].append((at, Path(entry)))
        oldest = time.time() - UNUSED_S
        for files in written.values():
            if max(files)[0] < oldest:
                for _, path in files:
                    _remove(path)

    def _segment(self, name: str, layout: Layout, keys: tuple[str, ...]) -> Segment:
        assert self.folder is not None
        file = pa.memory_map(str(self.folder / name))
        state = layout.read(file)
        return Segment(state, keys, name, _read_index(file, layout))

    def _written(self, log: bytes, segment: Segment) -> Segment:
        if segment.name:
            return segment
        name = f"{log.hex()}.{uuid.uuid4().hex}"
        self._write(name, partial(_write_segment, segment))
        return replace(segment, name=name)

    def _write(self, name: str, put: Callable[[pa.NativeFile], None]) -> None:
        assert self.folder is not None
        path = self.folder / name
        part = path.with_suffix(f"{path.suffix}.part")
        with pa.OSFile(str(part), "wb") as file:
            put(file)
        # At once, or another worker could read half of it.
        part.replace(path)

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        if self.folder is not None:
            with suppress(OSError), os.scandir(self.folder) as entries:
                yield from entries


def _state_name(log: bytes, version: bytes) -> str:
    return f"{log.hex()}-{version.hex()}"


def _write_state(groups: Groups, file: pa.NativeFile) -> None:
    names = [segment.name for segment in groups.segments]
    masks = [np.packbits(mask).tobytes() for mask in groups.there]
    columns = {_SEGMENT: names, _THERE: pa.array(masks, pa.binary())}
    put_stream(file, pa.table(columns), compressed=False)


def _read_state(file: pa.NativeFile) -> list[tuple[str, npt.NDArray[np.uint8]]]:
    found = read_stream(file, "a state")
    names = found[_SEGMENT].to_pylist()
    packed = [np.frombuffer(bits.as_buffer(), np.uint8) for bits in found[_THERE]]
    return list(zip(names, packed, strict=True))


def _write_segment(segment: Segment, file: pa.NativeFile) -> None:
    state = segment.ordered
    layout = Layout(tuple((name, table.schema) for name, table in state.items()))
    layout.write(state, file, compressed=False)
    index = segment.index
    columns = {_HASH: pa.array(index.hashes), _GROUP: pa.array(index.groups)}
    put_stream(file, pa.table(columns), compressed=False)
    for starts in index.starts.values():
        put_stream(file, pa.table({_START: pa.array(starts)}), compressed=False)


def _read_index(file: pa.NativeFile, layout: Layout) -> Index:
    found = read_stream(file, "an index")
    _, *others = (name for name, _ in layout.tables)
    starts = {n: int64s(read_stream(file, "an index")[_START]) for n in others}
    hashes = found[_HASH].combine_chunks().to_numpy().view(np.uint64)
    return Index(hashes, int64s(found[_GROUP]), starts)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
