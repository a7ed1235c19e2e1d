"""The folder that a run lives in: what survives it, and who may use it.

::

    run.json            whose state this is (:mod:`arroyo_nb.state.header`)
    manifest.json       which files must be there (:mod:`arroyo_nb.state.manifest`)
    lock                held (flock) by the process that runs it; names its owner
    job.json            of a job: which process it is (:mod:`arroyo_nb.jobs.owner`)
    sources/TABLE/      chunks that the conductor released; where a topic was begun
    sources/heartbeat/  beats, for queries that forget idle keys
    lookups/            tables that rows are looked up in, as they were read
    outputs/N/          one query: checkpoint/ of Spark, sink/ of the writer, rows/ that
                        were kept for who looks at them

A folder is one query's: state of another query is refused, never misread.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.durable_files import state_disk
from arroyo_nb.engine.folders import foreign
from arroyo_nb.errors import RunProblem, StateProblem
from arroyo_nb.file_errors import full_disk, is_full
from arroyo_nb.state.checkpoint import Checkpoint, inspect_checkpoint, newest_chunks
from arroyo_nb.state.files import HEARTBEAT, OUTPUTS, ROWS
from arroyo_nb.state.header import (
    AFRESH,
    NO_SPEC,
    STAMP,
    StateHeader,
    StateSpec,
    next_folder,
    waiting,
)
from arroyo_nb.state.identity import fingerprint
from arroyo_nb.state.lock import Lock
from arroyo_nb.state.manifest import MANIFEST, Manifest, numbered
from arroyo_nb.state.relocation import logs, relocate
from arroyo_nb.tape.read_chunks import put_back

if TYPE_CHECKING:
    from arroyo_nb.connectors import ResumePoint

NOTED_S = 1.0
"""How often the manifest is written at most while a run goes on."""

_STARTED = {
    "lookups": "it has the rows of a lookup table as they were when the run began",
    "sources": "it says which topic is read, and where that was begun",
}


class StateFolder:
    """A run's folder, locked by this process from construction to :meth:`release`.

    Attributes
    ----------
    resumed
        Whether there was state in it.
    buckets, forgets, lowering
        See :class:`StateHeader`.
    checkpoints
        Where each query goes on, after :meth:`inspect`.

    Parameters
    ----------
    path
        Made where it is missing, with access for its owner only.
    identity
        Identity of the plan whose state it holds or will hold.
    name
        The run's name, told to whoever meets the lock.
    spec
        What was run, for who has to judge a change of it.
    forgets
        Whether operators of this run look for idle keys. A state that was begun so
        stays so.
    temporary
        Whether it ends with this process. Nothing damages its files between two
        processes, so that no manifest is kept; a copy of it that a job takes has one
        from the job's first batches on.

    Raises
    ------
    RunProblem
        When another run holds it, when it holds the state of another query, or of one
        that forgets nothing, or when it cannot be made.
    """

    def __init__(
        self,
        path: Path,
        *,
        identity: str,
        name: str,
        spec: StateSpec = NO_SPEC,
        forgets: bool = True,
        temporary: bool = False,
    ) -> None:
        self.path, self._temporary = path, temporary
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._manifest = Manifest(path)
        self._noted_s, self._cost_s = -math.inf, 0.0
        if (taken := foreign(path)) is not None:
            raise RunProblem(
                f"state folder '{path}' is not used: {taken}",
                hint="name a folder of your own: whoever can write it decides what the "
                "run has read and written",
            )
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Before any state in it is read: what another process writes meanwhile
            # would be judged half-way.
            self._lock = Lock(path, name)
        except OSError as error:
            if is_full(error):
                raise full_disk("state folder", path) from error
            raise RunProblem(
                f"state folder '{path}' cannot be used: {error.strerror}",
                hint="name a folder that this user may write",
            ) from error
        try:
            query, at = fingerprint(identity), str(path)
            stamp = StateHeader(query, name, forgets=forgets, at=at, spec=spec.text)
            before = self._claim(stamp, spec.differences)
            self.resumed, begun = before is not None, before or stamp
            self.buckets, self.forgets = begun.buckets, begun.forgets
            self.lowering = begun.lowering
        except BaseException:
            self.release()
            raise

    def source(self, table: str) -> Path:
        """Where the chunks of a source are released, or the beginning of a topic is
        noted."""
        return self._make_folder("sources", table)

    def heartbeat(self) -> Path:
        """Where the beats for idle state go."""
        return self._make_folder("sources", HEARTBEAT)

    def lookups(self) -> Path:
        """What was read of lookup tables."""
        return self._make_folder("lookups")

    def checkpoint(self, output: int) -> Path:
        """Spark's checkpoint of an output."""
        return self._make_folder(OUTPUTS, str(output), "checkpoint")

    def sink(self, output: int) -> Path:
        """What an output's writer keeps."""
        return self._make_folder(OUTPUTS, str(output), "sink")

    def rows(self, output: int) -> Path:
        """What an output produced, where that is kept."""
        return self.path / OUTPUTS / str(output) / ROWS

    def inspect(self, outputs: int) -> None:
        """Find out whether its queries can go on, before any of them is started.

        Parameters
        ----------
        outputs
            How many queries there are.

        Raises
        ------
        StateProblem
            When a file is gone or damaged that correctness rests on.
        """
        self._manifest = manifest = Manifest.read(self.path)
        # These are written once and read by every run after: no log of Spark's would
        # tell that they changed.
        for kind, meaning in _STARTED.items():
            for path in manifest.listed(kind):
                manifest.check(path, meaning)
        for source in (self.path / "sources").glob("*"):
            with state_disk(source):
                put_back(source)
        self.checkpoints = tuple(
            inspect_checkpoint(self.path / OUTPUTS / str(n) / "checkpoint", manifest)
            for n in range(outputs)
        )

    @property
    def has_batches(self) -> bool:
        """Whether any batch was begun before, after :meth:`inspect`."""
        return any(each.next_batch or each.planned for each in self.checkpoints)

    def chunks(self, key: str) -> tuple[int | None, int]:
        """Of a tape, the newest chunk whose rows are written, and the newest that any
        query has read; None before :meth:`inspect`."""
        if not self.checkpoints:
            return None, 0
        return newest_chunks(self.checkpoints, key)

    def resume(self, output: int) -> ResumePoint | None:
        """Where a query goes on, for its sink."""
        if not self.checkpoints:
            return None
        first = self._manifest.first_batches.get(str(output), 0)
        return self.checkpoints[output].resume(first)

    def mend(self, output: int) -> None:
        """Have a checkpoint as Spark can read it, once its sink has agreed."""
        if not self.checkpoints:
            return
        checkpoint = self.checkpoints[output]
        settled = self._manifest.without(
            lambda name: checkpoint.is_unsettled(self.path / name)
        )
        if settled is not self._manifest:
            # What is written again has other bytes than the manifest says.
            self._manifest = settled
            with state_disk(self.path / MANIFEST):
                settled.write()
        checkpoint.mend()

    def note_files(self, *, at_once: bool = False) -> None:
        """Have the manifest name what is committed by now. Of the time of a run it
        takes no more than a hundredth, and none of its batches waits for it.

        Parameters
        ----------
        at_once
            Also where it was written a moment ago.
        """
        if not self.checkpoints or self._temporary:
            return
        begun_s = time.monotonic()
        # So that a folder of many files costs no more than a hundredth of the time.
        pause_s = max(NOTED_S, 100 * self._cost_s)
        if not at_once and begun_s - self._noted_s < pause_s:
            return
        # One that is behind is true as well: what must be written, or read, meets what
        # is wrong with the disk by itself.
        with suppress(OSError):
            self._update_manifest()
        self._noted_s = time.monotonic()
        self._cost_s = self._noted_s - begun_s

    def _update_manifest(self) -> None:
        commits = (each.path / "commits" for each in self.checkpoints)
        newest = {n: max(numbered(log), default=-1) for n, log in enumerate(commits)}
        found = self._manifest.updated(newest)
        if found is not self._manifest:
            found.write()
            self._manifest = found

    def release(self) -> None:
        """Let another run have it; harmless twice."""
        self._lock.release()

    def _make_folder(self, *parts: str) -> Path:
        folder = self.path.joinpath(*parts)
        with state_disk(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _relocate(self, old: Path) -> None:
        """Have its checkpoints name the files that are here. The manifest names these
        no more while they change."""
        manifest = Manifest.read(self.path)
        sound = {path for path in logs(self.path) if manifest.fault(path) is None}
        names = {manifest.name(path) for path in sound}
        if (rest := manifest.without(names.__contains__)) is not manifest:
            # First, and without what is about to change: killed in between, the files
            # are checked by their form alone instead of being called damaged.
            rest.write()
        relocate(self.path, old, sound.__contains__)

    def _claim(
        self, stamp: StateHeader, differs: Callable[[StateHeader], str]
    ) -> StateHeader | None:
        """Stamp the folder; the stamp of the state that was there, if there was one."""
        settle(self.path)
        before = StateHeader.of(self.path)
        if before is None:
            if (self.path / OUTPUTS).exists():
                raise StateProblem(
                    self.path / STAMP, "is gone", "it says which query the state is of"
                )
            stamp.write(self.path)
            return None
        if before.moved_to:
            raise RunProblem(
                f"the state in '{self.path}' was handed over to '{before.moved_to}'",
                hint="%arroyo attach brings a job and its state back; or remove this "
                "folder to start afresh",
            )
        if before.query != stamp.query:
            raise RunProblem(
                f"state folder '{self.path}' holds the state of another query"
                + (f":\n{how}" if (how := differs(before)) else ""),
                hint=AFRESH,
            )
        if stamp.forgets and not before.forgets:
            raise RunProblem(
                f"the state in '{self.path}' was begun without a time to live",
                hint="leave out the time to live (--ttl, SET updating_ttl), or name "
                "another state folder: rows that are never forgotten are stored in "
                "another way",
            )
        if before.at not in ("", str(self.path)):
            self._relocate(Path(before.at))
        # What was changed and is no part of the plan is what was run last.
        stamp.resuming(before).write(self.path)
        return before


def settle(folder: Path) -> None:
    """Let a copy take the place of a folder whose lock is held; one that was killed in
    doing so is gone on with: the stamp comes last. A copy of what is here after all is
    older than that, and is removed."""
    copy = next_folder(folder)
    if StateHeader.of(folder) is not None:
        shutil.rmtree(copy, ignore_errors=True)
        return
    if waiting(folder) is None:
        return
    for part in sorted(copy.iterdir(), key=lambda part: part.name == STAMP):
        part.replace(folder / part.name)
    copy.rmdir()
