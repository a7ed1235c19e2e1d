"""Whose state a folder has: a stamp in it, ``run.json``, that is there at once.

Beside a folder there may be ``NAME.next``, a copy that takes its place when it is
opened next, and ``NAME.aside-N``, what was set aside
(:mod:`arroyo_nb.state.copies`). The stamp of a copy is written last: one without it is
not whole, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from arroyo_nb.changelog import BUCKETS
from arroyo_nb.durable_files import read_checked, state_disk, write_checked
from arroyo_nb.errors import RunProblem, StateProblem
from arroyo_nb.plan.lowering import JOINS_ALONE, JOINS_BESIDE, LOWERING

VERSION = 3
"""Of the format of the state; 2: keys and buckets are dealt out by our own hash; 3: its
query is known by :mod:`arroyo_nb.state.identity`, and its columns by their place."""

STAMP, _NEXT = "run.json", ".next"
_MEANING = "it says which query the state is of"
AFRESH = "name another state folder, or remove this one to start afresh"


@dataclass(frozen=True)
class StateHeader:
    """Whose state a folder has.

    Parameters
    ----------
    query
        Fingerprint of the plan.
    name
        The run's.
    buckets
        Into how many pieces the state of an updating operator is cut: fixed when the
        state is begun.
    forgets
        Whether updating operators look for idle keys: another operator joins rows that
        are never forgotten. Fixed when the state is begun; a state of a version that
        did not say it looks for them.
    lowering
        The version of how its plan becomes a query of Spark's
        (:mod:`arroyo_nb.plan.lowering`). Fixed when the state is begun.
    at
        The folder's own path, by which files are named in it.
    spec
        What was run, for who has to judge a change of it; nothing here reads it.
    came_from
        The folder that it is a copy of, where that is not to be used any more.
    moved_to
        The folder that took over its state: this one may not be used any more.
    version
        Of the format.
    """

    query: str
    name: str
    buckets: int = BUCKETS
    forgets: bool = True
    lowering: int = LOWERING
    at: str = ""
    spec: str = ""
    came_from: str = ""
    moved_to: str = ""
    version: int = VERSION

    def write(self, folder: Path) -> None:
        """Stamp a folder; at once or not at all.

        Raises
        ------
        RunProblem
            When it cannot be written.
        """
        with state_disk(folder / STAMP):
            write_checked(folder / STAMP, asdict(self))

    def resuming(self, before: StateHeader) -> StateHeader:
        """The stamp of a run that resumes a state: what is fixed when that is begun
        stays."""
        return replace(
            self,
            buckets=before.buckets,
            forgets=before.forgets,
            lowering=before.lowering,
        )

    @classmethod
    def of(cls, folder: Path) -> StateHeader | None:
        """The stamp of a folder; None where it has none.

        Raises
        ------
        RunProblem
            When it is torn, or of another format.
        """
        path = folder / STAMP
        try:
            facts = read_checked(path, _MEANING)
            version = facts["version"]
            # What earlier versions wrote of it, or did not write.
            beside = facts.pop("joins_beside", True)
            facts.setdefault("lowering", JOINS_BESIDE if beside else JOINS_ALONE)
            known = {**facts, "buckets": int(facts["buckets"]), "query": facts["query"]}
            stamp = cls(**known) if version == VERSION else None
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise StateProblem(path, "is damaged", _MEANING) from None
        if stamp is None:
            raise RunProblem(
                f"'{folder}' holds state of format {version}, this version of "
                f"arroyo_nb keeps format {VERSION}",
                hint=AFRESH,
            )
        if stamp.lowering > LOWERING:
            raise RunProblem(
                f"'{folder}' holds state of a newer version of arroyo_nb",
                hint=f"run it with that version; or {AFRESH}",
            )
        return stamp


def _nothing(_: StateHeader) -> str:
    return ""


@dataclass(frozen=True)
class StateSpec:
    """What a state folder says of what is run, beside its fingerprint.

    Parameters
    ----------
    text
        See :attr:`StateHeader.spec`.
    differences
        Says, in lines, how the query whose state was found is another one; nothing,
        where that is not known.
    """

    text: str = ""
    differences: Callable[[StateHeader], str] = _nothing


NO_SPEC = StateSpec()


def find_header(folder: Path) -> StateHeader | None:
    """The stamp of the state that a run would find in a folder; None: there is none.

    Raises
    ------
    RunProblem
        When it cannot be used.
    """
    return StateHeader.of(folder) or waiting(folder)


def is_there(folder: Path) -> bool:
    """Whether a folder has state, or a copy waits to be its, whatever these say."""
    return any((place / STAMP).exists() for place in (folder, next_folder(folder)))


def next_folder(folder: Path) -> Path:
    """Where a copy is made that is to take a folder's place."""
    return folder.with_name(folder.name + _NEXT)


def waiting(folder: Path) -> StateHeader | None:
    """The stamp of the copy beside a folder, where it is whole and nobody uses what it
    was made of any more.

    Raises
    ------
    RunProblem
        When that cannot be told.
    """
    copy = next_folder(folder)
    stamp = StateHeader.of(copy)
    if stamp is None or not stamp.came_from:
        return stamp
    # The old folder has the last word: until it says that it was moved, a run may go on
    # in it, and the copy would be a second one.
    left = StateHeader.of(Path(stamp.came_from))
    if left is None:
        raise RunProblem(
            f"'{copy}' is a copy of the state in '{stamp.came_from}', which is gone: "
            "whether a run has resumed from it since is unknown",
            hint="remove the copy to start afresh",
        )
    return stamp if left.moved_to == str(folder) else None
