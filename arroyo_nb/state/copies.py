"""State that goes on elsewhere: set aside, copied, or handed over to another folder.

Each of these holds the folder's lock, so nothing runs on it meanwhile; and what is
killed half-way leaves the state where it was, or where it was to be, never in two
folders that can be run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.state.checkpoint import inspect_checkpoint
from arroyo_nb.state.files import (
    JOB_NOTES,
    LOCK,
    OUTPUTS,
    ROWS,
    STOP_REQUEST,
)
from arroyo_nb.state.folder import settle
from arroyo_nb.state.header import STAMP, StateHeader, next_folder
from arroyo_nb.state.identity import fingerprint
from arroyo_nb.state.lock import Lock
from arroyo_nb.state.manifest import Manifest


def set_aside(folder: Path, name: str) -> Path:
    """Give a run's folder another name, so that the next run starts from nothing.

    Parameters
    ----------
    folder
        The run's.
    name
        The run's, told to whoever meets the lock.

    Returns
    -------
    Path
        Where it is now; under its old name it can be run again.

    Raises
    ------
    RunProblem
        When a run holds it.
    """
    with _locked(folder, name):
        with suppress(RunProblem):  # what cannot be told is set aside as it is
            settle(folder)
        shutil.rmtree(next_folder(folder), ignore_errors=True)
        return _renamed(folder)


def fork(
    folder: Path, name: str, *, identity: str, left_out: Collection[str] = ()
) -> Path:
    """Let another query go on from the state of a run.

    Parameters
    ----------
    folder, name
        The run's.
    identity
        Of the plan that goes on.
    left_out
        What of the state is begun anew: paths from the folder.

    Returns
    -------
    Path
        Where the state is, as it was; its copy has taken its place.

    Raises
    ------
    RunProblem
        When a run holds it, or it cannot be copied.
    """
    with _locked(folder, name):
        settle(folder)
        before = _known(folder)
        with _copied(folder, folder, left_out) as copy:
            query, at = fingerprint(identity), before.at or str(folder)
            _fork_manifest(folder, copy, left_out)
            replace(before, query=query, at=at, spec="", came_from="").write(copy)
            os.sync()
        aside = _renamed(folder)
    with _locked(folder, name):
        settle(folder)
    return aside


def _fork_manifest(folder: Path, copy: Path, left_out: Collection[str]) -> None:
    """What is begun anew need not be there, and its sinks begin in mid-stream."""

    def is_begun_anew(name: str) -> bool:
        # A changed query may describe the same state in other words.
        return name.startswith(tuple(left_out)) or "/_metadata/" in name

    before = Manifest.read(folder)
    first = dict(before.first_batches)
    for part in left_out:
        kind, *number = Path(part).parts
        if kind == OUTPUTS:
            path = folder / kind / number[0] / "checkpoint"
            first[number[0]] = inspect_checkpoint(path, before).next_batch
    kept = before.without(is_begun_anew)
    if kept.files or first:
        replace(kept, folder=copy, first_batches=first).write()


def put_back(aside: Path, folder: Path, name: str) -> None:
    """Undo :func:`set_aside` or :func:`fork`, where nothing was run since.

    Raises
    ------
    RunProblem
        When a run holds the folder.
    """
    with _locked(folder, name):
        refused = folder.with_name(f"{folder.name}.refused")
        folder.rename(refused)
        aside.rename(folder)
        shutil.rmtree(refused, ignore_errors=True)


def hand_over(old: Path, new: Path, name: str, stamp: StateHeader) -> None:
    """Let a run go on in another folder, and never again in its own.

    Parameters
    ----------
    old, new
        Where its state is, and where it is to be.
    name
        The run's, told to whoever meets a lock.
    stamp
        What the new folder says of it.

    Raises
    ------
    RunProblem
        When a run holds one of them, the new one has state, or it cannot be copied;
        then all is as it was.
    """
    with _locked(old, name), _locked(new, name):
        settle(new)
        before = _known(old)
        if before.moved_to == str(new) and StateHeader.of(new) is not None:
            return
        if before.moved_to == str(new):
            raise RunProblem(f"the state was handed over to '{new}', and is gone there")
        if before.moved_to or StateHeader.of(new) is not None:
            raise RunProblem(f"'{before.moved_to or new}' has state already")
        with _copied(old, new) as copy:
            stamp = replace(
                stamp.resuming(before), at=before.at or str(old), came_from=str(old)
            )
            stamp.write(copy)
            # Of Spark's own files too none may be empty after a loss of power.
            os.sync()
            # From here on it is the copy that counts.
            replace(before, moved_to=str(new)).write(old)
            # Whatever becomes of the old folder: nobody needs to ask it any more.
            replace(stamp, came_from="").write(copy)
        settle(new)


def _known(folder: Path) -> StateHeader:
    stamp = StateHeader.of(folder)
    if stamp is None:
        raise RunProblem(f"'{folder}' has no state of a run")
    return stamp


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    # It is missing where its copy still waits beside it.
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = Lock(folder, name)
    except OSError as error:
        raise RunProblem(f"'{folder}' cannot be used: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def _renamed(folder: Path) -> Path:
    names = (folder.with_name(f"{folder.name}.aside-{n}") for n in count(1))
    aside = next(name for name in names if not name.exists())
    folder.rename(aside)
    return aside


@contextmanager
def _copied(old: Path, used_as: Path, left_out: Collection[str] = ()) -> Iterator[Path]:
    """A copy of all but the stamp and the kept rows, beside where it will be used; it
    is removed when it cannot be made, or the block fails."""
    copy = next_folder(used_as)
    shutil.rmtree(copy, ignore_errors=True)
    unwanted = {
        old / part for part in (*left_out, STAMP, LOCK, JOB_NOTES, STOP_REQUEST)
    }
    # What goes on is another query, or a job, which keeps no rows.
    unwanted.update(old.glob(f"{OUTPUTS}/*/{ROWS}"))

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder, name) in unwanted]

    try:
        # With the times of files: Spark knows a chunk by its own.
        shutil.copytree(old, copy, ignore=ignored)
        yield copy
    except BaseException as error:
        if _known(old).moved_to != str(used_as):
            shutil.rmtree(copy, ignore_errors=True)
        if isinstance(error, OSError):
            raise RunProblem(f"'{old}' cannot be copied: {error}") from error
        raise
