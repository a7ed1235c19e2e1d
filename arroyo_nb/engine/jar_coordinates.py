"""What names a jar in a repository, and the sets of them that this project pins."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.errors import EngineProblem

PINS = Path(__file__).with_name("pins")
"""A file for each set: a line has coordinates and the SHA-256 of the jar."""


class Coordinates(NamedTuple):
    """A jar in a repository.

    >>> str(Coordinates("org.example", "thing", "1.0"))
    'org.example:thing:1.0'
    """

    group: str
    artifact: str
    version: str

    def __str__(self) -> str:
        return ":".join(self)

    @property
    def file(self) -> str:
        """What its file is called."""
        return f"{self.artifact}-{self.version}.jar"


def parse_coordinates(text: str) -> Coordinates:
    """Coordinates as they are written everywhere, ``group:artifact:version``.

    Raises
    ------
    EngineProblem
        When they are not.
    """
    parts = text.strip().split(":")
    if len(parts) != 3 or not all(part and part.strip() == part for part in parts):
        raise EngineProblem(
            f"'{text}' are no coordinates of a jar",
            hint="write group:artifact:version; commas go between several",
        )
    return Coordinates(*parts)


def pinned(name: str) -> dict[Coordinates, str]:
    """The pinned jars of a set and the SHA-256 of each, in the order of the file."""
    text = (PINS / f"{name}.txt").read_text(encoding="ascii")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {parse_coordinates(line[0]): line[1] for line in lines}
