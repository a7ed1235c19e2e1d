"""A sink of many files in a folder: every row once, and only whole files are seen.

Rows are written as *parts* into a hidden folder beside the files. After each batch the
notes say which parts belong to which file, which files are whole, and which batch was
the last: that is the moment in which the batch is written. Whole files are then made
of their parts and appear by a rename. Whoever goes on after a kill removes the parts
that no note knows, lets the files appear that the notes call whole, and passes over
the rows of a batch that is noted.

A file is whole when a rolling policy says so after a batch, when the run ends, and
without a policy after each batch.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.connectors import CollectingWriter
from arroyo_nb.connectors._file_names import FileNames
from arroyo_nb.connectors._folder_state import FolderState, PartFile, Rolling
from arroyo_nb.connectors._line_writers import claim
from arroyo_nb.connectors._part_files import split
from arroyo_nb.connectors._partitions import Partitioning
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import PartFormat
from arroyo_nb.sink_notes import Notes, ResumePoint

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column


class FolderWriter(CollectingWriter):
    """Writes the files of a folder.

    Parameters
    ----------
    root
        The folder; made if need be, and what is in it stays.
    name, user
        What messages call it, and who writes.
    state
        Folder for the notes.
    parts
        How rows are laid down.
    partitioning, rolling, names
        In which folders, up to when, and under which names.
    resume
        Where the query goes on; None: unknown.

    Raises
    ------
    RunProblem
        When the folder cannot be written, misses what was written before, or is a link
        out of the folders that are allowed.
    """

    def __init__(
        self,
        root: Path,
        name: str,
        state: Path,
        parts: PartFormat,
        partitioning: Partitioning,
        rolling: Rolling,
        names: FileNames,
        user: str = "another run",
        resume: ResumePoint | None = None,
    ) -> None:
        self._root = root
        self._name = name
        self._parts = parts
        self._partitioning = partitioning
        self._rolling = rolling
        self._names = names
        self.timed = partitioning.timed
        self._allowed = current_roots()
        with ExitStack() as undo, refusals("write", name):
            self._notes = Notes(state / "files.json")
            found = self._notes.read()
            known = FolderState.read(found) if found is not None else None
            if resume is not None:
                newest = None if known is None else known.batch_id
                resume.check(self._notes.path, newest)
            if known is not None and known.batch_id >= 0 and not root.exists():
                raise RunProblem(
                    f"'{name}' is gone, with the rows that this run has written there",
                    hint="put it back, or start with another state folder",
                )
            root.mkdir(parents=True, exist_ok=True)
            if names.strategy == "serial":
                self._claim(undo, user)
            if known is None:
                # Noted before it is made: whoever goes on has the same.
                staging = f".arroyo-{secrets.token_hex(8)}"
                self._note(FolderState(staging, kind=parts.extension))
            else:
                self._check_kind(known)
                self._state = replace(known, kind=parts.extension)
            self._allowed.check(self._staging, name)
            self._staging.mkdir(exist_ok=True)
            self._recover()
            self._undo = undo.pop_all()

    def columns(self, names: Sequence[str]) -> list[Column]:
        """What its files have, and the key of each row's folder."""
        return self._parts.columns(names, self._partitioning.sql())

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Write one micro-batch; of one that is noted nothing is written again."""
        rows = self._parts.rows(rows)
        with refusals("write", self._name):
            if batch_id <= self._state.batch_id:
                return int(rows.num_rows)
            state, now_s = replace(self._state, batch_id=batch_id), time.time()
            for key, pieces in split(rows).items():
                folder = self._partitioning.folder(key)
                state = self._grown(state, folder, pieces, now_s)
            for file in state.growing.values():
                if self._rolling.is_whole(file, now_s):
                    state = self._closed(state, file)
            self._note(state)
            self._publish()
        return int(rows.num_rows)

    def close(self) -> None:
        """Let all files appear; harmless twice."""
        with refusals("write", self._name), self._undo:
            state = self._state
            for file in state.growing.values():
                state = self._closed(state, file)
            if state != self._state:
                self._note(state)
            self._publish()
            with suppress(OSError):
                self._staging.rmdir()

    @property
    def _staging(self) -> Path:
        return self._root / self._state.staging

    def _claim(self, undo: ExitStack, user: str) -> None:
        """Two runs that count would give the same names."""
        folder = os.open(self._root, os.O_RDONLY)
        undo.callback(os.close, folder)
        undo.callback(claim(folder, self._name, user))

    def _recover(self) -> None:
        """Begin where the notes end."""
        known = {part for file in self._state.files for part in self._paths(file)}
        for found in self._staging.iterdir():
            if found not in known:
                found.unlink()
        for file in self._state.growing.values():
            self._check(file)
        self._publish()

    def _check_kind(self, known: FolderState) -> None:
        if known.files and known.kind not in ("", self._parts.extension):
            raise RunProblem(
                f"'{self._name}' has files of {known.kind} that are not whole yet, and "
                f"is to be written as {self._parts.extension}",
                hint="start the run as it was and stop it, which makes them whole",
            )

    def _check(self, file: PartFile) -> None:
        if not all(part.exists() for part in self._paths(file)):
            raise RunProblem(
                f"'{self._name}' misses rows that this run has written there",
                hint=f"put '{self._state.staging}' back, or start with another state "
                "folder",
            )

    def _paths(self, file: PartFile) -> list[Path]:
        return [self._part(file, part) for part in range(file.parts)]

    def _part(self, file: PartFile, part: int) -> Path:
        return self._staging / f"{file.number}.{part}"

    def _grown(
        self, state: FolderState, folder: str, pieces: Iterable[pa.Table], now_s: float
    ) -> FolderState:
        """The state with rows of one folder, which are in parts."""
        left = iter(pieces)
        for piece in left:
            file = state.file(folder, now_s)
            part = self._part(file, file.parts)
            room = self._rolling.size_bytes - file.size_bytes
            size = self._parts.write(part, chain([piece], left), room)
            _sync(part)
            file = file.grown(size, now_s)
            state = state.with_open(file)
            if size >= room:
                state = self._closed(state, file)
        return state

    def _closed(self, state: FolderState, file: PartFile) -> FolderState:
        """The state with a file whole, under a name that nothing in its folder has."""
        self._check(file)
        names = state.names
        while True:
            name = f"{file.folder}/{self._names.name(names)}".lstrip("/")
            names += 1
            if not (self._root / name).exists():
                return state.with_whole(file, name, names)

    def _note(self, state: FolderState) -> None:
        self._notes.write(state.noted())
        self._state = state

    def _publish(self) -> None:
        """Let the whole files appear, also those that a killed run began with."""
        if self._state.whole:
            for file in self._state.whole:
                self._appear(file)
            self._note(replace(self._state, whole=()))

    def _appear(self, file: PartFile) -> None:
        first, *others = self._paths(file)
        # The first part goes first: while it is there, the others are as well.
        if first.exists():
            path = self._root / file.name
            # A folder of it may be a link that somebody else has put there.
            self._allowed.check(path, f"{self._name}/{file.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if others:
                made = self._staging / f"{file.number}.whole"
                self._parts.join([first, *others], made)
                _sync(made)
                made.replace(path)
                first.unlink()
            else:
                first.replace(path)
        for part in others:
            part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
