"""The folders that runs may read and write in: their roots.

The operator of a machine names them in the environment, ``arroyo-nb run --root`` those
of one process; where both do, a path must lie in one of each. What counts is where a
path leads, once ``..`` and links are followed. Where no root is named, all is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals

VARIABLE = "ARROYO_NB_ROOTS"
"""Names the folders, as ``PATH`` does."""

_FLAG = "--root"


@dataclass(frozen=True)
class Roots:
    """Which folders are allowed.

    Parameters
    ----------
    folders
        With all that is below them; no links lead to them any more. None: every one.
    """

    folders: tuple[Path, ...] | None = None

    def allow(self, path: Path) -> bool:
        """Whether a path, that need not be there yet, leads into one of them."""
        if self.folders is None:
            return True
        try:
            # Not Path.resolve, which gives up on links that go round in a ring.
            real = Path(os.path.realpath(path))
        except ValueError:  # a NUL: there is no such path
            return False
        return any(real.is_relative_to(folder) for folder in self.folders)

    def check(self, path: Path, shown: str) -> None:
        """Refuse a path that is not allowed; ``shown`` is what messages call it.

        Raises
        ------
        RunProblem
            Where it leads is not told: it may be the value of a variable.
        """
        if not self.allow(path):
            raise self.refusal(f"'{shown}'")

    def refusal(self, what: str) -> RunProblem:
        """The error of something that is not allowed."""
        folders = ", ".join(map(str, self.folders or ()))
        return RunProblem(
            f"{what} leads out of the folders that are allowed",
            hint=f"allowed: {folders}; {_FLAG} and {VARIABLE} name them",
        )


def current_roots() -> Roots:
    """What the environment allows.

    Raises
    ------
    RunProblem
        When it names what is no folder, or none: a slip must not allow everything.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return Roots()
    names = [name for name in text.split(os.pathsep) if name]
    for name in names:
        if not Path(name).is_absolute():
            raise RunProblem(
                f"{VARIABLE} names '{name}', which is another folder wherever one is",
                hint="write the whole path",
            )
    return Roots(_folders(names, VARIABLE))


@contextmanager
def narrowed(names: Sequence[str]) -> Iterator[None]:
    """Allow only what lies in these folders too, in this process; of no names,
    everything stays as it is.

    Raises
    ------
    RunProblem
        When one is no folder, or they have nothing in common with what was allowed.
    """
    if not names:
        yield
        return
    before, allowed = os.environ.get(VARIABLE), current_roots().folders
    folders = _folders(names, _FLAG)
    if allowed is not None:
        folders = tuple(dict.fromkeys(_common(folders, allowed)))
    if not folders:
        raise RunProblem(f"no folder of {_FLAG} is one that {VARIABLE} allows")
    os.environ[VARIABLE] = os.pathsep.join(map(str, folders))
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def _folders(names: Sequence[str], where: str) -> tuple[Path, ...]:
    if not names:
        raise RunProblem(f"{where} names no folder", hint="unset it to allow all")
    folders = tuple(Path(os.path.realpath(name)) for name in names)
    for name, folder in zip(names, folders, strict=True):
        # Else nothing would be the folder one is in.
        if not name or not folder.is_dir():
            raise RunProblem(f"{where} names '{name}', which is not a folder")
        if os.pathsep in str(folder):
            raise RunProblem(f"{where} names '{name}', with '{os.pathsep}' in its path")
    return folders


def _common(some: Iterable[Path], others: Sequence[Path]) -> Iterator[Path]:
    """The folders that lie in one of each."""
    for one in some:
        for other in others:
            if one.is_relative_to(other):
                yield one
            elif other.is_relative_to(one):
                yield other


def user_text(path: Path, otherwise: str = "save it as UTF-8") -> str:
    """The text of a file that a user names, without a mark of its encoding.

    Parameters
    ----------
    otherwise
        What to do about a file that is not UTF-8, for the hint.

    Raises
    ------
    RunProblem
        When it cannot be read, is not UTF-8, or lies outside the allowed folders.
    """
    current_roots().check(path, str(path))
    with refusals("read", str(path)):
        try:
            # Spreadsheets begin a file with a mark of its encoding.
            return path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise RunProblem(
                f"'{path}' is not text in UTF-8: byte {error.start} is wrong",
                hint=otherwise,
            ) from None
